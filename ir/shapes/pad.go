package shapes

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// PadDim returns the padding list that adds before and after elements to
// axis dim alone.
func PadDim(rank, dim, before, after int) []int {
	a, err := ir.Axis(dim, rank)
	if err != nil || rank == 0 {
		return []int{before} // refused: padding comes in pairs
	}
	out := make([]int, 2*(rank-a))
	out[len(out)-2], out[len(out)-1] = before, after
	return out
}

// OnDiagonalShape returns input, the shape of matrices whose diagonal offset columns from the
// main one the rows of x are.
func OnDiagonalShape(x, input []int, offset int) ([]int, error) {
	n := len(input)
	if n < 2 || n != len(x)+1 || !slices.Equal(x[:n-2], input[:n-2]) {
		return nil, ir.ShapeErrorf("matrices of shape %v have no diagonals of shape %v", input, x)
	}
	if err := ir.CheckShape(input); err != nil {
		return nil, err
	}
	if length := max(0, min(input[n-2]+min(offset, 0), input[n-1]-max(offset, 0))); length != x[n-2] {
		return nil, ir.ShapeErrorf("the diagonal %d columns from the main one of %d x %d elements has %d, not %d", offset, input[n-2], input[n-1], length, x[n-2])
	}
	return input, nil
}

// EmbeddedShape returns the shape of the matrices that have rows of the last axis of
// shape on the diagonal that lies offset columns from the main one.
func EmbeddedShape(shape []int, offset int) []int {
	if len(shape) == 0 {
		return nil // refused: there are no rows
	}
	n := shape[len(shape)-1]
	if offset < 0 {
		offset = -max(offset, -math.MaxInt)
	}
	if n += offset; n < 0 {
		n = math.MaxInt // refused: larger than any
	}
	return slices.Concat(shape[:len(shape)-1], []int{n, n})
}

// PadTo returns the padding list that makes shape from as large as to by
// elements after the last.
func PadTo(from, to []int) []int {
	if len(from) != len(to) {
		return []int{0}
	}
	out := make([]int, 2*len(from))
	for i := range from {
		out[2*(len(from)-1-i)+1] = to[i] - from[i]
	}
	return out
}

// PadNarrow returns the padding list that puts length elements from start
// along dim back into their place in shape.
func PadNarrow(shape []int, dim, start, length int) []int {
	n := Size(shape, dim)
	if start < 0 {
		start += n
	}
	return PadDim(len(shape), dim, start, n-start-length)
}

// PadPairs returns a padding list with zeros added for n axes.
func PadPairs(padding []int, n int) []int {
	out := make([]int, max(2*n, len(padding)))
	copy(out, padding)
	return out
}

// PositivePart returns a padding list without what it removes.
func PositivePart(padding []int) []int {
	out := make([]int, len(padding))
	for i, p := range padding {
		out[i] = max(p, 0)
	}
	return out
}

// NegativePart returns a padding list without what it adds, or an empty list
// where it removes nothing.
func NegativePart(padding []int) []int {
	if !slices.ContainsFunc(padding, func(p int) bool { return p < 0 }) {
		return []int{}
	}
	out := make([]int, len(padding))
	for i, p := range padding {
		out[i] = min(p, 0)
	}
	return out
}

// SliceStart returns where a slice of axis dim begins.
func SliceStart(shape []int, dim, start, end int) int {
	from, _ := ir.SliceBounds(Size(shape, dim), start, end, 1)
	return from
}

// SliceLength returns how many elements a slice of axis dim has.
func SliceLength(shape []int, dim, start, end, step int) int {
	_, n := ir.SliceBounds(Size(shape, dim), start, end, max(step, 1))
	return n
}

// RepeatFrom returns shape, with leading axes of extent 1 up to the length
// of reps, and an axis of extent 1 before each.
func RepeatFrom(shape, reps []int) []int {
	out := []int{}
	for range len(reps) - len(shape) {
		out = append(out, 1, 1)
	}
	for _, d := range shape {
		out = append(out, 1, d)
	}
	return out
}

// RepeatTo returns RepeatFrom with the extent of each added axis from
// reps, which has an entry for each axis at the least.
func RepeatTo(shape, reps []int) []int {
	out := RepeatFrom(shape, reps)
	for i, r := range reps {
		if 2*i < len(out) {
			out[2*i] = r
		}
	}
	return out
}

// RepeatShape returns the shape of a tensor repeated reps times.
func RepeatShape(shape, reps []int) []int {
	to := RepeatTo(shape, reps)
	out := make([]int, len(to)/2)
	for i := range out {
		out[i] = to[2*i] * to[2*i+1]
	}
	return out
}

// ArangeCount returns how many numbers there are from start to before end,
// step apart. It is -1, which no shape holds, where there is no end to them and
// for complex numbers.
func ArangeCount(start, end, step ir.Scalar) int {
	switch most := max(start.Category(), end.Category(), step.Category()); {
	case most <= ir.CategoryInt:
		return arangeInts(start.Int(), end.Int(), step.Int())
	case most == ir.CategoryComplex:
		return -1
	}
	if way := end.Float() - start.Float(); way != 0 && way > 0 != (step.Float() > 0) {
		return -1
	}
	n := math.Ceil((end.Float() - start.Float()) / step.Float())
	if !(n >= 0) { // NaN too
		return -1
	}
	return int(ir.FloatToInt(min(n, math.MaxInt)))
}

// AtLeast returns x as a number of like's category where that is the wider.
func AtLeast(x, like ir.Scalar) ir.Scalar {
	switch {
	case like.Category() <= x.Category():
		return x
	case like.Category() == ir.CategoryInt:
		return ir.IntScalar(x.Int())
	case like.Category() == ir.CategoryFloat:
		return ir.FloatScalar(x.Float())
	}
	return ir.ComplexScalar(x.Complex())
}

func arangeInts(start, end, step int64) int {
	var distance, stride uint64
	switch {
	case step > 0 && start <= end:
		distance, stride = uint64(end)-uint64(start), uint64(step)
	case step < 0 && start >= end:
		distance, stride = uint64(start)-uint64(end), -uint64(step)
	default:
		return -1
	}
	n := distance / stride
	if distance%stride != 0 {
		n++
	}
	if n > math.MaxInt {
		return math.MaxInt // refused: too many elements
	}
	return int(n)
}

// EpsOr returns eps or, for a negative one, the distance from 1 to the next number of the
// dtype that d is computed in.
func EpsOr(eps float64, d ir.DType) float64 {
	switch {
	case eps >= 0 || eps != eps:
		return eps
	case d.Compute() == ir.Float64:
		return 0x1p-52
	}
	return 0x1p-23
}

// LargestOr returns v or, for NaN, the largest number of a floating dtype.
func LargestOr(v float64, d ir.DType) float64 {
	if v == v {
		return v
	}
	switch d {
	case ir.Float16:
		return 65504
	case ir.BFloat16:
		return 0x1.fep127
	case ir.Float32:
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

// GridOf returns how many equally spaced numbers in [0, 1) a uniform
// random tensor of dtype d draws from: few enough that none rounds to 1.
func GridOf(d ir.DType) float64 {
	switch d {
	case ir.Float16:
		return 1 << 11
	case ir.BFloat16:
		return 1 << 8
	case ir.Float64:
		return 1 << 53
	}
	return 1 << 24
}
