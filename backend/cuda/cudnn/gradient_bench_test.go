package cudnn

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// layers are convolutions of ResNet-50 for 64 images.
var layers = []problem{
	{"7x7 of 3", []int{64, 3, 224, 224}, []int{64, 3, 7, 7}, []int{2, 2}, []int{3, 3}, []int{1, 1}, 1},
	{"3x3 of 64", []int{64, 64, 56, 56}, []int{64, 64, 3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, 1},
	{"1x1 of 64", []int{64, 64, 56, 56}, []int{256, 64, 1, 1}, []int{1, 1}, []int{0, 0}, []int{1, 1}, 1},
	{"3x3 of 128", []int{64, 128, 28, 28}, []int{128, 128, 3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, 1},
	{"3x3 of 128, strided", []int{64, 128, 56, 56}, []int{128, 128, 3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}, 1},
	{"1x1 of 256, strided", []int{64, 256, 56, 56}, []int{512, 256, 1, 1}, []int{2, 2}, []int{0, 0}, []int{1, 1}, 1},
	{"3x3 of 256", []int{64, 256, 14, 14}, []int{256, 256, 3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, 1},
	{"1x1 of 1024", []int{64, 1024, 14, 14}, []int{256, 1024, 1, 1}, []int{1, 1}, []int{0, 0}, []int{1, 1}, 1},
	{"3x3 of 512", []int{64, 512, 7, 7}, []int{512, 512, 3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, 1},
}

// BenchmarkGPUGradients measures gradients of convolutions, in the layout that the library is
// given, and of TF32 as they are computed of widened 16 bits.
func BenchmarkGPUGradients(b *testing.B) {
	g := machine(b, 4<<30)
	for _, p := range layers {
		for _, direction := range []Direction{GradInput, GradWeight} {
			for _, way := range []struct {
				dt          ir.DType
				last, exact bool
			}{{ir.Float32, false, true}, {ir.Float32, false, false}, {ir.Float32, true, false}, {ir.BFloat16, false, false}, {ir.BFloat16, true, false}, {ir.Float16, false, false}, {ir.Float16, true, false}} {
				b.Run(fmt.Sprintf("%s/%d/%v, last %v, exact %v", p.name, direction, way.dt, way.last, way.exact), func(b *testing.B) {
					g.Reset()
					v := p.convolution(way.dt)
					v.Last, v.Exact = way.last, way.exact
					for _, view := range []*ir.View{&v.X, &v.Weight, &v.Y} {
						if way.last {
							view.Strides = ir.ChannelsLastStrides(view.Shape)
						}
						view.Addr = g.Alloc(view.Bytes())
					}
					mark := g.Mark()
					run := func() {
						g.Release(mark)
						if err := Convolve(g, direction, v); errors.Is(err, ErrUnsupported) {
							b.Skip(err)
						} else {
							must(b, err)
						}
					}
					run()
					g.Sync()
					b.ResetTimer()
					for range b.N {
						run()
					}
					g.Sync()
				})
			}
		}
	}
}
