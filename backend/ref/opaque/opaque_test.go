package opaque

import (
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/backend/ref/element"
	"github.com/sinter-go/sinter/ir"
)

// view returns a contiguous view that holds the given numbers.
func view(d ir.DType, shape []int, values ...complex128) ir.View {
	memory := make([]uint64, 2*ir.NumElements(shape)+2)
	v := ir.View{Ptr: unsafe.Pointer(&memory[0]), DType: d, Shape: shape, Strides: ir.ContiguousStrides(shape)}
	for i, x := range values {
		element.Store(v, i, ir.ComplexScalar(x))
	}
	return v
}

// transposed returns v with its axes reversed, over memory in which they are
// not: the kernels must read strides.
func transposed(v ir.View) ir.View {
	n := len(v.Shape)
	backwards := make([]int, n)
	for a := range backwards {
		backwards[a] = v.Shape[n-1-a]
	}
	strides := ir.ContiguousStrides(backwards)
	w := view(v.DType, v.Shape)
	for a := range strides {
		w.Strides[a] = strides[n-1-a]
	}
	for i := range v.NumElements() {
		element.Store(w, i, element.Load(v, i))
	}
	return w
}

type number [2]float64 // real and imaginary part

func values(v ir.View) []number {
	out := []number{}
	for i := range v.NumElements() {
		s := element.Load(v, i)
		out = append(out, number{s.Float(), imag(s.Complex())})
	}
	return out
}

var (
	nan = complex(math.NaN(), 0)
	inf = complex(math.Inf(1), 0)
)

func list(values ...complex128) []complex128 { return values }

func ints(v ...int) ir.Value { return ir.IntsValue(v) }

func integer(i int) ir.Value { return ir.IntValue(i) }

// An operand is a shape and its elements.
type operand struct {
	shape  []int
	values []complex128
}

type kernelCase struct {
	name    string
	run     func(*ir.Call) error
	dtypes  ir.DTypeSet
	in      []operand
	index   int // 1 + the operand that is int64; 0: none
	attrs   []ir.Value
	want    []operand
	indices int // 1 + the first result that is int64; 0: none
}

func (k kernelCase) call(d ir.DType) *ir.Call {
	c := &ir.Call{Kernel: (&ir.Op{Name: k.name}).Kernel(0, d), Attrs: k.attrs}
	for i, o := range k.in {
		dtype := d
		if i == k.index-1 {
			dtype = ir.Int64
		}
		c.In = append(c.In, transposed(view(dtype, o.shape, o.values...)))
	}
	for i, o := range k.want {
		dtype := d
		if k.indices > 0 && i >= k.indices-1 {
			dtype = ir.Int64
		}
		c.Out = append(c.Out, transposed(view(dtype, o.shape)))
	}
	return c
}

// test runs a case in every dtype. Results have a rounding error of half a unit
// in the last place where the expected ones, given in float64, have one.
func (k kernelCase) test(t *testing.T) {
	for _, d := range k.dtypes.List() {
		c := k.call(d)
		if err := k.run(c); err != nil {
			t.Errorf("%s %s: %v", k.name, d, err)
			continue
		}
		for i, o := range k.want {
			want := values(view(c.Out[i].DType, o.shape, o.values...))
			tolerance := 0.0
			if c.Out[i].DType == ir.Float64 {
				tolerance = 1e-15 // of the literals
			}
			if diff := cmp.Diff(want, values(c.Out[i]), cmpopts.EquateNaNs(), cmpopts.EquateApprox(tolerance, 0)); diff != "" {
				t.Errorf("%s %s, result %d: %s", k.name, d, i, diff)
			}
		}
	}
}

func run(t *testing.T, cases []kernelCase) {
	for _, k := range cases {
		t.Run(k.name, k.test)
	}
}

