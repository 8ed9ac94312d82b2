// Package shapes computes with shapes, axes, layouts and dtypes on the host: the rules
// that give operators' results their shapes, and the functions that compositions and
// gradients call. It knows nothing of elements, devices or tensors.
package shapes

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Functions holds the functions of metadata that a schema's compositions and
// gradients may call, besides the few that the language has built in. An
// argument that is a tensor is given as its shape, layout or dtype, by the
// parameter's type. The functions answer for every argument: where an argument
// makes no sense the answer is one that the operator it is meant for refuses.
var Functions = map[string]any{
	"is_float":        IsFloat,
	"is_complex":      IsComplex,
	"is_int":          IsInt,
	"is_bool":         IsBool,
	"complex_of":      ComplexOf,
	"is_contiguous":   IsContiguous,
	"is_transposed":   IsTransposed,
	"can_view":        CanView,
	"equal_ints":      EqualInts,
	"size":            Size,
	"extents":         Extents,
	"neg_ints":        NegInts,
	"iota_ints":       IotaInts,
	"ones_ints":       OnesInts,
	"join_ints":       JoinInts,
	"fill_ints":       FillInts,
	"prod_ints":       ProdInts,
	"broadcast_ints":  BroadcastInts,
	"with_size":       WithSize,
	"norm_dim":        NormDim,
	"is_inf":          IsInf,
	"last_dims":       LastDims,
	"other_dims":      OtherDims,
	"channel_dims":    ChannelDims,
	"sum_to_dims":     SumToDims,
	"kept_shape":      KeptShape,
	"reduced_shape":   ReducedShape,
	"reduced_numel":   ReducedNumel,
	"reduced_rank":    ReducedRank,
	"reduced_last":    ReducedLast,
	"inverse_perm":    InversePerm,
	"move_perm":       MovePerm,
	"tail_numel":      TailNumel,
	"merge_tail":      MergeTail,
	"merge_dims":      MergeDims,
	"split_dim":       SplitDim,
	"normalized_rank": NormalizedRank,
	"channel_shape":   ChannelShape,
	"pad_dim":         PadDim,
	"pad_to":          PadTo,
	"pad_narrow":      PadNarrow,
	"pad_pairs":       PadPairs,
	"embedded_shape":  EmbeddedShape,
	"slice_start":     SliceStart,
	"slice_length":    SliceLength,
	"repeat_from":     RepeatFrom,
	"repeat_to":       RepeatTo,
	"repeat_shape":    RepeatShape,
	"transposed":      Transposed,
	"arange_count":    ArangeCount,
	"at_least":        AtLeast,
	"grid_of":         GridOf,
	"eps_or":          EpsOr,
	"largest_or":      LargestOr,
	"raised":          Raised,
	"deformable":      Deformable,
	"shift_of":        ShiftOf,
	"grid_step":       GridStep,
	"grid_start":      GridStart,
	"kron_left":       KronLeft,
	"kron_right":      KronRight,
	"kron_shape":      KronShape,
	"same_padding":    SamePadding,
	"same_extra":      SameExtra,
	"any_reaches":     AnyReaches,
	"transposed_ends": TransposedEnds,
	"adaptive_window": AdaptiveWindow,
	"unpooled":        Unpooled,
	"positive_part":   PositivePart,
	"negative_part":   NegativePart,
}

// IsFloat reports whether d is a real floating-point dtype.
func IsFloat(d ir.DType) bool { return d.IsFloat() }

// IsComplex reports whether d is complex.
func IsComplex(d ir.DType) bool { return d.IsComplex() }

// IsInt reports whether d is an integer dtype; bool is not.
func IsInt(d ir.DType) bool { return d.IsInt() }

// IsBool reports whether d is bool.
func IsBool(d ir.DType) bool { return d == ir.Bool }

// ComplexOf returns the complex dtype whose parts hold both of two floats.
func ComplexOf(a, b ir.DType) ir.DType { return ir.PromotePair(a, b).Complex() }

// IsContiguous reports whether l is row-major without gaps.
func IsContiguous(l ir.Layout) bool { return l.IsContiguous() }

// IsTransposed reports whether matrices laid out as l have their neighbours
// along the last axis but one: a copy of their transposes would be a plain one.
func IsTransposed(l ir.Layout) bool {
	n := len(l.Shape)
	return n >= 2 && l.Shape[n-2] > 1 && l.Shape[n-1] > 1 && l.Strides[n-2] < l.Strides[n-1] && l.Strides[n-2] != 0
}

// CanView reports whether l can be viewed as shape without a copy.
func CanView(l ir.Layout, shape []int) bool {
	_, err := ir.ReshapeView(l, shape)
	return err == nil
}

// EqualInts reports whether two lists are equal.
func EqualInts(a, b []int) bool { return slices.Equal(a, b) }

// Size returns the extent of axis dim, or 1 where there is none.
func Size(shape []int, dim int) int {
	a, err := ir.Axis(dim, len(shape))
	if err != nil || len(shape) == 0 {
		return 1
	}
	return shape[a]
}

// Extents returns the extent of axis dim of each shape.
func Extents(shapes [][]int, dim int) []int {
	out := make([]int, len(shapes))
	for i, s := range shapes {
		out[i] = Size(s, dim)
	}
	return out
}

// NegInts returns the negated list.
func NegInts(list []int) []int {
	out := make([]int, len(list))
	for i, v := range list {
		out[i] = -v
	}
	return out
}

// IotaInts returns from, from+1 and so on, n numbers.
func IotaInts(from, n int) []int {
	out := make([]int, max(n, 0))
	for i := range out {
		out[i] = from + i
	}
	return out
}

// OnesInts returns n ones.
func OnesInts(n int) []int { return ones(max(n, 0)) }

// JoinInts returns a followed by b.
func JoinInts(a, b []int) []int { return append(slices.Clone(a), b...) }

// FillInts returns a list of one number as n of them; any other list is
// returned as it is.
func FillInts(list []int, n int) []int {
	if len(list) != 1 || n == 1 {
		return list
	}
	out := make([]int, max(n, 0))
	for i := range out {
		out[i] = list[0]
	}
	return out
}

// ProdInts returns the product of a list.
func ProdInts(list []int) int { return ir.NumElements(list) }

// BroadcastInts returns the shape that x and y expand to, or x where they
// do not.
func BroadcastInts(x, y []int) []int {
	if out, err := ir.Broadcast(x, y); err == nil {
		return out
	}
	return x
}

// WithSize returns shape with extent n along axis dim.
func WithSize(shape []int, dim, n int) []int {
	out := slices.Clone(shape)
	if a, err := ir.Axis(dim, len(shape)); err == nil && len(shape) > 0 {
		out[a] = n
	}
	return out
}

// NormDim returns axis dim counted from the front, or dim where there is
// no such axis.
func NormDim(rank, dim int) int {
	if a, err := ir.Axis(dim, rank); err == nil {
		return a
	}
	return dim
}

// IsInf reports whether f is infinite.
func IsInf(f float64) bool { return math.IsInf(f, 0) }
