package core_test

import (
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// BenchmarkOperators measures calls through the public API, as programs make
// them, on the CPU. Bytes are those of operands and result.
func BenchmarkOperators(b *testing.B) {
	const million = 1 << 20
	vector := func(n int) tensor.Tensor { return tensor.Randn([]int{n}) }
	square := func(n int) tensor.Tensor { return tensor.Randn([]int{n, n}) }
	one, x, y, rows, half := vector(1), vector(million), vector(million), square(1024), vector(million).ToType(tensor.BFloat16)
	m, images, filters := square(512), tensor.Randn([]int{16, 16, 32, 32}), tensor.Randn([]int{32, 16, 3, 3})
	for _, c := range []struct {
		name  string
		bytes int64
		flops float64
		call  func() tensor.Tensor
	}{
		{"add/1", 0, 0, func() tensor.Tensor { return one.Add(one) }},
		{"add/1Mi", 12 * million, 0, func() tensor.Tensor { return x.Add(y) }},
		{"add/1Mi/bfloat16", 6 * million, 0, func() tensor.Tensor { return half.Add(half) }},
		{"add/1Mi/transposed", 12 * million, 0, func() tensor.Tensor { return rows.Add(rows.Transpose(0, 1)) }},
		{"exp/1Mi", 8 * million, 0, func() tensor.Tensor { return x.Exp() }},
		{"gelu/1Mi", 8 * million, 0, func() tensor.Tensor { return x.GELU() }},
		{"sum/1Mi", 4 * million, 0, func() tensor.Tensor { return x.Sum() }},
		{"softmax/1024x1024", 8 * million, 0, func() tensor.Tensor { return rows.Softmax(1) }},
		{"matmul/512", 0, 2 * 512 * 512 * 512, func() tensor.Tensor { return m.MatMul(m) }},
		{"conv2d/16x16x32x32", 0, 2 * 16 * 32 * 30 * 30 * 16 * 9, func() tensor.Tensor { return images.Conv2d(filters) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(c.bytes)
			b.ReportAllocs()
			for b.Loop() {
				out := c.call()
				if err := out.Err(); err != nil {
					b.Fatal(err)
				}
				out.Release()
			}
			if c.flops > 0 {
				b.ReportMetric(c.flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			}
		})
	}
}

// BenchmarkTrainingStep measures one step of a perceptron on 64 images of
// 28 by 28: forward, backward, Adam.
func BenchmarkTrainingStep(b *testing.B) {
	model := nn.NewSequential(nn.NewLinear(784, 256), nn.ReLU(), nn.NewLinear(256, 10))
	adam, err := optim.NewAdam(nn.Parameters(model), 1e-3)
	must(b, err)
	images, labels := tensor.Randn([]int{64, 784}), tensor.Randint([]int{64}, 0, 10)
	for b.Loop() {
		_, err := optim.Minimize(adam, func() tensor.Tensor { return model.Forward(images).CrossEntropy(labels) })
		must(b, err)
	}
}
