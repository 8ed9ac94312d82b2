package compile_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/brief"
)

// Functions of x[0], of x[1], which is of its shape, of x[2], which is a row of both, and of x[3],
// which has one element for each row, that end with a reduction along axes.
var foldings = []struct {
	name string
	f    func(axes []tensor.Option, x ...tensor.Tensor) []tensor.Tensor
}{
	{"square error", func(axes []tensor.Option, x ...tensor.Tensor) []tensor.Tensor {
		return []tensor.Tensor{x[0].Sub(x[1]).Square().Mean(axes...)}
	}},
	{"of a row", func(axes []tensor.Option, x ...tensor.Tensor) []tensor.Tensor {
		return []tensor.Tensor{x[0].Mul(x[2]).Tanh().Sum(axes...)}
	}},
	{"of a column and a number", func(axes []tensor.Option, x ...tensor.Tensor) []tensor.Tensor {
		return []tensor.Tensor{x[0].Sub(x[3]).MulScalar(0.3).Square().Sum(axes...)}
	}},
	{"stored, too", func(axes []tensor.Option, x ...tensor.Tensor) []tensor.Tensor {
		y := tensor.Where(x[0].Gt(x[1]), x[0], x[1].MulScalar(0.5))
		return []tensor.Tensor{y.Sum(axes...), y}
	}},
	{"beside another", func(axes []tensor.Option, x ...tensor.Tensor) []tensor.Tensor {
		y := x[0].Exp()
		return []tensor.Tensor{y.Mul(x[1]).Max(axes...), y}
	}},
	{"counted", func(axes []tensor.Option, x ...tensor.Tensor) []tensor.Tensor {
		return []tensor.Tensor{x[0].Abs().Gt(x[1]).Sum(axes...)}
	}},
	{"over an operand", func(axes []tensor.Option, x ...tensor.Tensor) []tensor.Tensor {
		y := x[0].AddScalar(1)
		y.AddInPlace(x[1])
		return []tensor.Tensor{y.Min(axes...)}
	}},
}

// TestFolds: reductions are one launch with the element-wise calls that make what they fold,
// and give what they give one by one, to the bit, with any number of threads.
func TestFolds(t *testing.T) { each(t, testFolds) }

func testFolds(t *testing.T, dev device.Device) {
	if dev.Kind == device.KindSim {
		t.Skip("nothing is fused there")
	}
	for i, tt := range []struct {
		shape []int
		axes  []int
		takes bool // the CPU makes one kernel of it
		loops bool // where it has vector loops
	}{
		{[]int{33, 77}, []int{0, 1}, true, false},
		{[]int{300, 1024}, []int{0, 1}, true, false},
		{[]int{700, 1000}, []int{0}, true, false},
		{[]int{5000, 40}, []int{0}, true, false},
		{[]int{3000, 3}, []int{0}, false, false},
		{[]int{4, 6, 31, 33}, []int{0, 2, 3}, true, false},
		{[]int{4, 6, 3, 64}, []int{0, 2}, false, false},
		{[]int{4, 6, 7, 64}, []int{0, 2}, true, false},
		{[]int{140, 3, 16, 40}, []int{0, 2}, true, false},
		{[]int{4, 6, 40, 64}, []int{0, 2}, true, false},
		{[]int{3, 16, 8, 64}, []int{1, 3}, true, true},
		{[]int{3, 8, 5, 128}, []int{1, 3}, true, true},
		{[]int{3, 8, 3, 64}, []int{1, 3}, false, false},
		{[]int{4, 6, 7, 256}, []int{0, 2}, true, false},
		{[]int{6, 7, 5, 80}, []int{1, 3}, false, false},
		{[]int{3, 70000}, []int{1}, true, false},
		{[]int{20, 5000}, []int{1}, true, false},
	} {
		for k, dtype := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.BFloat16, tensor.Float16} {
			if brief.Skip(i, k) { // most shapes in one of them
				continue
			}
			if dev.Kind != device.KindCPU && k > 1 { // what makes them is fused, and they are not
				break
			}
			of := tensor.OfType(dtype)
			last := len(tt.shape) - 1
			x := []tensor.Tensor{tensor.Randn(tt.shape, of), tensor.Randn(tt.shape, of), tensor.Randn(tt.shape[last:], of),
				tensor.Randn(append(slices.Clone(tt.shape[:last]), 1), of)}
			for l, layout := range []string{"dense", "rows apart"} {
				if testing.Short() && l != i/4%2 {
					continue
				}
				if layout == "rows apart" {
					wide := append([]int(nil), tt.shape...)
					wide[len(wide)-1] += 3
					x[1] = tensor.Randn(wide, of).Narrow(-1, 2, wide[len(wide)-1]-3)
				}
				for n, c := range foldings {
					if testing.Short() && (i+k+n)%2 != 0 { // each on half of the shapes
						continue
					}
					t.Run(fmt.Sprint(c.name, tt.shape, tt.axes, dtype, layout), func(t *testing.T) {
						f := func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
							list := c.f([]tensor.Option{tensor.Dim(tt.axes...)}, x...)
							return list, list[0].Err()
						}
						testFolding(t, dev, f, x, tt.takes && (!tt.loops || simd.Active().Vectors() >= simd.AVX2))
					})
				}
			}
		}
	}
}

func testFolding(t *testing.T, dev device.Device, f func(x ...tensor.Tensor) ([]tensor.Tensor, error), x []tensor.Tensor, takes bool) {
	fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
	defer fused.Close()
	defer apart.Close()
	want, err := apart.Call(x...)
	must(t, err)
	for _, threads := range []int{runtime.GOMAXPROCS(0), 1} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
			got, err := fused.Call(x...)
			must(t, err)
			sameBits(t, got, want, fused.Program())
		}()
	}
	if s := fused.Stats(); dev.Kind == device.KindCPU && takes != (s.Steps == 1) {
		t.Errorf("%d launches, one is wanted: %t\n%s\n%s", s.Steps, takes, fused.Program(), fused.Explain())
	}
}
