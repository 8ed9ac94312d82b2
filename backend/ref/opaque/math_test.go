package opaque

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/shapes"
)

func TestMatMul(t *testing.T) {
	a, b := operand{[]int{2, 3}, list(1, 2, 3, 4, 5, 6)}, operand{[]int{3, 2}, list(1, 0, 2, 1, 0, 3)}
	row := operand{[]int{3}, list(1, 2, 3)}
	run(t, []kernelCase{
		{"matrices", MatMul, ir.ClassNum, []operand{a, b}, 0, nil, []operand{{[]int{2, 2}, list(5, 11, 14, 23)}}, 0},
		{"dot", MatMul, ir.ClassNum, []operand{row, row}, 0, nil, []operand{{[]int{}, list(14)}}, 0},
		{"row", MatMul, ir.ClassNum, []operand{row, b}, 0, nil, []operand{{[]int{2}, list(5, 11)}}, 0},
		{"column", MatMul, ir.ClassNum, []operand{a, row}, 0, nil, []operand{{[]int{2}, list(14, 32)}}, 0},
		{"broadcast", MatMul, ir.ClassNum,
			[]operand{{[]int{2, 1, 1, 2}, list(1, 2, 3, 4)}, {[]int{2, 2, 1}, list(1, 0, 0, 1)}}, 0,
			nil, []operand{{[]int{2, 2, 1, 1}, list(1, 2, 3, 4)}}, 0},
		{"nothing to sum", MatMul, ir.ClassNum, []operand{{[]int{2, 0}, nil}, {[]int{0, 1}, nil}}, 0, nil, []operand{{[]int{2, 1}, list(0, 0)}}, 0},
		{"complex", MatMul, ir.ClassComplex, []operand{{[]int{1, 2}, list(1+2i, 1i)}, {[]int{2, 1}, list(3-1i, 2)}}, 0, nil, []operand{{[]int{1, 1}, list(5 + 7i)}}, 0},
		{"wraps", MatMul, ir.SetOf(ir.Int8), []operand{{[]int{1, 2}, list(100, 1)}, {[]int{2, 1}, list(3, 1)}}, 0, nil, []operand{{[]int{1, 1}, list(45)}}, 0},
		// Sums that the result's dtype could not hold on the way.
		{"float32 accumulates wider", MatMul, ir.SetOf(ir.Float32), []operand{{[]int{1, 3}, list(1<<24, 1, -1<<24)}, {[]int{3, 1}, list(1, 1, 1)}}, 0, nil, []operand{{[]int{1, 1}, list(1)}}, 0},
		{"float64 accumulates wider", MatMul, ir.SetOf(ir.Float64), []operand{{[]int{1, 3}, list(1<<60, 1, -1<<60)}, {[]int{3, 1}, list(1<<20, 0.5, 1<<20)}}, 0, nil, []operand{{[]int{1, 1}, list(0.5)}}, 0},
		{"complex128 accumulates wider", MatMul, ir.SetOf(ir.Complex128), []operand{{[]int{1, 3}, list(1<<60, 1, -1<<60)}, {[]int{3, 1}, list(1i, 1, 1i)}}, 0, nil, []operand{{[]int{1, 1}, list(1)}}, 0},
		{"infinities", MatMul, ir.ClassFloat, []operand{{[]int{2, 2}, list(inf, 1, inf, inf)}, {[]int{2, 1}, list(1, -inf)}}, 0, nil, []operand{{[]int{2, 1}, list(nan, nan)}}, 0},
	})
}

