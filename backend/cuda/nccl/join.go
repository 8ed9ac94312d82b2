package nccl

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
)

// New returns the ends of the group id for some of its ranks: devices has the GPU of each,
// all of this process, by rank from first on, of size in all. It returns once all ranks of
// the group have come, or with an error after timeout. A rank that waits for others longer
// than that fails the group. Monitor, which may be nil, is of groups of several processes.
func New(id ID, devices []device.Device, first, size int, timeout time.Duration, monitor Monitor) ([]*Communicator, error) {
	if len(devices) == 0 || first < 0 || first+len(devices) > size || timeout <= 0 {
		return nil, fmt.Errorf("%w: %d ranks from %d of %d, with a timeout of %v", collective.ErrCall, len(devices), first, size, timeout)
	}
	l, err := process()
	if err != nil {
		return nil, err
	}
	out := make([]*Communicator, len(devices))
	for i, d := range devices {
		d, drv, err := device.Find(d)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", first+i, err)
		}
		on, ok := drv.(gpus)
		if !ok {
			return nil, fmt.Errorf("rank %d: %w: NCCL is for GPUs, not %s", first+i, device.ErrUnavailable, d)
		}
		out[i] = &Communicator{lib: l, rank: first + i, size: size, device: d, driver: on, timeout: timeout, ends: out, monitor: monitor}
	}
	if err := begin(id, out); err != nil {
		for _, c := range out {
			c.Abort(err)
			err = errors.Join(err, c.Close())
		}
		return nil, err
	}
	if monitor != nil {
		sum := sha256.Sum256(id[:])
		for _, c := range out {
			c.name = hex.EncodeToString(sum[:8])
			monitor.Joined(c.name, c)
		}
	}
	return out, nil
}

// begin makes the communicators. None waits for another as it begins; then all are waited
// for.
func begin(id ID, list []*Communicator) error {
	for _, c := range list {
		var err error
		if c.spare, err = c.driver.Alloc(c.device.Index, 1); err == nil {
			err = c.driver.Zero(c.device.Index, 0, c.spare, 1)
		}
		if err == nil {
			err = c.join(id)
		}
		if err != nil {
			return fmt.Errorf("rank %d on %s: %w", c.rank, c.device, err)
		}
	}
	steps := []func(c *Communicator) error{
		func(c *Communicator) error { return c.settle("joining the group") },
		(*Communicator).divide,
		func(c *Communicator) error { return c.settle("making the group's calls ready") },
		(*Communicator).divided,
	}
	for _, step := range steps {
		for _, c := range list {
			if err := step(c); err != nil {
				return fmt.Errorf("rank %d on %s: %w", c.rank, c.device, err)
			}
		}
	}
	return nil
}

// join begins to make the root, whose making and end nobody waits for in the library.
func (c *Communicator) join(id ID) error {
	return c.driver.InContext(c.device.Index, func() error {
		f := dl.Get()
		defer f.Free()
		code := c.lib.f[fInit].Call(f, f.Addr(0), uintptr(c.size), uintptr(c.rank), 1,
			f.Keep(unsafe.Pointer(&id)), f.Keep(unsafe.Pointer(newConfig(returning))))
		c.root = f.Words[0]
		return c.started(fInit, code)
	})
}

// A fresh is where the library writes a communicator when it has made it.
type fresh struct {
	comm   uintptr
	config *config
	pinned runtime.Pinner
}

// divide begins to make the communicator of the calls from the root, which it shares all with.
func (c *Communicator) divide() error {
	c.fresh = &fresh{config: newConfig(waiting)}
	c.fresh.pinned.Pin(c.fresh)
	c.fresh.pinned.Pin(c.fresh.config)
	return c.driver.InContext(c.device.Index, func() error {
		f := dl.Get()
		defer f.Free()
		code := c.lib.f[fSplit].Call(f, c.root, 0, uintptr(c.rank), f.Keep(unsafe.Pointer(&c.fresh.comm)), f.Keep(unsafe.Pointer(c.fresh.config)))
		return c.started(fSplit, code)
	})
}

// divided takes over what divide began to make.
func (c *Communicator) divided() error {
	c.comm = c.fresh.comm
	c.unpin()
	if c.comm == 0 {
		return fmt.Errorf("%s made nothing", names[fSplit])
	}
	return nil
}

// unpin gives up the memory that the library wrote the communicator to.
func (c *Communicator) unpin() {
	if c.fresh != nil {
		c.fresh.pinned.Unpin()
		c.fresh = nil
	}
}

// started returns the error of a call that may go on by itself.
func (c *Communicator) started(f int, code uintptr) error {
	if r := int32(code); r == success || r == inProgress {
		return nil
	}
	return c.lib.error(f, code)
}

// settle waits until what the root was told to begin is done.
func (c *Communicator) settle(what string) error {
	for began := time.Now(); ; time.Sleep(20 * time.Microsecond) {
		code, err := c.state(c.root)
		switch {
		case err != nil || code == success:
			return err
		case time.Since(began) > c.timeout:
			return fmt.Errorf("%s: rank %d waited %v for the others: %w", what, c.rank, c.timeout, collective.ErrTimeout)
		}
	}
}

// state returns whether anything is under way in a communicator (inProgress), and what went
// wrong with it.
func (c *Communicator) state(comm uintptr) (int32, error) {
	f := dl.Get()
	defer f.Free()
	if code := c.lib.f[fAsyncError].Call(f, comm, f.Addr(0)); int32(code) != success {
		return 0, c.lib.error(fAsyncError, code)
	}
	code := int32(f.Words[0])
	return code, c.started(fAsyncError, uintptr(code))
}
