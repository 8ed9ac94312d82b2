package optim_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// BenchmarkStep measures an optimizer's step over small parameters and over a large
// one, on the CPU and where there is one on a GPU.
func BenchmarkStep(b *testing.B) {
	for _, d := range []device.Device{device.CPU, device.CUDA(0)} {
		for _, name := range []string{"sgd", "sgd momentum", "adamw"} {
			for _, c := range []struct{ count, size int }{{6, 64}, {100, 64}, {1, 1 << 24}} {
				b.Run(fmt.Sprintf("%s/%s/%dx%d", d, name, c.count, c.size), func(b *testing.B) {
					if _, _, err := device.Find(d); err != nil {
						b.Skip(err)
					}
					var params []*nn.Parameter
					for range c.count {
						params = append(params, nn.NewParameter(tensor.Zeros([]int{c.size}, tensor.On(d))))
					}
					withGradients(b, params)
					opt, err := makers[name](params)
					must(b, err)
					must(b, opt.Step())
					b.ReportAllocs()
					for b.Loop() {
						must(b, opt.Step())
					}
					_, err = params[0].Detach().Narrow(0, 0, 1).Item() // once the steps are made
					must(b, err)
				})
			}
		}
	}
}

// BenchmarkTrainingStep measures a step of a small network, with and without a
// scope.
func BenchmarkTrainingStep(b *testing.B) {
	for _, scoped := range []bool{true, false} {
		b.Run(map[bool]string{true: "scope", false: "collector"}[scoped], func(b *testing.B) {
			l := newLearner(b, device.CPU, 64, makers["adamw"])
			b.ReportAllocs()
			for b.Loop() {
				if scoped {
					must(b, tensor.Scope(l.step))
				} else {
					must(b, l.step())
				}
			}
		})
	}
}
