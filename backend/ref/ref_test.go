package ref

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/backend/ref/element"
	"github.com/sinter-go/sinter/backend/ref/wide"
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

func vector(d ir.DType, values ...complex128) ir.View { return view(d, []int{len(values)}, values...) }

// result is a vector of the numbers that v holds, as far as float64 does.
func result(v ir.View) []complex128 {
	out := []complex128{}
	for i := range v.NumElements() {
		out = append(out, element.Load(v, i).Complex())
	}
	return out
}

var sameNaN = cmp.Comparer(func(x, y complex128) bool {
	same := func(a, b float64) bool { return a == b || (a != a && b != b) }
	return same(real(x), real(y)) && same(imag(x), imag(y))
})

func elementwise(src string, in ...string) *ir.Op {
	op := &ir.Op{Name: "op", Kind: ir.Elementwise, Out: []ir.Result{{}}, Bodies: []ir.Body{{Exprs: []string{src}}}}
	for _, name := range in {
		op.In = append(op.In, ir.Operand{Name: name})
	}
	return op
}

func TestElementwise(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	scaled := elementwise("x*y + alpha", "x", "y")
	scaled.Attrs = []ir.Attr{{Name: "mode", Kind: ir.AttrEnum}, {Name: "alpha", Kind: ir.AttrScalar}}
	chosen := elementwise("where(c, x, index)", "c", "x")
	chosen.In[0].Fixed = ir.Bool
	for _, c := range []struct {
		name    string
		op      *ir.Op
		compute ir.DType
		in      []ir.View
		scalars []ir.Scalar
		out     ir.DType
		want    []complex128
	}{
		{"the same everywhere", elementwise("2.5"), ir.Float32, nil, nil, ir.Float16, []complex128{2.5, 2.5, 2.5}},
		{"the place alone", elementwise("index"), ir.Int64, nil, nil, ir.Int32, []complex128{0, 1, 2}},
		{"wrapping", elementwise("x*y", "x", "y"), ir.Uint8, []ir.View{vector(ir.Uint8, 20, 3), vector(ir.Uint8, 20, 3)}, nil, ir.Uint8, []complex128{144, 9}},
		{"division by zero", elementwise("x/y", "x", "y"), ir.Int32, []ir.View{vector(ir.Int32, 7, -7), vector(ir.Int32, 0, 2)}, nil, ir.Int32, []complex128{0, -3}},
		{"one rounding", elementwise("x*x - 1", "x"), ir.Float32, []ir.View{vector(ir.Float32, 1+0x1p-20)}, nil, ir.Float32, []complex128{0x1p-19 + 0x1p-40}},
		{"one rounding to 16 bits", elementwise("x + y", "x", "y"), ir.Float32, []ir.View{vector(ir.Float16, 1), vector(ir.Float32, 0x1p-11+0x1p-30)}, nil, ir.Float16, []complex128{1 + 0x1p-10}},
		{"float64 is wider", elementwise("(x + y) - x", "x", "y"), ir.Float64, []ir.View{vector(ir.Float64, 1<<60), vector(ir.Float64, 0.25)}, nil, ir.Float64, []complex128{0.25}},
		{"operands are converted", elementwise("x + y", "x", "y"), ir.Int16, []ir.View{vector(ir.Uint8, 200), vector(ir.Bool, 1)}, nil, ir.Int64, []complex128{201}},
		{"scalar in the compute dtype", scaled, ir.Float32, []ir.View{vector(ir.Float16, 2), vector(ir.Float16, 0)}, []ir.Scalar{ir.FloatScalar(0.1)}, ir.Float64, []complex128{complex(float64(float32(0.1)), 0)}},
		{"integer scalar wraps", scaled, ir.Uint8, []ir.View{vector(ir.Uint8, 2), vector(ir.Uint8, 3)}, []ir.Scalar{ir.IntScalar(257)}, ir.Uint8, []complex128{7}},
		{"predicate", elementwise("x < y || isnan(x)", "x", "y"), ir.Float32, []ir.View{vector(ir.Float32, 1, 2, complex(nan, 0)), vector(ir.Float32, 2, 1, 0)}, nil, ir.Bool, []complex128{1, 0, 1}},
		{"predicate as float", elementwise("x < y", "x", "y"), ir.Float32, []ir.View{vector(ir.Float32, 1, 2), vector(ir.Float32, 2, 1)}, nil, ir.Float32, []complex128{1, 0}},
		{"bool logic", elementwise("x + y", "x", "y"), ir.Bool, []ir.View{vector(ir.Bool, 1, 0), vector(ir.Bool, 1, 0)}, nil, ir.Bool, []complex128{1, 0}},
		{"fixed operand and index", chosen, ir.Float32, []ir.View{vector(ir.Bool, 1, 0, 0), vector(ir.Float32, 5, 6, 7)}, nil, ir.Float32, []complex128{5, 1, 2}},
		{"complex", elementwise("x*y", "x", "y"), ir.Complex64, []ir.View{vector(ir.Complex64, 1+2i), vector(ir.Complex64, 3-1i)}, nil, ir.Complex64, []complex128{5 + 5i}},
		{"modulus", elementwise("abs(x)", "x"), ir.Complex128, []ir.View{vector(ir.Complex128, 3-4i)}, nil, ir.Float64, []complex128{5}},
		{"near a pole", elementwise("tanh(x)", "x"), ir.Complex128, []ir.View{vector(ir.Complex128, complex(-0.0068, -1.5651), complex(400, 1))}, nil, ir.Complex128, []complex128{complex(-86.41935685303584, -72.38927569691727), 1}},
		{"near a pole, turned", elementwise("tan(x)", "x"), ir.Complex128, []ir.View{vector(ir.Complex128, complex(1.5651, -0.0068))}, nil, ir.Complex128, []complex128{complex(72.38927569691727, -86.41935685303584)}},
		{"infinities", elementwise("x - x", "x"), ir.Float64, []ir.View{vector(ir.Float64, complex(inf, 0))}, nil, ir.Float64, []complex128{complex(nan, 0)}},
		{"conversion to integers", elementwise("x", "x"), ir.Float32, []ir.View{vector(ir.Float32, 2.9, -300, complex(nan, 0))}, nil, ir.Int8, []complex128{2, -128, 0}},
	} {
		out := view(c.out, []int{len(c.want)})
		err := Run(&ir.Call{Kernel: c.op.Kernel(0, c.compute), In: c.in, Out: []ir.View{out}, Space: out.Shape, Scalars: c.scalars})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if d := cmp.Diff(c.want, result(out), sameNaN); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// TestElementwiseViews runs over strides, broadcast operands and in place.
func TestElementwiseViews(t *testing.T) {
	x := view(ir.Float32, []int{2, 3}, 1, 2, 3, 4, 5, 6)
	column := view(ir.Float32, []int{2, 3}, 10, 20)
	column.Strides = []int{1, 0}
	across := view(ir.Float32, []int{2, 3}, 100, 200, 300)
	across.Strides = []int{0, 1}
	out := view(ir.Float32, []int{2, 3})
	out.Strides = []int{1, 2}
	for _, to := range []ir.View{out, x} {
		c := &ir.Call{Kernel: elementwise("x + y + z", "x", "y", "z").Kernel(0, ir.Float32), In: []ir.View{x, column, across}, Out: []ir.View{to}, Space: x.Shape}
		if err := Run(c); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]complex128{111, 212, 313, 124, 225, 326}, result(to)); d != "" {
			t.Error(d)
		}
	}
	if err := Run(&ir.Call{Kernel: elementwise("x", "x").Kernel(0, ir.Float32), In: []ir.View{view(ir.Float32, []int{0})}, Out: []ir.View{view(ir.Float32, []int{0})}, Space: []int{0}}); err != nil {
		t.Errorf("no elements: %v", err)
	}
}

