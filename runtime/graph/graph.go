// Package graph records what a program gives an accelerator to do, once, and does it
// again as often as it is asked to, in one call of the driver: what is called CUDA
// graphs. It knows nothing of tensors or of any particular backend.
//
//	g := graph.New(device.CUDA())
//	if err := g.Capture(func() error { y = x.MatMul(x).ReLU(); return y.Err() }); err != nil {
//		return err
//	}
//	for range 100 {
//		if err := g.Replay(); err != nil { // computes y from what x holds now
//			return err
//		}
//	}
//
// Work is recorded while a function runs, from what it gives to one stream and to
// those that branch off and come back. Addresses are part of the work: a replay
// reads and writes the memory that the capture did. New data is copied to where the
// recorded work reads it, results are read where it writes them. What the function
// allocates comes from a pool of the graph's own, which lends nothing to others; what
// it uses besides is the program's to keep. Host code is not recorded: a replay does
// what the device was given, and nothing else. Shapes are those of the capture.
//
// What needs the device's answer cannot be recorded: an element's value on the host,
// a copy that blocks, a wait. Such a call fails while its stream is captured, with
// an error that wraps device.ErrCapturing, and the capture fails with it.
//
// Random numbers that are drawn while a graph is captured are drawn anew by every
// replay, from the same generators. Numbers that a replay is to be given anew
// otherwise are told with Refreshing.
package graph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/observe"
	"github.com/sinter-go/sinter/runtime/option"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/runtime/stream"
)

// Errors of graphs.
const (
	// ErrDefaultStream is wrapped when a capture is to begin on a default stream.
	ErrDefaultStream ir.Error = "CUDA graphs must be captured on a non-default stream." // PyTorch's words, which people search for
	// ErrCaptured is wrapped when a graph is captured that holds work.
	ErrCaptured ir.Error = "the graph was captured before; Reset frees it"
	// ErrEmpty is wrapped when a graph is replayed that was not captured.
	ErrEmpty ir.Error = "the graph holds no captured work"
	// ErrUnsupported is wrapped where work of a device cannot be recorded.
	ErrUnsupported ir.Error = "no graphs can be captured"
)

// A Graph is recorded work of one device. Any goroutine may use it, one at a time;
// replays of one graph follow one another on the device, whatever their streams.
// The collector frees a graph that nobody refers to.
type Graph struct {
	dev device.Device
	drv device.Driver
	err error // why there is no such device

	mu        sync.Mutex // held to replay and to reset
	capturing bool       // a capture of it is under way, which does not hold mu
	work      *work      // nil before the capture and after Reset
	cleanup   runtime.Cleanup
}

// work is what a capture made.
type work struct {
	device.Recording
	tape random.Tape
	pool *memory.Pool
	keep []func()      // calls that let go what the work reads and writes besides
	done *stream.Event // behind the latest launch; nil where nothing is kept

	checks []keyed // why a replay cannot be made, by whom the work needs
}

// An Option is an optional argument of Capture, of the type that all optional arguments
// have.
type Option = option.Option

// CaptureStream sets the stream that records. Without it that is the calling goroutine's
// current stream of the graph's device or, where this is the default stream, one that all
// captures share.
func CaptureStream(s stream.Stream) Option { return option.Value("CaptureStream", s) }

// CapturePool sets where memory comes from: the pool of another graph (Graph.Pool), or
// one made with memory.NewPool. Without it the graph has a pool of its own. Graphs of one
// pool use the same memory one after another: their replays must come in the order of
// their captures and not at the same time. A result is gone when another graph is replayed
// that was captured after the result was released.
func CapturePool(p *memory.Pool) Option { return option.Value("CapturePool", p) }

// New returns an empty graph of a device, an accelerator.
func New(d device.Device) *Graph {
	dev, drv, err := device.Find(d)
	if _, able := drv.(device.Capturer); err == nil && !able {
		err = fmt.Errorf("%w: %s", ErrUnsupported, dev)
	}
	return &Graph{dev: dev, drv: drv, err: err}
}

// Failed returns a graph of d that carries err, which its methods return.
func Failed(d device.Device, err error) *Graph { return &Graph{dev: d, err: err} }

