package compile_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// Functions of x[0], a matrix of 16 bits, and x[1], a row of it, that compute in float32 in
// between. One kernel each.
var halves = []struct {
	name string
	f    func(x ...tensor.Tensor) (tensor.Tensor, error)
}{
	{"rounded after each", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Mul(x[1]).Add(x[0]).Sigmoid().MulScalar(3), nil
	}},
	{"wide in between", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].ToType(tensor.Float32).Mul(x[0].ToType(tensor.Float32)).AddScalar(1).Tanh().ToType(x[0].DType()), nil
	}},
	{"rounded, then wide", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Mul(x[0]).ToType(tensor.Float32).Exp().Log1p(), nil
	}},
	{"softmax of parts", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		last := []tensor.Option{tensor.Dim(-1), tensor.KeepDim()}
		s := x[0].ToType(tensor.Float32).MulScalar(0.125)
		e := s.Sub(s.Max(last...)).Exp()
		return e.Div(e.Sum(last...)).ToType(x[0].DType()), nil
	}},
	{"norm of parts", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		wide := x[0].ToType(tensor.Float32)
		mean := wide.Square().Mean(tensor.Dim(-1), tensor.KeepDim())
		return wide.Mul(mean.AddScalar(1e-6).Rsqrt()).ToType(x[0].DType()).Mul(x[1]), nil
	}},
}

// Functions of the same that fold to 16 bits. On the CPU they are one kernel each.
var halfFolds = []struct {
	name string
	f    func(x ...tensor.Tensor) (tensor.Tensor, error)
}{
	{"softmax of parts rounded after each", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		last := []tensor.Option{tensor.Dim(-1), tensor.KeepDim()}
		s := x[0].MulScalar(0.125)
		e := s.Sub(s.Max(last...)).Exp()
		return e.Div(e.Sum(last...)), nil
	}},
	{"norm of parts rounded after each", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		mean := x[0].Square().Mean(tensor.Dim(-1), tensor.KeepDim())
		return x[0].Mul(mean.AddScalar(1e-6).Rsqrt()).Mul(x[1]), nil
	}},
	{"layer norm of parts rounded after each", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		last := []tensor.Option{tensor.Dim(-1), tensor.KeepDim()}
		c := x[0].Sub(x[0].Mean(last...))
		return c.Div(c.Square().Mean(last...).AddScalar(1e-5).Sqrt()).Mul(x[1]).Add(x[1]), nil
	}},
	{"sums and means of rows", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[0].Mul(x[1])
		return y.Sum(tensor.Dim(-1)).Mul(y.Abs().Mean(tensor.Dim(-1))), nil
	}},
	{"mean square error", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].MulScalar(0.3).Sub(x[1]).Square().Mean(), nil
	}},
	{"mean of columns", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Sub(x[1]).Square().Mean(tensor.Dim(0)), nil
	}},
}

// TestHalves: programs of 16-bit floats round where eager code does, and give its bits.
func TestHalves(t *testing.T) { each(t, testHalves) }

func testHalves(t *testing.T, dev device.Device) {
	if dev.Kind == device.KindSim {
		t.Skip("nothing is fused there")
	}
	for k, dtype := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		for i, shape := range [][]int{{64, 1024}, {40, 136}, {33, 77}, {300, 8192}} {
			if testing.Short() && ((i+k)%2 != 0 || i == 3) { // each shape but the largest in one of them
				continue
			}
			x := []tensor.Tensor{tensor.Randn(shape, tensor.OfType(dtype)), tensor.Randn(shape[1:], tensor.OfType(dtype))}
			list := halves
			if dev.Kind == device.KindCPU {
				list = slices.Concat(halves, halfFolds)
			}
			for _, c := range list {
				t.Run(fmt.Sprint(c.name, shape, dtype), func(t *testing.T) {
					fused, apart := compile.Func(c.f), compile.Func(c.f, compile.Unfused())
					defer fused.Close()
					defer apart.Close()
					got, err := fused.Call(x...)
					must(t, err)
					want, err := apart.Call(x...)
					must(t, err)
					sameBits(t, []tensor.Tensor{got}, []tensor.Tensor{want}, fused.Program())
					if s := fused.Stats(); fuses(t, dev, fused.Explain()) && s.Steps != 1 {
						t.Errorf("%d launches, want 1\n%s\n%s", s.Steps, fused.Program(), fused.Explain())
					}
				})
			}
		}
	}
}

