package ir

import (
	"math"
	"slices"
)

// HostFuncs holds the functions of metadata that a schema's compositions and
// gradients may call, besides the few that the language has built in. An
// argument that is a tensor is given as its shape, layout or dtype, by the
// parameter's type. The functions answer for every argument: where an argument
// makes no sense the answer is one that the operator it is meant for refuses.
var HostFuncs = map[string]any{
	"is_float":        HostIsFloat,
	"is_complex":      HostIsComplex,
	"is_int":          HostIsInt,
	"is_bool":         HostIsBool,
	"complex_of":      HostComplexOf,
	"is_contiguous":   HostIsContiguous,
	"is_transposed":   HostIsTransposed,
	"can_view":        HostCanView,
	"equal_ints":      HostEqualInts,
	"size":            HostSize,
	"extents":         HostExtents,
	"neg_ints":        HostNegInts,
	"iota_ints":       HostIotaInts,
	"ones_ints":       HostOnesInts,
	"join_ints":       HostJoinInts,
	"fill_ints":       HostFillInts,
	"prod_ints":       HostProdInts,
	"broadcast_ints":  HostBroadcastInts,
	"with_size":       HostWithSize,
	"norm_dim":        HostNormDim,
	"is_inf":          HostIsInf,
	"last_dims":       HostLastDims,
	"other_dims":      HostOtherDims,
	"channel_dims":    HostChannelDims,
	"sum_to_dims":     HostSumToDims,
	"kept_shape":      HostKeptShape,
	"reduced_shape":   HostReducedShape,
	"reduced_numel":   HostReducedNumel,
	"reduced_rank":    HostReducedRank,
	"reduced_last":    HostReducedLast,
	"inverse_perm":    HostInversePerm,
	"move_perm":       HostMovePerm,
	"tail_numel":      HostTailNumel,
	"merge_tail":      HostMergeTail,
	"merge_dims":      HostMergeDims,
	"split_dim":       HostSplitDim,
	"normalized_rank": HostNormalizedRank,
	"channel_shape":   HostChannelShape,
	"pad_dim":         HostPadDim,
	"pad_to":          HostPadTo,
	"pad_narrow":      HostPadNarrow,
	"pad_pairs":       HostPadPairs,
	"embedded_shape":  HostEmbeddedShape,
	"slice_start":     HostSliceStart,
	"slice_length":    HostSliceLength,
	"repeat_from":     HostRepeatFrom,
	"repeat_to":       HostRepeatTo,
	"repeat_shape":    HostRepeatShape,
	"transposed":      HostTransposed,
	"arange_count":    HostArangeCount,
	"at_least":        HostAtLeast,
	"grid_of":         HostGridOf,
	"raised":          HostRaised,
	"grid_step":       HostGridStep,
	"grid_start":      HostGridStart,
	"kron_left":       HostKronLeft,
	"kron_right":      HostKronRight,
	"kron_shape":      HostKronShape,
	"same_padding":    HostSamePadding,
	"same_extra":      HostSameExtra,
	"any_reaches":     HostAnyReaches,
	"transposed_ends": HostTransposedEnds,
	"adaptive_window": HostAdaptiveWindow,
	"unpooled":        HostUnpooled,
	"positive_part":   HostPositivePart,
	"negative_part":   HostNegativePart,
}

// HostIsFloat reports whether d is a real floating-point dtype.
func HostIsFloat(d DType) bool { return d.IsFloat() }

// HostIsComplex reports whether d is complex.
func HostIsComplex(d DType) bool { return d.IsComplex() }

// HostIsInt reports whether d is an integer dtype; bool is not.
func HostIsInt(d DType) bool { return d.IsInt() }

// HostIsBool reports whether d is bool.
func HostIsBool(d DType) bool { return d == Bool }

// HostComplexOf returns the complex dtype whose parts hold both of two floats.
func HostComplexOf(a, b DType) DType { return PromotePair(a, b).Complex() }

// HostIsContiguous reports whether l is row-major without gaps.
func HostIsContiguous(l Layout) bool { return l.IsContiguous() }

// HostIsTransposed reports whether matrices laid out as l have their neighbours
// along the last axis but one: a copy of their transposes would be a plain one.
func HostIsTransposed(l Layout) bool {
	n := len(l.Shape)
	return n >= 2 && l.Shape[n-2] > 1 && l.Shape[n-1] > 1 && l.Strides[n-2] < l.Strides[n-1] && l.Strides[n-2] != 0
}

// HostCanView reports whether l can be viewed as shape without a copy.
func HostCanView(l Layout, shape []int) bool {
	_, err := ReshapeView(l, shape)
	return err == nil
}

// HostEqualInts reports whether two lists are equal.
func HostEqualInts(a, b []int) bool { return slices.Equal(a, b) }

// HostSize returns the extent of axis dim, or 1 where there is none.
func HostSize(shape []int, dim int) int {
	a, err := Axis(dim, len(shape))
	if err != nil || len(shape) == 0 {
		return 1
	}
	return shape[a]
}

// HostExtents returns the extent of axis dim of each shape.
func HostExtents(shapes [][]int, dim int) []int {
	out := make([]int, len(shapes))
	for i, s := range shapes {
		out[i] = HostSize(s, dim)
	}
	return out
}

// HostNegInts returns the negated list.
func HostNegInts(list []int) []int {
	out := make([]int, len(list))
	for i, v := range list {
		out[i] = -v
	}
	return out
}

// HostIotaInts returns from, from+1 and so on, n numbers.
func HostIotaInts(from, n int) []int {
	out := make([]int, max(n, 0))
	for i := range out {
		out[i] = from + i
	}
	return out
}

// HostOnesInts returns n ones.
func HostOnesInts(n int) []int { return ones(max(n, 0)) }

// HostJoinInts returns a followed by b.
func HostJoinInts(a, b []int) []int { return append(slices.Clone(a), b...) }

// HostFillInts returns a list of one number as n of them; any other list is
// returned as it is.
func HostFillInts(list []int, n int) []int {
	if len(list) != 1 || n == 1 {
		return list
	}
	out := make([]int, max(n, 0))
	for i := range out {
		out[i] = list[0]
	}
	return out
}

// HostProdInts returns the product of a list.
func HostProdInts(list []int) int { return NumElements(list) }

// HostBroadcastInts returns the shape that x and y expand to, or x where they
// do not.
func HostBroadcastInts(x, y []int) []int {
	if out, err := Broadcast(x, y); err == nil {
		return out
	}
	return x
}

// HostWithSize returns shape with extent n along axis dim.
func HostWithSize(shape []int, dim, n int) []int {
	out := slices.Clone(shape)
	if a, err := Axis(dim, len(shape)); err == nil && len(shape) > 0 {
		out[a] = n
	}
	return out
}

// HostNormDim returns axis dim counted from the front, or dim where there is
// no such axis.
func HostNormDim(rank, dim int) int {
	if a, err := Axis(dim, rank); err == nil {
		return a
	}
	return dim
}

// HostIsInf reports whether f is infinite.
func HostIsInf(f float64) bool { return math.IsInf(f, 0) }