// errNil is what methods of no graph answer.
var errNil = fmt.Errorf("%w: a nil *graph.Graph; New makes one", device.ErrInvalid)

// Device returns the graph's device.
func (g *Graph) Device() (d device.Device) {
	if g != nil {
		d = g.dev
	}
	return d
}

// Pool returns the pool of the captured work, for another graph to share; nil where
// nothing is captured. The graph holds it until Reset.
func (g *Graph) Pool() *memory.Pool {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.work == nil {
		return nil
	}
	return g.work.pool
}

// Nodes returns how many copies, clearings and kernels were captured.
func (g *Graph) Nodes() int {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.work == nil {
		return 0
	}
	return g.work.Nodes()
}

// Capture records what f gives to a stream, which is current while f runs, without
// doing it. What was allocated and is not released when f returns stays as it is, and
// has its elements once the graph was replayed. Options: CaptureStream, CapturePool.
//
// An error of f's, or of a call that could not be recorded, is Capture's: the graph
// is then as before, and the device usable. Where f gave the device nothing there is
// a warning in the log.
func (g *Graph) Capture(f func() error, opts ...Option) error {
	if err := g.begin(); err != nil {
		return fmt.Errorf("graph: capture: %w", err)
	}
	var w *work
	var err error
	defer func() { g.end(w) }() // also where f panics
	w, err = g.capture(f, opts)
	if err != nil {
		return fmt.Errorf("graph: capture: %w", err)
	}
	if w.Nodes() == 0 {
		slog.Warn("The CUDA Graph is empty. Nothing was given to the captured stream; is it the one that the work goes to?", "device", g.dev.String())
	}
	return nil
}

// begin marks the graph as being captured.
func (g *Graph) begin() error {
	if g == nil {
		return errNil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.idle(); err != nil {
		return err
	}
	if g.work != nil {
		return ErrCaptured
	}
	g.capturing = true
	return nil
}

// end takes the mark away and gives the graph its work, nil where there is none.
func (g *Graph) end(w *work) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.capturing = false; w != nil {
		g.work = w
		g.cleanup = runtime.AddCleanup(g, func(w *work) { go w.drop() }, w) // which may wait for the device
	}
}

// idle returns an error while the graph is being captured: what is called by the
// function that is captured cannot wait for its end. The caller holds g.mu.
func (g *Graph) idle() error {
	if g.capturing {
		return fmt.Errorf("%w: the graph itself is being captured", device.ErrCapturing)
	}
	return nil
}

func (g *Graph) capture(f func() error, opts []Option) (*work, error) {
	o := option.Read(opts)
	on, pool := option.Get(&o, "CaptureStream", stream.Stream{}), option.Get[*memory.Pool](&o, "CapturePool", nil)
	given := o.Err("CaptureStream, CapturePool")
	switch {
	case given != nil:
		return nil, given
	case g.err != nil:
		return nil, g.err
	case g.drv == nil:
		return nil, fmt.Errorf("%w: by a graph that was not made with New", ErrUnsupported)
	case f == nil:
		return nil, errors.New("there is no function to capture")
	}
	s, err := g.stream(on)
	if err != nil {
		return nil, err
	}
	if !memory.Cached(g.dev) {
		return nil, fmt.Errorf("%w: the caching of device memory is off, without which what a graph uses would be given to others", ErrUnsupported)
	}
	w := &work{pool: pool}
	if w.pool == nil {
		w.pool = memory.NewPool(g.dev, memory.PoolOptions{})
	} else if err := w.pool.Retain(); err != nil {
		return nil, err
	}
	if of := w.pool.Device(); of != g.dev {
		err = fmt.Errorf("%w: a pool of %s for a graph of %s", device.ErrMismatch, of, g.dev)
	} else {
		err = record(w, g.drv, s, f)
	}
	if err != nil {
		return nil, errors.Join(err, w.release())
	}
	return w, nil
}

