// Package peer makes large reductions and all-gathers between the accelerators of one process by copies
// from memory to memory, which copy engines do, and additions. An engine whose kernels move the
// elements takes multiprocessors from what the devices compute meanwhile; a copy takes none.
// All other calls are another engine's. The package knows nothing of tensors.
package peer

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
)

// Settings are what an engine needs to know.
type Settings struct {
	Mul, AddScaled *ir.Op        // x*y, and x + alpha*y, which elements are computed with
	Least          int64         // bytes that the calls of a batch have together, at least, that are made by copies
	Piece          int           // bytes of the pieces that batches are cut into, an eighth more at most; a multiple of 256
	Timeout        time.Duration // how long a rank waits for others before the group fails
	Captured       bool          // captured calls are made by copies, too, which all ranks capture
}

// The sizes that are best on GPUs: of 16 MiB NCCL's averages are quicker, and in smaller pieces steps
// of training are slower.
const (
	DefaultLeast = 32 << 20
	DefaultPiece = 32 << 20
)

// A Communicator is one rank's end of a group within the process, which makes all-reduces of
// many floats and large all-gathers itself and gives other calls to the engine under it. Groups that are split off are
// that engine's, and so is what is captured without Settings.Captured. Ranks make the same batches, which
// whoever calls it looks after; those that are made by copies are compared here, too.
//
// A rank that makes such a call waits on the host for the others to make it, and returns when
// all devices have all of its work. No device waits for what the host has not given to another
// one yet.
type Communicator struct {
	inner  collective.Communicator
	hub    *hub
	rank   int
	size   int
	device device.Device
	driver device.Driver
	set    Settings

	closing sync.Mutex // held by Close
	giving  *giving    // what the rank has back, in the background; nil: nothing is
	closed  bool       // all was given back

	// Of the goroutine that makes calls.
	lane    lane
	shown   *streams      // of the lane, while it has some; the hub's lanes guards it
	last    *meeting      // the last one that was made by copies; nil: none
	lingers chan struct{} // as Lingers has it

	mail  *mail           // for captured calls; nil: the engine under it makes them
	words device.Signaler // the driver, with mail
}

var (
	_ collective.Communicator = (*Communicator)(nil)
	_ collective.Overlapper   = (*Communicator)(nil)
	_ collective.Lingerer     = (*Communicator)(nil)
	_ collective.Replayer     = (*Communicator)(nil)
)

// New returns ends of a group like inner's, which they own: the ends of a group within the
// process, by rank, each on another accelerator of one kind. Where these do not reach one
// another's memory it returns inner. It closes inner's ends where it fails.
func New(inner []collective.Communicator, set Settings) (ends []collective.Communicator, err error) {
	defer func() {
		if err != nil {
			for _, c := range inner {
				err = errors.Join(err, c.Close())
			}
		}
	}()
	if len(inner) < 2 {
		return inner, nil
	}
	h := newHub(len(inner), set.Timeout)
	ends = make([]collective.Communicator, len(inner))
	for rank, c := range inner {
		_, drv, err := device.Find(c.Device())
		if err != nil {
			return nil, err
		}
		for _, other := range inner {
			if other == c || reaches(drv, c.Device(), other.Device()) {
				continue
			}
			if set.Captured {
				return nil, fmt.Errorf("%w: copies of captured calls: %s does not reach the memory of %s", device.ErrUnavailable, c.Device(), other.Device())
			}
			return inner, nil
		}
		own := &Communicator{inner: c, hub: h, rank: rank, size: len(inner), device: c.Device(), driver: drv, set: set}
		h.ends[rank], ends[rank] = own, own
	}
	if set.Captured {
		if err := h.openPost(); err != nil {
			for _, c := range h.ends {
				err = errors.Join(err, c.closeMail())
			}
			return nil, err
		}
	}
	return ends, nil
}

// reaches reports whether one device can copy to another's memory directly.
func reaches(drv device.Driver, from, to device.Device) bool {
	return from.Accelerator() && to.Kind == from.Kind && to.Index != from.Index && device.OpenPeer(drv, from.Index, to.Index)
}

// Rank returns the rank.
func (c *Communicator) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Communicator) Size() int { return c.size }

// Device returns the rank's device.
func (c *Communicator) Device() device.Device { return c.device }

// Seed is that of the engine under it.
func (c *Communicator) Seed() ([]byte, error) { return c.inner.Seed() }

// Split returns an end of the engine under it.
func (c *Communicator) Split(members []int, seed []byte) (collective.Communicator, error) {
	return c.inner.Split(members, seed)
}

