package shapes

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// LastDims returns the last n axes, as -n to -1.
func LastDims(n int) []int { return IotaInts(-n, n) }

// OtherDims returns every axis of a tensor of the given rank but dim.
func OtherDims(rank, dim int) []int {
	a, err := ir.Axis(dim, rank)
	out := []int{}
	for i := range rank {
		if err != nil || i != a {
			out = append(out, i)
		}
	}
	return out
}

// ChannelDims returns the axes that a batch of channels is normalized over:
// all but axis 1.
func ChannelDims(rank int) []int { return OtherDims(rank, 1) }

// SumToDims returns the axes along which a tensor of shape from is summed,
// with keepdim, to have shape to but for leading axes of extent 1.
func SumToDims(from, to []int) []int {
	lead := len(from) - len(to)
	out := []int{}
	for i, d := range from {
		if i < lead || (to[i-lead] == 1 && d != 1) {
			out = append(out, i)
		}
	}
	return out
}

// KeptShape returns the shape of a reduction of shape over dims (nil: all)
// that keeps its axes.
func KeptShape(shape, dims []int) []int {
	out, err := ReduceShape(shape, dims, true)
	if err != nil {
		return shape
	}
	return out
}

// ReducedShape returns the shape of a reduction of shape over dims (nil: all).
func ReducedShape(shape, dims []int) []int {
	out, err := ReduceShape(shape, dims, false)
	if err != nil {
		return shape
	}
	return out
}

// ReducedNumel returns how many elements a reduction of shape over dims
// (nil: all) folds into each result.
func ReducedNumel(shape, dims []int) int {
	axes, err := ir.Axes(dims, len(shape))
	if err != nil {
		return 0
	}
	n := 1
	for _, a := range axes {
		n *= shape[a]
	}
	return n
}

// ReducedRank returns the number of axes that a reduction over dims (nil:
// all) folds.
func ReducedRank(rank int, dims []int) int {
	axes, err := ir.Axes(dims, rank)
	if err != nil {
		return 0
	}
	return len(axes)
}

// ReducedLast returns the permutation that moves the axes dims (nil: all)
// behind the others.
func ReducedLast(rank int, dims []int) []int {
	axes, err := ir.Axes(dims, rank)
	if err != nil {
		return dims
	}
	out := make([]int, 0, rank)
	for i := range rank {
		if !slices.Contains(axes, i) {
			out = append(out, i)
		}
	}
	return append(out, axes...)
}

// InversePerm returns the permutation that undoes dims.
func InversePerm(dims []int) []int {
	out := make([]int, len(dims))
	for i, d := range dims {
		a, err := ir.Axis(d, len(dims))
		if err != nil {
			return dims
		}
		out[a] = i
	}
	return out
}

// MovePerm returns the permutation that moves axis source to destination,
// the others keeping their order.
func MovePerm(rank int, source, destination []int) []int {
	if len(source) != len(destination) || rank == 0 {
		return append(slices.Clone(source), destination...)
	}
	out := make([]int, rank)
	for i := range out {
		out[i] = -1
	}
	moved := make([]bool, rank)
	for i := range source {
		a, b, err := ir.TwoAxes(source[i], destination[i], rank)
		if err != nil || moved[a] || out[b] >= 0 {
			return []int{rank} // no permutation: permute names the axis
		}
		out[b], moved[a] = a, true
	}
	next := 0
	for i := range out {
		if out[i] >= 0 {
			continue
		}
		for moved[next] {
			next++
		}
		out[i] = next
		next++
	}
	return out
}

// TailNumel returns the product of the last n extents.
func TailNumel(shape []int, n int) int {
	return ir.NumElements(shape[len(shape)-min(max(n, 0), len(shape)):])
}

// MergeTail returns shape with its last n axes made one; with n of 0 an
// axis of extent 1 is added.
func MergeTail(shape []int, n int) []int {
	n = min(max(n, 0), len(shape))
	return append(slices.Clone(shape[:len(shape)-n]), TailNumel(shape, n))
}

// MergeDims returns shape with the axes start to end made one. A scalar has
// the one axis of extent 1.
func MergeDims(shape []int, start, end int) []int {
	if len(shape) == 0 {
		return []int{1}
	}
	a, b, err := ir.TwoAxes(start, end, len(shape))
	if err != nil || a > b {
		return []int{-2} // refused by reshape
	}
	out := append(slices.Clone(shape[:a]), ir.NumElements(shape[a:b+1]))
	return append(out, shape[b+1:]...)
}

// SplitDim returns shape with axis dim replaced by the axes of extents
// sizes, of which one may be -1.
func SplitDim(shape []int, dim int, sizes []int) []int {
	a, err := ir.Axis(dim, len(shape))
	if err != nil || len(shape) == 0 {
		return []int{-2}
	}
	split, err := ir.InferShape(sizes, shape[a])
	if err != nil {
		split = sizes // refused by reshape: the numbers of elements differ
	}
	out := append(slices.Clone(shape[:a]), split...)
	return append(out, shape[a+1:]...)
}

// NormalizedRank returns how many axes of shape the list normalized names,
// or 0 where its extents are not the last of shape.
func NormalizedRank(shape, normalized []int) int {
	n := len(normalized)
	if n > len(shape) || !slices.Equal(shape[len(shape)-n:], normalized) {
		return 0
	}
	return n
}

// ChannelShape returns the shape that spreads n numbers along axis 1 of a
// tensor of the given rank.
func ChannelShape(rank, n int) []int {
	out := ones(max(rank, 2))
	out[1] = n
	return out
}

// Transposed returns the extents [n, channels, spatial...] of a transposed
// convolution of x [n, in, spatial...] with weight [in, channels/groups, kernel...],
// or an empty list where there is no such convolution.
func Transposed(x, weight, stride, padding, extra, dilation []int, groups int) []int {
	n := len(x) - 2
	if n < 1 || len(weight) != len(x) || len(stride) != n || len(padding) != n || len(extra) != n || len(dilation) != n {
		return []int{}
	}
	out := []int{x[0], weight[1] * groups}
	for i := range n {
		if extra[i] < 0 || extra[i] >= max(stride[i], dilation[i]) {
			return []int{} // more than a stride: not a shape this convolution comes from
		}
		out = append(out, (x[i+2]-1)*stride[i]-2*padding[i]+dilation[i]*(weight[i+2]-1)+extra[i]+1)
	}
	return out
}
