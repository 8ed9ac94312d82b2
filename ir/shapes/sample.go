package shapes

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// sampled checks the operands of a sampling: x [n, channels, spatial...] with two
// or three spatial axes, grid [n, out..., spatial axes] of x's rank, and one order
// of differentiation for each coordinate.
func sampled(x, grid, order []int) error {
	axes := len(x) - 2
	switch {
	case axes != 2 && axes != 3 || len(grid) != len(x):
		return ir.ShapeErrorf("sampling takes x [n, channels, height, width] or [n, channels, depth, height, width] and grid of its rank, have %v and %v", x, grid)
	case grid[0] != x[0]:
		return ir.ShapeErrorf("grid %v is for %d samples, x %v has %d", grid, grid[0], x, x[0])
	case grid[axes+1] != axes:
		return ir.ShapeErrorf("the last axis of grid %v must have the %d coordinates of a place in x %v", grid, axes, x)
	case slices.Min(x[2:]) == 0:
		return ir.ShapeErrorf("x %v has no element to sample", x)
	case len(order) != axes || slices.Min(order) < 0:
		return ir.ShapeErrorf("order %v must have a number of derivatives for each of %d coordinates", order, axes)
	}
	return nil
}

// GridSampleShape returns the shape [n, channels, out...] of x
// [n, channels, spatial...] sampled at the places that grid [n, out..., axes] names.
func GridSampleShape(x, grid, order []int) ([]int, error) {
	if err := sampled(x, grid, order); err != nil {
		return nil, err
	}
	out := append([]int{x[0], x[1]}, grid[1:len(grid)-1]...)
	return out, ir.CheckShape(out)
}

// GridSampleGradInputShape returns input, the shape of x in a sampling at grid
// whose result has g's shape.
func GridSampleGradInputShape(g, grid, input, order []int) ([]int, error) {
	if err := ir.CheckShape(input); err != nil {
		return nil, err
	}
	if _, err := GridSampleGradGridShape(g, input, grid, order); err != nil {
		return nil, err
	}
	return input, nil
}

// GridSampleGradGridShape returns the shape of grid in a sampling of x whose result
// has g's shape.
func GridSampleGradGridShape(g, x, grid, order []int) ([]int, error) {
	want, err := GridSampleShape(x, grid, order)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(want, g) {
		return nil, ir.ShapeErrorf("x %v sampled at grid %v has shape %v, not %v", x, grid, want, g)
	}
	return grid, nil
}

// Raised returns a list of orders of differentiation with one more for
// coordinate i.
func Raised(order []int, i int) []int {
	out := slices.Clone(order)
	if i >= 0 && i < len(out) {
		out[i]++
	}
	return out
}

// GridStep returns the distance of n coordinates spread over -1 to 1, whose
// outer ones are -1 and 1, or with corners of false half a distance inside.
func GridStep(n int, corners bool) float64 {
	switch {
	case !corners:
		return 2 / float64(max(n, 1))
	case n < 2:
		return 0
	}
	return 2 / float64(n-1)
}

// GridStart returns the first of these coordinates; a single one is 0.
func GridStart(n int, corners bool) float64 {
	switch {
	case n < 2:
		return 0
	case !corners:
		return 1/float64(n) - 1
	}
	return -1
}
