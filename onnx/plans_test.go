package onnx

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
)

// runs gives a model x with rows of ones, and compares y with what the eager model gives.
func runs(t *testing.T, m, eager *Model, rows int, more map[string]tensor.Tensor) {
	t.Helper()
	inputs := map[string]tensor.Tensor{"x": tensor.Ones([]int{rows, 2}).MulScalar(rows)}
	for name, v := range more {
		inputs[name] = v
	}
	got, err := m.Run(context.Background(), inputs)
	if err != nil {
		t.Error(err)
		return
	}
	want, err := eager.Run(context.Background(), inputs)
	if err != nil {
		t.Error(err)
		return
	}
	a, err := tensor.Data[float32](got["y"])
	if err != nil {
		t.Error(err)
		return
	}
	b, err := tensor.Data[float32](want["y"])
	if err != nil || !slices.Equal(a, b) || !slices.Equal(got["y"].Shape(), want["y"].Shape()) {
		t.Errorf("%d rows: got %v %v, want %v %v, %v", rows, got["y"].Shape(), a, want["y"].Shape(), b, err)
	}
}

// both loads a file with programs, of which few are kept, and without.
func both(t *testing.T, file []byte) (m, eager *Model) {
	t.Helper()
	m, err := LoadBytes(file, Plans(2))
	if err != nil {
		t.Fatal(err)
	}
	if eager, err = LoadBytes(file, Plans(0)); err != nil {
		t.Fatal(err)
	}
	return m, eager
}

// Shapes that come back have programs, of which no more are kept than is said; shape
// arithmetic is not in them.
func TestPlans(t *testing.T) {
	m, eager := both(t, model(initializer("two", 7, []int64{1}, msg{}.bytes(7, 2)),
		nodes(nodeOf("Shape", "x", "s"), nodeOf("Mul", "s two", "d"), nodeOf("ReduceSum", "x", "r"), nodeOf("Expand", "r d", "y"))))
	for range 3 {
		for rows := range 4 {
			for range 3 {
				runs(t, m, eager, rows+1, nil)
			}
		}
	}
	if m.plans.made != 2 || eager.plans.made != 0 {
		t.Errorf("%d programs are kept, and %d where none should be; want 2 and 0", m.plans.made, eager.plans.made)
	}
	if text := m.Explain(); !strings.Contains(text, "inputs x") || strings.Contains(text, "mul") {
		t.Errorf("the programs are\n%s", text)
	}
}

// Where few integers decide what is computed a program is for their values; where other
// values do there is none.
func TestPlansOfValues(t *testing.T) {
	shape := msg{}.bytes(11, msg{}.text(1, "s").bytes(2, msg{}.bytes(1, msg{}.int(1, 7)...)...)...)
	m, eager := both(t, model(shape, nodes(nodeOf("Reshape", "x s", "y"))))
	for range 4 {
		for _, s := range [][]int64{{2, 4}, {4, 2}, {8}} {
			runs(t, m, eager, 4, map[string]tensor.Tensor{"s": tensor.From(s, len(s))})
		}
	}
	if m.plans.made != 2 || !m.plans.values {
		t.Errorf("%d programs are kept, for values: %t; want 2, true", m.plans.made, m.plans.values)
	}
	count := 0
	for _, k := range m.plans.list {
		if k.plan != nil {
			count++
		}
	}
	if count != m.plans.made {
		t.Errorf("%d programs, counted as %d", count, m.plans.made)
	}
	m, eager = both(t, model(nodes(nodeOf("NonZero", "x", "z"), nodeOf("Cast", "z", "y", msg{}.text(1, "to").int(20, 2).int(3, 1)))))
	for range 4 {
		runs(t, m, eager, 3, nil)
	}
	if m.plans.made != 0 || !strings.Contains(m.Explain(), "by itself") {
		t.Errorf("%d programs are kept of a model whose results have a size that values decide", m.plans.made)
	}
}

