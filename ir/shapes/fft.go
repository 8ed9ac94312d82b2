package shapes

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// FFTC2CShape returns x, which must have each of the axes dims once, none of them
// of extent 0.
func FFTC2CShape(x, dims []int) ([]int, error) {
	axes, err := fftAxes(x, dims)
	if err != nil {
		return nil, err
	}
	for _, a := range axes {
		if x[a] < 1 {
			return nil, ir.ShapeErrorf("Invalid number of data points (%d) specified: axis %d of shape %v", x[a], a, x)
		}
	}
	return x, nil
}

// FFTR2CShape returns the shape of the first half of the transform of a real x
// along dim: n/2+1 for an extent of n, which is 1 or more.
func FFTR2CShape(x []int, dim int) ([]int, error) {
	axes, err := fftAxes(x, []int{dim})
	if err != nil {
		return nil, err
	}
	a := axes[0]
	if x[a] < 1 {
		return nil, ir.ShapeErrorf("Invalid number of data points (%d) specified: axis %d of shape %v", x[a], a, x)
	}
	out := slices.Clone(x)
	out[a] = x[a]/2 + 1
	return out, nil
}

// FFTC2RShape returns the shape of the real tensor of extent n along dim whose
// transform's first half has shape x.
func FFTC2RShape(x []int, dim, n int) ([]int, error) {
	axes, err := fftAxes(x, []int{dim})
	if err != nil {
		return nil, err
	}
	a := axes[0]
	if n < 1 || x[a] != n/2+1 {
		return nil, ir.ShapeErrorf("Invalid number of data points (%d) specified: axis %d of shape %v must have half of them and one", n, a, x)
	}
	out := slices.Clone(x)
	out[a] = n
	return out, ir.CheckShape(out)
}

// FFTR2CPlanesShape returns the shape of FFTR2CShape along dim, which transforms along dims keep.
func FFTR2CPlanesShape(x, dims []int, dim int) ([]int, error) {
	half, err := FFTR2CShape(x, dim)
	if err != nil {
		return nil, err
	}
	return FFTC2CShape(half, dims)
}

// FFTC2RPlanesShape returns the shape of FFTC2RShape along dim of x transformed along dims.
func FFTC2RPlanesShape(x, dims []int, dim, n int) ([]int, error) {
	if _, err := FFTC2CShape(x, dims); err != nil {
		return nil, err
	}
	return FFTC2RShape(x, dim, n)
}

// fftAxes returns the axes dims of x, which must have one.
func fftAxes(x, dims []int) ([]int, error) {
	if len(x) == 0 || len(dims) == 0 {
		return nil, ir.ShapeErrorf("want a tensor with an axis to transform, and at least one axis, have shape %v and dims %v", x, dims)
	}
	return ir.Axes(dims, len(x))
}
