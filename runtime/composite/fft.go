package composite

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/shapes"
	"github.com/sinter-go/sinter/runtime/core"
)

// The types of the operators that Fourier transforms are handed.
type (
	padWith   = func(x *core.Tensor, padding []int, value ir.Scalar) *core.Tensor
	castTo    = func(x *core.Tensor, dtype ir.DType) *core.Tensor
	conjugate = func(x *core.Tensor) *core.Tensor
	realTo    = func(x *core.Tensor, dim int, scale, inner float64) *core.Tensor
	toReal    = func(x *core.Tensor, dim, n int, scale, inner float64) *core.Tensor

	realToPlanes = func(x *core.Tensor, dims []int, dim int, scale, inner float64) *core.Tensor
	planesToReal = func(x *core.Tensor, dims []int, dim, n int, scale, inner float64) *core.Tensor
)

// Fourier are the operators that transforms are made of; each is given those it uses.
type Fourier struct {
	PadConstant padWith
	Narrow      narrow
	ToType      castTo
	Conj        conjugate
	FFTC2C      complexTo
	FFTR2C      realTo
	FFTC2R      toReal
	// Across are along axes that the last is none of.
	FFTC2CAcross complexTo
	FFTR2CAcross realTo
	FFTC2RAcross toReal
	// Conj are of results and operands that are conjugated.
	FFTR2CConj realTo
	FFTC2RConj toReal
	// Planes are along two or three axes at the end, in order.
	FFTR2CPlanes realToPlanes
	FFTC2RPlanes planesToReal
}

// complexTo is the transform between complex numbers.
type complexTo = func(x *core.Tensor, dims []int, inverse bool, scale float64) *core.Tensor

// The ways to divide by the number of points, PyTorch's norm: the transform back,
// each by its root, or the transform forward.
const (
	backward = iota
	ortho
	forward
)

// FFT transforms x along one axis, the last unless dim names another.
func FFT[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.complex(fourier{along1, false, int(scaling)}, x, sizes, dim)
}

// IFFT is the inverse of FFT.
func IFFT[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.complex(fourier{along1, true, int(scaling)}, x, sizes, dim)
}

// FFT2 transforms x along two axes, the last unless dim names others.
func FFT2[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.complex(fourier{along2, false, int(scaling)}, x, sizes, dim)
}

// IFFT2 is the inverse of FFT2.
func IFFT2[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.complex(fourier{along2, true, int(scaling)}, x, sizes, dim)
}

// FFTN transforms x along the axes dim, or as many of the last as there are sizes,
// or all.
func FFTN[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.complex(fourier{alongAll, false, int(scaling)}, x, sizes, dim)
}

// IFFTN is the inverse of FFTN.
func IFFTN[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.complex(fourier{alongAll, true, int(scaling)}, x, sizes, dim)
}

// RFFT is FFT of a real x without the half of the result that is conjugate to the
// other half.
func RFFT[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.real(fourier{along1, false, int(scaling)}, x, sizes, dim)
}

// RFFT2 is FFT2 of a real x, the last axis as RFFT's.
func RFFT2[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.real(fourier{along2, false, int(scaling)}, x, sizes, dim)
}

// RFFTN is FFTN of a real x, the last axis as RFFT's.
func RFFTN[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.real(fourier{alongAll, false, int(scaling)}, x, sizes, dim)
}

// IHFFT is the conjugate of RFFT, with the scaling of the inverse transform.
func IHFFT[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.real(fourier{along1, true, int(scaling)}, x, sizes, dim)
}

// IRFFT is the inverse of RFFT: real, of sizes points or, without these, of twice
// as many as x has less two.
func IRFFT[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.back(fourier{along1, true, int(scaling)}, x, sizes, dim)
}

// IRFFT2 is the inverse of RFFT2.
func IRFFT2[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.back(fourier{along2, true, int(scaling)}, x, sizes, dim)
}

// IRFFTN is the inverse of RFFTN.
func IRFFTN[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	return o.back(fourier{alongAll, true, int(scaling)}, x, sizes, dim)
}

// HFFT is the transform of a signal whose second half is conjugate to its first,
// which is x: IRFFT of the conjugate of x, with the scaling of the transform forward.
func HFFT[E ~uint8](o Fourier, x *core.Tensor, sizes, dim []int, scaling E) *core.Tensor {
	if t := usable(x); t != nil {
		return t[0]
	}
	return o.back(fourier{along1, false, int(scaling)}, x, sizes, dim)
}

// FFTShift moves the first element along each of the axes dim, or of all, to the
// middle.
func FFTShift(roll func(x *core.Tensor, shifts, dim []int) *core.Tensor, x *core.Tensor, dim []int) *core.Tensor {
	return shiftHalf(roll, x, dim, 0)
}

// IFFTShift is the inverse of FFTShift.
func IFFTShift(roll func(x *core.Tensor, shifts, dim []int) *core.Tensor, x *core.Tensor, dim []int) *core.Tensor {
	return shiftHalf(roll, x, dim, 1)
}

