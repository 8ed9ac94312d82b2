package graph_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/option"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

var (
	ctx  = context.Background()
	sim0 = device.Sim(0)
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, err, is error, text string) {
	t.Helper()
	if err == nil || is != nil && !errors.Is(err, is) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %v with %q", err, is, text)
	}
}

// bed is two asynchronous devices, and numbers in memory of the first.
type bed struct {
	*sim.Driver
	t testing.TB
}

func install(t testing.TB) bed {
	d := sim.New(sim.Config{Devices: 2, Memory: 64 << 20, Async: true})
	device.Install(d)
	return bed{d, t}
}

// block allocates for the current stream.
func (b bed) block() memory.Block {
	b.t.Helper()
	m, err := memory.Alloc(sim0, b.Driver, stream.CurrentID(sim0), 4)
	must(b.t, err)
	return m
}

func (b bed) put(m memory.Block, v float32) {
	b.t.Helper()
	must(b.t, b.CopyFromHost(0, 0, m.Addr, unsafe.Pointer(&v), 4))
	must(b.t, b.SyncStream(ctx, 0, 0))
}

func (b bed) get(m memory.Block) (v float32) {
	b.t.Helper()
	must(b.t, b.SyncDevice(ctx, 0))
	must(b.t, b.CopyToHost(0, 0, unsafe.Pointer(&v), m.Addr, 4))
	must(b.t, b.SyncStream(ctx, 0, 0))
	return v
}

var (
	addOp = ir.Op{Name: "add", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}, {Name: "y"}}, Out: []ir.Result{{}}, Bodies: []ir.Body{{Exprs: []string{"x + y"}}}}
	// drawOp gives the seed and the offset it is given, as 1000*seed + offset.
	drawOp = ir.Op{Name: "draw", Kind: ir.Elementwise, Out: []ir.Result{{}}, Bodies: []ir.Body{{Exprs: []string{"seed*1000 + offset"}}},
		Attrs: []ir.Attr{{Name: "seed", Kind: ir.AttrInt, Draws: ir.DrawsSeed}, {Name: "offset", Kind: ir.AttrInt, Draws: ir.DrawsOffset}}}
	scaleOp = ir.Op{Name: "scale", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{}}, Bodies: []ir.Body{{Exprs: []string{"x*by"}}},
		Attrs: []ir.Attr{{Name: "by", Kind: ir.AttrFloat}}}
)

// call launches an operator on one number, on the current stream.
func (b bed) call(op *ir.Op, attrs []ir.Value, out memory.Block, in ...memory.Block) error {
	view := func(m memory.Block) ir.View {
		return ir.View{Addr: m.Addr, DType: ir.Float32, Shape: []int{}, Strides: []int{}}
	}
	c := &ir.Call{Kernel: op.Kernel(0, ir.Float32), Space: []int{}, Out: []ir.View{view(out)}, Attrs: attrs}
	for _, m := range in {
		c.In = append(c.In, view(m))
	}
	for i, a := range attrs {
		if op.Attrs[i].Kind == ir.AttrInt {
			c.Scalars = append(c.Scalars, ir.IntScalar(a.Int))
		} else {
			c.Scalars = append(c.Scalars, a.Scalar)
		}
	}
	return b.Launch(0, stream.CurrentID(sim0), c)
}

func TestGraph(t *testing.T) {
	b := install(t)
	x, y := b.block(), b.block()
	g := graph.New(device.Sim())
	wantError(t, g.Replay(), graph.ErrEmpty, "replay")
	var inside *graph.Capture
	must(t, g.Capture(func() error {
		inside = graph.Current(sim0)
		return b.call(&addOp, nil, y, x, x)
	}))
	if inside == nil || graph.Current(sim0) != nil || g.Nodes() != 1 || g.Device() != sim0 {
		t.Errorf("capture %v within, %v after, %d nodes on %s", inside, graph.Current(sim0), g.Nodes(), g.Device())
	}
	wantError(t, g.Capture(func() error { t.Error("f was called"); return nil }), graph.ErrCaptured, "Reset")
	for _, v := range []float32{3, 4} {
		b.put(x, v)
		must(t, g.Replay())
		if got := b.get(y); got != 2*v {
			t.Errorf("%g + %g = %g", v, v, got)
		}
	}
	must(t, g.Reset())
	must(t, g.Reset())
	wantError(t, g.Replay(), graph.ErrEmpty, "")
	if g.Pool() != nil || g.Nodes() != 0 || b.Counters(0).LiveGraphs != 0 {
		t.Error("something is left after Reset")
	}
	must(t, g.Capture(func() error { return b.call(&addOp, nil, y, y, x) }))
	must(t, g.Replay())
	if got := b.get(y); got != 12 {
		t.Errorf("captured again, it gives %g", got)
	}
	must(t, g.Reset())
}

