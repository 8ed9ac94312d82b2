package opaque_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// normals returns an operand on the GPU alone.
func normals(dt ir.DType, shape ...int) *core.Tensor {
	place := &core.Placement{Device: device.CUDA(0)}
	return ops.ToType(ops.Randn(shape, 7, 0, place), dt)
}

// rate runs f again and again and reports how many of work it does a second, in
// units of 1e9.
func rate(b *testing.B, work int64, f operator, in ...*core.Tensor) {
	b.Helper()
	once := func() {
		for _, t := range f(in...) {
			if err := t.Err(); err != nil {
				b.Fatal(err)
			}
			t.Release()
		}
	}
	for range 3 {
		once()
	}
	wait(b)
	n := 0
	start := time.Now()
	for b.Loop() {
		once()
		n++
	}
	wait(b)
	b.ReportMetric(float64(work)*float64(n)/time.Since(start).Seconds()/1e9, "G/s")
}

// BenchmarkRows reports gigabytes read and written a second, each element once.
func BenchmarkRows(b *testing.B) {
	onGPU(b)
	softmax := func(dim int) operator {
		return func(in ...*core.Tensor) []*core.Tensor { return one(ops.Softmax(in[0], dim, ir.Invalid)) }
	}
	logSoftmax := func(in ...*core.Tensor) []*core.Tensor { return one(ops.LogSoftmax(in[0], 1, ir.Invalid)) }
	layerNorm := func(in ...*core.Tensor) []*core.Tensor {
		n := in[0].Shape()[1:]
		if len(in) == 1 {
			return one(ops.LayerNorm(in[0], n, nil, nil, 1e-5))
		}
		return one(ops.LayerNorm(in[0], n, in[1], in[2], 1e-5))
	}
	rmsNorm := func(in ...*core.Tensor) []*core.Tensor {
		return one(ops.RMSNorm(in[0], in[0].Shape()[1:], in[1], 1e-6))
	}
	for _, c := range []struct {
		name       string
		dt         ir.DType
		rows, long int
		f          operator
		params     int // operands of a row
	}{
		{"softmax", ir.Float32, 8192, 8192, softmax(1), 0},
		{"softmax", ir.BFloat16, 8192, 8192, softmax(1), 0},
		{"softmax", ir.Float64, 8192, 8192, softmax(1), 0},
		{"softmax columns", ir.Float32, 8192, 8192, softmax(0), 0},
		{"softmax", ir.Float32, 8192, 8191, softmax(1), 0},
		{"softmax", ir.Float32, 65536, 1000, softmax(1), 0},
		{"softmax", ir.Float32, 1 << 20, 64, softmax(1), 0},
		{"softmax", ir.Float32, 6 << 20, 10, softmax(1), 0},
		{"softmax", ir.Float32, 32768, 2048, softmax(1), 0},
		{"softmax", ir.Float32, 4096, 16384, softmax(1), 0},
		{"softmax", ir.Float32, 512, 131072, softmax(1), 0},
		{"log_softmax", ir.Float32, 8192, 8192, logSoftmax, 0},
		{"layer_norm", ir.Float32, 8192, 8192, layerNorm, 2},
		{"layer_norm bare", ir.Float32, 8192, 8192, layerNorm, 0},
		{"layer_norm", ir.BFloat16, 8192, 8192, layerNorm, 2},
		{"layer_norm", ir.Float32, 65536, 768, layerNorm, 2},
		{"layer_norm", ir.Float32, 512, 131072, layerNorm, 2},
		{"rms_norm", ir.Float32, 8192, 8192, rmsNorm, 1},
		{"rms_norm", ir.BFloat16, 8192, 8192, rmsNorm, 1},
		{"rms_norm", ir.Float32, 32768, 2048, rmsNorm, 1},
	} {
		b.Run(fmt.Sprintf("%s %s %dx%d", c.name, c.dt, c.rows, c.long), func(b *testing.B) {
			in := []*core.Tensor{normals(c.dt, c.rows, c.long)}
			for range c.params {
				in = append(in, normals(c.dt, c.long))
			}
			rate(b, 2*int64(c.rows)*int64(c.long)*int64(c.dt.Size()), c.f, in...)
		})
	}
}

