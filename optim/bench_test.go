package optim_test

import (
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// BenchmarkStep measures an optimizer's step over many small parameters.
func BenchmarkStep(b *testing.B) {
	for _, name := range []string{"sgd", "sgd momentum", "adamw"} {
		b.Run(name, func(b *testing.B) {
			var params []*nn.Parameter
			for range 100 {
				p := nn.NewParameter(tensor.Zeros([]int{64}))
				must(b, p.SetGrad(tensor.Ones([]int{64})))
				params = append(params, p)
			}
			opt, err := makers[name](params)
			must(b, err)
			b.ReportAllocs()
			for b.Loop() {
				must(b, opt.Step())
			}
		})
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
					tensor.Scope(func(func(...tensor.Tensor)) { must(b, l.step()) })
				} else {
					must(b, l.step())
				}
			}
		})
	}
}