// TestMemory: what a capture allocates is lent to nobody else, and goes back to the
// device with the graph.
func TestMemory(t *testing.T) {
	b := install(t)
	g := graph.New(sim0)
	var kept memory.Block
	must(t, g.Capture(func() error {
		gone := b.block()
		kept = b.block()
		return errors.Join(b.call(&scaleOp, []ir.Value{ir.FloatValue(2)}, kept, gone), gone.Free())
	}))
	if other := b.block(); other.Addr>>20 == kept.Addr>>20 {
		t.Error("a block of the graph's memory was given to others")
	}
	must(t, memory.EmptyCache(sim0))
	must(t, g.Replay()) // reads memory that nobody holds
	must(t, stream.Synchronize(ctx, sim0))
	if got := memory.Reserved(sim0); got != 4<<20 {
		t.Errorf("%d bytes reserved", got)
	}
	must(t, g.Reset())
	b.put(kept, 7)
	if got := b.get(kept); got != 7 {
		t.Errorf("after Reset the result holds %g", got)
	}
	must(t, kept.Free())
	must(t, memory.EmptyCache(sim0))
	if got := memory.Reserved(sim0); got != 2<<20 {
		t.Errorf("%d bytes reserved after the graph and its result", got)
	}
}

func TestPools(t *testing.T) {
	b := install(t)
	work := func() error {
		m := b.block()
		return errors.Join(b.call(&drawOp, []ir.Value{{}, {}}, m), m.Free())
	}
	first, second := graph.New(sim0), graph.New(sim0)
	must(t, first.Capture(work))
	must(t, second.Capture(work, graph.CapturePool(first.Pool())))
	if first.Pool() != second.Pool() || memory.Reserved(sim0) != 2<<20 {
		t.Errorf("%d bytes for two graphs of one pool", memory.Reserved(sim0))
	}
	pool := first.Pool()
	must(t, first.Reset())
	must(t, second.Replay())
	must(t, second.Reset())
	wantError(t, first.Capture(work, graph.CapturePool(pool)), memory.ErrPoolReleased, "")
	wantError(t, first.Capture(work, graph.CapturePool(memory.NewPool(device.Sim(1), memory.PoolOptions{}))), device.ErrMismatch, "pool of sim:1")
}

// TestInsideItself: what the captured function asks of its own graph is refused, and
// the capture goes on.
func TestInsideItself(t *testing.T) {
	b := install(t)
	x := b.block()
	g := graph.New(sim0)
	must(t, g.Capture(func() error {
		wantError(t, g.Replay(), device.ErrCapturing, "graph: replay: ")
		wantError(t, g.Reset(), device.ErrCapturing, "graph: reset: ")
		wantError(t, g.Capture(func() error { return nil }), device.ErrCapturing, "graph: capture: ")
		if g.Pool() != nil || g.Nodes() != 0 {
			t.Errorf("a graph that is being captured has pool %v and %d nodes", g.Pool(), g.Nodes())
		}
		return b.call(&drawOp, []ir.Value{ir.IntValue(5), ir.IntValue(0)}, x)
	}))
	must(t, g.Replay())
	if got := b.get(x); got != 5000 {
		t.Errorf("x has %v, want 5000", got)
	}
}

