package gpu_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// halfGradients are convolutions of bfloat16 and float16: images, weights and options.
var halfGradients = []struct {
	name          string
	images, masks []int
	opts          []tensor.Option
}{
	{"three by three", []int{4, 16, 14, 14}, []int{32, 16, 3, 3}, []tensor.Option{tensor.Padding(1)}},
	{"stride", []int{3, 8, 17, 15}, []int{24, 8, 3, 3}, []tensor.Option{tensor.Padding(1), tensor.Stride(2)}},
	{"odd channels", []int{2, 3, 33, 31}, []int{7, 3, 7, 7}, []tensor.Option{tensor.Padding(3), tensor.Stride(2)}},
	{"groups", []int{2, 12, 9, 9}, []int{8, 3, 3, 3}, []tensor.Option{tensor.Groups(4)}},
	{"dilation", []int{2, 8, 19, 19}, []int{8, 8, 3, 3}, []tensor.Option{tensor.Dilation(2)}},
	{"product", []int{3, 16, 7, 7}, []int{32, 16, 1, 1}, nil},
}

// TestHalfConvolutionGradients: gradients of convolutions of bfloat16 are those of float64
// rounded once, but for sums in float32, however TF32 is set, and so are those of float16 but
// for parts of sums, which the library may round to float16; and they are the same twice.
func TestHalfConvolutionGradients(t *testing.T) {
	need(t)
	exactly(t)
	for _, dtype := range []tensor.DType{tensor.BFloat16, tensor.Float16} {
		for _, c := range halfGradients {
			t.Run(fmt.Sprint(c.name, dtype), func(t *testing.T) {
				random.Seed(3)
				of := tensor.OfType(dtype)
				x, w := tensor.Randn(c.images, of), tensor.Randn(c.masks, of)
				dy := tensor.Randn(x.Conv2d(w, c.opts...).Shape(), of)
				gradients := func(x, w, dy T) [][]float64 {
					in := []T{x.Detach().RequireGrad(), w.Detach().RequireGrad()}
					all, err := tensor.Gradients([]T{in[0].Conv2d(in[1], c.opts...)}, in, tensor.WithGradient(dy))
					must(t, err)
					var list [][]float64
					for _, g := range all {
						elements, err := values(g)
						must(t, err)
						list = append(list, elements)
					}
					return list
				}
				wide := func(x T) T { return x.To(device.CPU).ToType(tensor.Float64) }
				want := gradients(wide(x), wide(w), wide(dy))
				most := gradients(wide(x).Abs(), wide(w).Abs(), wide(dy).Abs()) // the sums of absolute values
				got, again := gradients(x.To(gpu), w.To(gpu), dy.To(gpu)), gradients(x.To(gpu), w.To(gpu), dy.To(gpu))
				place, sums := 0x1p-8, 0x1p-18
				if dtype == tensor.Float16 {
					place, sums = 0x1p-11, 0x1p-12
				}
				for i := range want {
					for k, v := range want[i] {
						if bound := place*math.Abs(v) + sums*most[i][k]; !(math.Abs(got[i][k]-v) <= bound) {
							t.Fatalf("gradient %d: element %d is %v, want %v within %v", i, k, got[i][k], v, bound)
						}
						if again[i][k] != got[i][k] {
							t.Fatalf("gradient %d: element %d is %v, and then %v", i, k, got[i][k], again[i][k])
						}
					}
				}
			})
		}
	}
}

// TestLineGradients: gradients of convolutions along one axis, of whole numbers whose sums float32 has
// exactly, are those of the CPU, whichever way they are computed.
func TestLineGradients(t *testing.T) {
	need(t)
	exactly(t)
	for _, c := range []struct {
		images, masks []int
		opts          []tensor.Option
	}{
		{[]int{64, 64, 256}, []int{64, 64, 3}, []tensor.Option{tensor.Padding(1)}},
		{[]int{5, 6, 301}, []int{4, 3, 5}, []tensor.Option{tensor.Groups(2), tensor.Stride(3)}},
		{[]int{1, 3, 70001}, []int{7, 3, 9}, []tensor.Option{tensor.Dilation(2), tensor.Padding(8)}},
		{[]int{2, 256, 64}, []int{256, 256, 3}, nil}, // more than fewWeights
	} {
		whole := func(shape []int) T { return tensor.Randint(shape, -2, 3).ToType(tensor.Float32) }
		random.Seed(5)
		x, w := whole(c.images), whole(c.masks)
		dy := whole(x.Conv1d(w, c.opts...).Shape())
		of := func(d device.Device) [][]float64 {
			in := []T{x.To(d).Detach().RequireGrad(), w.To(d).Detach().RequireGrad()}
			all, err := tensor.Gradients([]T{in[0].Conv1d(in[1], c.opts...)}, in, tensor.WithGradient(dy.To(d)))
			must(t, err)
			var list [][]float64
			for _, g := range all {
				elements, err := values(g)
				must(t, err)
				list = append(list, elements)
			}
			return list
		}
		if got, want := of(gpu), of(device.CPU); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("gradients of x %v, weight %v differ from the CPU's", c.images, c.masks)
		}
	}
}
