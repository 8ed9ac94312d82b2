package index_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/runtime/memory"
)

// TestErrors has a mistake a line, and what the error must say.
func TestErrors(t *testing.T) {
	x := func() tensor.Tensor { return tensor.FromSlice(make([]float64, 24), []int{2, 3, 4}) }
	int32s := func(n ...int32) tensor.Tensor { return tensor.From(n) }
	for _, c := range []struct {
		ix   []any
		want string
	}{
		{[]any{2}, "index 2 is out of range for axis 0 with 2 elements (want -2 to 1)"},
		{[]any{"0, -4"}, "index -4 is out of range for axis 1 with 3 elements (want -3 to 2)"},
		{[]any{"..., 9"}, "index 9 is out of range for axis 2 with 4 elements (want -4 to 3)"},
		{[]any{0, 0, 0, 0}, "an index of 4 axes into a tensor of 3, with shape [2 3 4]"},
		{[]any{"...", "..."}, "two ellipses; want one at most"},
		{[]any{tensor.Range(0, 1).By(0)}, "entry 0: a range with step 0"},
		{[]any{tensor.Span{}}, "entry 0: a range with step 0"},
		{[]any{"::0"}, `"::0": a range with step 0`},
		{[]any{"1:2:3:4"}, `"1:2:3:4" has 3 colons; want from:to or from:to:step`},
		{[]any{"1:x"}, `"x" in the range "1:x" is no integer`},
		{[]any{"1,,2"}, `"1,,2": "" is no integer, range, newaxis or ellipsis (...)`},
		{[]any{Name("0")}, "entry 0: 0 of type index_test.Name; want an integer, a Range, a text"},
		{[]any{0, 1.5}, "entry 1: 1.5 of type float64; want an integer"},
		{[]any{nil}, "entry 0: <nil> of type <nil>; want an integer"},
		{[]any{uint64(math.MaxUint64)}, "of type uint64; want an integer"},
		{[]any{tensor.From([]float32{1})}, "a tensor of float32; want int32 or int64 for places, bool for a mask"},
		{[]any{tensor.From([]uint8{1})}, "a tensor of uint8; want int32 or int64 for places, bool for a mask"},
		{[]any{tensor.FromScalar(true)}, "a mask without axes"},
		{[]any{tensor.Tensor{}}, "zero Tensor"},
		{[]any{0, []bool{true}}, "a mask of shape [1] does not fit the axes from 1 on of shape [2 3 4]"},
		{[]any{[]bool{true}, tensor.Tensor{}}, "zero Tensor"},
		{[]any{[]int{0, 1}, []int{0, 1, 2}}, "tensors of places must broadcast, these have shapes [[2] [3]]"},
		{[]any{[]int{0, 2}}, "index 2 at position [1] is out of range for axis 0 with 2 elements"},
		{[]any{0, "::-1", int32s(1, -5)}, "index -5 at position [1] is out of range for axis 2 with 4 elements"},
		{[]any{[]int{0, 1}, int32s(0, 3)}, "index 3 at position [1] is out of range for axis 1 with 3 elements"},
		{[]any{[]int{0, 1}, "::-1", int32s(0, -5)}, "index -5 at position [1] is out of range for axis 2 with 4 elements"},
	} {
		y := x()
		if err := y.Index(c.ix...).Err(); err == nil || !strings.Contains(err.Error(), "use_test.go") || !strings.Contains(err.Error(), "index: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Index(%v): %v, want %q", c.ix, err, c.want)
		}
		for name, write := range map[string]func(tensor.Place) error{
			"Set":       func(p tensor.Place) error { return p.Set(tensor.FromScalar(1.0)) },
			"SetScalar": func(p tensor.Place) error { return p.SetScalar(1) },
			"Add":       func(p tensor.Place) error { return p.Add(tensor.FromScalar(1.0)) },
			"AddScalar": func(p tensor.Place) error { return p.AddScalar(1) },
		} {
			err := write(y.At(c.ix...))
			if err == nil || !strings.Contains(err.Error(), "use_test.go") || !strings.Contains(err.Error(), "at.") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("At(%v).%s: %v, want %q", c.ix, name, err, c.want)
			}
			if left := y.Err(); left == nil || left.Error() != err.Error() {
				t.Errorf("At(%v).%s left the error %v, want %v", c.ix, name, left, err)
			}
			if diff := cmp.Diff(make([]float64, 24), elements(t, y)); diff != "" {
				t.Errorf("At(%v).%s changed elements\n%s", c.ix, name, diff)
			}
		}
	}
}

