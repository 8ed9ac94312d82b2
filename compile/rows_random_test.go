package compile_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// randomRows is a function of rows, made by numbers: element-wise operators of rows, of one
// element a row and of both, and folds. It returns the last of what it made, and two more.
func randomRows(seed uint64) func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
	return func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		r := rand.New(rand.NewPCG(seed, 1))
		list := append([]tensor.Tensor(nil), x...)
		at := func() tensor.Tensor { return list[r.IntN(len(list))] }
		last := []tensor.Option{tensor.Dim(-1), tensor.KeepDim()}
		for range 3 + r.IntN(8) {
			a, b := at(), at()
			var y tensor.Tensor
			switch r.IntN(13) {
			case 0:
				y = a.Add(b)
			case 1:
				y = a.Mul(b)
			case 2:
				y = a.Sub(b)
			case 3:
				y = a.Square().AddScalar(0.25).Rsqrt()
			case 4:
				y = a.Tanh()
			case 5:
				y = a.ClampScalar(-8, 8).Exp()
			case 6:
				y = tensor.Where(a.Ge(b), a, b.MulScalar(0.5))
			case 7:
				y = a.Div(b.Abs().AddScalar(1))
			case 8:
				y = x[0].Add(a).Sum(last...)
			case 9:
				y = x[0].Mul(a).Mean(last...)
			case 10:
				y = x[0].Sub(a).Max(last...)
			case 11:
				y = a.ToType(tensor.BFloat16).MulScalar(0.7).ToType(a.DType())
			default:
				y = x[0].Add(a).Min(last...)
			}
			list = append(list, y)
		}
		y := []tensor.Tensor{x[0].Mul(list[len(list)-1]), at().AddScalar(1), at().Neg()}
		for _, v := range y {
			if err := v.Err(); err != nil {
				return nil, err
			}
		}
		return y, nil
	}
}

// TestRandomRows: random functions of rows give fused what they give unfused, to the bit.
func TestRandomRows(t *testing.T) { each(t, testRandomRows) }

func testRandomRows(t *testing.T, dev device.Device) {
	if dev.Kind == device.KindSim {
		t.Skip("nothing is fused there")
	}
	programs := 400
	if testing.Short() {
		programs = 28
	}
	for seed := range uint64(programs) {
		n := []int{32, 33, 64, 100, 1000, 1030, 2100}[seed%7]
		dtypes := []tensor.DType{tensor.Float32, tensor.Float64}
		if dev.Kind == device.KindCPU {
			dtypes = append(dtypes, tensor.Float16, tensor.BFloat16)
		}
		of := tensor.OfType(dtypes[int(seed)/7%len(dtypes)])
		x := []tensor.Tensor{tensor.Randn([]int{18, n}, of), tensor.Randn([]int{n}, of), tensor.Randn([]int{18, 1}, of)}
		f := randomRows(*firstSeed + seed)
		t.Run(fmt.Sprint(seed, " of ", n), func(t *testing.T) {
			fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
			defer fused.Close()
			defer apart.Close()
			got, err := fused.Call(x...)
			must(t, err)
			want, err := apart.Call(x...)
			must(t, err)
			sameBits(t, got, want, fused.Program())
		})
	}
}
