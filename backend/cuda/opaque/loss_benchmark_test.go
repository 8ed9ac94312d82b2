package opaque_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// BenchmarkCrossEntropy reports gigabytes a second of the loss with its gradient:
// the scores read twice and the gradient written.
func BenchmarkCrossEntropy(b *testing.B) {
	onGPU(b)
	place := &core.Placement{Device: device.CUDA(0), DType: ir.Int64}
	for _, dt := range []ir.DType{ir.Float32, ir.BFloat16} {
		for _, shape := range [][]int{{128, 10}, {128, 1000}, {8192, 1000}, {8192, 32000}, {64, 21, 256, 256}} {
			rows := append([]int{shape[0]}, shape[2:]...)
			x, target, g := normals(dt, shape...), ops.Zeros(rows, place), normals(dt)
			f := func(in ...*core.Tensor) []*core.Tensor {
				loss, lse, total := ops.CrossEntropyStats(in[0], in[1], -100, ops.ReductionMean, nil)
				return []*core.Tensor{loss, lse, total, ops.CrossEntropyGrad(in[2], in[0], in[1], lse, total, -100, ops.ReductionMean, nil)}
			}
			b.Run(fmt.Sprint(dt, shape), func(b *testing.B) {
				rate(b, int64(3*ir.NumElements(shape)*dt.Size()), f, x, target, g)
			})
		}
	}
}
