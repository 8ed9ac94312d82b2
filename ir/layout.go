package ir

import (
	"fmt"
	"math"
	"slices"
)

// ErrShape is wrapped by every error about shapes, axes and extents.
const ErrShape Error = "invalid shape"

// A Layout is where a tensor's elements lie in its storage. Shapes are never
// changed once a Layout holds them, so slices may be shared.
type Layout struct {
	Shape   []int
	Strides []int // in elements, never negative
	Offset  int   // of the first element, in elements
}

// ContiguousLayout returns the row-major layout of shape at offset 0.
func ContiguousLayout(shape []int) Layout {
	return Layout{Shape: shape, Strides: ContiguousStrides(shape)}
}

// IsContiguous reports whether l is row-major without gaps.
func (l Layout) IsContiguous() bool { return IsContiguous(l.Shape, l.Strides) }

// NumElements returns the product of the extents; 1 for a scalar.
func NumElements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// CheckShape reports extents that are negative or whose product overflows.
func CheckShape(shape []int) error {
	n := 1
	for _, d := range shape {
		if d < 0 {
			return fmt.Errorf("%w: negative extent in %v", ErrShape, shape)
		}
		if d != 0 && n > math.MaxInt/16/d {
			return fmt.Errorf("%w: %v has too many elements", ErrShape, shape)
		}
		n *= max(d, 1)
	}
	return nil
}

// ContiguousStrides returns the row-major strides of shape. Axes of extent 0
// count as 1, so strides are never 0.
func ContiguousStrides(shape []int) []int {
	strides := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(shape[i], 1)
	}
	return strides
}

// ChannelsLastStrides returns the strides of shape [n, channels, ...] whose elements lie as
// those of [n, ..., channels] do row-major.
func ChannelsLastStrides(shape []int) []int {
	if len(shape) < 2 {
		return ContiguousStrides(shape)
	}
	strides := ContiguousStrides(slices.Concat(shape[:1], shape[2:], shape[1:2]))
	return slices.Concat(strides[:1], strides[len(strides)-1:], strides[1:len(strides)-1])
}

// IsContiguous reports whether shape and strides describe row-major elements
// without gaps. Axes of extent 1 may have any stride; empty tensors always are.
func IsContiguous(shape, strides []int) bool {
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		switch {
		case shape[i] == 0:
			return true
		case shape[i] == 1:
			continue
		case strides[i] != n:
			return NumElements(shape) == 0
		}
		n *= shape[i]
	}
	return true
}

// WantBelow says, for messages, which numbers name one of n things.
func WantBelow(n int) string {
	if n <= 0 {
		return "there are none"
	}
	return fmt.Sprintf("want 0 to %d", n-1)
}

// Axis returns axis counted from the front for a tensor of the given rank;
// negative axes count from the back. A scalar has the axes 0 and -1.
func Axis(axis, rank int) (int, error) {
	r := max(rank, 1)
	if axis < -r || axis >= r {
		return 0, fmt.Errorf("%w: dimension out of range: %d is not in [%d, %d]", ErrShape, axis, -r, r-1)
	}
	if axis < 0 {
		axis += r
	}
	return axis, nil
}

// Axes normalises a list of axes and sorts it ascending; nil and empty mean all.
func Axes(axes []int, rank int) ([]int, error) {
	if len(axes) == 0 {
		all := make([]int, rank)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	out := make([]int, 0, len(axes))
	for _, a := range axes {
		a, err := Axis(a, rank)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, a) {
			return nil, fmt.Errorf("%w: dim %d appears multiple times in %v", ErrShape, a, axes)
		}
		if rank > 0 {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Broadcast returns the shape that the given shapes expand to.
func Broadcast(shapes ...[]int) ([]int, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make([]int, rank)
	for i := range out {
		out[i] = 1
		for _, s := range shapes {
			j := i - (rank - len(s))
			if j < 0 || s[j] == 1 || s[j] == out[i] {
				continue
			}
			if out[i] != 1 {
				return nil, fmt.Errorf("%w: cannot broadcast shapes %v: extents %d and %d at axis %d", ErrShape, shapes, out[i], s[j], i)
			}
			out[i] = s[j]
		}
	}
	return out, nil
}

// ExpandStrides returns strides that read a tensor of the given layout as shape
// to, with stride 0 along expanded axes. The shapes must be broadcastable.
func ExpandStrides(shape, strides, to []int) []int {
	out := make([]int, len(to))
	lead := len(to) - len(shape)
	for i, s := range strides {
		if shape[i] != 1 || to[lead+i] == 1 {
			out[lead+i] = s
		}
	}
	return out
}

// SelfOverlaps reports whether two indices may name the same element: an axis of
// stride 0, or strides too small for the extents inside them.
func (l Layout) SelfOverlaps() bool {
	if NumElements(l.Shape) <= 1 {
		return false
	}
	axes := make([]int, 0, len(l.Shape))
	for i, d := range l.Shape {
		if d > 1 {
			axes = append(axes, i)
		}
	}
	slices.SortFunc(axes, func(a, b int) int { return l.Strides[a] - l.Strides[b] })
	reach := 0 // largest distance that the axes so far span
	for _, a := range axes {
		if l.Strides[a] <= reach {
			return true
		}
		reach += (l.Shape[a] - 1) * l.Strides[a]
	}
	return false
}

// Span returns the elements from the first that l addresses to one past the
// last; both are equal when it addresses none.
func (l Layout) Span() (first, end int) {
	if NumElements(l.Shape) == 0 {
		return l.Offset, l.Offset
	}
	last := l.Offset
	for i, d := range l.Shape {
		last += (d - 1) * l.Strides[i]
	}
	return l.Offset, last + 1
}

// MayOverlap reports whether l and m, over one storage and of one element size,
// may share an element. It is exact for layouts that interleave with equal
// strides, and errs towards true otherwise.
func (l Layout) MayOverlap(m Layout) bool {
	a, aEnd := l.Span()
	b, bEnd := m.Span()
	if a == aEnd || b == bEnd || aEnd <= b || bEnd <= a {
		return false
	}
	step := 0 // greatest common divisor of all strides that matter
	for _, x := range []Layout{l, m} {
		for i, d := range x.Shape {
			if d > 1 {
				step = gcd(step, x.Strides[i])
			}
		}
	}
	return step == 0 || (b-a)%step == 0
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