func fold(kind ir.BodyKind, b ir.Body) *ir.Op {
	return &ir.Op{Name: "fold", Kind: kind, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{}}, Bodies: []ir.Body{b}}
}

var (
	sum   = ir.Body{Init: "0", Map: "x", Combine: "a + b", Finish: "a"}
	mean  = ir.Body{Init: "0", Combine: "a + b", Finish: "a/cast(count)"}
	first = ir.Body{Init: "0", Combine: "where(a == 0, b, a)"} // associative, not commutative
	every = ir.Body{Init: "true", Map: "x != 0", Combine: "a && b", Finish: "a"}
	many  = ir.Body{Init: "0", Map: "int(x != 0)", Combine: "a + b"}
	top   = ir.Body{Init: "MinValue", Combine: "max(a, b)"}
)

func TestReduction(t *testing.T) {
	six := func(d ir.DType) ir.View { return view(d, []int{2, 3}, 1, 2, 0, 4, 5, 6) }
	for _, c := range []struct {
		name    string
		body    ir.Body
		compute ir.DType
		x       ir.View
		axes    []int
		out     ir.DType
		want    []complex128
	}{
		{"rows", sum, ir.Int64, six(ir.Uint8), []int{1}, ir.Int64, []complex128{3, 15}},
		{"columns", sum, ir.Float32, six(ir.Float32), []int{0}, ir.Float32, []complex128{5, 7, 6}},
		{"all", mean, ir.Float64, six(ir.Float32), []int{0, 1}, ir.Float64, []complex128{3}},
		{"no axes", mean, ir.Float32, six(ir.Float32), nil, ir.Float32, []complex128{1, 2, 0, 4, 5, 6}},
		{"order", first, ir.Int32, view(ir.Int32, []int{2, 2, 2}, 0, 2, 3, 4, 5, 6, 0, 8), []int{0, 2}, ir.Int32, []complex128{2, 3}},
		{"bool", every, ir.Float32, six(ir.Float32), []int{1}, ir.Bool, []complex128{0, 1}},
		{"count", many, ir.Float32, six(ir.Float32), []int{1}, ir.Int64, []complex128{2, 3}},
		{"largest", top, ir.Int8, view(ir.Int8, []int{2}, -5, -3), []int{0}, ir.Int8, []complex128{-3}},
		{"complex", sum, ir.Complex64, vector(ir.Complex64, 1+1i, 2-3i), []int{0}, ir.Complex64, []complex128{3 - 2i}},
		{"nothing", sum, ir.Float32, view(ir.Float32, []int{2, 0}), []int{1}, ir.Float32, []complex128{0, 0}},
		{"nothing to average", mean, ir.Float64, view(ir.Float64, []int{0}), []int{0}, ir.Float64, []complex128{complex(math.NaN(), 0)}},
		{"a scalar", sum, ir.Float32, view(ir.Float32, []int{}, 7), nil, ir.Float32, []complex128{7}},
		{"float32 accumulates wider", sum, ir.Float32, vector(ir.Float32, 1<<24, 1, 1), []int{0}, ir.Float32, []complex128{1<<24 + 2}},
		{"float64 accumulates wider", sum, ir.Float64, vector(ir.Float64, 1<<60, 0.5, -1<<60), []int{0}, ir.Float64, []complex128{0.5}},
		{"float16 rounds once", sum, ir.Float32, vector(ir.Float16, 2048, 1, 1), []int{0}, ir.Float16, []complex128{2050}},
	} {
		kept := append([]int{}, c.x.Shape...)
		for _, a := range c.axes {
			kept[a] = 1
		}
		out := view(c.out, kept)
		expanded := out // to the space, as a call has it
		expanded.Shape, expanded.Strides = c.x.Shape, append([]int{}, out.Strides...)
		for _, a := range c.axes {
			expanded.Strides[a] = 0
		}
		err := Run(&ir.Call{Kernel: fold(ir.Reduction, c.body).Kernel(0, c.compute), In: []ir.View{c.x}, Out: []ir.View{expanded}, Space: c.x.Shape, Axes: c.axes})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if d := cmp.Diff(c.want, result(out), sameNaN); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestScan(t *testing.T) {
	x := view(ir.Int16, []int{2, 3}, 1, 2, 3, 4, 5, 6)
	for _, c := range []struct {
		name string
		body ir.Body
		axis int
		want []complex128
	}{
		{"rows", sum, 1, []complex128{1, 3, 6, 4, 9, 15}},
		{"columns", sum, 0, []complex128{1, 2, 3, 5, 7, 9}},
		{"finish", ir.Body{Init: "0", Combine: "a + b", Finish: "a*2"}, 1, []complex128{2, 6, 12, 8, 18, 30}},
	} {
		out := view(ir.Int64, x.Shape)
		if err := Run(&ir.Call{Kernel: fold(ir.Scan, c.body).Kernel(0, ir.Int64), In: []ir.View{x}, Out: []ir.View{out}, Space: x.Shape, Axes: []int{c.axis}}); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if d := cmp.Diff(c.want, result(out)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func TestKernelAndErrors(t *testing.T) {
	one := []ir.View{vector(ir.Float32, 1)}
	failed := errors.New("failed")
	kernel := &ir.Op{Name: "kernel", Kind: ir.Opaque}
	Provide(map[*ir.Op]ir.KernelFunc{kernel: func(*ir.Call) error { return failed }})
	if err := Run(&ir.Call{Kernel: kernel.Kernel(0, ir.Float32)}); err != failed {
		t.Errorf("Run = %v, want the kernel's error", err)
	}
	needsScalar := elementwise("x + alpha", "x")
	needsScalar.Attrs = []ir.Attr{{Name: "alpha", Kind: ir.AttrFloat}}
	for want, c := range map[string]*ir.Call{
		"not implemented":              {Kernel: (&ir.Op{Kind: ir.Opaque}).Kernel(0, ir.Float32)},
		"are not launched":             {Kernel: (&ir.Op{Kind: ir.ViewBody, Bodies: make([]ir.Body, 1)}).Kernel(0, ir.Float32)},
		"no body 1 of 1":               {Kernel: elementwise("x", "x").Kernel(1, ir.Float32)},
		`body "x +"`:                   {Kernel: elementwise("x +", "x").Kernel(0, ir.Float32)},
		"for bool":                     {Kernel: elementwise("exp(x)", "x").Kernel(0, ir.Bool)},
		"1 results and 0 operands":     {Kernel: elementwise("x", "x").Kernel(0, ir.Float32), Out: one},
		"operand x is missing":         {Kernel: elementwise("x", "x").Kernel(0, ir.Float32), Out: one, In: make([]ir.View, 1)},
		"0 scalar arguments for 1":     {Kernel: needsScalar.Kernel(0, ir.Float32), Out: one, In: one, Space: []int{1}},
		"a scan is along one axis":     {Kernel: fold(ir.Scan, sum).Kernel(0, ir.Float32), Out: one, In: one, Space: []int{1}},
		"a reduction has one operand,": {Kernel: (&ir.Op{Kind: ir.Reduction, Bodies: []ir.Body{sum}}).Kernel(0, ir.Float32)},
	} {
		if err := Run(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestArithmetics compares the two real arithmetic, which share no code but for
// functions that package math has not.
func TestArithmetics(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	points := []float64{0, math.Copysign(0, -1), 0.3, -0.3, 0.9, 1, -1, 1.5, 2.5, -2.5, 3, 7.25, -7.25, 20, inf, -inf, nan}
	check := func(fn string, args ...float64) {
		w := make([]wide.Float, len(args))
		for i, a := range args {
			w[i] = wides{}.FromFloat(a)
		}
		double, known := doubles{}.Func(fn), wides{}.Func(fn)
		if double == nil || known == nil {
			t.Errorf("%s is missing", fn)
			return
		}
		got, want := double(args...), known(w...)
		if d := cmp.Diff(want.Float64(), got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(4e-15, 0)); d != "" {
			t.Errorf("%s%v: %s", fn, args, d)
		}
	}
	for _, x := range points {
		for fn := range doubleFuncs1 {
			check(fn, x)
		}
		for _, y := range points {
			for fn := range doubleFuncs2 {
				check(fn, x, y)
			}
			for _, test := range []string{"lt", "le", "gt", "ge", "eq", "ne", "isnan", "isinf", "isfinite", "signbit"} {
				want := wides{}.Predicate(test)(wides{}.FromFloat(x), wides{}.FromFloat(y))
				if got := (doubles{}).Predicate(test)(x, y); got != want {
					t.Errorf("%s(%v, %v) = %t, wide %t", test, x, y, got, want)
				}
			}
		}
		check("sign", x)
		check("fma", x, 3, -1)
		if got, want := (doubles{}).ToInt(x), (wides{}).ToInt(wides{}.FromFloat(x)); got != want {
			t.Errorf("ToInt(%v) = %d, wide %d", x, got, want)
		}
	}
}
