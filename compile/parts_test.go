package compile_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// joined are functions of x[0] and x[1] of one shape, whose last axis is even, that join tensors,
// and how many joinings are left out.
var joined = []struct {
	name string
	left int
	f    func(x ...tensor.Tensor) (tensor.Tensor, error)
}{
	{"halves turned", 1, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		n := x[0].Size(-1) / 2
		a, b, c, s := x[0].Narrow(-1, 0, n), x[0].Narrow(-1, n, n), x[1].Narrow(-1, 0, n), x[1].Narrow(-1, n, n)
		return tensor.Cat([]tensor.Tensor{a.Mul(c).Sub(b.Mul(s)), b.Mul(c).Add(a.Mul(s))}, -1), nil
	}},
	{"along the first axis", 1, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return tensor.Cat([]tensor.Tensor{x[0].Tanh(), x[1].MulScalar(2), x[0].Add(x[1])}, 0), nil
	}},
	{"stacked", 1, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return tensor.Stack([]tensor.Tensor{x[0].Add(x[1]), x[0].Sub(x[1])}, -1), nil
	}},
	{"stacked first", 1, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return tensor.Stack([]tensor.Tensor{x[0].Mul(x[1]).Abs(), x[0].Maximum(x[1])}, 0).AddScalar(1), nil
	}},
	{"one part is an argument", 1, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return tensor.Cat([]tensor.Tensor{x[0], x[0].ReLU()}, -1), nil
	}},
	{"two of three are arguments", 0, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return tensor.Cat([]tensor.Tensor{x[0], x[0].ReLU(), x[1]}, -1), nil
	}},
	{"a part used twice", 0, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[0].Mul(x[1])
		return tensor.Cat([]tensor.Tensor{y, y}, 0), nil
	}},
	{"a part used elsewhere", 1, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[0].Mul(x[1])
		return tensor.Cat([]tensor.Tensor{y, y.ReLU()}, -1), nil
	}},
	{"transposed", 1, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return tensor.Cat([]tensor.Tensor{x[0].Exp().Transpose(0, -1), x[1].Neg().Transpose(0, -1)}, 0), nil
	}},
	{"a joining of joinings", 3, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		a := tensor.Cat([]tensor.Tensor{x[0].Neg(), x[1].Abs()}, -1)
		b := tensor.Cat([]tensor.Tensor{a, a.Square()}, 0)
		return tensor.Cat([]tensor.Tensor{b.MulScalar(2), b.AddScalar(1)}, -1).ReLU(), nil
	}},
	{"written over", 1, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := tensor.Cat([]tensor.Tensor{x[0].Neg(), x[1].Square()}, -1)
		return y, y.Narrow(-1, 1, x[0].Size(-1)).AddScalarInPlace(1)
	}},
	{"a fold of a part", 0, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		soft := func(x tensor.Tensor) tensor.Tensor {
			y := x.Sub(x.Max(tensor.Dim(-1), tensor.KeepDim())).Exp()
			return y.Div(y.Sum(tensor.Dim(-1), tensor.KeepDim()))
		}
		return tensor.Cat([]tensor.Tensor{soft(x[0]), soft(x[1])}, -1), nil
	}},
	{"of products", 0, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[0].Reshape(-1, x[0].Size(-1))
		w := x[1].Reshape(-1, x[1].Size(-1)).Transpose(0, 1)
		return tensor.Cat([]tensor.Tensor{y.MatMul(w).ReLU(), y.MatMul(w).Neg()}, -1), nil
	}},
	{"many parts", 1, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		var list []tensor.Tensor
		for i := range 21 {
			list = append(list, x[0].MulScalar(float64(i)).Add(x[1]))
		}
		return tensor.Cat(list, -1), nil
	}},
	{"read in between", 0, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		a := x[0].Mul(x[1])
		b := a.Sum()
		return tensor.Cat([]tensor.Tensor{x[0].Add(b), a.Sub(b).Abs(), a}, -1), nil
	}},
	{"added to", 1, func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := tensor.Cat([]tensor.Tensor{x[0].Tanh(), x[1].MulScalar(2)}, -1)
		return y.Narrow(-1, 0, x[0].Size(-1)).Mul(x[1]).Add(y.Narrow(-1, x[0].Size(-1), x[0].Size(-1))).ReLU(), nil
	}},
}

// TestJoined: what is joined is written where it belongs, where that can be, and is the same to
// the bit.
func TestJoined(t *testing.T) { each(t, testJoined) }

