package cudnn

import (
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
)

// maxHandles bounds the handles of a device, and so the calls of the library that are
// made at once. A handle is memory on the device; a call lasts until its work is
// enqueued.
const maxHandles = 8

// handles are the library's handles of a device. Each is of one call at a time, on
// whichever stream: none outlives a call as a stream's, for a stream that others made
// may be gone after it and its name another's.
type handles struct {
	mu       sync.Mutex
	returned sync.Cond // a handle is idle
	idle     []uintptr // last used last
	made     int
	limit    int   // of made: less than maxHandles once the library had no more
	err      error // of the first handle: the library does not work here
}

func (h *handles) init() { h.returned.L, h.limit = &h.mu, maxHandles }

// with calls f with a handle whose calls go to stream s. The device is entered, and f
// does not call with.
func (d *device) with(s driver.Stream, f func(handle uintptr) error) error {
	h, err := d.handles.take(d.functions)
	if err != nil {
		return err
	}
	defer d.handles.give(h)
	c := dl.Get()
	err = d.check("cudnnSetStream", d.setStream.Call(c, h, uintptr(s)))
	c.Free()
	if err != nil {
		return err
	}
	return f(h)
}

// take returns a handle that is idle, a new one, or where there are as many as may be
// the next that is given back. The device is entered.
func (h *handles) take(f *functions) (uintptr, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.idle) == 0 {
		switch {
		case h.err != nil:
			return 0, h.err
		case h.made < h.limit:
			h.create(f)
		default:
			h.returned.Wait()
		}
	}
	last := len(h.idle) - 1
	taken := h.idle[last]
	h.idle = h.idle[:last]
	return taken, nil
}

// create makes a handle. Where the library cannot and there is none so far, it does
// not work here; else those that there are have to do. The caller holds h.mu.
func (h *handles) create(f *functions) {
	c := dl.Get()
	defer c.Free()
	err := f.check("cudnnCreate", f.create.Call(c, c.Addr(0)))
	switch {
	case err == nil:
		h.idle = append(h.idle, c.Words[0])
		h.made++
	case h.made == 0:
		h.err = fmt.Errorf("%w: cuDNN: %w", library.ErrUnusable, err)
	default:
		h.limit = h.made
	}
}

// give makes a handle idle.
func (h *handles) give(taken uintptr) {
	h.mu.Lock()
	h.idle = append(h.idle, taken)
	h.mu.Unlock()
	h.returned.Signal()
}