func shiftHalf(roll func(x *core.Tensor, shifts, dim []int) *core.Tensor, x *core.Tensor, dim []int, up int) *core.Tensor {
	if bad := usable(x); bad != nil {
		return bad[0]
	}
	axes, err := ir.Axes(dim, look(x).Rank())
	if err != nil {
		return core.Failed(err)
	}
	shifts := make([]int, len(axes))
	for i, a := range axes {
		shifts[i] = (look(x).Shape()[a] + up) / 2
	}
	if len(axes) == 0 {
		return x
	}
	return roll(x, shifts, axes)
}

// A fourier is which transform is wanted.
type fourier struct {
	along   span
	inverse bool
	scaling int
}

// A span is which axes a transform is along where the call names none.
type span int

const (
	alongAll span = iota
	along1        // the last, and no more than one
	along2        // the last two
)

// scale returns the factor of a transform of so many points.
func (f fourier) scale(points float64) float64 {
	switch {
	case f.scaling == ortho:
		return 1 / math.Sqrt(points)
	case f.inverse == (f.scaling == backward):
		return 1 / points
	}
	return 1
}

// axes returns the axes to transform, in the call's order, and the number of points
// along each.
func (f fourier) axes(shape, sizes, dim []int) (axes, points []int, err error) {
	rank, sized, named := len(shape), len(sizes) > 0, len(dim) > 0
	switch {
	case f.along == along1 && (len(sizes) > 1 || len(dim) > 1):
		return nil, nil, fmt.Errorf("%w: want one number of points and one axis at most, have %v and %v", ir.ErrShape, sizes, dim)
	case !named && len(sizes) > rank:
		return nil, nil, fmt.Errorf("%w: %d numbers of points for shape %v", ir.ErrShape, len(sizes), shape)
	case !named && f.along == along1:
		dim = shapes.LastDims(1)
	case !named && f.along == along2:
		dim = shapes.LastDims(2)
	case !named && sized:
		dim = shapes.LastDims(len(sizes))
	case !named:
		dim = shapes.IotaInts(0, rank)
	}
	if sized && len(sizes) != len(dim) {
		return nil, nil, fmt.Errorf("%w: %d numbers of points for %d axes", ir.ErrShape, len(sizes), len(dim))
	}
	for i, d := range dim {
		if rank == 0 {
			return nil, nil, fmt.Errorf("%w: dimension %d of a scalar, which has no axis", ir.ErrShape, d)
		}
		a, err := ir.Axis(d, rank)
		if err != nil {
			return nil, nil, err
		}
		if slices.Contains(axes, a) {
			return nil, nil, fmt.Errorf("%w: FFT dims must be unique, have %v", ir.ErrShape, dim)
		}
		n := shape[a]
		if sized && sizes[i] != -1 {
			n = sizes[i]
		}
		axes, points = append(axes, a), append(points, n)
	}
	return axes, points, nil
}

var errNoAxis = fmt.Errorf("%w: there must be at least one axis to transform", ir.ErrShape)

// checkPoints refuses transforms of no points.
func checkPoints(points []int) error {
	for _, n := range points {
		if n < 1 {
			return fmt.Errorf("%w: Invalid number of data points (%d) specified; want 1 or more", ir.ErrShape, n)
		}
	}
	return nil
}

// A chain is a tensor on its way through operators: those in between are released.
type chain struct{ x, at *core.Tensor }

func (c *chain) then(next *core.Tensor) {
	if c.at != c.x && c.at != next {
		c.at.Release()
	}
	c.at = next
}

// prepare returns x in a dtype that transforms take, complex if wanted.
func (f fourier) prepare(cast castTo, x *core.Tensor, complex bool) (*chain, error) {
	c := &chain{x, x}
	dt := look(x).DType()
	if !dt.Differentiable() {
		dt = core.DefaultFloat()
	}
	if dt == ir.Float16 || dt == ir.BFloat16 {
		return nil, fmt.Errorf("%w: not implemented for %s (have float32, float64, complex64, complex128; integers become the default float)", core.ErrDType, dt)
	}
	if complex {
		dt = dt.Complex()
	}
	if dt != look(x).DType() {
		c.then(cast(x, dt))
	}
	return c, nil
}

// across reports whether the last axis of the tensor is none of axes.
func (c *chain) across(axes []int) bool { return !slices.Contains(axes, look(c.at).Rank()-1) }

// planesMost is how many axes transforms of planes have at most.
const planesMost = 3

// planes reports whether axes are the last of the tensor, in order, and more than one.
func (c *chain) planes(axes []int) bool {
	rank := look(c.at).Rank()
	for i, a := range axes {
		if a != rank-len(axes)+i {
			return false
		}
	}
	return len(axes) > 1 && len(axes) <= planesMost && core.FirstError(c.at) == nil
}

// c2c transforms complex numbers along axes.
func (c *chain) c2c(o *Fourier, axes []int, inverse bool, scale float64) {
	transform := o.FFTC2C
	if c.across(axes) { // in the order that they have in memory
		transform, axes = o.FFTC2CAcross, slices.Sorted(slices.Values(axes))
	}
	c.then(transform(c.at, axes, inverse, scale))
}

