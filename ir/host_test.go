package ir

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHostLists(t *testing.T) {
	bad := []int{-2} // what a reshape refuses
	tests := []struct {
		name      string
		got, want []int
	}{
		{"extents", HostExtents([][]int{{2, 3}, {2, 5}}, -1), []int{3, 5}},
		{"neg", HostNegInts([]int{1, -2}), []int{-1, 2}},
		{"iota", HostIotaInts(3, 2), []int{3, 4}},
		{"join", HostJoinInts([]int{1}, []int{2, 3}), []int{1, 2, 3}},
		{"fill one", HostFillInts([]int{7}, 3), []int{7, 7, 7}},
		{"fill given", HostFillInts([]int{1, 2}, 3), []int{1, 2}},
		{"ones", HostOnesInts(2), []int{1, 1}},
		{"broadcast", HostBroadcastInts([]int{3, 1}, []int{4}), []int{3, 4}},
		{"with_size", HostWithSize([]int{2, 3}, -1, 9), []int{2, 9}},
		{"last_dims", HostLastDims(2), []int{-2, -1}},
		{"other_dims", HostOtherDims(3, -2), []int{0, 2}},
		{"channel_dims", HostChannelDims(4), []int{0, 2, 3}},
		{"sum_to_dims", HostSumToDims([]int{2, 3, 4}, []int{3, 1}), []int{0, 2}},
		{"sum_to_dims of equal", HostSumToDims([]int{1, 3}, []int{1, 3}), []int{}},
		{"kept_shape", HostKeptShape([]int{2, 3, 4}, []int{1}), []int{2, 1, 4}},
		{"kept_shape of all", HostKeptShape([]int{2, 3}, nil), []int{1, 1}},
		{"reduced_last", HostReducedLast(4, []int{-3, 0}), []int{2, 3, 0, 1}},
		{"inverse_perm", HostInversePerm([]int{2, 0, -2}), []int{1, 2, 0}},
		{"move_perm", HostMovePerm(4, []int{0}, []int{-1}), []int{1, 2, 3, 0}},
		{"move_perm two", HostMovePerm(4, []int{-2, -1}, []int{0, 2}), []int{2, 0, 3, 1}},
		{"merge_tail", HostMergeTail([]int{2, 3, 4}, 2), []int{2, 12}},
		{"merge_tail none", HostMergeTail([]int{2, 3}, 0), []int{2, 3, 1}},
		{"merge_dims", HostMergeDims([]int{2, 3, 4, 5}, 1, -2), []int{2, 12, 5}},
		{"merge_dims of a scalar", HostMergeDims(nil, 0, -1), []int{1}},
		{"merge_dims backwards", HostMergeDims([]int{2, 3}, 1, 0), bad},
		{"split_dim", HostSplitDim([]int{2, 12}, 1, []int{3, -1}), []int{2, 3, 4}},
		{"split_dim odd", HostSplitDim([]int{2, 12}, 1, []int{5, -1}), []int{2, 5, -1}}, // left for reshape to refuse
		{"channel_shape", HostChannelShape(4, 3), []int{1, 3, 1, 1}},
		{"pad_dim", HostPadDim(3, 1, 4, 5), []int{0, 0, 4, 5}},
		{"pad_to", HostPadTo([]int{2, 3}, []int{4, 6}), []int{0, 3, 0, 2}},
		{"pad_narrow", HostPadNarrow([]int{2, 7}, 1, -5, 2), []int{2, 3}},
		{"pad_pairs", HostPadPairs([]int{1, 2}, 2), []int{1, 2, 0, 0}},
		{"repeat_from", HostRepeatFrom([]int{2, 3}, []int{4, 5, 6}), []int{1, 1, 1, 2, 1, 3}},
		{"repeat_to", HostRepeatTo([]int{2, 3}, []int{4, 5, 6}), []int{4, 1, 5, 2, 6, 3}},
		{"repeat_shape", HostRepeatShape([]int{2, 3}, []int{4, 5, 6}), []int{4, 10, 18}},
		{"transposed", HostTransposed([]int{2, 4, 3}, []int{4, 2, 5}, []int{2}, []int{1}, []int{1}, []int{1}, 2), []int{2, 4, 8}},
		{"transposed, extra too large", HostTransposed([]int{2, 4, 3}, []int{4, 2, 5}, []int{2}, []int{1}, []int{2}, []int{1}, 2), []int{}},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, tt.got); d != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, d)
		}
	}
}

func TestHostNumbers(t *testing.T) {
	i, f := IntScalar, FloatScalar
	tests := []struct {
		name      string
		got, want int
	}{
		{"size", HostSize([]int{2, 3}, -2), 2},
		{"size of a scalar", HostSize(nil, -1), 1},
		{"norm_dim", HostNormDim(3, -1), 2},
		{"tail_numel", HostTailNumel([]int{2, 3, 4}, 2), 12},
		{"tail_numel none", HostTailNumel([]int{2, 3, 4}, 0), 1},
		{"normalized_rank", HostNormalizedRank([]int{2, 3, 4}, []int{3, 4}), 2},
		{"normalized_rank of others", HostNormalizedRank([]int{2, 3, 4}, []int{4, 3}), 0},
		{"reduced_numel", HostReducedNumel([]int{2, 3, 4}, []int{0, 2}), 8},
		{"reduced_rank", HostReducedRank(3, nil), 3},
		{"slice_start", HostSliceStart([]int{5}, 0, -3, 5), 2},
		{"slice_length", HostSliceLength([]int{5}, 0, -3, 9, 2), 2},
		{"arange", HostArangeCount(i(0), i(10), i(3)), 4},
		{"arange down", HostArangeCount(i(5), i(0), i(-2)), 3},
		{"arange nothing", HostArangeCount(i(3), i(3), i(1)), 0},
		{"arange away", HostArangeCount(i(0), i(3), i(-1)), -1},
		{"arange no step", HostArangeCount(i(0), i(3), i(0)), -1},
		{"arange extremes", HostArangeCount(i(math.MinInt64), i(math.MaxInt64), i(math.MaxInt64)), 3},
		{"arange of floats", HostArangeCount(f(0), i(1), f(0.25)), 4},
		{"arange of floats, no step", HostArangeCount(f(0), f(1), f(0)), math.MaxInt},
		{"arange of NaN", HostArangeCount(f(math.NaN()), f(1), f(1)), -1},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, tt.got, tt.want)
		}
	}
}

// TestGridOf rounds the largest number of each grid to its dtype: none may be 1.
func TestGridOf(t *testing.T) {
	largest := func(d DType) float64 { return (HostGridOf(d) - 1) / HostGridOf(d) }
	if v := HalfFrom(float32(largest(Float16))).Float32(); v >= 1 {
		t.Errorf("float16: %v", v)
	}
	if v := BF16From(float32(largest(BFloat16))).Float32(); v >= 1 {
		t.Errorf("bfloat16: %v", v)
	}
	if v := float32(largest(Float32)); v >= 1 {
		t.Errorf("float32: %v", v)
	}
	if v := largest(Float64); v >= 1 {
		t.Errorf("float64: %v", v)
	}
}
