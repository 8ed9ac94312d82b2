package compile_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// randomView returns a tensor of a shape whose axes lie anyhow: some are expanded, others lie in
// another order, apart, or are parts of longer ones.
func randomView(r *rand.Rand, shape []int, dev device.Device, dtype tensor.DType) tensor.Tensor {
	order, from := r.Perm(len(shape)), make([]int, len(shape))
	if r.IntN(2) == 0 {
		for i := range order {
			order[i] = i
		}
	}
	size, step := make([]int, len(shape)), make([]int, len(shape))
	for i, a := range order {
		step[a] = 1
		switch size[i] = shape[a]; r.IntN(6) {
		case 0:
			size[i] = 1
		case 1, 2:
			from[a] = r.IntN(4)
			size[i] += from[a] + r.IntN(3)
		case 3:
			if r.IntN(3) == 0 {
				step[a], size[i] = 2, 2*shape[a]
			}
		}
	}
	x, back := tensor.Randn(size, tensor.On(dev)).MulScalar(7).ToType(dtype), make([]int, len(shape))
	for i, a := range order {
		back[a] = i
	}
	x = x.Permute(back...)
	for a, n := range shape {
		if x.Size(a) != 1 {
			x = x.Slice(a, from[a], from[a]+n*step[a], step[a])
		}
	}
	return x
}

// randomElements is a function of element-wise operators, made by numbers, with one result or several.
func randomElements(seed uint64) func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
	return func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		r := rand.New(rand.NewPCG(seed, 2))
		list := append([]tensor.Tensor(nil), x...)
		at := func() tensor.Tensor { return list[r.IntN(len(list))] }
		for range 2 + r.IntN(6) {
			a, b := at(), at()
			var y tensor.Tensor
			switch r.IntN(8) {
			case 0:
				y = a.Add(b)
			case 1:
				y = a.Mul(b)
			case 2:
				y = a.Sub(b)
			case 3:
				y = a.Maximum(b)
			case 4:
				y = tensor.Where(a.Gt(b), a, b)
			case 5:
				y = a.AddScalar(3)
			case 6:
				y = a.Neg().MulScalar(2)
			default:
				y = a.Abs().Add(x[0])
			}
			list = append(list, y)
		}
		y := []tensor.Tensor{x[0].Add(list[len(list)-1])}
		for range r.IntN(3) {
			y = append(y, at().Mul(x[0]))
		}
		for _, v := range y {
			if err := v.Err(); err != nil {
				return nil, err
			}
		}
		return y, nil
	}
}

// TestRandomLines: regions over views that lie anyhow give what calls one by one give, to the
// bit, with any number of processors.
func TestRandomLines(t *testing.T) { each(t, testRandomLines) }

func testRandomLines(t *testing.T, dev device.Device) {
	if dev.Kind == device.KindSim {
		t.Skip("nothing is fused there")
	}
	programs := 600
	if testing.Short() {
		programs = 16
	}
	dtypes := []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16, tensor.Float64, tensor.Int32, tensor.Int64, tensor.Int8, tensor.Uint8}
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	for seed := range uint64(programs) {
		r := rand.New(rand.NewPCG(*firstSeed+seed, 3))
		shape := make([]int, 2+r.IntN(3))
		for i := range shape {
			shape[i] = []int{1, 2, 3, 5, 17, 40}[r.IntN(6)]
		}
		shape[len(shape)-1] = []int{0, 1, 7, 31, 32, 33, 47, 64, 100, 128, 129, 200, 511, 512, 513}[r.IntN(15)]
		switch n := shape[1] * shape[len(shape)-1]; {
		case len(shape) == 4:
			shape[r.IntN(2)] = 1 + r.IntN(2)
		case n < 2000 && r.IntN(8) == 0:
			shape[0] = 700
		}
		dtype := dtypes[r.IntN(len(dtypes))]
		var x []tensor.Tensor
		for range 2 + r.IntN(3) {
			x = append(x, randomView(r, shape, dev, dtype))
		}
		if dtype == tensor.Float32 && r.IntN(3) == 0 {
			x[len(x)-1] = randomView(r, shape, dev, tensor.BFloat16)
		}
		f := randomElements(*firstSeed + seed)
		t.Run(fmt.Sprint(seed, shape, dtype), func(t *testing.T) {
			fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
			defer fused.Close()
			defer apart.Close()
			runtime.GOMAXPROCS(1 + r.IntN(8))
			got, err := fused.Call(x...)
			must(t, err)
			runtime.GOMAXPROCS(1)
			want, err := apart.Call(x...)
			must(t, err)
			sameBits(t, got, want, fused.Program())
		})
	}
}
