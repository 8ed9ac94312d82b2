package samples

import (
	"encoding/json"
	"fmt"
	"math"
	"math/cmplx"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An array is one as the script writes it.
type array struct {
	Shape  []int
	Re, Im []float64
}

func (a array) numbers() []complex128 {
	out := make([]complex128, len(a.Re))
	for i, re := range a.Re {
		if out[i] = complex(re, 0); a.Im != nil {
			out[i] = complex(re, a.Im[i])
		}
	}
	return out
}

// tensor returns the array on a device, complex where it has such parts.
func (a array) tensor(d device.Device) tensor.Tensor {
	if a.Im == nil {
		return tensor.FromSlice(a.Re, a.Shape, tensor.On(d))
	}
	return tensor.FromSlice(a.numbers(), a.Shape, tensor.On(d))
}

// numbers returns the elements of a tensor of any dtype.
func numbers(t *testing.T, x tensor.Tensor) []complex128 {
	t.Helper()
	out, err := tensor.Data[complex128](x.ToType(tensor.Complex128))
	must(t, err)
	return out
}

// same compares a result with an array, relative to the largest number.
func same(t *testing.T, what string, got tensor.Tensor, want array, near float64) {
	t.Helper()
	if err := got.Err(); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if !slices.Equal(got.Shape(), want.Shape) || got.DType().IsComplex() != (want.Im != nil) {
		t.Errorf("%s: %v of shape %v, want %v", what, got.DType(), got.Shape(), want.Shape)
		return
	}
	size := 1.0
	for _, v := range want.numbers() {
		size = max(size, cmplx.Abs(v))
	}
	for i, v := range numbers(t, got) {
		if w := want.numbers()[i]; !(cmplx.Abs(v-w) <= near*size) {
			t.Errorf("%s: element %d is %v, want %v", what, i, v, w)
			return
		}
	}
}

// A transform is an operator with all that it takes.
type transform func(x *core.Tensor, sizes, dim []int, scaling ops.Scaling) *core.Tensor

var transforms = map[string]transform{
	"fft": ops.FFT, "ifft": ops.IFFT, "rfft": ops.RFFT, "irfft": ops.IRFFT, "hfft": ops.HFFT, "ihfft": ops.IHFFT,
	"fft2": ops.FFT2, "ifft2": ops.IFFT2, "rfft2": ops.RFFT2, "irfft2": ops.IRFFT2,
	"fftn": ops.FFTN, "ifftn": ops.IFFTN, "rfftn": ops.RFFTN, "irfftn": ops.IRFFTN,
}

var scalings = map[string]ops.Scaling{"backward": ops.ScalingBackward, "ortho": ops.ScalingOrtho, "forward": ops.ScalingForward}

type fourierVectors struct {
	Cases []struct {
		Op, Norm   string
		Sizes, Dim []int
		In, Out    array
	}
	Shifts []struct {
		Op      string
		Dim     []int
		In, Out array
	}
	Frequencies []struct {
		Op  string
		N   int
		D   float64
		Out array
	}
}

func readFourier(t *testing.T) (v fourierVectors) {
	t.Helper()
	text, err := os.ReadFile("../vectors/fft.json")
	must(t, err)
	must(t, json.Unmarshal(text, &v))
	return v
}

func TestNumPy(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range []device.Device{device.CPU, device.Sim(0)} {
		for i, c := range readFourier(t).Cases {
			seen[c.Op] = true
			f := transforms[c.Op]
			what := fmt.Sprintf("%v, case %d: %s of %v, sizes %v, dim %v, %s", d, i, c.Op, c.In.Shape, c.Sizes, c.Dim, c.Norm)
			x := c.In.tensor(d)
			same(t, what, tensor.Wrap(f(x.Handle(), c.Sizes, c.Dim, scalings[c.Norm])), c.Out, 1e-14)
			single := tensor.Float32
			if x.DType().IsComplex() {
				single = tensor.Complex64
			}
			same(t, what+", single", tensor.Wrap(f(x.ToType(single).Handle(), c.Sizes, c.Dim, scalings[c.Norm])), c.Out, 1e-6)
		}
	}
	for name := range transforms {
		if !seen[name] {
			t.Errorf("there is no vector for %s", name)
		}
	}
}

func TestShiftsAndFrequencies(t *testing.T) {
	v := readFourier(t)
	for _, c := range v.Shifts {
		f := ops.FFTShift
		if c.Op == "ifftshift" {
			f = ops.IFFTShift
		}
		same(t, fmt.Sprintf("%s of %v along %v", c.Op, c.In.Shape, c.Dim), tensor.Wrap(f(c.In.tensor(device.CPU).Handle(), c.Dim)), c.Out, 0)
	}
	for _, c := range v.Frequencies {
		f := tensor.FFTFreq
		if c.Op == "rfftfreq" {
			f = tensor.RFFTFreq
		}
		same(t, fmt.Sprintf("%s(%d, %g)", c.Op, c.N, c.D), f(c.N, c.D, tensor.OfType(tensor.Float64)), c.Out, 1e-16)
	}
	if err := tensor.FFTFreq(0, 1).Err(); err == nil {
		t.Error("frequencies of no samples")
	}
}

// TestDTypes: integers and bools become the default float, in single or double
// precision; half precision is refused by name.
func TestDTypes(t *testing.T) {
	for _, dt := range []tensor.DType{tensor.Bool, tensor.Uint8, tensor.Int64} {
		x := tensor.Ones([]int{4}, tensor.OfType(dt))
		same(t, dt.String(), x.FFT(), array{[]int{4}, []float64{4, 0, 0, 0}, make([]float64, 4)}, 1e-7)
		if got := x.RFFT().DType(); got != tensor.Complex64 {
			t.Errorf("rfft of %v is %v", dt, got)
		}
		if got := x.IRFFT().DType(); got != tensor.Float32 {
			t.Errorf("irfft of %v is %v", dt, got)
		}
	}
	for _, dt := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		for name, f := range transforms {
			err := tensor.Wrap(f(tensor.Ones([]int{4, 4}, tensor.OfType(dt)).Handle(), nil, nil, 0)).Err()
			if err == nil || !strings.Contains(err.Error(), name+": ") || !strings.Contains(err.Error(), "not implemented for "+dt.String()) {
				t.Errorf("%s of %v: %v", name, dt, err)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	x := tensor.Ones([]int{2, 3, 4})
	z := x.ToType(tensor.Complex64)
	for _, c := range []struct {
		what string
		got  tensor.Tensor
		want string
	}{
		{"no points", x.FFT(tensor.Sizes(0)), "fft: invalid shape: Invalid number of data points (0) specified"},
		{"less than none", x.FFT(tensor.Sizes(-2)), "fft: invalid shape: Invalid number of data points (-2) specified"},
		{"an empty axis", tensor.Ones([]int{3, 0}).IFFT(), "Invalid number of data points (0) specified"},
		{"an empty axis, real", tensor.Ones([]int{3, 0}).RFFT(), "Invalid number of data points (0) specified"},
		{"one element back", tensor.Ones([]int{3, 1}).IRFFT(), "Invalid number of data points (0) specified"},
		{"two axes of one", x.FFT(tensor.Dim(0, 1)), "one axis at most"},
		{"no such axis", x.FFT(tensor.Dim(3)), "dimension out of range: 3 is not in [-3, 2]"},
		{"an axis twice", x.FFT2(tensor.Dim(1, -2)), "FFT dims must be unique"},
		{"sizes and axes", x.FFTN(tensor.Sizes(2, 2), tensor.Dim(1)), "2 numbers of points for 1 axes"},
		{"sizes and two axes", x.FFT2(tensor.Sizes(2)), "1 numbers of points for 2 axes"},
		{"too many sizes", x.FFTN(tensor.Sizes(1, 1, 1, 1)), "4 numbers of points for shape [2 3 4]"},
		{"a scalar", tensor.Ones([]int{}).FFT(), "a scalar, which has no axis"},
		{"a scalar, real", tensor.Ones([]int{}).RFFTN(), "at least one axis"},
		{"complex", z.RFFT(), "rfft: invalid dtype: not implemented for complex64"},
		{"complex, ihfft", z.IHFFT(), "ihfft: invalid dtype: not implemented for complex64"},
		{"a vector of two axes", tensor.Ones([]int{4}).FFT2(), "dimension out of range"},
		{"nothing", tensor.Tensor{}.FFT(), "zero Tensor"},
	} {
		if err := c.got.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	if err := tensor.Ones([]int{0, 3}).RFFT().Err(); err != nil {
		t.Errorf("no rows: %v", err)
	}
}

// loss is a function of x that is not linear in its transform.
func loss(f transform, x tensor.Tensor) tensor.Tensor {
	y := tensor.Wrap(f(x.Handle(), nil, nil, 0))
	if !y.DType().IsComplex() {
		return y.Square().Square().Sum()
	}
	return y.Real().Square().Mul(y.Imag().AddScalar(1.5)).Sum()
}

// TestSecondDerivatives compares the product of the second derivative and a vector
// with differences of gradients, for real operands, for complex ones and for views.
func TestSecondDerivativesOfTransforms(t *testing.T) {
	const step = 1e-5
	for name, f := range transforms {
		for _, complex := range []bool{false, true} {
			if complex && (strings.HasPrefix(name, "r") || name == "ihfft") {
				continue
			}
			x := tensor.Randn([]int{4, 3}, tensor.OfType(tensor.Float64))
			v := tensor.Randn([]int{4, 3}, tensor.OfType(tensor.Float64))
			if complex {
				x, v = tensor.Complex(x, x.Flip(0)), tensor.Complex(v, v.Flip(0).Neg())
			}
			gradient := func(at tensor.Tensor, opts ...tensor.Option) (tensor.Tensor, tensor.Tensor) {
				leaf := at.Detach().RequireGrad()
				g, err := tensor.Gradients([]tensor.Tensor{loss(f, leaf.Transpose(0, 1))}, []tensor.Tensor{leaf}, opts...)
				must(t, err)
				return leaf, g[0]
			}
			leaf, g := gradient(x, tensor.CreateGraph())
			// The inner product of the parts, which is real.
			inner := g.Mul(v)
			if complex {
				inner = g.Mul(v.Conj()).Real()
			}
			second, err := tensor.Gradients([]tensor.Tensor{inner.Sum()}, []tensor.Tensor{leaf})
			must(t, err)
			_, up := gradient(x.Add(v.MulScalar(step)))
			_, down := gradient(x.Sub(v.MulScalar(step)))
			want := numbers(t, up.Sub(down).DivScalar(2*step))
			got := numbers(t, second[0])
			size := 0.0
			for _, w := range want {
				size = max(size, cmplx.Abs(w))
			}
			for i, w := range want {
				if !(cmplx.Abs(got[i]-w) <= 1e-6*size+1e-8) {
					t.Errorf("%s, complex %v: element %d of the second derivative is %v, by differences %v", name, complex, i, got[i], w)
					break
				}
			}
		}
	}
}

// TestInverses: transforms there and back are the operand, for each way to scale,
// and keep the sum of squares where they are orthogonal.
func TestInverses(t *testing.T) {
	x := tensor.Randn([]int{3, 10}, tensor.OfType(tensor.Float64))
	want := array{Shape: x.Shape()}
	for _, v := range numbers(t, x) {
		want.Re = append(want.Re, real(v))
	}
	for name, s := range scalings {
		scaling := tensor.Scaling(s)
		same(t, "fft, "+name, x.FFT(scaling).IFFT(scaling).Real(), want, 1e-14)
		same(t, "rfft, "+name, x.RFFT(scaling).IRFFT(scaling), want, 1e-14)
		same(t, "ihfft, "+name, x.IHFFT(scaling).HFFT(scaling), want, 1e-14)
		same(t, "rfftn, "+name, x.RFFTN(scaling).IRFFTN(scaling), want, 1e-14)
		same(t, "fft2, "+name, x.FFT2(scaling).IFFT2(scaling).Real(), want, 1e-14)
		same(t, "shifts", x.FFTShift().IFFTShift(), want, 0)
	}
	before, after := numbers(t, x.Square().Sum())[0], numbers(t, x.FFT(tensor.ScalingOrtho).Abs().Square().Sum())[0]
	if math.Abs(real(before)-real(after)) > 1e-12 {
		t.Errorf("the sum of squares went from %v to %v", before, after)
	}
}

// TestMovedAxes: on an accelerator transforms that leave the last axis alone give a
// view of lines without gaps. It can be changed in place and has the derivatives that
// a result on the CPU has.
func TestMovedAxes(t *testing.T) {
	real := tensor.Randn([]int{4, 3, 5}, tensor.OfType(tensor.Float64))
	complex := tensor.Complex(real, real.Flip(0))
	for _, c := range []struct {
		name    string
		dim     []int
		x       tensor.Tensor
		strides []int
	}{
		{"fft", []int{0}, complex, []int{1, 20, 4}},
		{"ifft", []int{1}, complex, []int{15, 1, 3}},
		{"fftn", []int{1, 0}, complex, []int{3, 1, 12}},
		{"fftn", []int{0, 2}, complex, []int{15, 5, 1}},
		{"rfft", []int{0}, real, []int{1, 15, 3}},
		{"irfft", []int{-2}, complex, []int{20, 1, 4}},
		{"irfftn", []int{0, 1}, complex, []int{20, 1, 4}},
	} {
		what := fmt.Sprintf("%s along %v", c.name, c.dim)
		run := func(d device.Device) (layout []int, out, slope []complex128) {
			leaf := c.x.To(d).Detach().RequireGrad()
			y := tensor.Wrap(transforms[c.name](leaf.Handle(), nil, c.dim, 0))
			layout = y.Strides()
			must(t, y.MulScalarInPlace(3))
			square := y.Mul(y.Conj()).Mul(y)
			if y.DType().IsComplex() {
				square = square.Real()
			}
			g, err := tensor.Gradients([]tensor.Tensor{square.Sum()}, []tensor.Tensor{leaf})
			must(t, err)
			return layout, numbers(t, y), numbers(t, g[0])
		}
		layout, out, slope := run(device.Sim(0))
		_, wantOut, wantSlope := run(device.CPU)
		if !slices.Equal(layout, c.strides) {
			t.Errorf("%s: strides %v, want %v", what, layout, c.strides)
		}
		for i, w := range wantOut {
			if cmplx.Abs(out[i]-w) > 1e-9 {
				t.Errorf("%s: element %d is %v, want %v", what, i, out[i], w)
				break
			}
		}
		for i, w := range wantSlope {
			if cmplx.Abs(slope[i]-w) > 1e-9*max(1, cmplx.Abs(w)) {
				t.Errorf("%s: element %d of the derivative is %v, want %v", what, i, slope[i], w)
				break
			}
		}
	}
}

func TestOut(t *testing.T) {
	x := tensor.Ones([]int{2, 4})
	dst := tensor.Zeros([]int{2, 4}, tensor.OfType(tensor.Complex64))
	must(t, out.FFT(dst, x))
	same(t, "out form", dst, array{[]int{2, 4}, []float64{4, 0, 0, 0, 4, 0, 0, 0}, make([]float64, 8)}, 0)
	if err := out.FFT(tensor.Zeros([]int{2, 4}), x); err == nil {
		t.Error("a complex result was written to a real tensor")
	}
}
