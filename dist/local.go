package dist

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/nccl"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/collective/local"
	"github.com/sinter-go/sinter/runtime/collective/peer"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/option"
)

// Local returns the ends of a group within this process, one for each device, by rank.
// Each is for a goroutine of its own: a rank that makes a call waits for the others. All
// devices are of one kind. On the CPU every rank has the same device.
//
// Options: Timeout, CopyEngines, CapturedCopies.
func Local(devices []device.Device, opts ...Option) ([]*Group, error) {
	o := option.Read(opts)
	timeout := option.Get(&o, "Timeout", DefaultTimeout)
	copies := o.Flag("CopyEngines", true)
	captured := o.Flag("CapturedCopies", false)
	if err := o.Err("Timeout, CopyEngines, CapturedCopies"); err != nil {
		return nil, fmt.Errorf("dist: Local: %w", err)
	}
	if captured && !copies {
		return nil, fmt.Errorf("dist: Local: %w: CapturedCopies without CopyEngines", device.ErrUnavailable)
	}
	comms, err := communicators(devices, timeout) // New owns them
	if err == nil && copies {
		comms, err = peer.New(comms, peer.Settings{Mul: ops.MulOp(), AddScaled: ops.AddScaledOp(),
			Least: copiedBytes, Piece: pieceBytes, Timeout: timeout, Captured: captured})
	}
	if err != nil {
		return nil, fmt.Errorf("dist: Local: %w", err)
	}
	groups, order := make([]*Group, len(comms)), newOrder(len(comms), timeout)
	for rank, c := range comms {
		if groups[rank], err = newGroup(c, timeout, order); err != nil {
			for _, g := range groups[:rank] {
				err = errors.Join(err, g.Close())
			}
			for _, c := range comms[rank+1:] {
				err = errors.Join(err, c.Close())
			}
			return nil, fmt.Errorf("dist: Local: %w", err)
		}
	}
	return groups, nil
}

// CopyEngines has sums and averages of 32 MiB of floats and more, of batches of all-reduces between
// accelerators of one process, and all-gathers of as much of each rank, travel by copies from memory to
// memory, which take no multiprocessors from what is computed meanwhile. That is so unless it is given as false. Calls that are captured in
// a graph without CapturedCopies, groups that are split off, and devices that do not reach one
// another's memory have none. All ranks make such a call at once or all replay it: else all get an error that
// wraps ErrMismatch. It is an option of Local and Run.
func CopyEngines(on ...bool) Option { return option.Flag("CopyEngines", on) }

// CapturedCopies has calls that are captured in a graph travel by copies, too, as CopyEngines has the
// others. All ranks then capture the same such calls in the same order, and replay them as
// often: a rank's replay waits for those of the others. The graphs of a group share what they wait by:
// all ranks replay the same ones in the same order, one after another; two at once, on two streams,
// give wrong values, and another order on another rank is an error that wraps ErrMismatch. With other
// groups, and with calls that are not
// captured, there is one order on all ranks as well: a device may do what is on several streams one
// after the other, and what is before a replay then must not wait for what another rank has behind its
// own. A group that failed lets replays that are
// under way end with values of no use, and later ones return its error; those that a rank has not made
// before its Close
// wrap ErrClosed. It is for devices that reach one another's memory and whose
// streams can wait for words of it, as CUDA's do; others, and CopyEngines(false), give an error that
// wraps device.ErrUnavailable. It takes memory from the start. It is an option of Local and Run.
func CapturedCopies(on ...bool) Option { return option.Flag("CapturedCopies", on) }

// From how many bytes on calls are made by copies, and of how many at once.
var copiedBytes, pieceBytes = int64(peer.DefaultLeast), peer.DefaultPiece // tests set them

// communicators returns the ends of a group within the process by the engine of the
// devices' kind. The groups' order compares their calls.
func communicators(devices []device.Device, timeout time.Duration) ([]collective.Communicator, error) {
	for _, d := range devices {
		if d.Kind != devices[0].Kind {
			return nil, fmt.Errorf("%w: %s and %s: the devices of a group are of one kind", device.ErrMismatch, devices[0], d)
		}
	}
	if len(devices) > 0 && devices[0].Kind == device.KindCUDA {
		id, err := nccl.NewID()
		if err != nil {
			return nil, err
		}
		return communicatorsOf(nccl.New(id, devices, 0, len(devices), timeout, nil))
	}
	return communicatorsOf(local.New(devices, timeout))
}

// communicatorsOf returns the ends of a group as what they are to a Group.
func communicatorsOf[C collective.Communicator](ends []C, err error) (out []collective.Communicator, _ error) {
	for _, c := range ends {
		out = append(out, c)
	}
	return out, err
}

// Run calls f for every device at once, on a goroutine each, with the end of a group
// of them, and closes the group when all have returned. The device is the current one
// of its goroutine. The first f that returns an error aborts the group, so that the
// others do not wait for it; the errors of all are joined, by rank.
//
// Options: Timeout, CopyEngines, CapturedCopies.
func Run(devices []device.Device, f func(g *Group) error, opts ...Option) error {
	groups, err := Local(devices, opts...)
	if err != nil {
		return err
	}
	if f == nil {
		f = func(*Group) error { return nil }
	}
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for rank, g := range groups {
		all.Go(func() {
			errs[rank] = device.With(g.Device(), func() error { return f(g) })
			if errs[rank] != nil {
				g.Abort(errs[rank])
			}
		})
	}
	all.Wait()
	for rank, g := range groups { // at once: a replay of one rank may wait for what another closes without
		all.Go(func() {
			if err := g.Close(); errs[rank] == nil {
				errs[rank] = err
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
