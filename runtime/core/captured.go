package core

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/observe"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A capture is how runs of a program are given to its device in one piece, as a graph. The
// first run is given call by call: code is loaded, and libraries choose their kernels. The
// second captures the calls, which the others launch together.
//
// The graph works in memory of its own. Results that are large are written to memory that is
// the caller's, whose address the kernels are given before each run; others are copied there,
// by kernels of the graph. Arguments are read where they lie while they come at one address.
// From when they moved, kernels are given their addresses, too, or they are copied to the
// graph's memory: a way says which. Gradients that a run stores stay in the graph's memory as
// long as nobody but their leaf refers to them; where somebody does, they are his, and the graph
// is captured again with other memory, from which they are moved from then on.
type capture struct {
	off     atomic.Bool  // runs are given call by call from now on
	rest    atomic.Int64 // runs that are given so before a capture that failed is tried again
	warm    atomic.Bool  // a run was done
	device  device.Device
	driver  device.Driver
	name    string // of the function
	streams int    // that independent steps are spread over

	mu       sync.Mutex // held while a run is given to the device
	why      string     // why runs are given call by call
	ways     []way      // by buffer: how the graph comes by its memory
	unbound  bool       // nothing is bound: the device could not
	captures int        // tried
	graph    *captured
}

// mostCaptures is how often a program is captured before its runs are given call by call.
// After the n-th capture, if that failed, retryAfter << n runs are, before the next one.
const (
	mostCaptures = 8
	retryAfter   = 8
)

// A captured is a capture's graph.
type captured struct {
	graph   *graph.Graph
	at      []uint64   // by buffer: where it lies in the graph; 0 for temporaries
	static  []*Storage // by buffer: the graph's memory for what is copied and for results
	first   []*Storage // by buffer: results of the first run that are where kernels are given addresses
	outside []uint64   // by buffer: where what is copied lay when the graph was captured
	blocks  []*Storage // of temporaries
	numbers [][]float64
	tape    *random.Tape
	out     *frame        // of the run that is under way, as its caller sees it
	stored  []*Tensor     // by gradient: the handle that the latest run gave a leaf on the graph's memory
	on      stream.Stream // of the latest launch, where there was one
	ran     bool
}

// whole returns why the program's runs cannot be given to a device in one piece; "" where
// they can. It says of which device.
func (rec *Recorded) whole() string {
	c := &rec.capture
	for i := range rec.steps {
		s := &rec.steps[i]
		switch {
		case s.Action == program.Effect:
			continue
		case !s.dev.Accelerator():
			return fmt.Sprintf("step %d, %s, runs on %s", i, s.Name(), s.dev)
		case c.driver == nil:
			c.device, c.driver = s.dev, s.drv
		case c.device != s.dev:
			return fmt.Sprintf("step %d, %s, runs on %s, others on %s", i, s.Name(), s.dev, c.device)
		}
		if s.Action == program.Copy || len(s.others) > 0 {
			return fmt.Sprintf("step %d, %s, is work of two devices", i, s.Name())
		}
		for _, r := range slices.Concat(s.Out, s.In) {
			if r.Buffer < 0 {
				continue
			}
			if b := &rec.buffers[r.Buffer]; b.dev != c.device && b.Kind != program.Constant {
				return fmt.Sprintf("step %d, %s, uses a tensor on %s", i, s.Name(), b.dev)
			}
		}
	}
	if c.driver == nil {
		return "it gives a device nothing to do"
	}
	if _, able := c.driver.(device.Capturer); !able {
		return fmt.Sprintf("%s captures no graphs", c.device)
	}
	return ""
}

// capturable decides how runs are given to the device.
func (rec *Recorded) capturable(o RecordOptions) {
	c := &rec.capture
	rec.options = o
	switch c.why = rec.whole(); {
	case o.CallByCall:
		c.why = "the option CallByCall says so"
	case rec.late:
		c.why = "code for its fused operators is being made"
	}
	c.off.Store(c.why != "")
	c.streams, c.name = 1+slices.Max(append(rec.streams, 0)), o.Name
	c.ways = make([]way, len(rec.buffers))
	for _, r := range rec.results {
		if r.buffer >= 0 && rec.buffers[r.buffer].Kind == program.Result {
			c.ways[r.buffer] = rec.moves(r.buffer)
		}
	}
	if rec.exchanges == nil {
		return
	}
	// Devices that wait for one another's replays capture at the same runs, so that no rank captures again because
	// its operand alone is elsewhere.
	for i := range rec.buffers {
		if rec.buffers[i].Kind == program.Argument && !rec.written[i] {
			c.ways[i] = carried
		}
	}
}