// The expected numbers are from the formulas, evaluated with math.fsum in Python.
func TestNormalize(t *testing.T) {
	run(t, []kernelCase{
		{"softmax", Softmax, ir.ClassFloat, []operand{{[]int{3}, list(1, 2, 3)}}, 0, []ir.Value{integer(0)},
			[]operand{{[]int{3}, list(0.09003057317038046, 0.24472847105479764, 0.6652409557748218)}}, 0},
		{"softmax of columns", Softmax, ir.ClassFloat, []operand{{[]int{3, 2}, list(1000, 1, 0, 1, -1000, -inf)}}, 0, []ir.Value{integer(-2)},
			[]operand{{[]int{3, 2}, list(1, 0.5, 0, 0.5, 0, 0)}}, 0},
		{"softmax of negative infinities", Softmax, ir.ClassFloat, []operand{{[]int{2, 2}, list(-inf, -inf, 0, nan)}}, 0, []ir.Value{integer(1)},
			[]operand{{[]int{2, 2}, list(nan, nan, nan, nan)}}, 0},
		{"softmax of a scalar", Softmax, ir.ClassFloat, []operand{{[]int{}, list(5)}}, 0, []ir.Value{integer(0)}, []operand{{[]int{}, list(1)}}, 0},
		{"softmax of nothing", Softmax, ir.ClassFloat, []operand{{[]int{0, 2}, nil}}, 0, []ir.Value{integer(1)}, []operand{{[]int{0, 2}, nil}}, 0},
		{"softmax along nothing", Softmax, ir.ClassFloat, []operand{{[]int{2, 0}, nil}}, 0, []ir.Value{integer(1)}, []operand{{[]int{2, 0}, nil}}, 0},
		{"log_softmax", LogSoftmax, ir.ClassFloat, []operand{{[]int{3}, list(1, 2, 3)}}, 0, []ir.Value{integer(0)},
			[]operand{{[]int{3}, list(-2.4076059644443806, -1.4076059644443804, -0.4076059644443804)}}, 0},
		{"log_softmax keeps the range", LogSoftmax, ir.ClassFloat, []operand{{[]int{2}, list(1000, 0)}}, 0, []ir.Value{integer(0)}, []operand{{[]int{2}, list(0, -1000)}}, 0},
		{"layer_norm", LayerNorm, ir.ClassFloat, []operand{{[]int{2, 4}, list(1, 2, 3, 4, 2, 4, 4, 6)}}, 0,
			[]ir.Value{integer(1), ir.FloatValue(0.5)},
			[]operand{
				{[]int{2, 4}, list(-1.1338934190276815, -0.3779644730092272, 0.3779644730092272, 1.1338934190276815, -1.2649110640673518, 0, 0, 1.2649110640673518)},
				{[]int{2, 1}, list(2.5, 4)}, {[]int{2, 1}, list(0.7559289460184544, 0.6324555320336759)},
			}, 0},
		{"layer_norm over two axes", LayerNorm, ir.ClassFloat, []operand{{[]int{2, 2}, list(1, 2, 3, 4)}}, 0,
			[]ir.Value{integer(2), ir.FloatValue(0.5)},
			[]operand{
				{[]int{2, 2}, list(-1.1338934190276815, -0.3779644730092272, 0.3779644730092272, 1.1338934190276815)},
				{[]int{1, 1}, list(2.5)}, {[]int{1, 1}, list(0.7559289460184544)},
			}, 0},
		{"layer_norm with weight and bias", LayerNorm, ir.ClassFloat,
			[]operand{{[]int{1, 4}, list(1, 2, 3, 4)}, {[]int{4}, list(1, 2, 0, -1)}, {[]int{4}, list(10, 0, 1, 0)}}, 0,
			[]ir.Value{integer(1), ir.FloatValue(0.5)},
			[]operand{
				{[]int{1, 4}, list(8.8661065809723185, -0.7559289460184544, 1, -1.1338934190276815)},
				{[]int{1, 1}, list(2.5)}, {[]int{1, 1}, list(0.7559289460184544)},
			}, 0},
		{"rms_norm with weight", RMSNorm, ir.ClassFloat, []operand{{[]int{1, 4}, list(1, 2, 3, 4)}, {[]int{4}, list(1, 2, 0, -1)}}, 0,
			[]ir.Value{integer(1), ir.FloatValue(0.5)},
			[]operand{
				{[]int{1, 4}, list(0.35355339059327373, 1.414213562373095, 0, -1.414213562373095)},
				{[]int{1, 1}, list(0.35355339059327373)},
			}, 0},
		{"rms_norm", RMSNorm, ir.ClassFloat, []operand{{[]int{1, 4}, list(1, 2, 3, 4)}}, 0,
			[]ir.Value{integer(1), ir.FloatValue(0.5)},
			[]operand{
				{[]int{1, 4}, list(0.35355339059327373, 0.7071067811865475, 1.0606601717798212, 1.414213562373095)},
				{[]int{1, 1}, list(0.35355339059327373)},
			}, 0},
	})
}