func TestMove(t *testing.T) {
	run(t, []kernelCase{
		{"cat rows", Cat, ir.ClassAll &^ ir.ClassBool,
			[]operand{{[]int{1, 2}, list(1, 2)}, {[]int{0, 2}, nil}, {[]int{2, 2}, list(3, 4, 5, 6)}}, 0,
			[]ir.Value{integer(0)}, []operand{{[]int{3, 2}, list(1, 2, 3, 4, 5, 6)}}, 0},
		{"cat columns", Cat, ir.ClassAll,
			[]operand{{[]int{2, 1}, list(1, 0)}, {[]int{2, 2}, list(0, 1, 1, 1)}}, 0,
			[]ir.Value{integer(-1)}, []operand{{[]int{2, 3}, list(1, 0, 1, 0, 1, 1)}}, 0},
		{"pad", PadConstant, ir.ClassNum,
			[]operand{{[]int{2, 3}, list(1, 2, 3, 4, 5, 6)}}, 0,
			[]ir.Value{ints(-1, 1, 1, 0), ir.ScalarValue(ir.IntScalar(9))},
			[]operand{{[]int{3, 3}, list(9, 9, 9, 2, 3, 9, 5, 6, 9)}}, 0},
		{"pad everything away", PadConstant, ir.ClassNum,
			[]operand{{[]int{2}, list(1, 2)}}, 0,
			[]ir.Value{ints(-2, 2), ir.ScalarValue(ir.IntScalar(7))}, []operand{{[]int{2}, list(7, 7)}}, 0},
		{"pad with a fraction", PadConstant, ir.ClassInt,
			[]operand{{[]int{1}, list(1)}}, 0,
			[]ir.Value{ints(0, 1), ir.ScalarValue(ir.FloatScalar(2.7))}, []operand{{[]int{2}, list(1, 2)}}, 0},
		{"flip", Flip, ir.ClassNum,
			[]operand{{[]int{2, 3}, list(1, 2, 3, 4, 5, 6)}}, 0,
			[]ir.Value{ints(-1)}, []operand{{[]int{2, 3}, list(3, 2, 1, 6, 5, 4)}}, 0},
		{"flip all", Flip, ir.ClassNum,
			[]operand{{[]int{2, 3}, list(1, 2, 3, 4, 5, 6)}}, 0,
			[]ir.Value{ints(0, 1)}, []operand{{[]int{2, 3}, list(6, 5, 4, 3, 2, 1)}}, 0},
		{"flip a scalar", Flip, ir.ClassAll, []operand{{[]int{}, list(1)}}, 0, []ir.Value{ints(0)}, []operand{{[]int{}, list(1)}}, 0},
	})
}

func TestIndex(t *testing.T) {
	x := operand{[]int{2, 3}, list(1, 2, 3, 4, 5, 6)}
	run(t, []kernelCase{
		{"gather rows", Gather, ir.ClassNum,
			[]operand{x, {[]int{3, 2}, list(1, 0, 0, 0, 1, 1)}}, 2,
			[]ir.Value{integer(0)}, []operand{{[]int{3, 2}, list(4, 2, 1, 2, 4, 5)}}, 0},
		{"gather columns", Gather, ir.ClassNum,
			[]operand{x, {[]int{1, 4}, list(2, 2, 0, 1)}}, 2,
			[]ir.Value{integer(-1)}, []operand{{[]int{1, 4}, list(3, 3, 1, 2)}}, 0},
		{"scatter: the last write wins", Scatter, ir.ClassNum,
			[]operand{x, {[]int{1, 3}, list(0, 0, 2)}, {[]int{2, 4}, list(7, 8, 9, 0, 0, 0, 0, 0)}}, 2,
			[]ir.Value{integer(1)}, []operand{{[]int{2, 3}, list(8, 2, 9, 4, 5, 6)}}, 0},
		{"scatter a number", Scatter, ir.ClassNum,
			[]operand{x, {[]int{2, 1}, list(1, 0)}, {[]int{}, list(9)}}, 2,
			[]ir.Value{integer(1)}, []operand{{[]int{2, 3}, list(1, 9, 3, 9, 5, 6)}}, 0},
		{"scatter_add", ScatterAdd, ir.ClassNum,
			[]operand{x, {[]int{3, 2}, list(1, 0, 1, 1, 1, 1)}, {[]int{3, 3}, list(10, 20, 0, 30, 40, 0, 50, 60, 0)}}, 2,
			[]ir.Value{integer(0)}, []operand{{[]int{2, 3}, list(1, 22, 3, 94, 105, 6)}}, 0},
		{"scatter_add rounds once", ScatterAdd, ir.SetOf(ir.Float32),
			[]operand{{[]int{1}, list(1 << 24)}, {[]int{2}, list(0, 0)}, {[]int{2}, list(1, 1)}}, 2,
			[]ir.Value{integer(0)}, []operand{{[]int{1}, list(1<<24 + 2)}}, 0},
		{"scatter_add wraps", ScatterAdd, ir.SetOf(ir.Uint8),
			[]operand{{[]int{1}, list(200)}, {[]int{1}, list(0)}, {[]int{1}, list(100)}}, 2,
			[]ir.Value{integer(0)}, []operand{{[]int{1}, list(44)}}, 0},
		{"index_select", IndexSelect, ir.ClassNum,
			[]operand{x, {[]int{4}, list(2, 0, 0, 1)}}, 2,
			[]ir.Value{integer(1)}, []operand{{[]int{2, 4}, list(3, 1, 1, 2, 6, 4, 4, 5)}}, 0},
		{"index_select by a scalar", IndexSelect, ir.ClassNum,
			[]operand{x, {[]int{}, list(1)}}, 2, []ir.Value{integer(0)}, []operand{{[]int{1, 3}, list(4, 5, 6)}}, 0},
		{"index_select of a scalar", IndexSelect, ir.ClassAll,
			[]operand{{[]int{}, list(1)}, {[]int{1}, list(0)}}, 2, []ir.Value{integer(0)}, []operand{{[]int{}, list(1)}}, 0},
		{"index_add", IndexAdd, ir.ClassNum,
			[]operand{x, {[]int{3}, list(1, 1, 0)}, {[]int{2, 3}, list(10, 20, 30, 40, 50, 60)}}, 2,
			[]ir.Value{integer(1)}, []operand{{[]int{2, 3}, list(31, 32, 3, 64, 95, 6)}}, 0},
		{"nonzero", NonzeroSized, ir.ClassAll,
			[]operand{{[]int{2, 3}, list(0, 1, 0, 1, 0, 1)}}, 0,
			[]ir.Value{integer(3)}, []operand{{[]int{3, 2}, list(0, 1, 1, 0, 1, 2)}}, 1},
		{"nonzero NaN", NonzeroSized, ir.ClassFloat,
			[]operand{{[]int{2}, list(0, nan)}}, 0, []ir.Value{integer(1)}, []operand{{[]int{1, 1}, list(1)}}, 1},
		{"nonzero of a scalar", NonzeroSized, ir.ClassAll,
			[]operand{{[]int{}, list(1)}}, 0, []ir.Value{integer(1)}, []operand{{[]int{1, 0}, nil}}, 1},
	})
}

