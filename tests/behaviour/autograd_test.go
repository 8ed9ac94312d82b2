package behaviour_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

func TestAccumulation(t *testing.T) {
	w := leafOf([]float64{1, 2})
	if _, has := w.Grad(); has {
		t.Error("a leaf has a gradient before any backward pass")
	}
	for i := 1; i <= 3; i++ {
		must(t, w.Square().Sum().Backward())
		wantGradient(t, fmt.Sprintf("w after %d passes", i), w, float64(2*i), float64(4*i))
	}
	must(t, w.ZeroGrad())
	if _, has := w.Grad(); has {
		t.Error("a gradient is left after ZeroGrad")
	}
	must(t, w.SetGrad(tensor.From([]float64{10, 20})))
	must(t, w.Mul(w).Add(w).Sum().Backward()) // three paths to w
	wantGradient(t, "w used three times", w, 13, 25)

	g, _ := w.Grad()
	held := g.Clone()
	must(t, w.Sum().Backward())
	wantValues(t, "a gradient that a program holds", held, 13, 25)

	must(t, w.ZeroGrad())
	must(t, w.SetRequireGrad(false))
	if w.MulScalar(2).RequiresGrad() {
		t.Error("gradients flow to a tensor that stopped requiring them")
	}
}

func TestBroadcastGradients(t *testing.T) {
	row, col := leafOf([]float64{1, 2, 3}, 1, 3), leafOf([]float64{4, 5}, 2, 1)
	must(t, row.Mul(col).Sum().Backward())
	wantGradient(t, "the row", row, 9, 9, 9)
	wantGradient(t, "the column", col, 6, 6)

	half := tensor.From([]float32{1, 2}).ToType(tensor.Float16).RequireGrad()
	must(t, half.ToType(tensor.Float32).Mul(tensor.From([]float32{3, 4})).Sum().Backward())
	if g, _ := half.Grad(); g.DType() != tensor.Float16 {
		t.Errorf("the gradient of a float16 leaf is %s", g.DType())
	}
	wantGradient(t, "the half leaf", half, 3, 4)
}

func TestNoGrad(t *testing.T) {
	w := leafOf([]float64{1, 2})
	elsewhere := func() (on bool) {
		done := make(chan struct{})
		go func() { on = tensor.GradEnabled(); close(done) }()
		<-done
		return on
	}
	tensor.NoGrad(func() error {
		if tensor.GradEnabled() || w.Exp().RequiresGrad() {
			t.Error("operators are recorded inside NoGrad")
		}
		if !elsewhere() {
			t.Error("a goroutine started inside NoGrad is not recorded")
		}
		tensor.EnableGrad(func() error {
			if !w.Exp().RequiresGrad() {
				t.Error("operators are not recorded inside EnableGrad")
			}
			return nil
		})
		if tensor.GradEnabled() {
			t.Error("EnableGrad outlives its function")
		}
		must(t, w.AddScalarInPlace(1)) // a leaf may be changed here
		return nil
	})
	wantValues(t, "the leaf", w, 2, 3)
	func() {
		defer func() { _ = recover() }()
		tensor.NoGrad(func() error { panic("out") })
	}()
	if !tensor.GradEnabled() {
		t.Error("recording stays off after a panic inside NoGrad")
	}
}

func TestHooks(t *testing.T) {
	x := leafOf([]float64{1, 2})
	y := x.MulScalar(3)
	var seen []string
	note := func(name string) func(T) T {
		return func(g T) T {
			seen = append(seen, fmt.Sprint(name, values(t, g)))
			return T{}
		}
	}
	_, err := x.RegisterHook(note("x"))
	must(t, err)
	remove, err := y.RegisterHook(func(g T) T { return g.MulScalar(10) })
	must(t, err)
	_, err = y.RegisterHook(note("y"))
	must(t, err)

	z := y.Add(y).Sum() // two paths: the hooks see their sum
	must(t, z.Backward(tensor.Retain()))
	if diff := cmp.Diff([]string{"y[20 20]", "x[60 60]"}, seen); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	wantGradient(t, "x", x, 60, 60)

	remove()
	must(t, x.ZeroGrad())
	must(t, z.Backward())
	wantGradient(t, "x without the hook", x, 6, 6)
}

