package opaque_test

import (
	"context"
	"testing"
	"time"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// BenchmarkOrder measures operators on large operands, as bytes that must be moved
// a second; of sort, as elements.
func BenchmarkOrder(b *testing.B) {
	onGPU(b)
	const mi = 1 << 20
	f32 := ir.Float32
	for _, c := range []struct {
		name  string
		bytes int64 // or elements
		make  func(s source) (operator, []pair)
	}{
		{"sort 16Mi", 16 * mi, sorts(f32, 0, 16*mi)},
		{"sort 16Mi int64", 16 * mi, sorts(ir.Int64, 0, 16*mi)},
		{"sort 16Mi bfloat16", 16 * mi, sorts(ir.BFloat16, 0, 16*mi)},
		{"sort 1Mi", mi, sorts(f32, 0, mi)},
		{"sort rows 1024x16384", 16 * mi, sorts(f32, 1, 1024, 16384)},
		{"sort rows 4096x4096", 16 * mi, sorts(f32, 1, 4096, 4096)},
		{"sort rows 65536x256", 16 * mi, sorts(f32, 1, 65536, 256)},
		{"sort rows 1048576x16", 16 * mi, sorts(f32, 1, mi, 16)},
		{"argmax rows", 256 * mi, args(1)},
		{"argmax columns", 256 * mi, args(0)},
		{"argmax all", 256 * mi, args()},
		{"index_select rows 65536 of 50000x1024", 2 * 256 * mi, func(s source) (operator, []pair) {
			return func(in ...*core.Tensor) []*core.Tensor { return one(ops.IndexSelect(in[0], 0, in[1])) },
				[]pair{s.bits(f32, []int{50_000, 1024}, dense), s.index(50_000, []int{65_536}, dense)}
		}},
		{"index_add rows 65536 to 50000x1024", 3*256*mi + 2*200_000_000, func(s source) (operator, []pair) {
			return func(in ...*core.Tensor) []*core.Tensor { return one(ops.IndexAdd(in[0], 0, in[1], in[2])) },
				[]pair{s.bits(f32, []int{50_000, 1024}, dense), s.index(50_000, []int{65_536}, dense), s.bits(f32, []int{65_536, 1024}, dense)}
		}},
		{"gather 8192x8192 along 1", 4 * 256 * mi, func(s source) (operator, []pair) {
			return func(in ...*core.Tensor) []*core.Tensor { return one(ops.Gather(in[0], 1, in[1])) },
				[]pair{s.bits(f32, []int{8192, 8192}, dense), s.index(8192, []int{8192, 8192}, dense)}
		}},
		{"cat 8 along 1", 2 * 256 * mi, func(s source) (operator, []pair) {
			var in []pair
			for range 8 {
				in = append(in, s.bits(f32, []int{8192, 1024}, dense))
			}
			return func(in ...*core.Tensor) []*core.Tensor { return one(ops.Cat(in, 1)) }, in
		}},
		{"pad 1 around images", 2 * 256 * mi, func(s source) (operator, []pair) {
			return func(in ...*core.Tensor) []*core.Tensor {
				return one(ops.PadConstant(in[0], []int{1, 1, 1, 1}, ir.IntScalar(0)))
			}, []pair{s.bits(f32, []int{64, 64, 128, 128}, dense)}
		}},
		{"flip rows", 2 * 256 * mi, func(s source) (operator, []pair) {
			return func(in ...*core.Tensor) []*core.Tensor { return one(ops.Flip(in[0], []int{1})) }, []pair{s.bits(f32, []int{8192, 8192}, dense)}
		}},
		{"searchsorted 16Mi in 1Mi", 16 * mi * 12, func(s source) (operator, []pair) {
			sorted := s.bits(f32, []int{mi}, dense)
			sorted.gpu, _ = ops.Sort(sorted.gpu, 0, false)
			return func(in ...*core.Tensor) []*core.Tensor { return one(ops.Searchsorted(in[0], in[1], false)) },
				[]pair{sorted, s.bits(f32, []int{16 * mi}, dense)}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			f, in := c.make(newSource())
			var gpu []*core.Tensor
			for _, p := range in {
				gpu = append(gpu, p.gpu)
			}
			run := func() {
				for _, t := range f(gpu...) {
					if err := t.Err(); err != nil {
						b.Fatal(err)
					}
					t.Release()
				}
			}
			run()
			wait(b)
			start := time.Now()
			for b.Loop() {
				run()
			}
			wait(b)
			b.ReportMetric(float64(c.bytes)*float64(b.N)/time.Since(start).Seconds()/1e9, "G/s")
		})
	}
}

func sorts(dt ir.DType, dim int, shape ...int) func(s source) (operator, []pair) {
	return func(s source) (operator, []pair) {
		return func(in ...*core.Tensor) []*core.Tensor { return two(ops.Sort(in[0], dim, false)) }, []pair{s.bits(dt, shape, dense)}
	}
}

func args(dims ...int) func(s source) (operator, []pair) {
	return func(s source) (operator, []pair) {
		return func(in ...*core.Tensor) []*core.Tensor { return one(ops.Argmax(in[0], dims, false)) },
			[]pair{s.bits(ir.Float32, []int{8192, 8192}, dense)}
	}
}

// wait waits for the GPU.
func wait(b *testing.B) {
	b.Helper()
	drv, err := device.DriverOf(device.KindCUDA)
	if err != nil {
		b.Fatal(err)
	}
	if err := drv.SyncDevice(context.Background(), 0); err != nil {
		b.Fatal(err)
	}
}
