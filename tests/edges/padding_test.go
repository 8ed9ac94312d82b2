package edges_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/backend/sim"
	. "github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// windowed are convolutions that go every way there is on the CPU: windows read in place
// or laid out apart, tiles and rows, groups, strides, places far apart.
var windowed = []struct {
	name                     string
	x, weight                []int
	stride, padding, dilated int
	groups                   int
}{
	{"few channels", []int{1, 3, 6, 6}, []int{4, 3, 3, 3}, 1, 1, 1, 1},
	{"tiles", []int{2, 16, 12, 12}, []int{16, 16, 3, 3}, 1, 1, 1, 1},
	{"images larger than the weight", []int{1, 24, 20, 20}, []int{16, 24, 3, 3}, 1, 1, 1, 1},
	{"weight larger than the images", []int{1, 48, 4, 4}, []int{64, 48, 3, 3}, 1, 1, 1, 1},
	{"strides", []int{1, 16, 20, 20}, []int{32, 16, 3, 3}, 2, 1, 1, 1},
	{"one place", []int{1, 16, 14, 14}, []int{32, 16, 1, 1}, 1, 1, 1, 1},
	{"depthwise", []int{1, 32, 14, 14}, []int{32, 1, 3, 3}, 1, 1, 1, 32},
	{"groups", []int{1, 32, 14, 14}, []int{32, 8, 3, 3}, 1, 1, 1, 4},
	{"dilated", []int{1, 16, 14, 14}, []int{16, 16, 3, 3}, 1, 2, 2, 1},
	{"in the padding alone", []int{1, 16, 1, 1}, []int{16, 16, 3, 3}, 1, 1, 1, 1},
	{"far apart", []int{1, 2, 3, 3}, []int{2, 2, 2, 2}, 1, 40, 60, 1},
	{"one axis", []int{2, 16, 40}, []int{16, 16, 3}, 1, 1, 1, 1},
	{"no padding", []int{1, 4, 7, 7}, []int{4, 4, 3, 3}, 1, 0, 1, 1},
}

// TestPaddingIsMultiplied gives a weight an element that is no finite number. The zeros
// that a convolution pads with are multiplied with it, as where they are given
// beforehand, which PyTorch does on the CPU too; its gradient for the input, the
// transposed convolution, has no such product. The reference does the same.
func TestPaddingIsMultiplied(t *testing.T) {
	if _, err := device.DriverOf(device.KindSim); err != nil {
		device.Install(sim.New(sim.Config{Devices: 1}))
	}
	exceptions := map[string]float64{"inf": math.Inf(1), "nan": math.NaN()}
	for _, c := range windowed {
		for _, dt := range []DType{Float32, Float64, BFloat16} {
			for name, v := range exceptions {
				t.Run(fmt.Sprint(c.name, " ", dt, " ", name), func(t *testing.T) {
					t.Parallel()
					n := ir.NumElements(c.weight)
					data := make([]float32, n)
					for i := range data {
						data[i] = 1
					}
					data[0], data[n/2] = float32(v), float32(v)
					x, w := Ones(c.x, OfType(dt)), From(data, c.weight...).ToType(dt)
					axes := len(c.x) - 2
					sides := make([]int, 0, 2*axes)
					for range axes {
						sides = append(sides, c.padding, c.padding)
					}
					got := convolved(axes, x, w, c.stride, c.padding, c.dilated, c.groups)
					want := convolved(axes, x.Pad(sides), w, c.stride, 0, c.dilated, c.groups)
					if before, padded := kinds(t, want), kinds(t, got); !slices.Equal(before, padded) {
						t.Errorf("of zeros that were there before (-), of padding (+):\n%s", cmp.Diff(before, padded))
					}
					if got.NumElements()*n/c.weight[0] < 50_000 { // the reference takes a microsecond a product
						there := convolved(axes, x.To(device.Sim(0)), w.To(device.Sim(0)), c.stride, c.padding, c.dilated, c.groups)
						if want, got := kinds(t, there), kinds(t, got); !slices.Equal(want, got) {
							t.Errorf("reference (-), CPU (+):\n%s", cmp.Diff(want, got))
						}
					}
					x = Ones(c.x, OfType(dt), RequireGrad())
					y := convolved(axes, x, w, c.stride, c.padding, c.dilated, c.groups)
					must(t, y.Sum().Backward())
					g, _ := x.Grad()
					back := kinds(t, g)
					if want := reached(c.x, c.weight, y.Shape(), c.stride, c.padding, c.dilated, c.groups, kinds(t, w)); !slices.Equal(want, back) {
						t.Errorf("gradient (-want +got):\n%s", cmp.Diff(want, back))
					}
				})
			}
		}
	}
}

func convolved(axes int, x, w Tensor, stride, padding, dilated, groups int) Tensor {
	if axes == 1 {
		return x.Conv1d(w, Stride(stride), Padding(padding), Dilation(dilated), Groups(groups))
	}
	return x.Conv2d(w, Stride(stride), Padding(padding), Dilation(dilated), Groups(groups))
}

// kinds returns of each element whether it is finite, infinite or not a number.
func kinds(t *testing.T, x Tensor) []string {
	t.Helper()
	list, err := core.Scalars(x.Handle())
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(list))
	for i, s := range list {
		switch f := s.Float(); {
		case math.IsNaN(f):
			out[i] = "nan"
		case math.IsInf(f, 0):
			out[i] = "inf"
		}
	}
	return out
}

// reached returns what becomes of the elements of x's gradient: they are sums of the
// weights by which they reach elements of the result, whose gradients are 1.
func reached(x, weight, y []int, stride, padding, dilated, groups int, weights []string) []string {
	out := make([]string, ir.NumElements(x))
	axes := len(x) - 2
	perGroup := weight[0] / groups
	size, places, windows := ir.NumElements(x[2:]), ir.NumElements(weight[2:]), ir.NumElements(y[2:])
	for image := range x[0] {
		for o := range weight[0] {
			for c := range weight[1] {
				channel := out[(image*x[1]+o/perGroup*weight[1]+c)*size:][:size]
				for i := range windows * places {
					window, place := i/places, i%places
					kind := weights[(o*weight[1]+c)*places+place]
					if kind == "" {
						continue
					}
					at, step := 0, 1
					for a := axes - 1; a >= 0 && at >= 0; a-- {
						p := window%y[2+a]*stride - padding + place%weight[2+a]*dilated
						if p < 0 || p >= x[2+a] {
							at = -1
							break
						}
						at, step = at+p*step, step*x[2+a]
						window, place = window/y[2+a], place/weight[2+a]
					}
					if at >= 0 && channel[at] != "nan" {
						channel[at] = kind
					}
				}
			}
		}
	}
	return out
}
