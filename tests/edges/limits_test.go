package edges_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestGradientsAtLimits holds gradients where a part of them has no number, or overflows
// although the whole does not, against those of PyTorch 2.11.
func TestGradientsAtLimits(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	type list = []float32
	for _, c := range []struct {
		name string
		f    func(x, y tensor.Tensor) tensor.Tensor
		x, y list
		want [2]list // where y is nil the second is too
	}{
		{"clamp_max", tensor.ClampMax, list{nan, 1, 2, 1}, list{1, nan, 2, 0}, [2]list{{0, 0, 1, 0}, {0, 0, 0, 1}}},
		{"clamp_min", tensor.ClampMin, list{nan, 1, 2, 1}, list{1, nan, 2, 0}, [2]list{{0, 0, 1, 1}, {0, 0, 0, 0}}},
		{"logit", func(x, _ tensor.Tensor) tensor.Tensor { return x.Logit() }, list{0, 1, 2, -1, nan, 0.5}, nil, [2]list{{inf, inf, nan, nan, nan, 4}}},
		{"logit with eps", func(x, _ tensor.Tensor) tensor.Tensor { return x.Logit(tensor.Eps(0.25)) }, list{0, 1, 0.25, 0.5}, nil, [2]list{{0, 0, 16 / 3., 4}}},
	} {
		x := tensor.From(c.x, len(c.x)).RequireGrad()
		inputs := []tensor.Tensor{x}
		var y tensor.Tensor
		if c.y != nil {
			y = tensor.From(c.y, len(c.y)).RequireGrad()
			inputs = append(inputs, y)
		}
		must(t, c.f(x, y).Sum().Backward())
		for i, in := range inputs {
			g, _ := in.Grad()
			got, err := tensor.Data[float32](g)
			must(t, err)
			if d := cmp.Diff(c.want[i], got, near32(2e-5)); d != "" {
				t.Errorf("%s, operand %d (-want +got):\n%s", c.name, i, d)
			}
		}
	}
}

// near32 takes numbers for equal that differ by a part of themselves.
func near32(part float64) cmp.Option {
	return cmp.Comparer(func(a, b float32) bool {
		x, y := float64(a), float64(b)
		return x == y || x != x && y != y || math.Abs(x-y) <= part*math.Abs(x)
	})
}

// TestDirectionOfSmall: a complex number near zero has a modulus, and its gradient.
func TestDirectionOfSmall(t *testing.T) {
	for _, z := range []complex64{1e-40 + 1e-40i, 3e-39 - 4e-39i, 3e37 + 4e37i, -5} {
		x := tensor.From([]complex64{z}, 1).RequireGrad()
		must(t, x.Abs().Sum().Backward())
		g, _ := x.Grad()
		got, err := tensor.Data[complex64](g)
		must(t, err)
		size := math.Hypot(float64(real(z)), float64(imag(z)))
		want := complex(float32(float64(real(z))/size), float32(float64(imag(z))/size))
		if d := got[0] - want; math.Hypot(float64(real(d)), float64(imag(d))) > 1e-4 {
			t.Errorf("abs of %v has the gradient %v, want %v", z, got[0], want)
		}
	}
}

// TestNaNToNum: infinities become the largest numbers of the dtype where nothing is said.
func TestNaNToNum(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	largest := map[tensor.DType]float64{
		tensor.Float16: 65504, tensor.BFloat16: 0x1.fep127, tensor.Float32: math.MaxFloat32, tensor.Float64: math.MaxFloat64,
	}
	for dtype, most := range largest {
		x := tensor.From([]float64{inf, -inf, nan, -2}, 4).ToType(dtype)
		for _, c := range []struct {
			opts []tensor.Option
			want []float64
		}{
			{nil, []float64{most, -most, 0, -2}},
			{[]tensor.Option{tensor.Posinf(3), tensor.NaN(1)}, []float64{3, -most, 1, -2}},
			{[]tensor.Option{tensor.Neginf(math.Inf(-1)), tensor.Posinf(inf)}, []float64{inf, -inf, 0, -2}},
		} {
			if d := cmp.Diff(c.want, values(t, x.NaNToNum(c.opts...))); d != "" {
				t.Errorf("%s, %s (-want +got):\n%s", dtype, fmt.Sprint(c.opts), d)
			}
		}
	}
}

// TestTransformsOfNoLines: lines that there are none of may be of any length.
func TestTransformsOfNoLines(t *testing.T) {
	const long = math.MaxInt >> 22
	for _, dev := range []device.Device{device.CPU, device.Sim(0)} {
		x := tensor.Zeros([]int{0, 4}, tensor.On(dev))
		for name, y := range map[string]tensor.Tensor{
			"fft": x.FFT(tensor.Sizes(long)), "rfft": x.RFFT(tensor.Sizes(long)), "irfft": x.ToType(tensor.Complex64).IRFFT(tensor.Sizes(long)),
		} {
			if err := y.Err(); err != nil || y.Size(0) != 0 {
				t.Errorf("%s on %s is %v: %v", name, dev, y.Shape(), err)
			}
		}
	}
}
