package compile_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// Functions of x[0] of some shape, of which x[1] has the first axis and the last, x[2] all but the
// last, and x[3] the last alone.
var overRows = []struct {
	name string
	f    func(x ...tensor.Tensor) ([]tensor.Tensor, error)
}{
	{"halves turned", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		n := x[0].Size(-1) / 2
		a, b := x[0].Narrow(-1, 0, n), x[0].Narrow(-1, n, n)
		cos, sin := x[1].Narrow(-1, 0, n), x[1].Narrow(-1, n, n)
		return []tensor.Tensor{a.Mul(cos).Sub(b.Mul(sin)), b.Mul(cos).Add(a.Mul(sin))}, nil
	}},
	{"a column and a row", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return single(x[0].Mul(x[2]).Add(x[3]).Sub(x[2]))
	}},
	{"several results", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y := x[0].Mul(x[2]).Add(x[1])
		return []tensor.Tensor{y, y.Mul(y), y.Gt(x[3])}, nil
	}},
	{"turned over", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return single(x[0].Transpose(0, -1).Mul(x[2].Transpose(0, -1)).Add(x[0].Transpose(0, -1)))
	}},
	{"every other", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y, n := x[0].Slice(-1, 0, x[0].Size(-1)/2*2, 2), x[0].Size(-1)/2
		return single(y.Mul(x[3].Narrow(0, 0, n)).Add(y))
	}},
	{"masked", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		return single(tensor.Where(x[0].Gt(x[2]), x[0].Mul(x[3]), x[1]))
	}},
	{"written in place", func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y, n := x[0].Mul(x[3]), x[0].Size(-1)/2
		err := y.Narrow(-1, 1, n).MulInPlace(x[2].AddScalar(2))
		return []tensor.Tensor{y}, err
	}},
}

// TestLines: regions over rows whose views lie apart, and of which operands have one element for
// each row, give what calls one by one give, to the bit, whatever the lengths.
func TestLines(t *testing.T) { each(t, testLines) }

func testLines(t *testing.T, dev device.Device) {
	for k, dtype := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16, tensor.Float64, tensor.Int64, tensor.Int32} {
		for i, shape := range [][]int{{40, 3, 64}, {7, 20, 131}, {300, 2, 2, 70}, {33, 512}, {70, 600}, {5, 64, 33}, {3, 1, 40}} {
			if testing.Short() && (i+k)%5 != 0 {
				continue
			}
			last := len(shape) - 1
			ends, column := append([]int(nil), shape...), append([]int(nil), shape...)
			for a := 1; a < last; a++ {
				ends[a] = 1
			}
			column[last] = 1
			var x []tensor.Tensor
			for _, s := range [][]int{shape, ends, column, shape[last:]} {
				x = append(x, tensor.Randn(s, tensor.On(dev)).MulScalar(9).ToType(dtype))
			}
			for _, c := range overRows {
				t.Run(fmt.Sprint(c.name, shape, dtype), func(t *testing.T) {
					fused, apart := compile.Func(c.f), compile.Func(c.f, compile.Unfused())
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
	}
}