// TestHalvesOfAllBits: arithmetic of all numbers of bfloat16, NaN with any bits too, is rounded as
// float32 is after every operator, in a program and call by call.
func TestHalvesOfAllBits(t *testing.T) { each(t, testHalvesOfAllBits) }

func testHalvesOfAllBits(t *testing.T, dev device.Device) {
	const n = 1 << 16
	raw, other := make([]byte, 2*n), make([]byte, 2*n)
	for i := range n {
		binary.LittleEndian.PutUint16(raw[2*i:], uint16(i))
		binary.LittleEndian.PutUint16(other[2*i:], uint16(i*40503+12345))
	}
	x, y := tensor.FromBytes(raw, tensor.BFloat16, []int{n}), tensor.FromBytes(other, tensor.BFloat16, []int{n})
	f := func(x ...tensor.Tensor) (tensor.Tensor, error) {
		z := x[0].Mul(x[1]).Add(x[0]).Sub(x[1]).Div(x[0])
		return z, z.Err()
	}
	program := compile.Func(f)
	defer program.Close()
	fused, err := program.Call(x, y)
	must(t, err)
	apart, err := f(x, y)
	must(t, err)
	for name, got := range map[string]tensor.Tensor{"program": fused, "calls": apart} {
		bits, err := got.Bytes()
		must(t, err)
		for i := range n {
			a, b := widened(binary.LittleEndian.Uint16(raw[2*i:])), widened(binary.LittleEndian.Uint16(other[2*i:]))
			want := rounded(rounded(rounded(rounded(float32(a*b))+a)-b) / a)
			if got := widened(binary.LittleEndian.Uint16(bits[2*i:])); got != want && (got == got || want == want) {
				t.Fatalf("%s: of %v and %v %v, want %v", name, a, b, got, want)
			}
		}
	}
}

// widened is a number of bfloat16, rounded the number of it that is nearest.
func widened(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

func rounded(x float32) float32 {
	if x != x {
		return x
	}
	bits := math.Float32bits(x)
	return math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff)
}

// TestScaledProducts: a product times a power of two is one call of cuBLASLt on GPUs, and
// rounds where eager code does; times another number it is two.
func TestScaledProducts(t *testing.T) { each(t, testScaledProducts) }

func testScaledProducts(t *testing.T, dev device.Device) {
	for _, tt := range []struct {
		dtype  tensor.DType
		factor float64
		steps  int // on GPUs
	}{
		{tensor.BFloat16, 0.125, 1}, {tensor.BFloat16, 0.3, 2}, {tensor.Float16, 2, 1}, {tensor.Float16, 0.5, 2}, {tensor.Float32, -0.25, 1},
	} {
		for i, shape := range [][]int{{128, 64}, {2, 3, 40, 64}} {
			if i > 0 && testing.Short() {
				break
			}
			x := tensor.Randn(shape, tensor.OfType(tt.dtype))
			f := func(x ...tensor.Tensor) (tensor.Tensor, error) {
				return x[0].MatMul(x[0].Transpose(-2, -1)).MulScalar(tt.factor), nil
			}
			fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
			for range 3 {
				got, err := fused.Call(x)
				must(t, err)
				want, err := apart.Call(x)
				must(t, err)
				sameBits(t, []tensor.Tensor{got}, []tensor.Tensor{want}, fused.Program())
			}
			if s := fused.Stats(); dev.Kind == device.KindCUDA && fuses(t, dev, fused.Explain()) && s.Steps != tt.steps {
				t.Errorf("%s times %v: %d launches, want %d\n%s", tt.dtype, tt.factor, s.Steps, tt.steps, fused.Program())
			}
			fused.Close()
			apart.Close()
		}
	}
}
