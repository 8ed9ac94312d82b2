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

// rowLength is that of rows that are normalized: what transformers have.
const rowLength = 1024

// BenchmarkFused measures a chain of element-wise operators, a norm and a softmax of parts in
// eager code, as programs unfused and fused, and a copy of one operand; bytes are those of
// operands and result. cmd/bench/fused.py measures the same with PyTorch.
func BenchmarkFused(b *testing.B) {
	for _, dev := range devices() {
		if dev.Kind == device.KindSim {
			continue
		}
		sizes := []int{1 << 14, 1 << 16, 1 << 24}
		if dev.Accelerator() {
			sizes = []int{1 << 20, 1 << 26}
		}
		for _, n := range sizes {
			draw := func(shape ...int) tensor.Tensor { return tensor.Randn(shape, tensor.On(dev)) }
			copied := func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Clone(), nil }
			x := draw(n/rowLength, rowLength)
			benchmarkFused(b, dev, "copy", n, 8*n, copied, false, x)
			benchmarkFused(b, dev, "chain", n, 16*n, chain, true, draw(n), draw(n), draw(n))
			benchmarkFused(b, dev, "chain, of a row", n, 12*n, chain, true, x, draw(n/rowLength, rowLength), draw(rowLength))
			benchmarkFused(b, dev, "rms norm", n, 8*n, rmsNorm, true, x, draw(rowLength))
			benchmarkFused(b, dev, "scaled softmax", n, 8*n, scaledSoftmax, true, x)
			benchmarkFused(b, dev, "square error", n, 8*n, squareError, true, draw(n), draw(n))
			benchmarkFused(b, dev, "sums of columns", n, 8*n, gateSums, true, x, draw(n/rowLength, rowLength))
		}
	}
}

// benchmarkFused measures f over x, n elements, in all ways, or as it is.
func benchmarkFused(b *testing.B, dev device.Device, name string, n, bytes int, f func(x ...tensor.Tensor) (tensor.Tensor, error), ways bool, x ...tensor.Tensor) {
	fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
	defer fused.Close()
	defer apart.Close()
	type way struct {
		name string
		call func(x ...tensor.Tensor) (tensor.Tensor, error)
	}
	list := []way{{"eager", f}}
	if ways {
		list = append(list, way{"unfused", apart.Call}, way{"fused", fused.Call})
	}
	for _, way := range list {
		b.Run(fmt.Sprintf("%s/%s/%s/%dKi", dev.Kind, name, way.name, n>>10), func(b *testing.B) {
			b.SetBytes(int64(bytes))
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

// squareError is a loss of parts.
func squareError(x ...tensor.Tensor) (tensor.Tensor, error) {
	y := x[0].Sub(x[1]).Square().Mean()
	return y, y.Err()
}

// gateSums is the gradient of a bias behind whose sums a sigmoid is, of parts.
func gateSums(x ...tensor.Tensor) (tensor.Tensor, error) {
	y := x[0].Mul(x[1]).Mul(x[1].MulScalar(-1).AddScalar(1)).Sum(tensor.Dim(0))
	return y, y.Err()
}

// BenchmarkActivations measures a layer of a transformer with what follows it, of bfloat16 on
// accelerators: as programs that give eager code's bits, and that may round otherwise.
func BenchmarkActivations(b *testing.B) {
	for _, dev := range devices() {
		if !dev.Accelerator() || dev.Kind == device.KindSim {
			continue
		}
		on, of := tensor.On(dev), tensor.OfType(tensor.BFloat16)
		x := []tensor.Tensor{tensor.Randn([]int{8192, 768}, on, of), tensor.Randn([]int{3072, 768}, on, of), tensor.Randn([]int{3072}, on, of)}
		for name, act := range activations {
			f := func(x ...tensor.Tensor) (tensor.Tensor, error) { return act(x[0].Linear(x[1], tensor.Bias(x[2]))), nil }
			for way, options := range map[string][]compile.Option{"fused": nil, "relaxed": {compile.Relaxed()}} {
				b.Run(fmt.Sprintf("%s/%s/%s", dev.Kind, name, way), func(b *testing.B) {
					c := compile.Func(f, options...)
					defer c.Close()
					b.ResetTimer()
					for i := range b.N + 3 {
						if i == 3 { // recorded, captured, launched
							must(b, stream.Synchronize(context.Background(), dev))
							b.ResetTimer()
						}
						y, err := c.Call(x...)
						must(b, err)
						y.Release()
					}
					must(b, stream.Synchronize(context.Background(), dev))
				})
			}
		}
	}
}