// stop has runs be given call by call from now on, for a reason. The caller holds c.mu.
func (c *capture) stop(why string) {
	c.off.Store(true)
	c.why = why
	c.drop()
}

// drop lets go of the graph. The caller holds c.mu.
func (c *capture) drop() {
	k := c.graph
	c.graph = nil
	if k == nil {
		return
	}
	for _, s := range slices.Concat(k.static, k.first, k.blocks) {
		if s != nil {
			_ = s.unref()
		}
	}
	_ = k.graph.Reset() // what a driver reports of it is the error of the device's next allocation
}

// Graph returns how many copies, clearings and kernels the graph has that runs are given
// as, and why they are given call by call where they are.
func (rec *Recorded) Graph() (nodes int, callByCall string) {
	c := &rec.capture
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.graph != nil {
		nodes = c.graph.graph.Nodes()
	}
	return nodes, c.why
}

// Close gives back what the program holds between runs. Those that come later are given call
// by call.
func (rec *Recorded) Close() {
	c := &rec.capture
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop("it was closed")
}

// launch does a run in one piece, and reports whether it did: where not, the run is to be
// given call by call. So are those that somebody observes, who wants to see the calls.
func (rec *Recorded) launch(args []*Tensor, tape *random.Tape) (outs []*Tensor, drawn *random.Tape, done bool, err error) {
	c := &rec.capture
	if c.off.Load() || !c.warm.Load() || c.rest.Load() > 0 && c.rest.Add(-1) >= 0 || observe.Now() != nil || graph.Of(c.driver, c.device.Index, current(c.device)) != nil {
		return nil, nil, false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off.Load() {
		return nil, nil, false, nil
	}
	if err := rec.apart(args); err != nil {
		return nil, nil, true, err
	}
	if c.graph != nil && !rec.stays(args) {
		c.drop()
	}
	if c.graph == nil {
		if c.captures == mostCaptures {
			c.stop(fmt.Sprintf("its memory was replaced again after %d captures", mostCaptures))
			return nil, nil, false, nil
		}
		done, err := stream.Quietly(c.device, func() (err error) { c.graph, err = rec.take(args); return err })
		if !done {
			return nil, nil, false, nil // another run captures it
		}
		c.captures++
		if err != nil {
			c.graph = nil // it was dropped
			switch {
			case errors.Is(err, device.ErrLost):
				c.stop(err.Error())
				rec.abort(&frame{}, err)
				return nil, nil, true, err
			case c.captures == mostCaptures:
				c.stop(err.Error())
				return nil, nil, false, nil
			}
			n := int64(retryAfter) << c.captures
			c.rest.Store(n)
			c.why = fmt.Sprintf("%v; it is tried again after %d runs", err, n)
			return nil, nil, false, nil
		}
		c.why = ""
	}
	if outs, err = rec.replay(c.graph, args, tape); errors.Is(err, device.ErrOtherKernels) {
		rec.unbind()
		return nil, nil, false, nil
	} else if err != nil {
		rec.abort(c.graph.out, err)
	}
	return outs, c.graph.tape, true, err
}

// stays reports whether what the graph uses is where it was, and what it writes is nobody
// else's. What is not is copied from now on, where it can be.
func (rec *Recorded) stays(args []*Tensor) bool {
	c, k := &rec.capture, rec.capture.graph
	same := true
	for _, i := range rec.outer {
		b, at := &rec.buffers[i], k.at[i]
		switch {
		case b.Kind == program.Result && c.ways[i] == inPlace:
			if k.static[i].shared.Load() && k.static[i].refs.Load() > 1+rec.leaves(i, args) {
				c.ways[i], same = rec.moves(i), false
			}
		case b.Kind != program.Result && at != 0 && c.ways[i] != carried:
			var p place
			rec.external(&p, i, args)
			if at := k.outside[i]; p.addr != at && (c.ways[i] == inPlace || !alike(p.addr, at)) {
				c.ways[i], same = rec.movesFrom(i, p.addr, at), false
			}
		}
	}
	return same
}

// leaves returns how many leaves have the memory of buffer i's latest result as gradient.
func (rec *Recorded) leaves(i int, args []*Tensor) (n int64) {
	for k := range rec.grads {
		g := &rec.grads[k]
		if g.after == nil || g.after.buffer != i {
			continue
		}
		s := g.of(args)
		s.mu.Lock()
		if s.grad != nil && s.grad.storage == rec.capture.graph.static[i] {
			n++
		}
		s.mu.Unlock()
	}
	return n
}

// A captureStreams is the streams that captures of a device are made on, one at a time.
type captureStreams struct {
	mu  sync.Mutex
	drv device.Driver
	dev device.Device
	all []stream.Stream // the first is the one that captures begin on
}

// take returns so many of the streams. The caller holds s.mu.
func (s *captureStreams) take(n int) ([]stream.Stream, error) {
	for len(s.all) < n {
		id, err := s.drv.NewStream(s.dev.Index, 0)
		if err != nil {
			return nil, err
		}
		s.all = append(s.all, stream.External(s.dev, id))
	}
	return s.all[:n], nil
}

// capturing are the streams of all devices.
var capturing struct {
	mu  sync.Mutex
	all map[captureKey]*captureStreams
}

type captureKey struct {
	drv device.Driver
	dev device.Device
}

// captureOn returns the streams for captures of a device.
func captureOn(drv device.Driver, dev device.Device) *captureStreams {
	capturing.mu.Lock()
	defer capturing.mu.Unlock()
	key := captureKey{drv, dev}
	if s := capturing.all[key]; s != nil {
		return s
	}
	if capturing.all == nil {
		capturing.all = map[captureKey]*captureStreams{}
	}
	s := &captureStreams{drv: drv, dev: dev}
	capturing.all[key] = s
	return s
}

// take captures the program. Nothing is done, and nothing changes.
func (rec *Recorded) take(args []*Tensor) (*captured, error) {
	c := &rec.capture
	on := captureOn(c.driver, c.device)
	on.mu.Lock()
	defer on.mu.Unlock()
	spread := rec.schedule()
	streams, err := on.take(c.streams)
	if err != nil {
		return nil, err
	}
	k := &captured{
		graph: graph.New(c.device), at: make([]uint64, len(rec.buffers)), static: make([]*Storage, len(rec.buffers)),
		first: make([]*Storage, len(rec.buffers)), outside: make([]uint64, len(rec.buffers)),
		numbers: make([][]float64, len(rec.steps)), out: &frame{places: make([]place, len(rec.buffers))},
	}
	k.out.fresh, k.out.captured = make([]*Storage, len(rec.buffers)), k
	k.stored = make([]*Tensor, len(rec.grads))
	pool := memory.NewPool(c.device, memory.PoolOptions{Name: c.name})
	f := rec.newFrame()
	f.captured = k
	if err = rec.firstResults(k); err == nil {
		err = streams[0].Do(func() error { // while memory that nobody uses can still be given back
			return pool.Do(func() error { return rec.settle(k, f, args) })
		})
	}
	if err == nil {
		err = k.graph.Capture(func() error { return rec.given(k, f, spread, streams) },
			graph.CaptureStream(streams[0]), graph.CapturePool(pool))
	}
	if err != nil {
		(&capture{graph: k}).drop()
	}
	_ = pool.Release() // the graph holds it, too; where there is none, what a driver reports is the error of the next allocation
	return k, err
}

// given gives the streams of a capture what a run does.
func (rec *Recorded) given(k *captured, f *frame, spread *schedule, streams []stream.Stream) error {
	if err := rec.copies(k, streams[0], false); err != nil {
		return err
	}
	if err := spread.run(streams, func(i int) error { return rec.taken(k, f, i) }); err != nil {
		return err
	}
	return rec.copies(k, streams[0], true)
}

// settle finds the memory of every buffer of a graph.
func (rec *Recorded) settle(k *captured, f *frame, args []*Tensor) error {
	err := rec.allocate(f)
	for i, b := range f.blocks {
		k.blocks = append(k.blocks, own(b, rec.blocks[i].drv, b.Bytes))
	}
	f.blocks = nil
	if err != nil {
		return err
	}
	for i := range rec.buffers {
		b, p := &rec.buffers[i], &f.places[i]
		if b.Kind == program.Temporary {
			continue
		}
		w := rec.capture.ways[i]
		if b.Kind != program.Result && (w == inside || w == inPlace || w == bound) {
			rec.external(p, i, args)
			k.outside[i] = p.addr
		} else if s := k.first[i]; s != nil {
			p.at(s)
			k.outside[i] = p.addr
		}
		if w == carried || w == inside || b.Kind == program.Result && w == inPlace {
			if k.static[i], err = newStorage(b.dev, b.drv, current(b.dev), b.Bytes); err != nil {
				return err
			}
			*p = place{}
			p.at(k.static[i])
		}
		k.at[i] = p.addr
	}
	return nil
}

// taken gives the device step i, which is recorded. Numbers that differ from run to run are
// those that the run that is under way has found.
func (rec *Recorded) taken(k *captured, f *frame, i int) (err error) {
	s := &rec.steps[i]
	drawn := s.Action == program.Launch && draws(&s.Call)
	binds := rec.binds(i) // as long as the graph is there: it is dropped where ways become others
	switch {
	case s.Action == program.Effect:
		return nil
	case s.numbers == nil && !drawn && !binds:
		return rec.do(f, i)
	}
	var place int64
	if drawn {
		place = s.Call.Attrs[s.Call.Offset].Int
	}
	// The graph keeps what renews its calls, which may not keep the graph.
	weakly, of, numbered, outs, ins := weak.Make(k), weak.Make(rec), s.numbers != nil, s.Out, s.In
	renew := func(c *ir.Call) (changed bool, err error) {
		k, rec := weakly.Value(), of.Value()
		if k == nil || rec == nil {
			return false, fmt.Errorf("%s: internal error: the graph of a program that is gone", c.Op.Name)
		}
		if drawn {
			seed, offset, ok := k.tape.Find(place)
			if !ok {
				return false, fmt.Errorf("%s: internal error: a random number that is not on the tape", c.Op.Name)
			}
			c.Set(c.Seed, ir.IntScalar(seed))
			c.Set(c.Offset, ir.IntScalar(offset))
			changed = true
		}
		if binds {
			changed = rec.rebind(k, c.Out, outs) || changed
			changed = rec.rebind(k, c.In, ins) || changed
		}
		if numbered {
			other, err := c.SetFloats(func() ([]float64, error) { return k.numbers[i], nil })
			return changed || other, err
		}
		return changed, nil
	}
	return graph.Renewing(renew, func() error { return rec.do(f, i) })
}

// replay launches the graph on the calling goroutine's current stream, and returns the
// results.
func (rec *Recorded) replay(k *captured, args []*Tensor, tape *random.Tape) ([]*Tensor, error) {
	c := &rec.capture
	on := stream.External(c.device, current(c.device))
	if k.ran && on != k.on {
		if err := on.WaitStream(k.on); err != nil {
			return nil, err
		}
	}
	defer k.clear()
	if err := rec.present(k, args); err != nil {
		return nil, err
	}
	if err := rec.host(k, tape); err != nil {
		k.out.takeBack(tape == nil)
		return nil, err
	}
	if err := rec.launched(k, on); err != nil {
		k.out.takeBack(tape == nil)
		return nil, err
	}
	return rec.effects(k.out, args), nil
}

// launched gives the device the graph, and the copies before and behind it.
func (rec *Recorded) launched(k *captured, on stream.Stream) error {
	c := &rec.capture
	k.on, k.ran = on, true
	for _, i := range rec.outer {
		if b := &rec.buffers[i]; c.ways[i] == carried && b.Kind != program.Result {
			if err := rec.carry(on, k.at[i], k.out.places[i].addr, b.Bytes); err != nil {
				return err
			}
		}
	}
	if err := k.graph.Replay(); err != nil {
		return err
	}
	for _, i := range rec.outer {
		if s := k.out.fresh[i]; s != nil && c.ways[i] == carried {
			if err := rec.carry(on, s.block.Addr, k.at[i], s.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// present finds the memory that the caller of a run sees.
func (rec *Recorded) present(k *captured, args []*Tensor) error {
	for _, i := range rec.outer {
		b, p := &rec.buffers[i], &k.out.places[i]
		switch {
		case b.Kind != program.Result:
			rec.external(p, i, args)
		case rec.capture.ways[i] != inPlace:
			s, err := rec.fresh(k, i)
			if err != nil {
				return err
			}
			k.out.fresh[i] = s
			p.at(s)
		default:
			k.static[i].version.Store(0)
			p.at(k.static[i])
		}
	}
	return nil
}

// host does what a run does on the host, in the order of the steps, and finds the numbers
// that differ from run to run.
func (rec *Recorded) host(k *captured, tape *random.Tape) (err error) {
	for _, i := range rec.hosted {
		s := &rec.steps[i]
		if s.effect != nil {
			k.out.undo = append(k.out.undo, s.effect())
		}
		if s.numbers != nil {
			if k.numbers[i], err = s.numbers(); err != nil {
				return fmt.Errorf("%s: %w", s.Name(), err)
			}
		}
	}
	k.tape = rec.drawn(tape)
	k.out.tape = k.tape
	return nil
}

// carry copies n bytes of the device's memory.
func (rec *Recorded) carry(on stream.Stream, dst, src uint64, n int64) error {
	c := &rec.capture
	if dst == src || n == 0 {
		return nil
	}
	return copied("copy", c.driver, c.device, on.ID(), n, func() error { return c.driver.CopyOnDevice(c.device.Index, on.ID(), dst, src, n) })
}

// clear lets go of what a run used.
func (k *captured) clear() {
	for i, s := range k.out.fresh {
		if s != nil {
			_ = s.unref()
			k.out.fresh[i] = nil
		}
	}
	clear(k.out.undo)
	k.out.undo, k.out.tape = k.out.undo[:0], nil
	clear(k.out.places)
}