// BenchmarkDeviceCopy is what the others are to be compared with.
func BenchmarkDeviceCopy(b *testing.B) {
	onGPU(b)
	drv, err := device.DriverOf(device.KindCUDA)
	if err != nil {
		b.Fatal(err)
	}
	const bytes = 256 << 20
	var at [2]device.Memory
	for i := range at {
		if at[i], err = drv.Alloc(0, bytes); err != nil {
			b.Fatal(err)
		}
		defer drv.Free(0, at[i])
	}
	rate(b, 2*bytes, func(...*core.Tensor) []*core.Tensor {
		if err := drv.CopyOnDevice(0, 0, at[0].Addr, at[1].Addr, bytes); err != nil {
			b.Fatal(err)
		}
		return nil
	})
}

// BenchmarkOwnMatMul reports billions of additions and multiplications a second.
func BenchmarkOwnMatMul(b *testing.B) {
	onGPU(b)
	for _, c := range []struct {
		dt      ir.DType
		m, k, n int
	}{
		{ir.Float32, 4096, 4096, 4096}, {ir.Float32, 1024, 1024, 1024}, {ir.Float32, 256, 256, 256}, {ir.Float32, 128, 784, 1024},
		{ir.Float64, 2048, 2048, 2048}, {ir.BFloat16, 4096, 4096, 4096}, {ir.Int8, 4096, 4096, 4096}, {ir.Int64, 2048, 2048, 2048},
		{ir.Complex64, 2048, 2048, 2048}, {ir.Float32, 16, 8192, 8192},
	} {
		b.Run(fmt.Sprintf("%s %dx%dx%d", c.dt, c.m, c.k, c.n), func(b *testing.B) {
			x, y := normals(c.dt, c.m, c.k), normals(c.dt, c.k, c.n)
			rate(b, 2*int64(c.m)*int64(c.k)*int64(c.n), ownMatMul, x, y)
		})
	}
}

// BenchmarkOwnConvolution reports billions of additions and multiplications a
// second.
func BenchmarkOwnConvolution(b *testing.B) {
	onGPU(b)
	two := func(v int) []int { return []int{v, v} }
	for _, c := range []struct {
		name string
		shapeOf
	}{
		{"64x64x56x56", shapeOf{[]int{64, 64, 56, 56}, []int{64, 64, 3, 3}, two(1), two(1), two(1), 1}},
		{"digits", shapeOf{[]int{64, 1, 28, 28}, []int{16, 1, 3, 3}, two(1), two(1), two(1), 1}},
	} {
		y := c.y()
		work := 2 * int64(ir.NumElements(y)) * int64(ir.NumElements(c.weight[1:]))
		b.Run(c.name+"/forward", func(b *testing.B) {
			rate(b, work, c.apply(ops.ConvolutionOp(), opaque.OwnConvolution, y), normals(ir.Float32, c.x...), normals(ir.Float32, c.weight...))
		})
		b.Run(c.name+"/grad_input", func(b *testing.B) {
			f := c.apply(ops.ConvolutionGradInputOp(), opaque.OwnConvolutionGradInput, c.x, ir.IntsValue(c.x))
			rate(b, work, f, normals(ir.Float32, y...), normals(ir.Float32, c.weight...))
		})
		b.Run(c.name+"/grad_weight", func(b *testing.B) {
			f := c.apply(ops.ConvolutionGradWeightOp(), opaque.OwnConvolutionGradWeight, c.weight, ir.IntsValue(c.weight))
			rate(b, work, f, normals(ir.Float32, y...), normals(ir.Float32, c.x...))
		})
	}
}