// TestRandom: every replay draws what the operators would have drawn in its place.
func TestRandom(t *testing.T) {
	b := install(t)
	x, y := b.block(), b.block()
	draw := func(to memory.Block) error {
		seed, offset := random.Next()
		return b.call(&drawOp, []ir.Value{ir.IntValue(seed), ir.IntValue(offset)}, to)
	}
	own := random.New(7)
	random.Seed(3)
	must(t, draw(x)) // 3000
	g := graph.New(sim0)
	must(t, g.Capture(func() (err error) {
		random.With(own, func() error { err = draw(y); return nil })
		return errors.Join(err, draw(x), draw(x))
	}))
	check := func(wantX, wantY float32) {
		t.Helper()
		if diff := cmp.Diff([]float32{wantX, wantY}, []float32{b.get(x), b.get(y)}); diff != "" {
			t.Error(diff)
		}
	}
	if got := b.get(x); got != 3000 {
		t.Errorf("after the capture alone x has %v, want 3000", got)
	}
	must(t, g.Replay())
	check(3002, 7000)
	must(t, draw(x))
	check(3003, 7000)
	must(t, g.Replay())
	check(3005, 7001)
	random.Seed(8)
	must(t, g.Replay())
	check(8001, 7002)
}

func TestRefreshing(t *testing.T) {
	b := install(t)
	x := b.block()
	g, n := graph.New(sim0), 1.0
	var failed error
	numbers := func() ([]float64, error) { n++; return []float64{n}, failed }
	must(t, g.Capture(func() error {
		return graph.Refreshing(numbers, func() error { return b.call(&scaleOp, []ir.Value{ir.FloatValue(1)}, x, x) })
	}))
	b.put(x, 1)
	must(t, g.Replay())
	must(t, g.Replay())
	if got := b.get(x); got != 6 {
		t.Errorf("1*2*3 = %g", got)
	}
	failed = errors.New("no number")
	wantError(t, g.Replay(), failed, "replay")
	must(t, g.Reset())
	two := func() ([]float64, error) { return []float64{1, 2}, nil }
	must(t, g.Capture(func() error {
		return graph.Refreshing(two, func() error { return b.call(&scaleOp, []ir.Value{ir.FloatValue(1)}, x, x) })
	}))
	wantError(t, g.Replay(), nil, "scale: 2 numbers, it has fewer")
}

// TestFailures: an error in a capture leaves nothing behind.
func TestFailures(t *testing.T) {
	b := install(t)
	x, own := b.block(), errors.New("own")
	side := stream.New(sim0, 0)
	for _, c := range []struct {
		name string
		o    []graph.Option
		f    func() error
		is   error
		text string
	}{
		{"error", nil, func() error { return own }, own, "graph: capture: own"},
		{"waiting", nil, func() error { return stream.Current(sim0).Synchronize(ctx) }, device.ErrCapturing, "waited for"},
		{"waiting in vain", nil, func() error { _ = stream.Synchronize(ctx, sim0); return nil }, device.ErrCapturing, "cannot be waited for"},
		{"refused", nil, func() error { _ = graph.Current(sim0).Refuse(own); return nil }, own, "own"},
		{"an option of something else", []graph.Option{option.Flag("Retain", nil)}, nil, nil, "graph: capture: no option Retain here; want CaptureStream or CapturePool"},
		{"default stream", []graph.Option{graph.CaptureStream(stream.Default(sim0))}, nil, graph.ErrDefaultStream, "CUDA graphs must be captured on a non-default stream."},
		{"another device's stream", []graph.Option{graph.CaptureStream(stream.New(device.Sim(1), 0))}, nil, device.ErrMismatch, "cannot record a graph of sim:0"},
		{"captured stream", []graph.Option{graph.CaptureStream(side)}, func() error {
			return graph.New(sim0).Capture(func() error { return nil }, graph.CaptureStream(side))
		}, device.ErrCapturing, "captured already"},
	} {
		g := graph.New(sim0)
		kept := 0
		wantError(t, g.Capture(func() error {
			graph.Current(sim0).Keep(func() { kept++ })
			m := b.block()
			return errors.Join(b.call(&addOp, nil, m, x, x), m.Free(), c.f())
		}, c.o...), c.is, c.text)
		if kept > 1 || c.f != nil && kept == 0 {
			t.Errorf("%s: what the capture kept was let go %d times", c.name, kept)
		}
		if graph.Current(sim0) != nil || g.Nodes() != 0 || b.Counters(0).LiveGraphs != 0 {
			t.Errorf("%s: something is left", c.name)
		}
		must(t, stream.Synchronize(ctx, sim0))
	}
	func() {
		defer func() {
			if recover() != "out" {
				t.Error("no panic")
			}
		}()
		_ = graph.New(sim0).Capture(func() error { panic("out") })
	}()
	must(t, stream.Synchronize(ctx, sim0))
	for _, g := range []*graph.Graph{graph.New(device.Sim(9)), graph.Failed(sim0, device.ErrUnavailable)} {
		wantError(t, g.Capture(nil), device.ErrUnavailable, "graph: capture")
		wantError(t, g.Replay(), device.ErrUnavailable, "graph: replay")
	}
	wantError(t, graph.New(device.CPU).Capture(nil), nil, "")
	memory.SetCaching(false)
	wantError(t, graph.New(sim0).Capture(func() error { return nil }), graph.ErrUnsupported, "caching of device memory is off")
	memory.SetCaching(true)
	must(t, memory.EmptyCache(sim0))
	if got := memory.Reserved(sim0); got != 2<<20 {
		t.Errorf("%d bytes reserved after failed captures", got)
	}
}