// stream returns the stream to capture.
func (g *Graph) stream(s stream.Stream) (stream.Stream, error) {
	given := s != stream.Stream{}
	if !given {
		if s = stream.Current(g.dev); s.ID() == 0 {
			s = shared(g.drv, g.dev)
		}
	}
	switch {
	case s.Err() != nil:
		return s, s.Err()
	case s.Device() != g.dev:
		return s, fmt.Errorf("%w: %s cannot record a graph of %s", device.ErrMismatch, s, g.dev)
	case s.ID() == 0:
		return s, ErrDefaultStream
	}
	return s, nil
}

// Replay gives the recorded work to the calling goroutine's current stream of the
// graph's device, and returns without waiting for it, unless launches block.
func (g *Graph) Replay() error {
	if g == nil {
		return fmt.Errorf("graph: replay: %w", errNil)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.idle(); err != nil {
		return fmt.Errorf("graph: replay: %w", err)
	}
	if g.work == nil {
		if g.err != nil {
			return fmt.Errorf("graph: replay: %w", g.err)
		}
		return fmt.Errorf("graph: replay: %w", ErrEmpty)
	}
	on := stream.Current(g.dev)
	err := refuse(g.drv, on)
	if err == nil {
		err = g.work.replay(g.drv, on)
	}
	if err != nil {
		return fmt.Errorf("graph: replay: %w", err)
	}
	return nil
}

// refuse returns an error where a stream is captured, before anybody is told of a replay. The capture fails
// with it.
func refuse(drv device.Driver, on stream.Stream) error {
	c, able := drv.(device.Capturer)
	dev := on.Device().Index
	if !able || c.CaptureOf(dev, on.ID()) == 0 {
		return nil
	}
	return Of(drv, dev, on.ID()).Refuse(fmt.Errorf("%w: %s cannot be given recorded work, its work is recorded and not done", device.ErrCapturing, on))
}

// replay gives the work to a stream, if all whom it needs agree, and marks where it ends.
func (w *work) replay(drv device.Driver, on stream.Stream) error {
	if err := w.check(); err != nil {
		return err
	}
	if !w.tape.Empty() {
		w.tape.Advance()
	}
	dev := on.Device()
	err := observe.Give(observe.Work{Driver: drv, Device: dev, Stream: on.ID(), What: "graph"}, func() error { return w.Launch(on.ID()) })
	if err != nil {
		w.fail(len(w.checks), err)
		return err
	}
	for _, k := range w.checks { // whoever waits from now on
		k.Doubt().Cast(on)
	}
	return errors.Join(w.mark(on), stream.SettleIfBlocking(drv, dev, on.ID()))
}

// mark records where a replay ends that a stream has, for who frees what it reads and writes. Where the device
// cannot, it waits for the replay.
func (w *work) mark(on stream.Stream) error {
	if len(w.keep) == 0 {
		return nil
	}
	if w.done == nil {
		w.done = stream.NewEvent()
	}
	err := w.done.Record(on)
	if err != nil {
		err = errors.Join(err, on.Synchronize(context.Background()))
	}
	return err
}

// Reset frees the recorded work, after which the graph can be captured again. Replays
// under way are finished; it waits for them where they use memory of the host. Tensors
// in the graph's memory stay valid; what no tensor is in goes back to the device, or
// where graphs share a pool to the others.
func (g *Graph) Reset() error {
	if g == nil {
		return fmt.Errorf("graph: reset: %w", errNil)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.idle(); err != nil {
		return fmt.Errorf("graph: reset: %w", err)
	}
	if g.work == nil {
		return nil
	}
	g.cleanup.Stop()
	err := g.work.release()
	g.work = nil
	if err != nil {
		return fmt.Errorf("graph: reset: %w", err)
	}
	return nil
}

// release gives back all there is of the work, once.
func (w *work) release() error {
	var err error
	if w.Recording != nil {
		err = w.Destroy()
	}
	if w.done != nil {
		err = errors.Join(err, w.done.Await(context.Background()))
	}
	for _, let := range w.keep {
		let()
	}
	if w.pool != nil {
		err = errors.Join(err, w.pool.Release())
	}
	w.Recording, w.keep, w.done, w.pool = nil, nil, nil, nil
	return err
}

// drop is release for the collector.
func (w *work) drop() {
	if err := w.release(); err != nil {
		slog.Error("sinter: a graph that nobody refers to could not be freed", "error", err)
	}
}