func TestErrors(t *testing.T) {
	x, src := operand{[]int{2, 3}, list(1, 2, 3, 4, 5, 6)}, operand{[]int{1, 1}, list(9)}
	for _, c := range []struct {
		kernelCase
		message string
	}{
		{kernelCase{"too large", Gather, 0, []operand{x, {[]int{1, 2}, list(0, 2)}}, 2, []ir.Value{integer(0)}, []operand{{[]int{1, 2}, nil}}, 0},
			"index 2 at position [0 1] is out of range for axis 0 with 2 elements (want 0 to 1)"},
		{kernelCase{"negative", Scatter, 0, []operand{x, {[]int{1, 1}, list(-1)}, src}, 2, []ir.Value{integer(1)}, []operand{x}, 0},
			"index -1 at position [0 0]"},
		{kernelCase{"select", IndexSelect, 0, []operand{x, {[]int{}, list(3)}}, 2, []ir.Value{integer(1)}, []operand{{[]int{2, 1}, nil}}, 0},
			"index 3 at position []"},
		{kernelCase{"count", NonzeroSized, 0, []operand{x}, 0, []ir.Value{integer(4)}, []operand{{[]int{4, 2}, nil}}, 1},
			"6 nonzero elements, not 4"},
		{kernelCase{"axis", Sort, 0, []operand{x}, 0, []ir.Value{integer(2), integer(0)}, []operand{x, x}, 2}, "dimension out of range"},
		{kernelCase{"dtype", MatMul, 0, []operand{x, x}, 0, nil, []operand{x}, 0}, "not implemented for bool"},
	} {
		d := ir.Float32
		if c.name == "dtype" {
			d = ir.Bool
		}
		call := c.call(d)
		before := values(call.Out[0])
		err := c.run(call)
		if err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.message)
		}
		if diff := cmp.Diff(before, values(call.Out[0])); diff != "" {
			t.Errorf("%s: the result was changed: %s", c.name, diff)
		}
	}
}

