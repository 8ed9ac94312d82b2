package graph

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A Capture is one under way.
type Capture struct {
	work *work

	mu     sync.Mutex // guards work.keep until the end, and
	failed error      // of the first call that could not be recorded
	over   bool
}

// captures are those under way.
var captures struct {
	under atomic.Int32
	mu    sync.Mutex
	all   map[captureKey]*Capture
}

type captureKey struct {
	drv device.Driver
	id  device.CaptureID
}

// Of returns the capture that stream s of a driver's device takes part in, or nil. It
// costs an atomic load while no stream of the process is captured.
func Of(drv device.Driver, dev int, s device.StreamID) *Capture {
	if captures.under.Load() == 0 || s == 0 {
		return nil
	}
	c, ok := drv.(device.Capturer)
	if !ok {
		return nil
	}
	id := c.CaptureOf(dev, s)
	captures.mu.Lock()
	defer captures.mu.Unlock()
	return captures.all[captureKey{drv, id}]
}

// Current returns the capture that the calling goroutine's current stream of d takes
// part in, or nil.
func Current(d device.Device) *Capture {
	if captures.under.Load() == 0 {
		return nil
	}
	d, drv, err := device.Find(d)
	if err != nil {
		return nil
	}
	return Of(drv, d.Index, stream.CurrentID(d))
}

// sharedStreams are those of captures that are given none. All graphs of a device
// have one, so that graphs that share a pool find each other's memory there.
var sharedStreams struct {
	mu  sync.Mutex
	all map[sharedKey]stream.Stream
}

type sharedKey struct {
	drv device.Driver
	dev device.Device
}

// shared returns the shared stream of a device.
func shared(drv device.Driver, dev device.Device) stream.Stream {
	sharedStreams.mu.Lock()
	defer sharedStreams.mu.Unlock()
	key := sharedKey{drv, dev}
	if s, ok := sharedStreams.all[key]; ok {
		return s
	}
	id, err := drv.NewStream(dev.Index, 0)
	if err != nil {
		return stream.Failed(dev, err)
	}
	if sharedStreams.all == nil {
		sharedStreams.all = map[sharedKey]stream.Stream{}
	}
	sharedStreams.all[key] = stream.External(dev, id)
	return sharedStreams.all[key]
}

// Refuse makes the capture fail with err, unless it has before, and returns err.
func (c *Capture) Refuse(err error) error {
	if c == nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
	return err
}

// Keep has done called when the graph is reset, or the capture fails: until then the
// work may use what the caller holds. After the capture it is called at once.
func (c *Capture) Keep(done func()) {
	if done == nil {
		return
	}
	if c == nil {
		done()
		return
	}
	c.mu.Lock()
	over := c.over || c.work == nil
	if !over {
		c.work.keep = append(c.work.keep, done)
	}
	c.mu.Unlock()
	if over {
		done()
	}
}

// A Checker says whether recorded work may be replayed.
type Checker interface {
	// Check is asked by every replay, before the device is given anything, and changes nothing. The replay
	// returns its error, and gives the device nothing.
	Check() error
	// Note is told of every replay that all agreed to, before the device is given anything. The replay returns
	// its error, and gives the device nothing.
	Note() error
	// Fail is told why a replay is not made that Note was told of without an error.
	Fail(why error)
	// Doubt is cast on what a replay gives its stream; nil: none.
	Doubt() *stream.Doubt
}

// A keyed Checker is that of one of those whom the work needs.
type keyed struct {
	key any
	Checker
}

// Check returns the Checker that replays ask for a key, such as whom the recorded work needs: what make
// returned at the first call with it.
func (c *Capture) Check(key any, make func() Checker) (Checker, error) {
	if c == nil {
		return nil, fmt.Errorf("graph: check: %w", errNoCapture)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over || c.work == nil {
		return nil, fmt.Errorf("graph: check: %w", errOver)
	}
	for _, k := range c.work.checks {
		if k.key == key {
			return k.Checker, nil
		}
	}
	var made Checker
	if make != nil {
		made = make()
	}
	if made != nil {
		c.work.checks = append(c.work.checks, keyed{key, made})
	}
	return made, nil
}

var (
	errNoCapture = errors.New("a nil *graph.Capture: the current stream is not captured")
	errOver      = errors.New("the capture has ended")
)

// check returns why the work cannot be replayed. All are asked, in the order in which they came, before one
// is told.
func (w *work) check() (err error) {
	for _, k := range w.checks {
		err = errors.Join(err, k.Check())
	}
	for i := 0; i < len(w.checks) && err == nil; i++ {
		if err = w.checks[i].Note(); err != nil {
			w.fail(i, err)
		}
	}
	return err
}

// fail tells the first n of those who were told of a replay why it is not made.
func (w *work) fail(n int, why error) {
	for _, k := range w.checks[:n] {
		k.Fail(why)
	}
}

// close ends the capture for those that found it while it was under way, and returns
// the error of the first call that could not be recorded.
func (c *Capture) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	return c.failed
}

// begin and end put the capture among those under way.
func (c *Capture) begin(key captureKey) {
	captures.mu.Lock()
	defer captures.mu.Unlock()
	if captures.all == nil {
		captures.all = map[captureKey]*Capture{}
	}
	captures.all[key] = c
	captures.under.Add(1)
}

func (c *Capture) end(key captureKey) {
	captures.mu.Lock()
	defer captures.mu.Unlock()
	delete(captures.all, key)
	captures.under.Add(-1)
}

// record runs f while stream s, which drv provides, is captured into w.
func record(w *work, drv device.Driver, s stream.Stream, f func() error) error {
	capturer, dev := drv.(device.Capturer), s.Device()
	c := &Capture{work: w}
	memory.CaptureBegun(dev)
	defer memory.CaptureEnded(dev)
	id, err := capturer.BeginCapture(dev.Index, s.ID(), device.CaptureOptions{Refresh: c.refresh})
	if err != nil {
		return err
	}
	key := captureKey{drv, id}
	c.begin(key)
	ended := false
	finish := func() (device.Recording, error) {
		ended = true
		c.end(key)
		return capturer.EndCapture(dev.Index, s.ID())
	}
	defer func() { // f panics or ends the goroutine
		if !ended {
			if r, err := finish(); err == nil {
				_ = r.Destroy() // the panic says more
			}
			_ = c.close()
			_ = w.release()
		}
	}()
	err = c.run(capturer, s, id, f)
	r, failed := finish()
	if refused := c.close(); err == nil {
		err = refused
	}
	if failed != nil {
		if errors.Is(err, failed) || errors.Is(err, device.ErrCapturing) {
			return err
		}
		return errors.Join(err, failed)
	}
	if err != nil {
		return errors.Join(err, r.Destroy())
	}
	w.Recording = r
	return nil
}

// run calls f with the stream current and the pool in use.
func (c *Capture) run(capturer device.Capturer, s stream.Stream, id device.CaptureID, f func() error) error {
	dev := s.Device().Index
	end, err := c.work.pool.Route(func(q device.StreamID) bool { return q != 0 && capturer.CaptureOf(dev, q) == id })
	if err != nil {
		return fmt.Errorf("its memory: %w", err)
	}
	defer end()
	return s.Do(func() error { return c.work.tape.Record(f) })
}