// resize trims and pads a tensor with zeros to the extents points along axes.
func (c *chain) resize(o *Fourier, axes, points []int) {
	if core.FirstError(c.at) != nil {
		return
	}
	shape := look(c.at).Shape()
	padding := make([]int, 2*len(shape))
	padded := false
	for i, a := range axes {
		switch n := points[i]; {
		case n < shape[a]:
			c.then(o.Narrow(c.at, a, 0, n))
		case n > shape[a]:
			padding[2*(len(shape)-1-a)+1], padded = n-shape[a], true
		}
	}
	if padded {
		c.then(o.PadConstant(c.at, padding, ir.IntScalar(0)))
	}
}

// numPoints returns the number of points of a transform.
func numPoints(points []int) float64 {
	n := 1.0
	for _, p := range points {
		n *= float64(p)
	}
	return n
}

// checked returns its axes and numbers of points; the error tensor
// stands for the result where it is not nil.
func (f fourier) checked(x *core.Tensor, sizes, dim []int) (axes, points []int, bad *core.Tensor) {
	if t := usable(x); t != nil {
		return nil, nil, t[0]
	}
	axes, points, err := f.axes(look(x).Shape(), sizes, dim)
	if err != nil {
		return nil, nil, core.Failed(err)
	}
	return axes, points, nil
}

// complex transforms complex numbers, or real ones as such.
func (o *Fourier) complex(f fourier, x *core.Tensor, sizes, dim []int) *core.Tensor {
	axes, points, bad := f.checked(x, sizes, dim)
	if bad != nil {
		return bad
	}
	if err := checkPoints(points); err != nil {
		return core.Failed(err)
	}
	c, err := f.prepare(o.ToType, x, true)
	if err != nil {
		return core.Failed(err)
	}
	c.resize(o, axes, points)
	if len(axes) > 0 {
		c.c2c(o, axes, f.inverse, f.scale(numPoints(points)))
	}
	return c.at
}

// real transforms real numbers to the half that says all.
func (o *Fourier) real(f fourier, x *core.Tensor, sizes, dim []int) *core.Tensor {
	axes, points, bad := f.checked(x, sizes, dim)
	if bad != nil {
		return bad
	}
	err := checkPoints(points)
	switch {
	case len(axes) == 0:
		err = errNoAxis
	case look(x).DType().IsComplex():
		err = fmt.Errorf("%w: want a real tensor, have %s", core.ErrDType, look(x).DType())
	}
	if err != nil {
		return core.Failed(err)
	}
	c, err := f.prepare(o.ToType, x, false)
	if err != nil {
		return core.Failed(err)
	}
	c.resize(o, axes, points)
	last, scale := len(axes)-1, f.scale(numPoints(points))
	if c.planes(axes) {
		c.then(o.FFTR2CPlanes(c.at, axes[:last], axes[last], scale, 1))
		return c.at
	}
	across := c.across(axes[last:])
	transform := o.FFTR2C
	switch {
	case across:
		transform = o.FFTR2CAcross
	case f.inverse: // the conjugate, as it is of half a signal
		transform = o.FFTR2CConj
	}
	c.then(transform(c.at, axes[last], scale, 1))
	if last > 0 {
		c.c2c(o, axes[:last], false, 1)
	}
	if across && f.inverse && core.FirstError(c.at) == nil {
		c.then(o.Conj(c.at))
	}
	return c.at
}

// back transforms such a half back to real numbers.
func (o *Fourier) back(f fourier, x *core.Tensor, sizes, dim []int) *core.Tensor {
	axes, points, bad := f.checked(x, sizes, dim)
	if bad != nil {
		return bad
	}
	last := len(axes) - 1
	if last < 0 {
		return core.Failed(errNoAxis)
	}
	if len(sizes) == 0 || sizes[last] == -1 {
		points[last] = 2 * (points[last] - 1)
	}
	if err := checkPoints(points); err != nil {
		return core.Failed(err)
	}
	c, err := f.prepare(o.ToType, x, true)
	if err != nil {
		return core.Failed(err)
	}
	n, scale := points[last], f.scale(numPoints(points))
	points[last] = n/2 + 1
	c.resize(o, axes, points)
	if c.planes(axes) {
		c.then(o.FFTC2RPlanes(c.at, axes[:last], axes[last], n, scale, 1))
		return c.at
	}
	if last > 0 {
		c.c2c(o, axes[:last], true, 1)
	}
	transform := o.FFTC2R
	switch {
	case c.across(axes[last:]):
		transform = o.FFTC2RAcross
		if !f.inverse && core.FirstError(c.at) == nil { // of the conjugate
			c.then(o.Conj(c.at))
		}
	case !f.inverse:
		transform = o.FFTC2RConj
	}
	c.then(transform(c.at, axes[last], n, scale, 1))
	return c.at
}