// A Name is a string of a program's own, which is no text of an index.
type Name string

// TestWrongValues has values that do not suit a place.
func TestWrongValues(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(x tensor.Tensor) error
		want  string
	}{
		{"shape", func(x tensor.Tensor) error { return x.At("0").Set(tensor.Zeros([]int{2})) }, "a value of shape [2] does not broadcast to the part, of shape [3]"},
		{"rank", func(x tensor.Tensor) error { return x.At("0").Set(tensor.Zeros([]int{2, 3})) }, "a value of shape [2 3] does not broadcast to the part, of shape [3]"},
		{"larger", func(x tensor.Tensor) error { return x.At("0:1, 0:1").Set(tensor.Zeros([]int{3})) }, "a value of shape [3] does not broadcast to the part, of shape [1 1]"},
		{"zero", func(x tensor.Tensor) error { return x.At("0").Set(tensor.Tensor{}) }, "zero Tensor"},
		{"dtype", func(x tensor.Tensor) error { return x.At("0").Add(tensor.Ones([]int{3})) }, "result type float32 can't be cast to int32"},
		{"fraction", func(x tensor.Tensor) error { return x.At("0").AddScalar(1.5) }, "value is 1.5, which int32 does not hold"},
		{"number", func(x tensor.Tensor) error { return x.At("0").SetScalar(int64(1) << 40) }, "value is 1099511627776, which int32 does not hold"},
		{"no number", func(x tensor.Tensor) error { return x.At("0").SetScalar("1") }, "string is not a number"},
	} {
		x := tensor.From([]int32{1, 2, 3, 4, 5, 6}, 2, 3)
		if err := c.write(x); err == nil || !strings.Contains(err.Error(), c.want) || x.Err() == nil {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	leaf := tensor.Ones([]int{3}).RequireGrad()
	if err := leaf.At(0).SetScalar(1); err == nil || !strings.Contains(err.Error(), "a leaf that requires gradients cannot be changed") {
		t.Errorf("a leaf: %v", err)
	}
	_ = leaf.Err()
	must(t, tensor.NoGrad(func() error { return leaf.At(0).SetScalar(5) }))
	if v, err := leaf.Index(0).Item(); err != nil || v != 5 {
		t.Errorf("a leaf without recording: %v, %v", v, err)
	}
}

// TestViews reads views, writes through them, and writes what shares the place's elements.
func TestViews(t *testing.T) {
	x := tensor.FromSlice([]float64{0, 1, 2, 3, 4, 5}, []int{2, 3})
	for _, c := range []struct {
		ix   []any
		view bool
	}{
		{nil, true}, {[]any{1}, true}, {[]any{"..., 1:"}, true}, {[]any{tensor.NewAxis, 0}, true}, {[]any{":, ::2"}, true},
		{[]any{"::-1"}, false}, {[]any{[]int{0}}, false}, {[]any{x.GtScalar(1)}, false},
	} {
		if got := x.Index(c.ix...).SharesStorage(x); got != c.view {
			t.Errorf("Index(%v) is a view: %v", c.ix, got)
		}
	}
	must(t, x.Index(1).At("1:").SetScalar(9))
	must(t, x.At(0).Set(x.Index("0, ::-1")))
	must(t, x.At("0, 1:").Set(x.Index("0, :-1"))) // the part that is read overlaps the place
	must(t, x.At(1, 0).Set(tensor.FromSlice([]float64{7}, []int{1, 1, 1})))
	if diff := cmp.Diff([]float64{2, 2, 1, 7, 9, 9}, elements(t, x)); diff != "" {
		t.Error(diff)
	}
	n := tensor.From([]int32{1, 2, 3})
	must(t, n.At("1:").Set(tensor.From([]float64{2.5, -3.5}))) // converted to n's dtype
	must(t, n.At([]int{0, 0}).AddScalar(1))
	if got, err := tensor.Data[int32](n); err != nil || !cmp.Equal(got, []int32{3, 2, -3}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestStencil is a step of the heat equation in one line, against loops.
func TestStencil(t *testing.T) {
	const n = 7
	u, want := make([]float64, n*n), make([]float64, n*n)
	for i := range u {
		u[i] = float64(i * i % 11)
	}
	copy(want, u)
	for i := 1; i < n-1; i++ {
		for j := 1; j < n-1; j++ {
			at := i*n + j
			want[at] += 0.25 * (u[at-n] + u[at+n] + u[at-1] + u[at+1] - 4*u[at])
		}
	}
	x := tensor.FromSlice(u, []int{n, n})
	k := tensor.FromSlice([]float64{0, 0.25, 0, 0.25, -1, 0.25, 0, 0.25, 0}, []int{1, 1, 3, 3})
	y := x.Clone()
	must(t, y.At("1:-1, 1:-1").Add(y.Index(tensor.NewAxis, tensor.NewAxis).Conv2d(k)))
	must(t, x.At("1:-1, 1:-1").Add(x.Index(":-2, 1:-1").Add(x.Index("2:, 1:-1")).Add(x.Index("1:-1, :-2")).Add(x.Index("1:-1, 2:")).Sub(x.Index("1:-1, 1:-1").MulScalar(4)).MulScalar(0.25)))
	for name, got := range map[string]tensor.Tensor{"ranges": x, "a convolution": y} {
		if diff := cmp.Diff(want, elements(t, got)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestSecondOrder differentiates a gradient through places that are named twice.
func TestSecondOrder(t *testing.T) {
	x := tensor.FromSlice([]float64{1, 2, 3}, []int{3}).RequireGrad()
	y := x.Index([]int{0, 2, 2})
	gs, err := tensor.Gradients([]tensor.Tensor{y.Mul(y).Mul(y).Sum()}, []tensor.Tensor{x}, tensor.CreateGraph())
	must(t, err)
	must(t, gs[0].Sum().Backward()) // of 3*x0**2 + 6*x2**2
	g, _ := x.Grad()
	if diff := cmp.Diff([]float64{6, 0, 36}, elements(t, g)); diff != "" {
		t.Error(diff)
	}
}

// TestWritesTakeLittle: writing at places of a tensor takes memory for the value and the
// places, not for the tensor.
func TestWritesTakeLittle(t *testing.T) {
	dev := devices[1]
	x := tensor.Zeros([]int{1 << 16, 4}, tensor.On(dev), tensor.OfType(tensor.Float64))
	must(t, x.Err())
	rows, v := tensor.From([]int64{5, -1, 5}).To(dev), tensor.Ones([]int{3, 4}, tensor.On(dev), tensor.OfType(tensor.Float64))
	for name, write := range map[string]func() error{
		"rows":           func() error { return x.At(rows).Add(v) },
		"rows, set":      func() error { return x.At(rows).SetScalar(2) },
		"elements":       func() error { return x.At(rows, rows.RemainderScalar(4)).AddScalar(1) },
		"part of a view": func() error { return x.Index("::2").At(rows, "1:").Set(v.Index(":, 1:")) },
	} {
		memory.ResetPeak(dev)
		before := memory.Allocated(dev)
		must(t, write())
		if took := memory.MaxAllocated(dev) - before; took > 1<<14 {
			t.Errorf("%s: %d bytes for a tensor of %d", name, took, x.NumElements()*8)
		}
	}
}

// TestOutOverOperand: the out form of an operator that updates its operand may be given
// that operand, and nothing that shares elements with another one.
func TestOutOverOperand(t *testing.T) {
	at := tensor.From([]int64{1, 0, 1})
	x := tensor.FromSlice([]float64{1, 2, 3}, []int{3})
	must(t, out.IndexAdd(x, x, 0, at, tensor.FromSlice([]float64{10, 20, 30}, []int{3})))
	if diff := cmp.Diff([]float64{21, 42, 3}, elements(t, x)); diff != "" {
		t.Error(diff)
	}
	if err := out.IndexAdd(x, x, 0, at, x); err == nil || !strings.Contains(err.Error(), "operand src and the tensor to write share elements") {
		t.Errorf("src is the tensor: %v", err)
	}
	_ = x.Err()
	if err := out.IndexSelect(x, x, 0, at); err == nil || !strings.Contains(err.Error(), "operand x and the tensor to write share elements") {
		t.Errorf("an operator that updates nothing: %v", err)
	}
	_ = x.Err()
	if err := out.IndexAdd(x.Index("1:"), x.Index(":2"), 0, at.Index(":2"), tensor.Zeros([]int{2}, tensor.OfType(tensor.Float64))); err == nil || !strings.Contains(err.Error(), "share elements") {
		t.Errorf("a part of the operand: %v", err)
	}
}