// TestMisuse uses graphs that were not made, and a capture that is over.
func TestMisuse(t *testing.T) {
	b := install(t)
	x := b.block()
	wantError(t, new(graph.Graph).Capture(func() error { return nil }), graph.ErrUnsupported, "not made with New")
	wantError(t, graph.New(sim0).Capture(nil), nil, "no function to capture")
	var late *graph.Capture
	g := graph.New(sim0)
	must(t, g.Capture(func() error { late = graph.Current(sim0); return b.call(&addOp, nil, x, x, x) }))
	let := 0
	if late.Keep(func() { let++ }); let != 1 {
		t.Error("what is kept after the capture is never let go")
	}
	must(t, g.Reset())
}

// logged returns what f logs.
func logged(f func()) string {
	var b bytes.Buffer
	old := slog.Default()
	defer slog.SetDefault(old)
	slog.SetDefault(slog.New(slog.NewTextHandler(&b, nil)))
	f()
	return b.String()
}

func TestEmpty(t *testing.T) {
	b := install(t)
	x, g := b.block(), graph.New(sim0)
	text := logged(func() { must(t, g.Capture(func() error { return nil })) })
	if !strings.Contains(text, "The CUDA Graph is empty") {
		t.Errorf("logged %q", text)
	}
	must(t, g.Replay())
	must(t, g.Reset())
	if text := logged(func() {
		must(t, g.Capture(func() error { return b.call(&addOp, nil, x, x, x) }))
	}); text != "" {
		t.Errorf("logged %q", text)
	}
}

// TestKept: what the work uses of the host is let go when the latest replay is done.
func TestKept(t *testing.T) {
	b := install(t)
	x, g, side := b.block(), graph.New(sim0), stream.New(sim0, 0)
	let := 0
	var released atomic.Bool // before that the second replay cannot end
	must(t, g.Capture(func() error {
		graph.Current(sim0).Keep(func() {
			let++
			if !released.Load() {
				t.Error("let go while a replay is under way")
			}
		})
		return b.call(&addOp, nil, x, x, x)
	}))
	must(t, g.Replay())
	release, err := b.Hold(0, side.ID())
	must(t, err)
	must(t, side.Do(func() error { must(t, g.Replay()); return nil }))
	time.AfterFunc(5*time.Millisecond, func() {
		released.Store(true)
		release()
	})
	must(t, g.Reset())
	if let != 1 {
		t.Errorf("let go %d times", let)
	}
}

// TestCollected drops a graph that was captured.
func TestCollected(t *testing.T) {
	b := install(t)
	x := b.block()
	let := make(chan bool, 1)
	func() {
		g := graph.New(sim0)
		must(t, g.Capture(func() error {
			graph.Current(sim0).Keep(func() { let <- true })
			return b.call(&addOp, nil, x, x, x)
		}))
	}()
	if !patience.Until(t, func() bool { runtime.GC(); return len(let) > 0 }) {
		t.Error("the graph was not freed")
	}
	if n := b.Counters(0).LiveGraphs; n != 0 {
		t.Errorf("%d recordings live", n)
	}
}

// BenchmarkReplay is the cost of a replay of one kernel, most of which is the simulated
// device.
func BenchmarkReplay(b *testing.B) {
	d := install(b)
	x, g := d.block(), graph.New(sim0)
	must(b, g.Capture(func() error { return d.call(&addOp, nil, x, x, x) }))
	b.ReportAllocs()
	for b.Loop() {
		must(b, g.Replay())
	}
	must(b, stream.Synchronize(ctx, sim0))
}
