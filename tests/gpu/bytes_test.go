package gpu_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
)

// BenchmarkBytes times operators of bytes beside the compositions that they stand for.
func BenchmarkBytes(b *testing.B) {
	need(b)
	randn := func(shape ...int) T { return tensor.Randn(shape, tensor.On(gpu)) }
	zero := func(dt tensor.DType) T { return tensor.Zeros([]int{}, tensor.On(gpu), tensor.OfType(dt)) }
	byteZero, signed := zero(tensor.Uint8), zero(tensor.Int8)
	measure := func(name string, f func() T) {
		b.Run(name, func(b *testing.B) {
			run := func() {
				y := f()
				if err := y.Err(); err != nil {
					b.Fatal(err)
				}
				y.Release()
			}
			for range 3 {
				run()
			}
			must(b, cuda.Synchronize(context.Background(), gpu))
			b.ResetTimer()
			for range b.N {
				run()
			}
			must(b, cuda.Synchronize(context.Background(), gpu))
		})
	}
	for _, s := range [][3]int{{1, 2048, 512}, {32, 2048, 512}, {128, 1536, 384}, {1024, 1024, 1024}, {4096, 4096, 4096}} {
		m, n, k := s[0], s[1], s[2]
		x, y := bytesOf(randn(m, k), tensor.Uint8), bytesOf(randn(k, n), tensor.Int8)
		name := fmt.Sprintf("product %dx%dx%d", m, n, k)
		measure(name, func() T { return tensor.Int8MatMul(x, y, byteZero, signed) })
		measure(name+", parts", func() T {
			return tensor.Wrap(ops.Int8ProductParts(x.Handle(), y.Handle(), byteZero.Handle(), signed.Handle()))
		})
	}
	for _, s := range [][4]int{{1, 64, 56, 3}, {8, 64, 56, 3}, {8, 256, 28, 1}} {
		images, channels, side, kernel := s[0], s[1], s[2], s[3]
		x, w := bytesOf(randn(images, channels, side, side), tensor.Uint8), bytesOf(randn(channels, channels, kernel, kernel), tensor.Int8)
		pad := []int{kernel / 2, kernel / 2}
		name := fmt.Sprintf("convolution %dx%dx%dx%d, %dx%d", images, channels, side, side, kernel, kernel)
		measure(name, func() T { return tensor.Int8Conv2d(x, w, byteZero, signed, tensor.Padding(pad...)) })
		measure(name+", parts", func() T {
			return tensor.Wrap(ops.Int8ConvolutionParts(x.Handle(), w.Handle(), byteZero.Handle(), signed.Handle(), []int{1, 1}, pad, []int{1, 1}, 1))
		})
	}
	gates, state, w := randn(32, 1, 2048), randn(1, 512), bytesOf(randn(512, 2048), tensor.Int8)
	scale := zero(tensor.Float32).AddScalar(1e-3)
	measure("lstm 32x1x512", func() T { h, _ := tensor.Int8LSTM(gates, state, state, w, scale, signed); return h })
	measure("lstm 32x1x512, parts", func() T {
		h, c := ops.Int8LSTMParts(gates.Handle(), state.Handle(), state.Handle(), w.Handle(), scale.Handle(), signed.Handle(), false)
		tensor.Wrap(c).Release()
		return tensor.Wrap(h)
	})
}
