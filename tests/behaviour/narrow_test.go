package behaviour_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
)

// narrowed returns a leaf in float32 whose gradient is there in bfloat16, and that.
func narrowed(t *testing.T, into *core.Tensor, values ...float32) (p, from tensor.Tensor) {
	t.Helper()
	p = tensor.Zeros([]int{len(values)}, tensor.RequireGrad())
	from = tensor.From(values).ToType(tensor.BFloat16)
	if err := p.Handle().SetNarrowGrad(from.Handle(), into); err != nil {
		t.Fatal(err)
	}
	return p, from
}

// gradientIs compares the gradient of a leaf.
func gradientIs(t *testing.T, what string, p tensor.Tensor, want ...float32) {
	t.Helper()
	g, has := p.Grad()
	if !has || g.DType() != tensor.Float32 {
		t.Errorf("%s: there is a gradient: %v, of %s", what, has, g.DType())
		return
	}
	got, err := tensor.Data[float32](g)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
	}
}

// TestNarrowGradients: a gradient that was given in 16 bits is one of its tensor's dtype to all that
// ask for it, once: what becomes of it then stays.
func TestNarrowGradients(t *testing.T) {
	asItIs := func(what string, p tensor.Tensor, want tensor.DType) {
		t.Helper()
		if g := p.Handle().GradAsItIs(); g == nil || g.DType() != want {
			t.Errorf("%s: as it is the gradient is %v, want %s", what, g.DType(), want)
		}
	}
	p, _ := narrowed(t, nil, 1, -2.5)
	asItIs("at first", p, tensor.BFloat16)
	gradientIs(t, "asked for", p, 1, -2.5)
	asItIs("asked for", p, tensor.Float32)
	g, _ := p.Grad()
	must(t, g.MulScalarInPlace(2))
	gradientIs(t, "changed", p, 2, -5)

	p, _ = narrowed(t, nil, 1, 2)
	must(t, p.MulScalar(3).Sum().Backward())
	gradientIs(t, "accumulated", p, 4, 5)

	kept := tensor.Zeros([]int{2})
	p, from := narrowed(t, kept.Handle(), 3, 4)
	renewed := p.Handle().GradRenewed()
	gradientIs(t, "in memory of the caller's", p, 3, 4)
	if g, _ := p.Grad(); !g.SharesStorage(kept) {
		t.Error("the gradient has memory of its own")
	}
	must(t, from.AddScalarInPlace(1))
	gradientIs(t, "before it is renewed", p, 3, 4)
	renewed()
	asItIs("renewed", p, tensor.BFloat16)
	gradientIs(t, "renewed", p, 4, 5)
	must(t, p.SetGrad(tensor.From([]float32{7, 8})))
	renewed()
	gradientIs(t, "replaced", p, 7, 8)

	p, _ = narrowed(t, nil, 1)
	must(t, p.ZeroGrad())
	if _, has := p.Grad(); has || p.Handle().GradAsItIs() != nil {
		t.Error("a gradient that was forgotten is there")
	}
}

// TestMeanGradients: a gradient that was given as two whose mean it is, is that mean to all that ask for it;
// who reads both has them until then.
func TestMeanGradients(t *testing.T) {
	calls := 0
	mean := func(into, from, other *core.Tensor) error {
		calls++
		list := func(t *core.Tensor) []*core.Tensor { return []*core.Tensor{t} }
		return ops.MeanOfTwo(list(into), list(from), list(other), false)
	}
	both := func(what string, p tensor.Tensor, want bool) {
		t.Helper()
		a, b, by := p.Handle().GradOfTwo()
		if (a != nil) != want || (b != nil) != want || (by != nil) != want {
			t.Errorf("%s: both are there: %v, %v, and what computes the mean: %v; want %v", what, a != nil, b != nil, by != nil, want)
		}
		a.Release()
		b.Release()
	}
	give := func(into *core.Tensor) (p, a tensor.Tensor) {
		p = tensor.Zeros([]int{2}, tensor.RequireGrad())
		a, b := tensor.From([]float32{1, 3}).ToType(tensor.BFloat16), tensor.From([]float32{2, -3}).ToType(tensor.BFloat16)
		must(t, p.Handle().SetMeanGrad(a.Handle(), b.Handle(), into, mean))
		b.Release() // the gradient holds it
		return p, a
	}
	p, _ := give(nil)
	both("at first", p, true)
	gradientIs(t, "asked for", p, 1.5, 0)
	gradientIs(t, "asked for again", p, 1.5, 0)
	both("asked for", p, false)
	if calls != 1 {
		t.Errorf("the mean was computed %d times, want once", calls)
	}
	p, _ = give(nil)
	if g := p.Handle().GradAsItIs(); g.DType() != tensor.Float32 {
		t.Errorf("who reads one tensor has %s", g.DType())
	}
	p, _ = give(nil)
	must(t, p.MulScalar(3).Sum().Backward())
	gradientIs(t, "accumulated", p, 4.5, 3)

	kept := tensor.Zeros([]int{2})
	p, a := give(kept.Handle())
	renewed := p.Handle().GradRenewed()
	gradientIs(t, "in memory of the caller's", p, 1.5, 0)
	if g, _ := p.Grad(); !g.SharesStorage(kept) {
		t.Error("the gradient has memory of its own")
	}
	must(t, a.AddScalarInPlace(2))
	renewed()
	both("renewed", p, true)
	gradientIs(t, "renewed", p, 2.5, 1)

	p, _ = give(nil)
	must(t, p.ZeroGrad())
	both("forgotten", p, false)
	narrow, _ := narrowed(t, nil, 1)
	both("of one tensor", narrow, false)
	refused := errors.New("no mean")
	p, a = give(nil)
	var made *core.Tensor
	must(t, p.Handle().SetMeanGrad(a.Handle(), a.Handle(), nil, func(into, _, _ *core.Tensor) error {
		made = into
		return refused
	}))
	if g, _ := p.Grad(); !errors.Is(g.Err(), refused) {
		t.Errorf("where the mean fails: %v", g.Err())
	}
	if err := made.Err(); !errors.Is(err, core.ErrReleased) {
		t.Errorf("what the mean was to be written to is still there: %v", err)
	}
}