// TestLeafHooks: a leaf's hook runs when its last contribution has arrived, while the
// pass goes on, and sees the whole gradient; a pass that fails later stores none.
func TestLeafHooks(t *testing.T) {
	first, last, unused := leafOf([]float64{1, 2}), leafOf([]float64{3, 4}), leafOf([]float64{5, 6})
	h := first.MulScalar(2)
	loss := h.Mul(last).Add(h.MulScalar(3)).Add(last).Sum()
	var seen []string
	note := func(name string, x T) {
		_, err := x.RegisterHook(func(g T) T {
			seen = append(seen, fmt.Sprint(name, values(t, g)))
			return T{}
		})
		must(t, err)
	}
	for name, x := range map[string]T{"first": first, "last": last, "unused": unused, "h": h} {
		note(name, x)
	}
	must(t, loss.Backward(tensor.Retain()))
	want := []string{"last[3 5]", "h[6 7]", "first[12 14]"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	wantGradient(t, "last", last, 3, 5)

	must(t, last.ZeroGrad())
	must(t, first.ZeroGrad())
	seen = nil
	remove, err := h.RegisterHook(func(T) T { return leafOf([]float64{1}) })
	must(t, err)
	if err := loss.Backward(tensor.Retain()); err == nil {
		t.Error("a hook's result of another shape: no error")
	}
	if g, ok := last.Grad(); ok || len(seen) == 0 || seen[0] != want[0] {
		t.Errorf("hooks %v ran before the pass failed, and %v was stored", seen, g)
	}
	remove()

	seen = nil
	grads, err := tensor.Gradients([]T{loss}, []T{last, h})
	must(t, err)
	if diff := cmp.Diff(want[:2], seen); diff != "" || len(grads) != 2 {
		t.Errorf("hooks of gradients that were asked for (-want +got):\n%s", diff)
	}
}

func TestRetain(t *testing.T) {
	x := leafOf([]float64{1, 2})
	y := x.Square()
	must(t, y.RetainGrad())
	if y.IsLeaf() || y.GradFn() != "square" || !x.IsLeaf() || x.GradFn() != "" {
		t.Errorf("y is a leaf: %t, made by %q; x is a leaf: %t, made by %q", y.IsLeaf(), y.GradFn(), x.IsLeaf(), x.GradFn())
	}
	z := y.Mul(y).Sum()
	must(t, z.Backward(tensor.Retain()))
	wantGradient(t, "y", y, 2, 8)
	wantGradient(t, "x", x, 4, 32)
	must(t, z.Backward())
	wantGradient(t, "y, twice", y, 4, 16)
	wantGradient(t, "x, twice", x, 8, 64)
}

func TestDetach(t *testing.T) {
	x := leafOf([]float64{2, 3})
	y := x.Square()
	d := y.Detach()
	if d.RequiresGrad() || !d.SharesStorage(y) {
		t.Errorf("detached: requires gradients %t, shares storage %t", d.RequiresGrad(), d.SharesStorage(y))
	}
	must(t, y.Mul(d).Sum().Backward()) // d counts as a constant
	wantGradient(t, "x", x, 2*2*4, 2*3*9)
}

// TestHigherDerivatives differentiates x to the fifth power four times.
func TestHigherDerivatives(t *testing.T) {
	x := leafOf([]float64{1.5, -2})
	y := x.PowScalar(5).Sum()
	for _, want := range [][]float64{{5 * 5.0625, 5 * 16}, {20 * 3.375, 20 * -8}, {60 * 2.25, 60 * 4}, {120 * 1.5, 120 * -2}} {
		g, err := tensor.Gradients([]T{y}, []T{x}, tensor.CreateGraph())
		must(t, err)
		wantValues(t, "a derivative of x^5", g[0], want...)
		y = g[0].Sum()
	}
	if _, has := x.Grad(); has {
		t.Error("Gradients changed the leaf's gradient")
	}
}

// TestGradientPenalty compares the gradient of a function of a gradient with
// central differences.
func TestGradientPenalty(t *testing.T) {
	x0 := []float64{0.3, -0.7, 1.1, 0.2, 0.5, -0.4}
	w0 := []float64{0.2, -0.5, 0.9, 0.4, -0.3, 0.8, 0.1, 0.6, -0.2}
	penalty := func(w T) T {
		x := leafOf(x0, 2, 3)
		h := x.MatMul(w).Tanh().Softmax(1).Log().Sum().Add(x.Linear(w).GELU().Sum())
		g, err := tensor.Gradients([]T{h}, []T{x}, tensor.CreateGraph())
		must(t, err)
		return g[0].Square().Sum().Sqrt().SubScalar(1).Square()
	}
	w := leafOf(w0, 3, 3)
	must(t, penalty(w).Backward())
	got := gradient(t, w)
	for i := range w0 {
		at := func(step float64) float64 {
			moved := slices.Clone(w0)
			moved[i] += step
			p, err := penalty(tensor.From(moved, 3, 3)).Item()
			must(t, err)
			return p
		}
		const h = 1e-5
		if want := (at(h) - at(-h)) / (2 * h); math.Abs(got[i]-want) > 1e-7*(1+math.Abs(want)) {
			t.Errorf("gradient of w[%d] is %v, differences give %v", i, got[i], want)
		}
	}
}

func TestGradients(t *testing.T) {
	x, unused := leafOf([]float64{1, 2}), leafOf([]float64{5})
	y := x.MulScalar(3)
	z := y.Square()
	gs, err := tensor.Gradients([]T{z.Sum(), y.Sum()}, []T{y, x, unused, z}, tensor.Retain())
	must(t, err)
	wantValues(t, "the gradient of y, which is no leaf", gs[0], 7, 13)
	wantValues(t, "the gradient of x", gs[1], 21, 39)
	wantValues(t, "the gradient of z, an output's operand", gs[3], 1, 1)
	if gs[2] != (T{}) {
		t.Errorf("the gradient of an input that no output depends on is %v", gs[2])
	}
	gs, err = tensor.Gradients([]T{z}, []T{x}, tensor.WithGradient(tensor.From([]float64{1, 10})))
	must(t, err)
	wantValues(t, "a product with the Jacobian", gs[0], 18, 360)
	if _, has := x.Grad(); has {
		t.Error("Gradients changed the leaf's gradient")
	}
}

// TestInPlace records operators that write to their first operand.
func TestInPlace(t *testing.T) {
	x := leafOf([]float64{0.5, -1})
	y := x.MulScalar(2)
	must(t, y.ExpInPlace())
	must(t, y.MulInPlace(y.Detach().Clone()))
	must(t, y.AddInPlace(x))
	if v := y.Version(); v != 3 || y.GradFn() != "add" {
		t.Errorf("version %d, made by %q", v, y.GradFn())
	}
	must(t, y.Sum().Backward())
	d := func(x float64) float64 { return 2*math.Exp(2*x)*math.Exp(2*x) + 1 }
	wantGradient(t, "x", x, d(0.5), d(-1))

	// What was recorded before an in-place operator keeps its meaning.
	a := leafOf([]float64{1, 2})
	b := a.AddScalar(1)
	c := b.MulScalar(3) // needs no value of b
	must(t, b.MulScalarInPlace(10))
	must(t, c.Add(b).Sum().Backward())
	wantGradient(t, "a", a, 13, 13)

	// A copy into part of the result of an operator reaches both.
	p, q := leafOf([]float64{1, 2, 3}), leafOf([]float64{4})
	r := p.MulScalar(2)
	must(t, r.CopyFrom(q))
	must(t, r.Sum().Backward())
	wantValues(t, "r", r, 4, 4, 4)
	wantGradient(t, "q", q, 3)
	wantGradient(t, "p", p, 0, 0, 0)
}

func TestViews(t *testing.T) {
	x := leafOf([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	y := x.T().Narrow(0, 1, 2).Unsqueeze(0).Expand(2, 2, 2).Reshape(8).Slice(0, 0, 8, 3)
	must(t, y.Mul(tensor.From([]float64{1, 10, 100})).Sum().Backward())
	// The slice takes elements 0, 3 and 6 of [2 5 3 6 2 5 3 6].
	wantGradient(t, "x through six views", x, 0, 1, 100, 0, 0, 10)

	base := tensor.From([]float64{1, 2, 3, 4}, 2, 2)
	view := base.T()
	must(t, base.AddScalarInPlace(10))
	wantValues(t, "a view of a changed base", view, 11, 13, 12, 14)
	must(t, view.Select(0, 1).MulScalarInPlace(0))
	wantValues(t, "the base of a changed view", base, 11, 0, 13, 0)
	if base.Version() != 2 || view.Version() != 2 {
		t.Errorf("versions %d and %d, want 2: they share a storage", base.Version(), view.Version())
	}
}

// TestEpochs: after a recorded change, handles that were made before it may not
// be recorded, and detached ones see the new values.
func TestEpochs(t *testing.T) {
	x := leafOf([]float64{1, 2})
	y := x.MulScalar(1)
	view, detached := y.Narrow(0, 0, 1), y.Detach()
	must(t, y.MulScalarInPlace(5))
	if err := view.Exp().Err(); err == nil {
		t.Error("a view from before a recorded change was recorded")
	}
	wantValues(t, "a detached handle", detached, 5, 10)
	wantValues(t, "a new view", y.Narrow(0, 0, 1), 5)
	tensor.NoGrad(func() error { wantValues(t, "the old view, not recorded", view.AddScalar(0), 5); return nil })
	must(t, y.Narrow(0, 1, 1).Sum().Backward())
	wantGradient(t, "x", x, 0, 5)
}

// TestSavedValues watches the bytes on a device: values that gradients need are
// kept when their handles go, and given back as soon as the backward pass has
// used them.
func TestSavedValues(t *testing.T) {
	dev, n := device.Sim(0), 1<<10
	before := collected(t, dev)
	held := func() int { return int(allocated(dev)-before) / (4 * n) } // in vectors of n float32
	x := tensor.Ones([]int{n}, tensor.On(dev)).RequireGrad()
	y, inner := x, []T{}
	for range 8 {
		y = y.Sin() // saves its operand
		inner = append(inner, y)
	}
	loss := y.Sum()
	if got := held(); got != 9 {
		t.Errorf("%d vectors after the forward pass, want 9", got)
	}
	for _, h := range inner {
		h.Release()
	}
	if got := held(); got != 8 {
		t.Errorf("%d vectors after releasing what no gradient needs, want 8: x and 7 saved values", got)
	}
	least := math.MaxInt
	_, err := x.RegisterHook(func(g T) T { least = held(); g.Release(); return T{} })
	must(t, err)
	must(t, loss.Backward())
	if least > 3 {
		t.Errorf("%d vectors as the last gradient is complete, want at most 3: the saved values were used", least)
	}
	if got := held(); got != 2 {
		t.Errorf("%d vectors after the backward pass, want 2: x and its gradient", got)
	}
	must(t, x.ZeroGrad())
	x.Release()
	loss.Release()
	if got := allocated(dev) - before; got != 0 {
		t.Errorf("%d bytes are held after everything was released", got)
	}
}

// TestRelease: views, saved values and gradients keep a storage; the last one
// to go gives it back.
func TestRelease(t *testing.T) {
	dev := device.Sim(1)
	before := collected(t, dev)
	held := func() int64 { return allocated(dev) - before }
	x := tensor.Arange(0, 256, 1, tensor.OfType(tensor.Float32), tensor.On(dev))
	if held() != 1024 {
		t.Fatalf("%d bytes are held, want 1024", held())
	}
	v, d := x.Reshape(16, 16).T(), x.Detach()
	x.Release()
	x.Release() // no effect
	if x.Err() == nil {
		t.Error("a released tensor carries no error")
	}
	wantValues(t, "a view of a released tensor", v.Select(0, 0).Narrow(0, 0, 3), 0, 16, 32)
	v.Release()
	wantValues(t, "another handle", d.Narrow(0, 5, 2), 5, 6)
	d.Release()
	if got := settle(t, dev, before) - before; got != 0 {
		t.Errorf("%d bytes are held after every handle is released", got)
	}
}

func TestScope(t *testing.T) {
	dev := device.Sim(0)
	before := collected(t, dev)
	held := func() int64 { return allocated(dev) - before }
	w := tensor.Ones([]int{16, 16}, tensor.On(dev)).RequireGrad()
	var kept, inner T
	step := func() {
		must(t, tensor.Scope(func() error {
			y := w.MatMul(w).ReLU()
			tensor.Scope(func() error {
				inner = y.AddScalar(1)
				tensor.Keep(inner) // now the outer scope's
				return nil
			})
			if inner.Err() != nil {
				t.Errorf("kept by the inner scope: %v", inner.Err())
			}
			kept = y.Sum()
			tensor.Keep(kept)
			return kept.Backward()
		}))
	}
	step()
	after := held()
	if want := int64(2*16*16*4 + 4); after != want { // w, its gradient, kept
		t.Errorf("%d bytes are held after the scope, want %d", after, want)
	}
	if inner.Err() == nil {
		t.Error("a tensor outlives the scope that it was kept for")
	}
	if v, err := kept.Item(); err != nil || v != 16*16*16 {
		t.Errorf("kept: %v, %v", v, err)
	}
	for range 5 {
		kept.Release()
		step()
		if held() != after {
			t.Fatalf("%d bytes are held after another step, want %d", held(), after)
		}
	}
	wantValues(t, "the accumulated gradient", firstOf(w), 6*2*16)
	kept.Release()
	must(t, w.ZeroGrad())
	w.Release()
	if got := settle(t, dev, before) - before; got != 0 {
		t.Errorf("%d bytes are held in the end", got)
	}
}

func firstOf(x T) T {
	g, _ := x.Grad()
	return g.Reshape(-1).Narrow(0, 0, 1)
}

// TestCollected: a program that releases nothing gives everything back.
func TestCollected(t *testing.T) {
	dev := device.Sim(1)
	before := collected(t, dev)
	func() {
		w := tensor.Ones([]int{64, 64}, tensor.On(dev)).RequireGrad()
		for range 10 {
			must(t, w.MatMul(w).Exp().Mean().Backward())
			_ = w.Tanh().Sum() // a graph that is never walked
		}
	}()
	if got := settle(t, dev, before) - before; got > 0 {
		t.Errorf("%d bytes are held after collections", got)
	}
}

// TestConcurrentGraphs builds and walks many graphs over shared weights at a
// time, on the host and on an accelerator.
func TestConcurrentGraphs(t *testing.T) {
	for _, dev := range []device.Device{device.CPU, device.Sim(0)} {
		weight := tensor.From([]float64{1, 2, 3, 4}, 2, 2).To(dev)
		var wg sync.WaitGroup
		errs := make(chan error, 64)
		for k := range 16 {
			wg.Go(func() {
				for i := range 8 {
					if err := graphOf(weight, float64(k), float64(i)); err != nil {
						errs <- err
						return
					}
				}
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			t.Errorf("%s: %v", dev, err)
		}
	}
}

// graphOf checks the gradient of sum((x W)²) for x = [a b].
func graphOf(weight T, a, b float64) error {
	x := tensor.FromSlice([]float64{a, b}, []int{1, 2}, tensor.On(weight.Device()), tensor.RequireGrad())
	if err := x.MatMul(weight).Square().Sum().Backward(); err != nil {
		return err
	}
	g, _ := x.Grad()
	got, err := tensor.Data[float64](g)
	if err != nil {
		return err
	}
	u, v := 2*(a+3*b), 2*(2*a+4*b) // twice x W
	if want := []float64{u + 2*v, 3*u + 4*v}; !slices.Equal(got, want) {
		return fmt.Errorf("gradient at (%v, %v) is %v, want %v", a, b, got, want)
	}
	return nil
}

// TestDeepGraph walks a graph that is deeper than a recursive walk could be.
func TestDeepGraph(t *testing.T) {
	x := leafOf([]float64{1})
	y := x
	for range 50_000 {
		y = y.AddScalar(0)
	}
	must(t, y.Sum().Backward())
	wantGradient(t, "x", x, 1)
}

// TestFailedBackward: a pass that fails changes no gradient, also none of the
// leaves it reached before.
func TestFailedBackward(t *testing.T) {
	a, b := leafOf([]float64{1, 2}), leafOf([]float64{3, 4})
	y := b.MulScalar(1)
	z := y.Square().Add(a.MulScalar(2).Exp())
	must(t, a.SetGrad(tensor.From([]float64{7, 7})))
	must(t, tensor.NoGrad(func() error { return y.AddScalarInPlace(1) }))
	if err := z.Sum().Backward(); err == nil {
		t.Fatal("a backward pass over a changed value succeeded")
	}
	wantGradient(t, "a after the failure", a, 7, 7)
	if _, has := b.Grad(); has {
		t.Error("b has a gradient after the failure")
	}
}

// TestAcrossDevices: copies between devices are part of the graph, and each
// gradient is where its leaf is.
func TestAcrossDevices(t *testing.T) {
	x, w := leafOf([]float64{1, 2}), leafOf([]float64{3, 4})
	far := w.To(device.Sim(1))
	y := x.To(device.Sim(0)).Square().To(device.Sim(1)).Mul(far).CPU()
	must(t, y.Sum().Backward())
	wantGradient(t, "x", x, 6, 16)
	wantGradient(t, "w", w, 1, 4)
	for _, leaf := range []T{x, w} {
		if g, _ := leaf.Grad(); g.Device() != device.CPU {
			t.Errorf("the gradient of a host leaf is on %s", g.Device())
		}
	}
	if same := far.To(device.Sim(1)); same != far {
		t.Error("a copy to the device where a tensor is made a new tensor")
	}
}