// What goes wrong in a program is an error as in a run by itself, and many goroutines use
// the programs of one model.
func TestPlansTogether(t *testing.T) {
	m, eager := both(t, model(nodes(nodeOf("Relu", "x", "h"), nodeOf("Add", "h x", "y"))))
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 50 {
				runs(t, m, eager, 1+(g+i)%4, nil)
			}
		})
	}
	group.Wait()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Run(ctx, twoByTwo(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
	if _, err := LoadBytes(model(nodes(nodeOf("Relu", "x", "y"))), Plans(-1)); err == nil {
		t.Error("-1 programs are no error")
	}
}

// TestPlanAtOnce: a model's first run becomes a program where it is large, and others when their
// shapes come back.
func TestPlanAtOnce(t *testing.T) {
	const large = atOnce / 8 // rows of two floats
	for _, c := range []struct {
		rows []int
		want int
	}{{[]int{large}, 1}, {[]int{large - 1}, 0}, {[]int{large, large + 1}, 1}, {[]int{1, large}, 0}, {[]int{1, large, large}, 1}} {
		m, eager := both(t, model(nodes(nodeOf("Relu", "x", "h"), nodeOf("Add", "h x", "y"))))
		for _, rows := range c.rows {
			runs(t, m, eager, rows, nil)
		}
		if m.plans.made != c.want {
			t.Errorf("after runs of %d rows there are %d programs, want %d", c.rows, m.plans.made, c.want)
		}
	}
}

// TestPlanAtOnceEnds: while a large first run becomes a program its context ends it as it ends
// others, and a later run becomes one. One with a loop in it does not: each round is recorded.
func TestPlanAtOnceEnds(t *testing.T) {
	x := map[string]tensor.Tensor{"x": tensor.Ones([]int{atOnce / 8, 2})}
	m, _ := both(t, model(nodes(nodeOf("Relu", "x", "h"), nodeOf("Add", "h x", "k"), nodeOf("Mul", "k x", "y"))))
	if _, err := m.Run(&budget{context.Background(), 2}, x); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a run that ends while it is recorded: %v", err)
	}
	for range 2 {
		if _, err := m.Run(context.Background(), x); err != nil || m.plans.made != 1 {
			t.Errorf("%d programs after the next run, %v; want 1", m.plans.made, err)
		}
	}
	loop := nodeOf("Loop", "n c x", "y", body("body", "w", msg{}.bytes(11, msg{}.text(1, "i")...).bytes(11, msg{}.text(1, "k")...).bytes(11, msg{}.text(1, "v")...),
		nodes(nodeOf("Add", "v v", "w")), msg{}.bytes(12, msg{}.text(1, "k")...)))
	m, _ = both(t, model(condition(), initializer("n", 7, nil, msg{}.int(7, 3)), nodes(loop)))
	if _, err := m.Run(context.Background(), x); err != nil || m.plans.made != 0 {
		t.Errorf("%d programs after a first run with a loop, %v; want none", m.plans.made, err)
	}
}

// TestPlanTrims: when a model's first program has its weights packed, memory that nothing uses goes
// back to the system, and what the cache of the host held is such memory.
func TestPlanTrims(t *testing.T) {
	m, err := LoadBytes(model(nodes(nodeOf("Mul", "x x", "a"), nodeOf("Add", "a x", "b"), nodeOf("Mul", "b a", "y"))))
	if err != nil {
		t.Fatal(err)
	}
	for _, bytes := range []int{32 << 20, 48 << 20} { // for the cache
		block := tensor.Zeros([]int{bytes}, tensor.OfType(tensor.Uint8))
		block.Release()
	}
	x := tensor.Ones([]int{8, 2})
	defer x.Release()
	var idle [1 + packedRuns]uint64
	for i := range idle {
		out, err := m.Run(context.Background(), map[string]tensor.Tensor{"x": x})
		if err != nil {
			t.Fatal(err)
		}
		out["y"].Release()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		idle[i] = s.HeapInuse + s.HeapIdle - s.HeapReleased
	}
	if gone := int64(idle[0]) - int64(idle[packedRuns]); gone < 64<<20 {
		t.Errorf("%d bytes of the heap before there was a program, %d then", idle[0], idle[packedRuns])
	}
}