func TestConvolution(t *testing.T) {
	one := []ir.Value{ints(1), ints(0), ints(1), integer(1)}
	run(t, []kernelCase{
		{"line", Convolution, ir.ClassFloat, []operand{{[]int{1, 1, 4}, list(1, 2, 3, 4)}, {[]int{1, 1, 2}, list(1, 10)}}, 0, one,
			[]operand{{[]int{1, 1, 3}, list(21, 32, 43)}}, 0},
		{"padding, stride, dilation", Convolution, ir.ClassFloat, []operand{{[]int{1, 1, 4}, list(1, 2, 3, 4)}, {[]int{1, 1, 2}, list(1, 10)}}, 0,
			[]ir.Value{ints(3), ints(1), ints(2), integer(1)}, []operand{{[]int{1, 1, 2}, list(20, 3)}}, 0},
		{"channels", Convolution, ir.ClassFloat, []operand{{[]int{1, 2, 2}, list(1, 2, 3, 4)}, {[]int{2, 2, 1}, list(1, 10, 100, 1000)}}, 0, one,
			[]operand{{[]int{1, 2, 2}, list(31, 42, 3100, 4200)}}, 0},
		{"groups", Convolution, ir.ClassFloat, []operand{{[]int{1, 2, 2}, list(1, 2, 3, 4)}, {[]int{4, 1, 1}, list(1, 10, 100, 1000)}}, 0,
			[]ir.Value{ints(1), ints(0), ints(1), integer(2)}, []operand{{[]int{1, 4, 2}, list(1, 2, 10, 20, 300, 400, 3000, 4000)}}, 0},
		{"plane", Convolution, ir.ClassFloat, []operand{{[]int{1, 1, 3, 3}, list(1, 2, 3, 4, 5, 6, 7, 8, 9)}, {[]int{1, 1, 2, 2}, list(1, 2, 3, 4)}}, 0,
			[]ir.Value{ints(1, 1), ints(0, 0), ints(1, 1), integer(1)}, []operand{{[]int{1, 1, 2, 2}, list(37, 47, 67, 77)}}, 0},
		{"gradient of the input", ConvolutionGradInput, ir.ClassFloat, []operand{{[]int{1, 1, 3}, list(1, 2, 3)}, {[]int{1, 1, 2}, list(1, 10)}}, 0,
			append([]ir.Value{ints(1, 1, 4)}, one...), []operand{{[]int{1, 1, 4}, list(1, 12, 23, 30)}}, 0},
		{"gradient of the weight", ConvolutionGradWeight, ir.ClassFloat, []operand{{[]int{1, 1, 3}, list(1, 2, 3)}, {[]int{1, 1, 4}, list(1, 2, 3, 4)}}, 0,
			append([]ir.Value{ints(1, 1, 2)}, one...), []operand{{[]int{1, 1, 2}, list(14, 20)}}, 0},
	})
}

// TestConvolutionGradients checks <conv(x, w), g> = <x, dx(g, w)> = <w, dw(g, x)>
// on small integers, where every sum is exact.
func TestConvolutionGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		x, w  []int
		attrs []ir.Value
	}{
		{[]int{2, 3, 8}, []int{4, 3, 3}, []ir.Value{ints(1), ints(1), ints(1), integer(1)}},
		{[]int{2, 4, 6, 5}, []int{6, 2, 3, 2}, []ir.Value{ints(2, 1), ints(1, 0), ints(1, 2), integer(2)}},
		{[]int{1, 2, 4, 4, 4}, []int{2, 1, 2, 2, 2}, []ir.Value{ints(2, 2, 2), ints(0, 0, 0), ints(1, 1, 1), integer(2)}},
	} {
		random := func(shape []int) ir.View {
			v := make([]complex128, ir.NumElements(shape))
			for i := range v {
				v[i] = complex(float64(rng.IntN(9)-4), 0)
			}
			return view(ir.Float64, shape, v...)
		}
		call := func(run func(*ir.Call) error, shape []int, attrs []ir.Value, in ...ir.View) ir.View {
			out := view(ir.Float64, shape)
			if err := run(&ir.Call{Kernel: &ir.Kernel{Compute: ir.Float64}, In: in, Out: []ir.View{out}, Attrs: attrs}); err != nil {
				t.Fatal(err)
			}
			return out
		}
		shape, err := shapes.ConvolutionShape(c.x, c.w, c.attrs[0].Ints, c.attrs[1].Ints, c.attrs[2].Ints, int(c.attrs[3].Int))
		if err != nil {
			t.Fatal(err)
		}
		x, w, g := random(c.x), random(c.w), random(shape)
		want := dot(call(Convolution, shape, c.attrs, x, w), g)
		dx := call(ConvolutionGradInput, c.x, append([]ir.Value{ints(c.x...)}, c.attrs...), g, w)
		dw := call(ConvolutionGradWeight, c.w, append([]ir.Value{ints(c.w...)}, c.attrs...), g, x)
		if diff := cmp.Diff([]float64{want, want}, []float64{dot(x, dx), dot(w, dw)}); diff != "" {
			t.Errorf("%v by %v: %s", c.x, c.w, diff)
		}
	}
}

func dot(x, y ir.View) float64 {
	sum, ys := 0.0, values(y)
	for i, v := range values(x) {
		sum += v[0] * ys[i][0]
	}
	return sum
}

