package opaque_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

func (r *recorder) Multiprocessors() int { return 132 }

func (r *recorder) Scratch(bytes int64) (uint64, error) {
	if bytes == 0 {
		return 0, nil
	}
	r.scratch += 0x1000
	r.launch = append(r.launch, fmt.Sprintf("scratch %d as %x", bytes, r.scratch))
	return r.scratch, nil
}

// TestPrefixLaunches runs without a GPU.
func TestPrefixLaunches(t *testing.T) {
	for _, c := range []struct {
		name  string
		dtype ir.DType
		shape []int
		dim   int64
		want  []string
	}{
		{"a number", ir.Int8, []int{}, -1, []string{"prefix prefix_int8_rows [1 1 1] [32 8 1] 0"}},
		{"bools", ir.Bool, []int{3, 5}, 1, []string{"prefix prefix_uint8_rows [1 1 1] [32 8 1] 0"}},
		{"rows", ir.Float32, []int{4096, 4096}, 1, []string{"prefix prefix_float32_rows [4096 1 1] [256 1 1] 0"}},
		{"one row", ir.Float16, []int{1 << 20}, 0, []string{
			"scratch 8192 as 1000", "prefix prefix_float16_totals [1 512 1] [256 1 1] 0", "prefix prefix_float16_carry [1 1 1] [256 1 1] 0",
			"prefix prefix_float16_rows [1 512 1] [256 1 1] 0"}},
		{"columns", ir.Float64, []int{64, 1000}, 0, []string{
			"scratch 64000 as 1000", "prefix prefix_float64_column_totals [4 4 1] [256 1 1] 0", "prefix prefix_float64_carry [125 1 1] [256 1 1] 0",
			"prefix prefix_float64_columns [4 4 1] [256 1 1] 0"}},
		{"nothing", ir.Float32, []int{0, 3}, 1, nil},
	} {
		r := &recorder{}
		x, places := deviceView(0x100, c.shape...), deviceView(0x300, c.shape...)
		x.DType, places.DType = c.dtype, ir.Int64
		values := x
		values.Addr = 0x200
		err := opaque.CumulativeExtreme(r, &ir.Call{In: []ir.View{x}, Out: []ir.View{values, places}, Attrs: []ir.Value{{Int: c.dim}, {Int: 1}}})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if d := cmp.Diff(c.want, r.launch); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func checkPrefix(t *testing.T, s source, dt ir.DType, shape []int, k layout, dim int) {
	t.Helper()
	smallest := s.IntN(2) == 0
	what := fmt.Sprintf("%v %v along %d, smallest %v", shape, k, dim, smallest)
	check(t, what, func(in ...*core.Tensor) []*core.Tensor { return two(ops.CumulativeExtreme(in[0], dim, smallest)) }, s.orderable(dt, shape, k))
}

func TestPrefix(t *testing.T) {
	trials(t, ordered, 40, func(t *testing.T, s source, dt ir.DType) {
		shape := s.shape(s.IntN(4))
		dim := 0
		if len(shape) > 0 {
			dim = s.IntN(len(shape))
		}
		checkPrefix(t, s, dt, shape, s.layout(), dim)
	})
}

func TestPrefixLengths(t *testing.T) {
	trials(t, ordered, 1, func(t *testing.T, s source, dt ir.DType) {
		for _, n := range []int{1, 31, 33, 127, 511, 512, 513, 1025, 2049, 4097, 20_001} {
			checkPrefix(t, s, dt, []int{1 + s.IntN(5), n}, dense, 1)
			checkPrefix(t, s, dt, []int{n, 1 + s.IntN(70)}, s.layout(), 0)
		}
		checkPrefix(t, s, dt, []int{1<<20 + 7}, dense, 0)
		checkPrefix(t, s, dt, []int{5, 300_001}, dense, 1)
		checkPrefix(t, s, dt, []int{4096, 33}, dense, 0)
	})
}
