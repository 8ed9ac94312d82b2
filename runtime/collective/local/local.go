// Package local makes collective calls between ranks of one process: goroutines that
// each drive a device whose memory the host reaches, the CPU or simulated accelerators.
// It knows nothing of tensors, nor of other processes.
//
// Reductions go in the order of ranks, so that results are the same to the bit in every
// run and on every rank.
package local

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
)

// A Communicator is one rank's end of a group within the process.
type Communicator struct {
	hub    *hub
	rank   int
	device device.Device
	driver device.HostCaller
	made   atomic.Uint64 // collective calls that the rank has come to
	close  sync.Once
}

var _ collective.Communicator = (*Communicator)(nil)

// New returns the ends of a group, one for each device, by rank. An accelerator has one
// rank, since those of two would wait for one another in its streams; the CPU may have
// all. A rank that waits for others longer than timeout fails the group.
func New(devices []device.Device, timeout time.Duration) ([]*Communicator, error) {
	if len(devices) == 0 {
		return nil, fmt.Errorf("%w: a group of no devices", collective.ErrCall)
	}
	if timeout <= 0 {
		return nil, fmt.Errorf("%w: a timeout of %v, want more than 0", collective.ErrCall, timeout)
	}
	h := newHub(len(devices), timeout)
	out := make([]*Communicator, len(devices))
	ranks := map[device.Device]int{}
	for rank, d := range devices {
		d, drv, err := device.Find(d)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		if first, twice := ranks[d]; twice && d.Accelerator() {
			return nil, fmt.Errorf("%w: ranks %d and %d are both on %s", collective.ErrCall, first, rank, d)
		}
		ranks[d] = rank
		caller, ok := drv.(device.HostCaller)
		if !ok {
			return nil, fmt.Errorf("rank %d: %w: the host does not reach the memory of %s", rank, device.ErrUnavailable, d)
		}
		out[rank] = &Communicator{hub: h, rank: rank, device: d, driver: caller}
	}
	return out, nil
}

// Rank returns the rank.
func (c *Communicator) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Communicator) Size() int { return c.hub.size }

// Device returns the rank's device.
func (c *Communicator) Device() device.Device { return c.device }

// Seed names a group of which the rank is the first.
func (c *Communicator) Seed() ([]byte, error) {
	return binary.LittleEndian.AppendUint64(nil, c.hub.seed()), nil
}

// Split returns the rank's end of a group of some of the ranks.
func (c *Communicator) Split(members []int, seed []byte) (collective.Communicator, error) {
	rank := slices.Index(members, c.rank)
	if rank < 0 {
		return nil, c.Err()
	}
	if len(seed) != 8 {
		return nil, fmt.Errorf("%w: a seed of %d bytes, want 8", collective.ErrCall, len(seed))
	}
	h, err := c.hub.found(binary.LittleEndian.Uint64(seed), len(members))
	if err != nil {
		return nil, err
	}
	return &Communicator{hub: h, rank: rank, device: c.device, driver: c.driver}, nil
}

// Err returns why the group is of no more use, or nil.
func (c *Communicator) Err() error { return c.hub.failure() }

// Abort makes the group of no more use for all ranks.
func (c *Communicator) Abort(reason error) {
	c.Fail(fmt.Errorf("rank %d gave up: %w", c.rank, reason))
}

// Fail is Abort for a reason that names the rank by itself.
func (c *Communicator) Fail(reason error) {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	_ = c.hub.fail(reason)
}

// Close makes calls fail that wait for this rank, or will.
func (c *Communicator) Close() error {
	c.close.Do(func() { c.hub.leave(c.rank) })
	return nil
}

// collectiveOp is what calls are called among the operators of a stream.
var collectiveOp = &ir.Op{Name: "collective"}

// Do makes calls in the order of a stream.
func (c *Communicator) Do(s device.StreamID, calls ...*collective.Call) error {
	if err := c.Err(); err != nil {
		return err
	}
	views := make([]ir.View, 0, 2*len(calls))
	for _, call := range calls {
		views = append(views, call.In, call.Out)
	}
	return c.driver.CallHost(c.device.Index, s, collectiveOp, views, func(host []ir.View) error {
		own := make([]*collective.Call, len(calls))
		for i, call := range calls {
			copied := *call
			copied.In, copied.Out = host[2*i], host[2*i+1]
			own[i] = &copied
		}
		return c.run(own)
	})
}

// run makes calls on the goroutine that does the stream's work.
func (c *Communicator) run(calls []*collective.Call) error {
	var halves []*half
	for _, call := range calls {
		if call.Kind == collective.Send || call.Kind == collective.Receive {
			x, err := c.hub.post(c.rank, call)
			if err != nil {
				return err
			}
			halves = append(halves, x)
			continue
		}
		if err := c.hub.meet(c.rank, c.made.Add(1), call); err != nil {
			return err
		}
	}
	for _, x := range halves {
		if err := c.hub.await(c.rank, x); err != nil {
			return err
		}
	}
	return nil
}
