package shapes

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

func TestLists(t *testing.T) {
	bad := []int{-2} // what a reshape refuses
	tests := []struct {
		name      string
		got, want []int
	}{
		{"extents", Extents([][]int{{2, 3}, {2, 5}}, -1), []int{3, 5}},
		{"neg", NegInts([]int{1, -2}), []int{-1, 2}},
		{"iota", IotaInts(3, 2), []int{3, 4}},
		{"join", JoinInts([]int{1}, []int{2, 3}), []int{1, 2, 3}},
		{"fill one", FillInts([]int{7}, 3), []int{7, 7, 7}},
		{"fill given", FillInts([]int{1, 2}, 3), []int{1, 2}},
		{"ones", OnesInts(2), []int{1, 1}},
		{"broadcast", BroadcastInts([]int{3, 1}, []int{4}), []int{3, 4}},
		{"with_size", WithSize([]int{2, 3}, -1, 9), []int{2, 9}},
		{"last_dims", LastDims(2), []int{-2, -1}},
		{"other_dims", OtherDims(3, -2), []int{0, 2}},
		{"channel_dims", ChannelDims(4), []int{0, 2, 3}},
		{"sum_to_dims", SumToDims([]int{2, 3, 4}, []int{3, 1}), []int{0, 2}},
		{"sum_to_dims of equal", SumToDims([]int{1, 3}, []int{1, 3}), []int{}},
		{"kept_shape", KeptShape([]int{2, 3, 4}, []int{1}), []int{2, 1, 4}},
		{"kept_shape of all", KeptShape([]int{2, 3}, nil), []int{1, 1}},
		{"reduced_last", ReducedLast(4, []int{-3, 0}), []int{2, 3, 0, 1}},
		{"inverse_perm", InversePerm([]int{2, 0, -2}), []int{1, 2, 0}},
		{"move_perm", MovePerm(4, []int{0}, []int{-1}), []int{1, 2, 3, 0}},
		{"move_perm two", MovePerm(4, []int{-2, -1}, []int{0, 2}), []int{2, 0, 3, 1}},
		{"merge_tail", MergeTail([]int{2, 3, 4}, 2), []int{2, 12}},
		{"merge_tail none", MergeTail([]int{2, 3}, 0), []int{2, 3, 1}},
		{"merge_dims", MergeDims([]int{2, 3, 4, 5}, 1, -2), []int{2, 12, 5}},
		{"merge_dims of a scalar", MergeDims(nil, 0, -1), []int{1}},
		{"merge_dims backwards", MergeDims([]int{2, 3}, 1, 0), bad},
		{"split_dim", SplitDim([]int{2, 12}, 1, []int{3, -1}), []int{2, 3, 4}},
		{"split_dim odd", SplitDim([]int{2, 12}, 1, []int{5, -1}), []int{2, 5, -1}}, // left for reshape to refuse
		{"channel_shape", ChannelShape(4, 3), []int{1, 3, 1, 1}},
		{"pad_dim", PadDim(3, 1, 4, 5), []int{0, 0, 4, 5}},
		{"pad_to", PadTo([]int{2, 3}, []int{4, 6}), []int{0, 3, 0, 2}},
		{"pad_narrow", PadNarrow([]int{2, 7}, 1, -5, 2), []int{2, 3}},
		{"pad_pairs", PadPairs([]int{1, 2}, 2), []int{1, 2, 0, 0}},
		{"repeat_from", RepeatFrom([]int{2, 3}, []int{4, 5, 6}), []int{1, 1, 1, 2, 1, 3}},
		{"repeat_to", RepeatTo([]int{2, 3}, []int{4, 5, 6}), []int{4, 1, 5, 2, 6, 3}},
		{"repeat_shape", RepeatShape([]int{2, 3}, []int{4, 5, 6}), []int{4, 10, 18}},
		{"transposed", Transposed([]int{2, 4, 3}, []int{4, 2, 5}, []int{2}, []int{1}, []int{1}, []int{1}, 2), []int{2, 4, 8}},
		{"transposed, extra too large", Transposed([]int{2, 4, 3}, []int{4, 2, 5}, []int{2}, []int{1}, []int{2}, []int{1}, 2), []int{}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, tt.got); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
	}
}

func TestNumbers(t *testing.T) {
	i, f := ir.IntScalar, ir.FloatScalar
	tests := []struct {
		name      string
		got, want int
	}{
		{"size", Size([]int{2, 3}, -2), 2},
		{"size of a scalar", Size(nil, -1), 1},
		{"norm_dim", NormDim(3, -1), 2},
		{"tail_numel", TailNumel([]int{2, 3, 4}, 2), 12},
		{"tail_numel none", TailNumel([]int{2, 3, 4}, 0), 1},
		{"normalized_rank", NormalizedRank([]int{2, 3, 4}, []int{3, 4}), 2},
		{"normalized_rank of others", NormalizedRank([]int{2, 3, 4}, []int{4, 3}), 0},
		{"reduced_numel", ReducedNumel([]int{2, 3, 4}, []int{0, 2}), 8},
		{"reduced_rank", ReducedRank(3, nil), 3},
		{"slice_start", SliceStart([]int{5}, 0, -3, 5), 2},
		{"slice_length", SliceLength([]int{5}, 0, -3, 9, 2), 2},
		{"arange", ArangeCount(i(0), i(10), i(3)), 4},
		{"arange down", ArangeCount(i(5), i(0), i(-2)), 3},
		{"arange nothing", ArangeCount(i(3), i(3), i(1)), 0},
		{"arange away", ArangeCount(i(0), i(3), i(-1)), -1},
		{"arange no step", ArangeCount(i(0), i(3), i(0)), -1},
		{"arange extremes", ArangeCount(i(math.MinInt64), i(math.MaxInt64), i(math.MaxInt64)), 3},
		{"arange of floats", ArangeCount(f(0), i(1), f(0.25)), 4},
		{"arange of floats, no step", ArangeCount(f(0), f(1), f(0)), -1},
		{"arange of floats, away by less than a step", ArangeCount(f(0), f(-0.5), f(1)), -1},
		{"arange of an infinite step away", ArangeCount(f(0), f(1), f(math.Inf(-1))), -1},
		{"arange of NaN", ArangeCount(f(math.NaN()), f(1), f(1)), -1},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, tt.got, tt.want)
		}
	}
}

// TestGridOf rounds the largest number of each grid to its dtype: none may be 1.
func TestGridOf(t *testing.T) {
	largest := func(d ir.DType) float64 { return (GridOf(d) - 1) / GridOf(d) }
	if v := ir.HalfFrom(float32(largest(ir.Float16))).Float32(); v >= 1 {
		t.Errorf("float16: %v", v)
	}
	if v := ir.BF16From(float32(largest(ir.BFloat16))).Float32(); v >= 1 {
		t.Errorf("bfloat16: %v", v)
	}
	if v := float32(largest(ir.Float32)); v >= 1 {
		t.Errorf("float32: %v", v)
	}
	if v := largest(ir.Float64); v >= 1 {
		t.Errorf("float64: %v", v)
	}
}
