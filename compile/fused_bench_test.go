package compile_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// BenchmarkFused measures a chain of element-wise operators in eager code, as a program
// unfused and fused, and a copy of one operand; bytes are those of operands and result.
// cmd/bench/fused.py measures the same with PyTorch.
func BenchmarkFused(b *testing.B) {
	for _, dev := range devices() {
		if dev.Kind == device.KindSim {
			continue
		}
		sizes := []int{1 << 14, 1 << 24}
		if dev.Accelerator() {
			sizes = []int{1 << 20, 1 << 26}
		}
		for _, n := range sizes {
			benchmarkChain(b, dev, n)
		}
	}
}

func benchmarkChain(b *testing.B, dev device.Device, n int) {
	draw := func() tensor.Tensor { return tensor.Randn([]int{n}, tensor.On(dev)) }
	x := []tensor.Tensor{draw(), draw(), draw()}
	fused, apart := compile.Func(chain), compile.Func(chain, compile.Unfused())
	defer fused.Close()
	defer apart.Close()
	copied := func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Clone(), nil }
	for _, way := range []struct {
		name  string
		call  func(x ...tensor.Tensor) (tensor.Tensor, error)
		bytes int
	}{{"copy", copied, 8 * n}, {"eager", chain, 16 * n}, {"unfused", apart.Call, 16 * n}, {"fused", fused.Call, 16 * n}} {
		b.Run(fmt.Sprintf("%s/%s/%dKi", dev.Kind, way.name, n>>10), func(b *testing.B) {
			b.SetBytes(int64(way.bytes))
			for range 3 {
				_, err := way.call(x...)
				must(b, err)
			}
			must(b, stream.Synchronize(context.Background(), dev))
			b.ResetTimer()
			for range b.N {
				y, err := way.call(x...)
				must(b, err)
				y.Release()
			}
			must(b, stream.Synchronize(context.Background(), dev))
		})
	}
}