func TestPool(t *testing.T) {
	plane := operand{[]int{1, 3, 3}, list(1, 2, 3, 4, 5, 6, 7, 8, 9)}
	five := operand{[]int{5}, list(5, 1, 4, 2, 3)}
	no, yes := integer(0), integer(1)
	run(t, []kernelCase{
		{"max", MaxPool, ir.ClassReal, []operand{plane}, 0, []ir.Value{ints(2, 2), ints(1, 1), ints(0, 0), ints(1, 1), no},
			[]operand{{[]int{1, 2, 2}, list(5, 6, 8, 9)}, {[]int{1, 2, 2}, list(4, 5, 7, 8)}}, 2},
		{"max with padding", MaxPool, ir.ClassReal &^ ir.SetOf(ir.Uint8), []operand{{[]int{4}, list(-1, -2, -2, -4)}}, 0,
			[]ir.Value{ints(2), ints(2), ints(1), ints(1), no}, []operand{{[]int{3}, list(-1, -2, -4)}, {[]int{3}, list(0, 1, 3)}}, 2},
		{"max with dilation", MaxPool, ir.ClassReal, []operand{five}, 0, []ir.Value{ints(2), ints(1), ints(0), ints(2), no},
			[]operand{{[]int{3}, list(5, 2, 4)}, {[]int{3}, list(0, 3, 2)}}, 2},
		{"max past the end", MaxPool, ir.ClassReal, []operand{five}, 0, []ir.Value{ints(2), ints(2), ints(0), ints(1), yes},
			[]operand{{[]int{3}, list(5, 4, 3)}, {[]int{3}, list(0, 2, 4)}}, 2},
		{"max of NaN and infinities", MaxPool, ir.ClassFloat, []operand{{[]int{6}, list(nan, nan, -inf, -inf, 1, inf)}}, 0,
			[]ir.Value{ints(2), ints(2), ints(0), ints(1), no}, []operand{{[]int{3}, list(nan, -inf, inf)}, {[]int{3}, list(0, 2, 5)}}, 2},
		{"mean", AvgPool, ir.ClassFloat, []operand{plane}, 0, []ir.Value{ints(2, 2), ints(1, 1), ints(0, 0), no, yes},
			[]operand{{[]int{1, 2, 2}, list(3, 4, 6, 7)}}, 0},
		{"mean with padding", AvgPool, ir.ClassFloat, []operand{{[]int{4}, list(1, 2, 3, 4)}}, 0, []ir.Value{ints(2), ints(2), ints(1), no, yes},
			[]operand{{[]int{3}, list(0.5, 2.5, 2)}}, 0},
		{"mean without padding", AvgPool, ir.ClassFloat, []operand{{[]int{4}, list(1, 2, 3, 4)}}, 0, []ir.Value{ints(2), ints(2), ints(1), no, no},
			[]operand{{[]int{3}, list(1, 2.5, 4)}}, 0},
		{"mean past the end", AvgPool, ir.ClassFloat, []operand{five}, 0, []ir.Value{ints(2), ints(2), ints(0), yes, yes},
			[]operand{{[]int{3}, list(3, 3, 3)}}, 0},
		{"gradient", AvgPoolGrad, ir.ClassFloat, []operand{{[]int{2}, list(2, 4)}}, 0, []ir.Value{ints(3), ints(2), ints(1), ints(0), no, yes},
			[]operand{{[]int{3}, list(1, 3, 2)}}, 0},
		{"gradient without padding", AvgPoolGrad, ir.ClassFloat, []operand{{[]int{3}, list(1, 2, 4)}}, 0, []ir.Value{ints(4), ints(2), ints(2), ints(1), no, no},
			[]operand{{[]int{4}, list(1, 1, 1, 4)}}, 0},
	})
}

// TestSoftmaxWide checks float64 results near the limits of float64 against
// identities that hold to the last bit.
func TestSoftmaxWide(t *testing.T) {
	x, out := view(ir.Float64, []int{2}, list(0, -700)...), view(ir.Float64, []int{2})
	if err := Softmax(&ir.Call{Kernel: &ir.Kernel{Compute: ir.Float64}, In: []ir.View{x}, Out: []ir.View{out}, Attrs: []ir.Value{integer(0)}}); err != nil {
		t.Fatal(err)
	}
	want := []number{{1, 0}, {math.Exp(-700), 0}}
	if diff := cmp.Diff(want, values(out), cmpopts.EquateApprox(1e-15, 0)); diff != "" {
		t.Error(diff)
	}
}
