package shapes

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// WeightedRowsShape returns the shape [batch, points, width] of sums of rows of x
// [batch, rows, width] that index [1 or batch, points, taps] names, times weight of its
// shape.
func WeightedRowsShape(x, index, weight []int) ([]int, error) {
	if len(x) != 3 || len(index) != 3 || index[0] != 1 && index[0] != x[0] || !slices.Equal(index, weight) {
		return nil, ir.ShapeErrorf("sums of rows take x [batch, rows, width], index [1 or batch, points, taps] and weight of its shape, have %v, %v and %v", x, index, weight)
	}
	out := []int{x[0], index[1], x[2]}
	return out, ir.CheckShape(out)
}

// WeightedRowsGradShape returns the shape of x in sums of its rows whose result has g's.
func WeightedRowsGradShape(g, index, weight []int, rows int) ([]int, error) {
	if len(g) != 3 || rows < 0 {
		return nil, ir.ShapeErrorf("the gradient of sums of rows takes g [batch, points, width], have %v, and rows from 0 on, have %d", g, rows)
	}
	x := []int{g[0], rows, g[2]}
	want, err := WeightedRowsShape(x, index, weight)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(want, g) {
		return nil, ir.ShapeErrorf("sums of rows of x %v have shape %v, not %v", x, want, g)
	}
	return x, ir.CheckShape(x)
}

// SuppressedShape returns boxes [batch, n, 4] without the coordinates.
func SuppressedShape(boxes []int) ([]int, error) {
	if len(boxes) != 3 || boxes[2] != 4 {
		return nil, ir.ShapeErrorf("boxes [batch, n, 4] have shape %v", boxes)
	}
	return boxes[:2], nil
}

// Deformable reports whether a convolution of x [n, channels, height, width] with weight
// has a place for every pair of numbers in offset, which may be of several parts.
func Deformable(x, weight, offset, stride, padding, dilation []int) bool {
	for _, list := range [][]int{stride, padding, dilation} {
		if len(list) != 2 || slices.Max(list) > 1<<30 {
			return false
		}
	}
	parts := 2 * weight[2] * weight[3]
	if offset[0] != x[0] || offset[1] == 0 || offset[1]%parts != 0 || x[1] == 0 || x[1]%(offset[1]/parts) != 0 || x[1]%weight[1] != 0 || weight[0]%(x[1]/weight[1]) != 0 {
		return false
	}
	for i := range 2 {
		if stride[i] < 1 || dilation[i] < 1 || padding[i] < 0 || x[2+i] < 1 {
			return false
		}
		if free := x[2+i] + 2*padding[i] - dilation[i]*(weight[2+i]-1) - 1; free < 0 || offset[2+i] != free/stride[i]+1 {
			return false
		}
	}
	return true
}

// ShiftOf returns by how much of an element boxes are moved.
func ShiftOf(aligned bool) float64 {
	if aligned {
		return 0.5
	}
	return 0
}
