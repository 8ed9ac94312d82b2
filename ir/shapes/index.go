package shapes

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// GatherShape returns index, which must have x's rank and may be no larger
// along any axis but dim. A scalar is as good as a tensor of one axis.
func GatherShape(x []int, dim int, index []int) ([]int, error) {
	axis, err := ir.Axis(dim, len(x))
	if err != nil {
		return nil, err
	}
	if max(len(index), 1) != max(len(x), 1) {
		return nil, ir.ShapeErrorf("index must have x's rank: index has shape %v, x %v", index, x)
	}
	for a, n := range index {
		if a != axis && n > x[a] {
			return nil, ir.ShapeErrorf("index of shape %v is larger than x of shape %v at axis %d (only dim %d may be)", index, x, a, dim)
		}
	}
	if ir.NumElements(index) > 0 && len(x) > 0 && x[axis] == 0 {
		return nil, ir.ShapeErrorf("index of shape %v into no elements: dim %d of shape %v", index, dim, x)
	}
	return index, nil
}

// ScatterShape returns x. Index must suit x as for GatherShape and be no larger
// than src; a src of rank 0 suits every index.
func ScatterShape(x []int, dim int, index, src []int) ([]int, error) {
	if _, err := GatherShape(x, dim, index); err != nil {
		return nil, err
	}
	if len(src) == 0 {
		return x, nil
	}
	if len(src) != len(index) {
		return nil, ir.ShapeErrorf("src must have index's rank: src has shape %v, index %v", src, index)
	}
	for a, n := range index {
		if n > src[a] {
			return nil, ir.ShapeErrorf("index of shape %v is larger than src of shape %v at axis %d", index, src, a)
		}
	}
	return x, nil
}

// ScatterShareShape returns the shapes of the gradients of ScatterShape by x and src, from
// the gradient g of the result y. Src has index's shape.
func ScatterShareShape(g, x, y []int, dim int, index, src []int) ([][]int, error) {
	if _, err := GatherShape(x, dim, index); err != nil {
		return nil, err
	}
	if !slices.Equal(g, x) || !slices.Equal(y, x) {
		return nil, ir.ShapeErrorf("g and y must have x's shape: g has shape %v, y %v, x %v", g, y, x)
	}
	if !slices.Equal(src, index) {
		return nil, ir.ShapeErrorf("src must have index's shape: src has shape %v, index %v", src, index)
	}
	return [][]int{x, src}, nil
}

// IndexSelectShape returns x with as many elements along dim as index has.
// Index has rank 1 or 0.
func IndexSelectShape(x []int, dim int, index []int) ([]int, error) {
	axis, err := ir.Axis(dim, len(x))
	if err != nil {
		return nil, err
	}
	if len(index) > 1 {
		return nil, ir.ShapeErrorf("index must have one axis or none, have shape %v", index)
	}
	n := ir.NumElements(index)
	if len(x) == 0 {
		if n != 1 {
			return nil, ir.ShapeErrorf("a tensor of rank 0 is selected from with one index, have %d", n)
		}
		return x, nil
	}
	if n > 0 && x[axis] == 0 {
		return nil, ir.ShapeErrorf("%d indices into no elements: dim %d of shape %v", n, dim, x)
	}
	out := slices.Clone(x)
	out[axis] = n
	return out, ir.CheckShape(out)
}

// IndexAddShape returns x. Src must have the shape that IndexSelectShape gives.
func IndexAddShape(x []int, dim int, index, src []int) ([]int, error) {
	want, err := IndexSelectShape(x, dim, index)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(want, src) {
		return nil, ir.ShapeErrorf("src must have shape %v for x of shape %v, dim %d and index of shape %v, not %v", want, x, dim, index, src)
	}
	return x, nil
}

// OneHotShape returns x and a last axis of one place a class.
func OneHotShape(x []int, classes int) ([]int, error) {
	if classes < 0 || classes == 0 && ir.NumElements(x) > 0 {
		return nil, ir.ShapeErrorf("%d classes for x of shape %v: want at least one", classes, x)
	}
	return append(slices.Clone(x), classes), nil
}
