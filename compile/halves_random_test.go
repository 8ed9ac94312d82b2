package compile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// hardHalves are values that 16 bits round, overflow and lose.
var hardHalves = []float32{0, float32(math.Copysign(0, -1)), 1, -1, 65504, -65504, 65520, 3e38, -3e38, float32(math.Inf(1)), float32(math.Inf(-1)),
	float32(math.NaN()), 6e-8, 6.1e-5, 1e-39, -1e-39, 1.0009765, 1.00390625, 2049, 257}

// TestRandomHalfFolds: random programs that fold 16 bits, over odd lengths and views that lie apart, of
// values that are rounded, overflow and are not finite, give what calls one by one give, to the bit.
func TestRandomHalfFolds(t *testing.T) { each(t, testRandomHalfFolds) }

func testRandomHalfFolds(t *testing.T, dev device.Device) {
	if dev.Kind != device.KindCPU {
		t.Skip("folds of 16 bits are fused on the CPU")
	}
	programs := uint64(120)
	if testing.Short() {
		programs = 16
	}
	for seed := range programs {
		r := rand.New(rand.NewPCG(*firstSeed+seed, 9))
		n := []int{1, 2, 3, 7, 8, 15, 17, 31, 33, 63, 64, 65, 127, 200, 513, 1031, 4099}[r.IntN(17)]
		m := []int{1, 2, 3, 5, 16, 37}[r.IntN(6)]
		dtype := []tensor.DType{tensor.Float16, tensor.BFloat16}[r.IntN(2)]
		hard := r.IntN(2) == 0
		some := func(rows int) tensor.Tensor {
			list := make([]float32, rows*n*2)
			for i := range list {
				if list[i] = float32(r.NormFloat64()); hard && r.IntN(6) == 0 {
					list[i] = hardHalves[r.IntN(len(hardHalves))]
				}
			}
			x := tensor.From(list, rows, n*2).ToType(dtype)
			switch r.IntN(3) {
			case 0:
				return x.Narrow(1, 1, n)
			case 1:
				return x.Narrow(1, 0, n).Contiguous()
			}
			return x.Reshape(n*2, rows).Narrow(0, n/2, n).Transpose(0, 1)
		}
		x := []tensor.Tensor{some(m), some(m), some(1)}
		dim := r.IntN(2) - 1
		keep := []tensor.Option{tensor.Dim(dim), tensor.KeepDim()}
		fold := func(y tensor.Tensor) tensor.Tensor {
			switch r.IntN(6) {
			case 0:
				return y.Sum(keep...)
			case 1:
				return y.Mean(keep...)
			case 2:
				return y.Max(keep...)
			case 3:
				return y.Min(keep...)
			case 4:
				return y.Prod(keep...)
			}
			return y.Square().Sum(keep...).Sqrt()
		}
		pick := r.Uint64()
		f := func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
			r = rand.New(rand.NewPCG(pick, 1))
			y := x[0].MulScalar(0.5).Add(x[2])
			a := fold(y)
			z := y.Sub(a).Mul(x[1])
			b := fold(z.Abs())
			switch r.IntN(4) {
			case 0:
				return []tensor.Tensor{z.Div(b.AddScalar(1)), a}, nil
			case 1:
				return []tensor.Tensor{b.Mul(a)}, nil
			case 2:
				return []tensor.Tensor{z.Add(b).Exp(), z, b.ToType(tensor.Float32).MulScalar(3)}, nil
			}
			return []tensor.Tensor{fold(z.ToType(tensor.Float32).Mul(b.ToType(tensor.Float32)).ToType(x[0].DType())).Mul(b)}, nil
		}
		t.Run(fmt.Sprint(seed, " ", m, "x", n, dtype, dim, hard), func(t *testing.T) {
			fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
			defer fused.Close()
			defer apart.Close()
			got, err := fused.Call(x...)
			must(t, err)
			want, err := apart.Call(x...)
			must(t, err)
			for k := range want {
				g, w := values(t, got[k].ToType(tensor.Float32)), values(t, want[k].ToType(tensor.Float32))
				for i := range w {
					if math.Float32bits(g[i]) != math.Float32bits(w[i]) && !(g[i] != g[i] && w[i] != w[i]) { // which NaN is not said
						t.Fatalf("result %d, element %d is %g, want %g\n%s", k, i, g[i], w[i], fused.Program())
					}
				}
			}
		})
	}
}