// Err returns why the group is of no more use, or nil.
func (c *Communicator) Err() error {
	if err := c.hub.failure(); err != nil {
		return err
	}
	return c.inner.Err()
}

// Abort makes the group of no more use for all ranks.
func (c *Communicator) Abort(reason error) {
	_ = c.hub.fail(fmt.Errorf("rank %d gave up: %w", c.rank, reason))
	c.inner.Abort(reason)
}

// Fail is Abort for a reason that names the rank by itself.
func (c *Communicator) Fail(reason error) {
	_ = c.hub.fail(reason)
	c.inner.Fail(reason)
}

// Do makes calls in the order of a stream. What sends and receives a batch has beside calls that
// are made by copies comes after these, together.
func (c *Communicator) Do(s device.StreamID, calls ...*collective.Call) error {
	c.lingers = nil
	if err := c.Err(); err != nil {
		return err
	}
	shared, pairs := part(calls)
	captured := c.captured(s)
	if c.takes(captured, shared) {
		m, err := c.hub.arrive(c.rank, shared, captured)
		if err == nil {
			err = c.make(m, s, shared)
		}
		if err != nil {
			c.inner.Abort(err)
			return err
		}
		calls = pairs
	}
	if len(calls) == 0 {
		return nil
	}
	return c.inner.Do(s, calls...)
}

// Replayed is that of the engine under it, where that has one.
func (c *Communicator) Replayed(calls []string) {
	if r, able := c.inner.(collective.Replayer); able {
		r.Replayed(calls)
	}
}

// make makes the calls of a meeting by copies.
func (c *Communicator) make(m *meeting, s device.StreamID, calls []*collective.Call) error {
	if !m.captured {
		return c.exchange(m, s, calls)
	}
	if err := c.send(m, s, calls); err != nil {
		return c.hub.fail(fmt.Errorf("rank %d, %s: %w", c.rank, calls[0], err))
	}
	return c.leave(m)
}

// leave waits until all ranks have given their devices, or recorded, their part of a meeting, in which they name
// memory and events of other ranks' devices, or until the group is of no more use. A rank that went on before might
// give its own device so much that the driver holds it up until there is room, and with it whoever touches the
// device: a rank that is not done with its part yet, and that the device waits for.
func (c *Communicator) leave(m *meeting) error { return c.hub.depart(m, c.rank) }

// part returns the calls of a batch that all ranks make, and those that two make: the ranks'
// batches are alike in the former only.
func part(calls []*collective.Call) (shared, pairs []*collective.Call) {
	for _, call := range calls {
		if call.Kind == collective.Send || call.Kind == collective.Receive {
			pairs = append(pairs, call)
		} else {
			shared = append(shared, call)
		}
	}
	return shared, pairs
}

// Overlaps reports whether all calls of a batch are captured, and made by copies. By those that are
// not captured steps of training are no quicker then.
func (c *Communicator) Overlaps(s device.StreamID, calls ...*collective.Call) bool {
	shared, pairs := part(calls)
	return len(pairs) == 0 && c.captured(s) && c.takes(true, shared)
}

// Binds reports whether a batch is made by copies: devices wait for the replays of others of one that is captured,
// ranks on the host for others that make it at once.
func (c *Communicator) Binds(captured bool, calls ...*collective.Call) bool {
	shared, _ := part(calls)
	return c.takes(captured, shared)
}

// captured reports whether a stream is.
func (c *Communicator) captured(s device.StreamID) bool {
	k, ok := c.driver.(device.Capturer)
	return ok && k.CaptureOf(c.device.Index, s) != 0
}

// takes reports whether the calls that all ranks make together are made by copies, from what
// is alike on all ranks: all of them are all-reduces, or all-gathers. Floats of 16 bits are added once, and so rounded once.
func (c *Communicator) takes(captured bool, calls []*collective.Call) bool {
	if len(calls) == 0 || captured && c.mail == nil {
		return false
	}
	var bytes int64
	for _, call := range calls {
		bytes += call.Bytes()
		if gathers(calls) {
			if call.Kind != collective.AllGather {
				return false
			}
			continue
		}
		d := call.In.DType
		if call.Kind != collective.AllReduce || call.Op != collective.Sum && call.Op != collective.Average ||
			!ir.ClassFloat.Has(d) || d.Size() == 2 && c.size > 2 || d.Size() < 2 {
			return false
		}
	}
	return bytes >= c.set.Least
}