func TestOrder(t *testing.T) {
	run(t, []kernelCase{
		{"sort is stable", Sort, ir.ClassReal,
			[]operand{{[]int{5}, list(3, 1, 2, 1, 3)}}, 0,
			[]ir.Value{integer(0), integer(0)}, []operand{{[]int{5}, list(1, 1, 2, 3, 3)}, {[]int{5}, list(1, 3, 2, 0, 4)}}, 2},
		{"sort down is stable", Sort, ir.ClassReal,
			[]operand{{[]int{2, 2, 2}, list(1, 5, 1, 6, 2, 5, 3, 4)}}, 0,
			[]ir.Value{integer(1), integer(1)}, []operand{{[]int{2, 2, 2}, list(1, 6, 1, 5, 3, 5, 2, 4)}, {[]int{2, 2, 2}, list(0, 1, 1, 0, 1, 0, 0, 1)}}, 2},
		{"sort NaN", Sort, ir.ClassFloat,
			[]operand{{[]int{5}, list(nan, -inf, inf, nan, 0)}}, 0,
			[]ir.Value{integer(0), integer(0)}, []operand{{[]int{5}, list(-inf, 0, inf, nan, nan)}, {[]int{5}, list(1, 4, 2, 0, 3)}}, 2},
		{"sort bool", Sort, ir.ClassBool,
			[]operand{{[]int{3}, list(1, 0, 1)}}, 0,
			[]ir.Value{integer(0), integer(1)}, []operand{{[]int{3}, list(1, 1, 0)}, {[]int{3}, list(0, 2, 1)}}, 2},
		{"sort large integers", Sort, ir.SetOf(ir.Int32),
			[]operand{{[]int{2}, list(1<<30+1, 1<<30)}}, 0,
			[]ir.Value{integer(0), integer(0)}, []operand{{[]int{2}, list(1<<30, 1<<30+1)}, {[]int{2}, list(1, 0)}}, 2},
		{"sort a scalar", Sort, ir.ClassReal, []operand{{[]int{}, list(4)}}, 0, []ir.Value{integer(0), integer(0)}, []operand{{[]int{}, list(4)}, {[]int{}, list(0)}}, 2},
		{"largest up to each", CumulativeExtreme, ir.ClassReal,
			[]operand{{[]int{2, 4}, list(1, 3, 3, 2, 4, 0, 4, 5)}}, 0,
			[]ir.Value{integer(1), integer(0)}, []operand{{[]int{2, 4}, list(1, 3, 3, 3, 4, 4, 4, 5)}, {[]int{2, 4}, list(0, 1, 2, 2, 0, 0, 2, 3)}}, 2},
		{"smallest up to each, NaN", CumulativeExtreme, ir.ClassFloat,
			[]operand{{[]int{6}, list(inf, 3, 3, nan, -inf, nan)}}, 0,
			[]ir.Value{integer(0), integer(1)}, []operand{{[]int{6}, list(inf, 3, 3, nan, nan, nan)}, {[]int{6}, list(0, 1, 2, 3, 3, 5)}}, 2},
		{"frexp", Frexp, ir.ClassFloat,
			[]operand{{[]int{6}, list(1, -3, 0, inf, nan, 1024)}}, 0,
			nil, []operand{{[]int{6}, list(0.5, -0.75, 0, inf, nan, 0.5)}, {[]int{6}, list(1, 2, 0, 0, 0, 11)}}, 2},
		{"searchsorted left", SearchSorted, ir.ClassReal,
			[]operand{{[]int{5}, list(1, 3, 3, 5, 7)}, {[]int{2, 3}, list(0, 1, 3, 4, 7, 8)}}, 0,
			[]ir.Value{integer(0)}, []operand{{[]int{2, 3}, list(0, 0, 1, 3, 4, 5)}}, 1},
		{"searchsorted right, by rows", SearchSorted, ir.ClassReal,
			[]operand{{[]int{2, 3}, list(1, 3, 3, 0, 1, 2)}, {[]int{2, 2}, list(3, 2, 3, 0)}}, 0,
			[]ir.Value{integer(1)}, []operand{{[]int{2, 2}, list(3, 1, 3, 1)}}, 1},
		{"searchsorted NaN", SearchSorted, ir.ClassFloat,
			[]operand{{[]int{3}, list(1, inf, nan)}, {[]int{2}, list(nan, inf)}}, 0,
			[]ir.Value{integer(0)}, []operand{{[]int{2}, list(2, 1)}}, 1},
		{"argmax of all", ArgMax, ir.ClassReal, []operand{{[]int{2, 3}, list(1, 7, 2, 7, 0, 3)}}, 0, []ir.Value{ints(), integer(0)}, []operand{{[]int{}, list(1)}}, 1},
		{"argmax of rows", ArgMax, ir.ClassReal, []operand{{[]int{2, 3}, list(1, 7, 7, 9, 0, 3)}}, 0, []ir.Value{ints(-1), integer(1)}, []operand{{[]int{2, 1}, list(1, 0)}}, 1},
		{"argmin of columns", ArgMin, ir.ClassReal, []operand{{[]int{2, 3}, list(1, 7, 2, 9, 0, 2)}}, 0, []ir.Value{ints(0), integer(0)}, []operand{{[]int{3}, list(0, 1, 0)}}, 1},
		{"argmax NaN", ArgMax, ir.ClassFloat, []operand{{[]int{4}, list(1, nan, inf, nan)}}, 0, []ir.Value{ints(), integer(0)}, []operand{{[]int{}, list(1)}}, 1},
		{"argmin NaN", ArgMin, ir.ClassFloat, []operand{{[]int{4}, list(1, -inf, nan, nan)}}, 0, []ir.Value{ints(), integer(0)}, []operand{{[]int{}, list(2)}}, 1},
	})
}