func testJoined(t *testing.T, dev device.Device) {
	for k, dtype := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16, tensor.Float64} {
		for i, shape := range [][]int{{40, 3, 64}, {7, 20, 130}, {33, 512}, {9, 2}, {5, 3, 1200}} {
			if testing.Short() && (i+k)%5 != 0 {
				continue
			}
			x := []tensor.Tensor{tensor.Randn(shape, tensor.On(dev)).ToType(dtype), tensor.Randn(shape, tensor.On(dev)).ToType(dtype)}
			for _, c := range joined {
				t.Run(fmt.Sprint(c.name, shape, dtype), func(t *testing.T) {
					f, apart := compile.Func(c.f), compile.Func(c.f, compile.Unfused())
					defer f.Close()
					defer apart.Close()
					got, err := f.Call(x...)
					must(t, err)
					want, err := apart.Call(x...)
					must(t, err)
					sameBits(t, []tensor.Tensor{got}, []tensor.Tensor{want}, f.Program())
					if n := strings.Count(f.Explain(), "parts are written in place"); n != c.left {
						t.Errorf("%d joinings are left out, want %d\n%s\n%s", n, c.left, f.Program(), f.Explain())
					}
				})
			}
		}
	}
}

// randomJoined is a function made by numbers that joins tensors along some axis: element-wise
// results, what it was given, folds, parts that others use, too, and what was joined before.
func randomJoined(seed uint64, axis int) func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
	return func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		r := rand.New(rand.NewPCG(seed, 4))
		list := append([]tensor.Tensor(nil), x...)
		at := func() tensor.Tensor { return list[r.IntN(len(list))] }
		extent := x[0].Size(axis)
		for range 1 + r.IntN(3) {
			var parts []tensor.Tensor
			left := extent
			for left > 0 {
				n := min(left, 1+r.IntN(extent))
				if r.IntN(2) == 0 {
					n = min(left, (extent+1)/2)
				}
				cut := func(x tensor.Tensor) tensor.Tensor { return x.Narrow(axis, r.IntN(extent-n+1), n) }
				a, b := cut(at()), cut(at())
				y := a
				switch r.IntN(10) {
				case 0:
				case 1:
					y = a.Sum(tensor.Dim(-1), tensor.KeepDim()).Mul(b)
				case 2:
					y = a.Neg()
					list[len(list)-1] = list[len(list)-1].Add(y.Sum())
				case 3, 4:
					y = a.Mul(b).Sub(a)
				case 5:
					y = a.Maximum(b)
				case 6:
					if len(parts) > 0 && parts[len(parts)-1].Size(axis) == n {
						y = parts[len(parts)-1]
					}
				default:
					y = a.MulScalar(0.5).Add(b.Abs())
				}
				parts, left = append(parts, y), left-n
			}
			list = append(list, tensor.Cat(parts, axis))
		}
		y := []tensor.Tensor{list[len(list)-1], at().AddScalar(1), at().Mul(list[len(list)-1])}
		for _, v := range y {
			if err := v.Err(); err != nil {
				return nil, err
			}
		}
		return y, nil
	}
}

// TestRandomJoined: random functions that join tensors give what calls one by one give, to the
// bit, and so do their gradients, freed memory being poisoned.
func TestRandomJoined(t *testing.T) { each(t, testRandomJoined) }

func testRandomJoined(t *testing.T, dev device.Device) {
	core.Poison.Store(true)
	defer core.Poison.Store(false)
	programs := 400
	if testing.Short() {
		programs = 10
	}
	dtypes := []tensor.DType{tensor.Float32, tensor.Float32, tensor.BFloat16, tensor.Float64, tensor.Int32, tensor.Int8}
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	for seed := range uint64(programs) {
		r := rand.New(rand.NewPCG(*firstSeed+seed, 5))
		shape := make([]int, 1+r.IntN(4))
		for i := range shape {
			shape[i] = []int{1, 2, 3, 8, 17}[r.IntN(5)]
		}
		shape[len(shape)-1] = []int{1, 2, 31, 64, 100, 131}[r.IntN(6)]
		dtype, axis := dtypes[r.IntN(len(dtypes))], r.IntN(len(shape))
		x := []tensor.Tensor{randomView(r, shape, dev, dtype).Expand(shape...), randomView(r, shape, dev, dtype).Expand(shape...)}
		f := randomJoined(*firstSeed+seed, axis)
		if dtype.IsFloat() && seed%2 == 0 {
			forward := f
			f = func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
				leaves := []tensor.Tensor{x[0].Detach().RequireGrad(), x[1].Detach().RequireGrad()}
				y, err := forward(leaves...)
				if err != nil {
					return nil, err
				}
				loss := y[0].Mul(y[1]).Add(y[2]).Sum().Add(leaves[0].Mul(leaves[1]).Sum()) // of which all is a part
				grads, err := tensor.Gradients([]tensor.Tensor{loss}, leaves)
				return append(y, grads...), err
			}
		}
		t.Run(fmt.Sprint(seed, shape, dtype, axis), func(t *testing.T) {
			fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
			defer fused.Close()
			defer apart.Close()
			runtime.GOMAXPROCS(1 + r.IntN(4))
			for range 2 {
				got, err := fused.Call(x...)
				must(t, err)
				want, err := apart.Call(x...)
				must(t, err)
				sameBits(t, got, want, fused.Program())
			}
		})
	}
}
