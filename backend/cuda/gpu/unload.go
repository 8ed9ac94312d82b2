package gpu

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/runtime/device"
)

// retired are a device's modules that no more work will use.
type retired struct {
	mu      sync.Mutex
	modules []driver.Module
	busy    bool // a goroutine unloads them

	// held are leases of device code that streams of other code were given. Nobody knows when
	// these are done: the code stays as long as the process.
	held sync.Map // of *code.Lease to nothing
}

// hold has device code stay for good; nil leases stand for what does anyway.
func (r *retired) hold(leases ...*code.Lease) {
	for _, l := range leases {
		if l != nil {
			r.held.LoadOrStore(l, struct{}{})
		}
	}
}

// retire unloads modules that no more work will use, when what streams were given is done.
// It does not wait.
func (d *Driver) retire(dev int, modules []driver.Module) {
	r := &d.gpus[dev].retired
	r.mu.Lock()
	defer r.mu.Unlock()
	r.modules = append(r.modules, modules...)
	if !r.busy && len(r.modules) > 0 {
		r.busy = true
		go d.unload(dev)
	}
}

// unload unloads what is retired of a device until there is nothing left.
func (d *Driver) unload(dev int) {
	r := &d.gpus[dev].retired
	for {
		r.mu.Lock()
		list := r.modules
		r.modules, r.busy = nil, len(list) > 0
		r.mu.Unlock()
		if len(list) == 0 {
			return
		}
		err := d.settle(dev)
		for _, m := range list {
			if err == nil {
				err = d.failed(dev, d.api.ModuleUnload(dev, m))
			}
		}
		if err != nil && !errors.Is(err, device.ErrLost) { // a lost device has no modules
			slog.Error("sinter: kernels of programs that nobody refers to could not be unloaded", "device", device.CUDA(dev).String(), "error", err)
		}
	}
}

// How long settle sleeps between two questions.
const (
	shortestRest = 100 * time.Microsecond
	longestRest  = 10 * time.Millisecond
)

// settle returns when all work is done that the device's streams were given before.
func (d *Driver) settle(dev int) (err error) {
	var marks []driver.Event
	defer func() {
		for _, e := range marks {
			err = errors.Join(err, d.api.EventDestroy(dev, e))
		}
	}()
	for marked := false; !marked; {
		d.captures.wait()
		if marked, err = d.mark(dev, &marks); err != nil {
			return err
		}
	}
	rest := shortestRest
	for _, e := range marks {
		for {
			done, err := d.api.EventQuery(dev, e)
			if err != nil {
				return d.failed(dev, err)
			}
			if done {
				break
			}
			time.Sleep(rest)
			rest = min(2*rest, longestRest)
		}
	}
	return nil
}

// mark records an event on each of a device's streams. It reports false where a capture is
// under way, or began meanwhile and may have taken one in, which then marks nothing. It holds
// no lock of captures: recording may have to wait for work that waits for one.
func (d *Driver) mark(dev int, marks *[]driver.Event) (marked bool, err error) {
	api, err := d.use(dev)
	if err != nil {
		return false, err
	}
	begun := d.captures.begun.Load()
	if d.captures.under.Load() != 0 {
		return false, nil
	}
	n := 0
	d.gpus[dev].states.each(func(s device.StreamID) {
		if err != nil {
			return
		}
		if n == len(*marks) {
			var e driver.Event
			if e, err = api.EventCreate(dev, driver.EventDisableTiming); err != nil {
				return
			}
			*marks = append(*marks, e)
		}
		err = api.EventRecord(dev, (*marks)[n], driver.Stream(s))
		n++
	})
	return err == nil && d.captures.begun.Load() == begun, d.failed(dev, err)
}