// TestNarrowGradientsCaptured: what was given before a capture is not converted in it, where nothing
// would run, and a replay of one pass leaves nobody the gradient of another.
func TestNarrowGradientsCaptured(t *testing.T) {
	d := device.Sim(0)
	leaf := func() tensor.Tensor { return tensor.Zeros([]int{2}, tensor.On(d), tensor.RequireGrad()) }
	give := func(p tensor.Tensor, values ...float32) tensor.Tensor {
		from := tensor.From(values).To(d).ToType(tensor.BFloat16)
		must(t, p.Handle().SetNarrowGrad(from.Handle(), nil))
		return from
	}
	p := leaf()
	give(p, 1, 2)
	g := graph.New(d)
	defer g.Reset()
	read := func() error {
		g, _ := p.Grad()
		return g.Err()
	}
	if err := g.Capture(read); !errors.Is(err, device.ErrCapturing) || !strings.Contains(err.Error(), "bfloat16 from before the capture") {
		t.Errorf("asked for in a capture: %v", err)
	}
	gradientIs(t, "after the capture", p, 1, 2)
	must(t, g.Capture(read))

	p = leaf()
	a := give(p, 1, 2)
	first := p.Handle().GradRenewed()
	give(p, 3, 4)
	second := p.Handle().GradRenewed()
	must(t, a.AddScalarInPlace(10))
	first()
	if g, _ := p.Grad(); !errors.Is(g.Err(), core.ErrNoGrad) {
		t.Errorf("after a replay of the first pass: %v", g.Err())
	}
	second()
	gradientIs(t, "after a replay of the second pass", p, 3, 4)
	give(p, 5, 6)
	gradientIs(t, "after another pass", p, 5, 6)
	first()
	must(t, p.ZeroGrad())
	must(t, p.MulScalar(3).Sum().Backward())
	gradientIs(t, "forgotten", p, 3, 3)
}

// TestNarrowGradientsCompiled: a compiled function reads what was given between its runs.
func TestNarrowGradientsCompiled(t *testing.T) {
	p, _ := narrowed(t, nil, 1, 2)
	f := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		g, _ := p.Grad()
		return g.Mul(x[0]), nil
	}, compile.State(p))
	defer f.Close()
	for i := range 4 {
		from := tensor.From([]float32{float32(i), 5}).ToType(tensor.BFloat16)
		must(t, p.Handle().SetNarrowGrad(from.Handle(), nil))
		out, err := f.Call(tensor.From([]float32{2, 3}))
		must(t, err)
		got, err := tensor.Data[float32](out)
		if diff := cmp.Diff([]float32{2 * float32(i), 15}, got); err != nil || diff != "" {
			t.Errorf("run %d: %v (-want +got):\n%s", i, err, diff)
		}
	}
	wrong := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0], p.Handle().SetNarrowGrad(tensor.Zeros([]int{2}, tensor.OfType(tensor.BFloat16)).Handle(), nil)
	}, compile.State(p), compile.Captures())
	defer wrong.Close()
	if _, err := wrong.Call(tensor.Zeros([]int{2})); !errors.Is(err, compile.ErrUnrecordable) {
		t.Errorf("in a function that is compiled: %v", err)
	}
}

// TestNarrowGradientsRefused: what is no gradient in another dtype is an error.
func TestNarrowGradientsRefused(t *testing.T) {
	half := func(n int) *core.Tensor { return tensor.Zeros([]int{n}, tensor.OfType(tensor.Float16)).Handle() }
	leaf := tensor.Zeros([]int{2}, tensor.RequireGrad())
	for text, err := range map[string]error{
		"does not require gradients":             tensor.Zeros([]int{2}).Handle().SetNarrowGrad(half(2), nil),
		"float16 [3] on cpu for the gradient of": leaf.Handle().SetNarrowGrad(half(3), nil),
		"float16 [2] on cpu for the gradient of": leaf.Handle().SetNarrowGrad(half(2), half(2)),
		"zero Tensor":                            leaf.Handle().SetNarrowGrad(nil, nil),
		"float16 [4] on cpu for the gradient of": leaf.Handle().SetMeanGrad(half(2), half(4), nil, nil),
	} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v; want %q", err, text)
		}
	}
	leaf.Handle().GradRenewed()()
	if leaf.Handle().GradRenews() || leaf.Handle().GradAsItIs() != nil {
		t.Error("there is a gradient")
	}
}
