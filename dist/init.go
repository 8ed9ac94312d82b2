package dist

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/nccl"
	"github.com/sinter-go/sinter/backend/mpi"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/collective/local"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/option"
)

// Init returns this process's end of a group of all processes that a launcher started. All
// of them call it. Without a launcher, the group has this process alone.
//
// The device is that of tensor.On, or the accelerator whose index is the rank among the
// processes of the machine, or where there is none the CPU. Processes with GPUs exchange
// elements by NCCL, and meet at MASTER_ADDR and MASTER_PORT, where those that have the same
// SINTER_DIST_SECRET are let in. Others use MPI; these are started by mpiexec or by a scheduler
// that serves MPI.
//
// Options: On, Timeout.
func Init(ctx context.Context, opts ...Option) (*Group, error) {
	o := option.Read(opts)
	timeout := option.Get(&o, "Timeout", DefaultTimeout)
	dev := option.Get(&o, "On", device.Device{Index: unset})
	if err := o.Err("On, Timeout"); err != nil {
		return nil, fmt.Errorf("dist: Init: %w", err)
	}
	e, err := FromEnvironment()
	if err != nil {
		return nil, err
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if dev.Index == unset {
		dev = e.device()
	}
	g, err := e.join(ctx, dev.Resolve(), timeout)
	if err != nil {
		return nil, fmt.Errorf("dist: rank %d of %d: Init on %s: %w", e.Rank, e.Size, dev, err)
	}
	return g, nil
}

// unset is the index of no device.
const unset = -1 << 30

// device returns the device that a process has unless it asks for another.
func (e *Environment) device() device.Device {
	kind := device.AcceleratorKind()
	if device.Count(kind) == 0 {
		return device.CPU
	}
	return device.Device{Kind: kind, Index: e.LocalRank}
}

// join makes the group of the processes in e.
func (e *Environment) join(ctx context.Context, dev device.Device, timeout time.Duration) (*Group, error) {
	if _, _, err := device.Find(dev); err != nil {
		return nil, err
	}
	comm, err := e.communicator(ctx, dev, timeout)
	if err != nil {
		return nil, err
	}
	if err := e.confirm(comm); err != nil {
		return nil, errors.Join(err, comm.Close())
	}
	return newGroup(comm, timeout, nil)
}

// confirm compares the place in e with the engine's, and where the engine does not have it from e that of every rank.
func (e *Environment) confirm(comm collective.Communicator) error {
	var err error
	if m, is := comm.(*mpi.Communicator); is {
		err = m.Confirm(e.Rank, e.Size)
	}
	if comm.Rank() != e.Rank || comm.Size() != e.Size {
		return errors.Join(fmt.Errorf("%w, of %s: the engine says that this is rank %d of %d; start the processes with mpiexec, or by a scheduler that serves MPI",
			ErrEnvironment, e.Launcher, comm.Rank(), comm.Size()), err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEnvironment, err)
	}
	return nil
}

// communicator returns the engine's end of the group.
func (e *Environment) communicator(ctx context.Context, dev device.Device, timeout time.Duration) (collective.Communicator, error) {
	switch {
	case e.Size == 1 && dev.Kind != device.KindCUDA:
		ends, err := local.New([]device.Device{dev}, timeout)
		if err != nil {
			return nil, err
		}
		return ends[0], nil
	case dev.Kind == device.KindCUDA:
		return e.nccl(ctx, dev, timeout)
	}
	return mpi.New(dev, timeout)
}

// nccl returns the end of a group of GPUs, whose identifier rank 0 makes.
func (e *Environment) nccl(ctx context.Context, dev device.Device, timeout time.Duration) (collective.Communicator, error) {
	var id nccl.ID
	if _, err := nccl.Version(); err != nil {
		return nil, err
	}
	if e.Rank == 0 {
		var err error
		if id, err = nccl.NewID(); err != nil {
			return nil, err
		}
	}
	if e.Size == 1 {
		return one(nccl.New(id, []device.Device{dev}, e.Rank, e.Size, timeout, nil))
	}
	contacts, err := e.meet(ctx, id[:], timeout)
	if err != nil {
		return nil, err
	}
	side := newSideline(e.Rank, e.Size, contacts, timeout)
	c, err := one(nccl.New(id, []device.Device{dev}, e.Rank, e.Size, timeout, side))
	if err != nil {
		side.absent(err)
	}
	return c, err
}

// one returns the one end that a process has.
func one(ends []*nccl.Communicator, err error) (collective.Communicator, error) {
	if err != nil {
		return nil, err
	}
	return ends[0], nil
}

// meet has all ranks know id, which rank 0 has made, and returns this one's contacts.
func (e *Environment) meet(ctx context.Context, id []byte, timeout time.Duration) (map[int]*contact, error) {
	m, err := e.meeting()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if e.Rank == 0 {
		return m.give(ctx, id)
	}
	c, err := m.take(ctx, id)
	return map[int]*contact{0: c}, err
}

// Finalize ends what Init began in the process; every group is closed. A program calls it
// last, on every rank, because mpiexec takes a process that ends without for a crash. It does
// nothing where MPI was not used.
func Finalize() error {
	if err := mpi.Finalize(); err != nil {
		return fmt.Errorf("dist: Finalize: %w", err)
	}
	return nil
}
