package edges_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	. "github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestAccepted calls operators with what people expect them to take and what was once
// refused: indices of int32, tensors without axes, negative numbers and the like. What
// dtypes operators take is TestDTypes'.
func TestAccepted(t *testing.T) {
	x := func(v ...float32) Tensor { return From(v) }
	at := func(v ...int32) Tensor { return From(v) }
	square := func() Tensor { return From([]float32{1, 2, 3, 4}, 2, 2) }
	ramp := func(n int) Tensor { return Arange(0, n, 1, OfType(Float32)) }
	first := func(x, _ Tensor) Tensor { return x }
	second := func(_, x Tensor) Tensor { return x }
	for _, c := range []struct {
		name  string
		f     func() Tensor
		shape []int
		want  []float64
	}{
		{"gather at int32", func() Tensor { return x(5, 6, 7).Gather(0, at(2, 0)) }, []int{2}, []float64{7, 5}},
		{"gather without axes", func() Tensor { return FromScalar(5.0).Gather(0, FromScalar(0)) }, nil, []float64{5}},
		{"scatter at int32", func() Tensor { return x(5, 6, 7).Scatter(0, at(2, 0), x(1, 2)) }, []int{3}, []float64{2, 6, 1}},
		{"scatter with a product", func() Tensor { return x(5, 6, 7).ScatterReduce(0, at(2, 2), x(2, 3), ReduceProd) }, []int{3}, []float64{5, 6, 42}},
		{"scatter with a maximum", func() Tensor { return x(5, 6, 7).ScatterReduce(0, at(2, 0), x(2, 8), ReduceAmax) }, []int{3}, []float64{8, 6, 7}},
		{"scatter with a mean alone", func() Tensor { return x(5, 6, 7).ScatterReduce(0, at(2, 2), x(2, 4), ReduceMean, IncludeSelf(false)) }, []int{3}, []float64{5, 6, 3}},
		{"index_select at int32", func() Tensor { return square().IndexSelect(1, at(1)) }, []int{2, 1}, []float64{2, 4}},
		{"index_add at int32", func() Tensor { return x(5, 6, 7).IndexAdd(0, at(1, 1), x(1, 2)) }, []int{3}, []float64{5, 9, 7}},
		{"embedding at int32", func() Tensor { return Embedding(at(1, 0), square()) }, []int{2, 2}, []float64{3, 4, 1, 2}},
		{"cross entropy of int32", func() Tensor { return Zeros([]int{2, 4}).CrossEntropy(at(1, 3)) }, nil, []float64{math.Log(4)}},
		{"take from the end", func() Tensor { return square().Take(at(-1, 0, -4)) }, []int{3}, []float64{4, 1, 1}},
		{"angle of real numbers", func() Tensor { return x(-2, 0, 3).Angle() }, []int{3}, []float64{math.Pi, 0, 0}},
		{"masked_fill with a value of another dtype", func() Tensor { return x(1, 2).MaskedFill(From([]bool{true, false}), FromScalar(7)) }, []int{2}, []float64{7, 2}},
		{"topk without axes", func() Tensor { return first(FromScalar(5.0).Topk(1, 0)) }, nil, []float64{5}},
		{"kthvalue without axes", func() Tensor { return second(FromScalar(5.0).Kthvalue(1, 0)) }, nil, []float64{0}},
		{"unfold without axes", func() Tensor { return FromScalar(5.0).Unfold(0, 1, 1) }, []int{1}, []float64{5}},
		{"kron of a vector and a matrix", func() Tensor { return x(1, 10).Kron(square()) }, []int{2, 4}, []float64{1, 2, 10, 20, 3, 4, 30, 40}},
		{"kron without axes", func() Tensor { return FromScalar(float32(2)).Kron(x(1, 3)) }, []int{2}, []float64{2, 6}},
		{"pad less than nothing, reflected", func() Tensor { return ramp(5).Reshape(1, 5).Pad([]int{-1, 2}, Mode(ModeReflect)) }, []int{1, 6}, []float64{1, 2, 3, 4, 3, 2}},
		{"pad less than nothing, replicated", func() Tensor { return ramp(5).Reshape(1, 5).Pad([]int{2, -1}, Mode(ModeReplicate)) }, []int{1, 6}, []float64{0, 0, 0, 1, 2, 3}},
		{"pad less than nothing, in a circle", func() Tensor { return ramp(5).Reshape(1, 5).Pad([]int{-1, 2}, Mode(ModeCircular)) }, []int{1, 6}, []float64{1, 2, 3, 4, 1, 2}},
		{"pad less than nothing, with a number", func() Tensor { return ramp(5).Pad([]int{-2, 1}, Value(9)) }, []int{4}, []float64{2, 3, 4, 9}},
		{"as long as before", func() Tensor { return Ones([]int{1, 1, 4}).Conv1d(Ones([]int{1, 1, 2}), AutoPad(AutoPadSame)) }, []int{1, 1, 4}, []float64{2, 2, 2, 1}},
		{"output padding below dilation", func() Tensor {
			return Ones([]int{1, 1, 2}).ConvTranspose1d(Ones([]int{1, 1, 2}), Dilation(2), OutputPadding(1))
		}, []int{1, 1, 5}, []float64{1, 1, 1, 1, 0}},
		{"embedding's largest norm", func() Tensor { return Embedding(at(0), From([]float32{3, 4}, 1, 2), MaxNorm(1)) }, []int{1, 2}, []float64{0.6, 0.8}},
		{"correction between integers", func() Tensor { return x(0, 2).Var(Correction(0.5)) }, nil, []float64{2 / 1.5}},
		{"norm in another dtype", func() Tensor { return x(300, 400).ToType(Float16).MulScalar(100).Norm(OfType(Float32)) }, nil, []float64{50000}},
		{"batch norm of halves by singles", func() Tensor {
			return Ones([]int{2, 1}, OfType(Float16)).BatchNorm(x(0), x(1), Weight(x(3)), Bias(x(0.5)))
		}, []int{2, 1}, []float64{3.5, 3.5}},
		{"repeats as a tensor", func() Tensor { return x(5, 6, 7).RepeatInterleaveBy(at(0, 2, 1), 0) }, []int{3}, []float64{6, 6, 7}},
		{"indices of pooling along one axis", func() Tensor { return second(From([]float32{1, 4, 2, 3}, 1, 1, 4).MaxPool1dWithIndices([]int{2})) }, []int{1, 1, 2}, []float64{1, 3}},
		{"linspace of integers", func() Tensor { return Linspace(0, 8, 5, OfType(Int32)) }, []int{5}, []float64{0, 2, 4, 6, 8}},
		{"sgn of complex numbers", func() Tensor { return x(3).Complex(x(4)).Sgn().Imag() }, []int{1}, []float64{0.8}},
		{"std of complex numbers", func() Tensor { return x(0, 3).Complex(x(0, 4)).Std() }, nil, []float64{5 / math.Sqrt2}},
		{"closeness of complex numbers", func() Tensor { return x(1).Complex(x(2)).IsClose(x(1).Complex(x(2))) }, []int{1}, []float64{1}},
		{"einsum of three operands", func() Tensor { return Einsum("ij,jk,k->i", []Tensor{square(), square(), x(1, 2)}) }, []int{2}, []float64{27, 59}},
	} {
		for _, d := range []device.Device{device.CPU, device.Sim(0)} {
			must(t, WithDefaults(Defaults{Device: d}, func() error {
				y := c.f()
				if err := y.Err(); err != nil {
					t.Errorf("%s on %s: %v", c.name, d, err)
					return nil
				}
				if diff := cmp.Diff(c.shape, y.Shape(), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s on %s: shape (-want +got):\n%s", c.name, d, diff)
				}
				if diff := cmp.Diff(c.want, values(t, y), cmpopts.EquateApprox(1e-3, 1e-6)); diff != "" {
					t.Errorf("%s on %s (-want +got):\n%s", c.name, d, diff)
				}
				return nil
			}))
		}
	}
}

// TestRandomComplex: random numbers are complex too, and their parts are independent with
// half the variance each.
func TestRandomComplex(t *testing.T) {
	for _, dt := range []DType{Complex64, Complex128} {
		uniform, normal := Rand([]int{4096}, OfType(dt)), Randn([]int{4096}, OfType(dt))
		for i, v := range values(t, Cat([]Tensor{uniform.Real(), uniform.Imag()}, 0)) {
			if v < 0 || v >= 1 {
				t.Fatalf("%s: element %d is %v", dt, i, v)
			}
		}
		for name, part := range map[string]Tensor{"real": normal.Real(), "imaginary": normal.Imag()} {
			if v := values(t, part.Var())[0]; math.Abs(v-0.5) > 0.1 { // six deviations are 0.07
				t.Errorf("%s: the variance of the %s parts is %v, want 0.5", dt, name, v)
			}
		}
		if v := values(t, normal.Real().Mul(normal.Imag()).Mean())[0]; math.Abs(v) > 0.06 { // a deviation is 0.008
			t.Errorf("%s: the covariance of the parts is %v", dt, v)
		}
	}
}
