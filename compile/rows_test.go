package compile_test

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// Functions whose elements are computed row by row, of parts.
var rowwise = []struct {
	name string
	f    func(x ...tensor.Tensor) ([]tensor.Tensor, error)
	// launches where rows are folded with what is around
	launches int
}{
	{"rms norm", list(rmsNorm), 1},
	{"scaled softmax", list(scaledSoftmax), 1},
	{"layer norm", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		last := []tensor.Option{tensor.Dim(-1), tensor.KeepDim()}
		d := x[0].Sub(x[0].Mean(last...))
		s := d.Square().Mean(last...).AddScalar(1e-5).Rsqrt()
		return []tensor.Tensor{d.Mul(s).Mul(x[1]).Add(x[2]), s}, nil
	}, 1},
	{"a fold alone", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{x[0].Sum(tensor.Dim(-1))}, nil
	}, 1},
	{"a fold and what follows", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{x[0].Mean(tensor.Dim(-1)).AddScalar(2).Square()}, nil
	}, 1},
	{"rows without an axis", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		m := x[0].Abs().Max(tensor.Dim(-1))
		return []tensor.Tensor{m.Sqrt().AddScalar(1), x[0].Div(m.Unsqueeze(-1)).Add(x[1])}, nil
	}, 1},
	{"what is folded is stored", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y := x[0].Mul(x[1]).Exp()
		return []tensor.Tensor{y, y.Sum(tensor.Dim(-1), tensor.KeepDim()).Log()}, nil
	}, 1},
	{"late numbers", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		late := x[0].MulScalar(3).Tanh()
		return []tensor.Tensor{x[0].Square().Sum(tensor.Dim(-1), tensor.KeepDim()).Mul(late)}, nil
	}, 1},
	{"bools", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		m := x[0].Max(tensor.Dim(-1), tensor.KeepDim())
		return []tensor.Tensor{tensor.Where(x[0].Ge(m.MulScalar(0.5)), x[0], x[1]), x[0].Eq(m)}, nil
	}, 1},
}

func list(f func(x ...tensor.Tensor) (tensor.Tensor, error)) func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
	return func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y, err := f(x...)
		return []tensor.Tensor{y}, err
	}
}

// rmsNorm is the norm of parts, with weights.
func rmsNorm(x ...tensor.Tensor) (tensor.Tensor, error) {
	y := x[0].Mul(x[0].Square().Mean(tensor.Dim(-1), tensor.KeepDim()).AddScalar(1e-6).Rsqrt()).Mul(x[1])
	return y, y.Err()
}

// scaledSoftmax is the softmax of parts, of scaled numbers.
func scaledSoftmax(x ...tensor.Tensor) (tensor.Tensor, error) {
	last := []tensor.Option{tensor.Dim(-1), tensor.KeepDim()}
	s := x[0].MulScalar(0.125)
	e := s.Sub(s.Max(last...)).Exp()
	y := e.Div(e.Sum(last...))
	return y, y.Err()
}

// TestRows: folds of rows are one launch with what comes before and after, and give what
// they give one by one, to the bit.
func TestRows(t *testing.T) { each(t, testRows) }

func testRows(t *testing.T, dev device.Device) {
	if dev.Kind == device.KindSim {
		t.Skip("nothing is fused there")
	}
	shapes := [][]int{{64, 96}, {300, 33}, {5, 40, 128}, {17, 1000}, {300, 5000}, {3, 1000}, {40, 8}, {256, 9000}}
	if testing.Short() {
		shapes = shapes[:4]
	}
	for i, shape := range shapes {
		n := shape[len(shape)-1]
		for k, dtype := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.BFloat16} {
			if testing.Short() && (i+k)%3 != 0 { // each shape in one of them
				continue
			}
			of := tensor.OfType(dtype)
			x := []tensor.Tensor{tensor.Randn(shape, of), tensor.Randn([]int{n}, of), tensor.Randn([]int{n}, of)}
			for j, c := range rowwise {
				for l, layout := range []string{"dense", "rows apart", "columns first"} {
					if testing.Short() && (i+j+l)%3 != 0 { // each function in one of them
						continue
					}
					in := append([]tensor.Tensor(nil), x...)
					switch layout {
					case "rows apart":
						in[0] = tensor.Randn(append(append([]int(nil), shape[:len(shape)-1]...), n+3), of).Narrow(-1, 2, n)
					case "columns first":
						in[0] = x[0].Transpose(-1, 0).Clone().Transpose(-1, 0)
					}
					t.Run(fmt.Sprint(c.name, shape, dtype, layout), func(t *testing.T) {
						testRowwise(t, dev, c.f, c.launches, in, dtype, layout == "dense" && (shape[0] >= 40 || len(shape) > 2) && n >= 33)
					})
				}
			}
		}
	}
}

func testRowwise(t *testing.T, dev device.Device, fn func(x ...tensor.Tensor) ([]tensor.Tensor, error), launches int, x []tensor.Tensor, dtype tensor.DType, fits bool) {
	fused, apart := compile.Func(fn), compile.Func(fn, compile.Unfused())
	defer fused.Close()
	defer apart.Close()
	got, err := fused.Call(x...)
	must(t, err)
	want, err := apart.Call(x...)
	must(t, err)
	sameBits(t, got, want, fused.Program())
	if s := fused.Stats(); fits && dtype != tensor.BFloat16 && fuses(t, dev, fused.Explain()) && s.Steps != launches {
		t.Errorf("%d launches, want %d\n%s\n%s", s.Steps, launches, fused.Program(), fused.Explain())
	}
}

// sameBits fails the test where results of a program are not to the bit what is wanted.
func sameBits(t *testing.T, got, want []tensor.Tensor, of fmt.Stringer) {
	t.Helper()
	for i := range want {
		w, err := want[i].Bytes()
		must(t, err)
		g, err := got[i].Bytes()
		must(t, err)
		if !bytes.Equal(g, w) {
			t.Errorf("result %d differs by %v\n%s", i, apartBy(t, got[i], want[i]), of)
		}
	}
}

// apartBy returns the largest difference of elements.
func apartBy(t *testing.T, a, b tensor.Tensor) float64 {
	x, y := values(t, a.ToType(tensor.Float32)), values(t, b.ToType(tensor.Float32))
	most := 0.0
	for i := range x {
		most = max(most, math.Abs(float64(x[i]-y[i])))
	}
	return most
}
