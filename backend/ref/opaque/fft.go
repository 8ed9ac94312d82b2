package opaque

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// A circle is the complex numbers that a transform is computed in, and those on
// the unit circle among them.
type circle[T any] struct {
	ring[T]
	point func(re, im wide.Float) T
}

var (
	doubleCircle = circle[complex128]{complexes, func(re, im wide.Float) complex128 { return complex(re.Float64(), im.Float64()) }}
	wideCircle   = circle[wideComplex]{wideComplexes, func(re, im wide.Float) wideComplex { return wideComplex{re, im} }}
)

// FFTC2C is the discrete Fourier transform of complex x by its definition, along
// each of the axes in attribute dims: the sum of x[j]*exp(-2*pi*i*j*k/n), with the
// other sign where attribute inverse says so; times attribute scale.
func FFTC2C(c *ir.Call) error { return transform(c, c2c[complex128], c2c[wideComplex]) }

// FFTR2C is the transform of real x along attribute dim, of which the numbers from
// n/2+1 on are left out, times attribute scale and, where a conjugate was left out
// for a number, attribute inner.
func FFTR2C(c *ir.Call) error {
	return transform(c, r2cBy(0, same[complex128]), r2cBy(0, same[wideComplex]))
}

// FFTC2R is the sum of x[k]*exp(2*pi*i*j*k/n) over the attribute n numbers of which
// x along attribute dim has those that FFTR2C returns; the others are conjugates of
// these. X is multiplied first as FFTR2C multiplies results.
func FFTC2R(c *ir.Call) error {
	return transform(c, c2rBy(0, same[complex128]), c2rBy(0, same[wideComplex]))
}

// A planned transform is computed with the roots of unity of every extent.
type planned[T any] func(c *ir.Call, r circle[T], roots map[int][]T)

// transform runs the instance for the call's dtype, with roots that the device
// keeps for calls of one geometry.
func transform(c *ir.Call, doubles planned[complex128], wides planned[wideComplex]) error {
	switch c.Compute.Complex() {
	case ir.Complex64:
		return withRoots(c, doubleCircle, doubles)
	case ir.Complex128:
		return withRoots(c, wideCircle, wides)
	}
	return unsupported(c.Compute)
}

// An fftGeometry is what a plan is kept by.
type fftGeometry struct{ operator, dtype, in, inStrides, out, outStrides, axes string }

func withRoots[T any](c *ir.Call, r circle[T], f planned[T]) error {
	x, y := c.In[0], c.Out[0]
	if y.NumElements() == 0 { // of lines that there are none of, which may be of any length
		return nil
	}
	axes, err := transformed(c)
	if err != nil {
		return err
	}
	plan := func() (any, error) {
		roots := map[int][]T{}
		for _, a := range axes {
			n := max(x.Shape[a], y.Shape[a])
			if roots[n] == nil {
				roots[n] = unity(r, n)
			}
		}
		return roots, nil
	}
	use := func(roots any) error {
		f(c, r, roots.(map[int][]T))
		return nil
	}
	if c.FFTPlans == nil {
		roots, _ := plan()
		return use(roots)
	}
	text := func(list []int) string { return fmt.Sprint(list) }
	key := fftGeometry{c.Op.Name, c.Compute.String(), text(x.Shape), text(x.Strides), text(y.Shape), text(y.Strides), text(axes)}
	return c.FFTPlans.Use(key, plan, use)
}

// transformed returns the axes in the first attribute, dims or dim, or behind those of dims
// that in attribute dim, the second.
func transformed(c *ir.Call) ([]int, error) {
	rank := len(c.In[0].Shape)
	if c.Op.Attrs[0].Kind != ir.AttrInts {
		a, err := ir.Axis(int(c.Attrs[0].Int), rank)
		return []int{a}, err
	}
	axes, err := ir.Axes(c.Attrs[0].Ints, rank)
	if err != nil || c.Op.Attrs[1].Kind != ir.AttrInt {
		return axes, err
	}
	a, err := ir.Axis(int(c.Attrs[1].Int), rank)
	return append(axes, a), err
}

// unity returns exp(-2*pi*i*k/n) for every k below n.
func unity[T any](r circle[T], n int) []T {
	sin, cos := function("sin"), function("cos")
	turn := function("acos")(wide.FromInt64(-1)).Mul(wide.FromInt64(2))
	out := make([]T, n)
	for k := range out {
		angle := turn.Mul(wide.FromInt64(int64(k))).Quo(wide.FromInt64(int64(n)))
		out[k] = r.point(cos(angle), sin(angle).Neg())
	}
	return out
}

// along returns count sums of x[j]*roots[j*k] along axis, or with conjugates of
// these where inverse is set.
func (r circle[T]) along(x tensor[T], axis, count int, roots []T, inverse bool) tensor[T] {
	shape := append([]int(nil), x.shape...)
	shape[axis] = count
	out := newTensor(shape, r.number(0))
	each(shape, func(at []int) {
		to := out.at(at)
		k := at[axis]
		for j := range x.shape[axis] {
			at[axis] = j
			*to = r.add(*to, r.mul(*x.at(at), roots[power(j, k, len(roots), inverse)]))
		}
	})
	return out
}

// power returns j*k modulo n, or its negative.
func power(j, k, n int, negative bool) int {
	high, low := bits.Mul64(uint64(j), uint64(k))
	p := int(bits.Rem64(high, low, uint64(n)))
	if negative && p > 0 {
		p = n - p
	}
	return p
}

func (r circle[T]) times(x tensor[T], by func(i int) float64) {
	for i := range x.v {
		x.v[i] = r.mul(x.v[i], r.from(ir.FloatScalar(by(i))))
	}
}

func c2c[T any](c *ir.Call, r circle[T], roots map[int][]T) {
	x, inverse := decode(c.In[0], c.Compute, r.ring), c.Attrs[1].Int != 0
	axes, _ := transformed(c)
	for _, a := range axes {
		n := x.shape[a]
		x = r.along(x, a, n, roots[n], inverse)
	}
	r.times(x, func(int) float64 { return c.Attrs[2].Scalar.Float() })
	encode(c.Out[0], c.Compute, r.ring, x)
}

// half multiplies the first half of a spectrum of n numbers by scale, and those
// with a conjugate in the other half by inner besides.
func (r circle[T]) half(x tensor[T], axis, n int, scale, inner float64) {
	r.times(x, func(i int) float64 {
		if k := coordinates(x.shape, i)[axis]; k == 0 || 2*k == n {
			return scale
		}
		return scale * inner
	})
}

// FFTR2CConj is the conjugate of FFTR2C.
func FFTR2CConj(c *ir.Call) error {
	return transform(c, r2cBy(0, doubleConj), r2cBy(0, wideConj))
}

// FFTC2RConj is FFTC2R of the conjugate of x.
func FFTC2RConj(c *ir.Call) error {
	return transform(c, c2rBy(0, doubleConj), c2rBy(0, wideConj))
}

// FFTR2CPlanes is FFTR2C along attribute dim, and then the transform along attribute dims.
func FFTR2CPlanes(c *ir.Call) error {
	return transform(c, r2cBy(1, same[complex128]), r2cBy(1, same[wideComplex]))
}

// FFTC2RPlanes is the inverse transform along attribute dims, and then FFTC2R along attribute dim.
func FFTC2RPlanes(c *ir.Call) error {
	return transform(c, c2rBy(1, same[complex128]), c2rBy(1, same[wideComplex]))
}

func same[T any](x T) T                  { return x }
func doubleConj(x complex128) complex128 { return complex(real(x), -imag(x)) }
func wideConj(x wideComplex) wideComplex { return wideComplex{x.re, x.im.Neg()} }

// r2cBy is the transform of real numbers of an operator with attribute dim at a place, behind which scale and inner come, and what
// is done to each number then.
func r2cBy[T any](dim int, each func(T) T) planned[T] {
	return func(c *ir.Call, r circle[T], roots map[int][]T) {
		dtype := c.Compute.Complex()
		x := decode(c.In[0], dtype, r.ring)
		axes, _ := transformed(c)
		last := axes[len(axes)-1]
		n := x.shape[last]
		out := r.along(x, last, n/2+1, roots[n], false)
		r.half(out, last, n, c.Attrs[dim+1].Scalar.Float(), c.Attrs[dim+2].Scalar.Float())
		for _, a := range axes[:len(axes)-1] {
			out = r.along(out, a, out.shape[a], roots[out.shape[a]], false)
		}
		for i, v := range out.v {
			out.v[i] = each(v)
		}
		encode(c.Out[0], dtype, r.ring, out)
	}
}

// c2rBy is the one back of such an operator, of numbers to which something is done first. It leaves the conjugates
// out of the sum, and takes twice the real part of what they are conjugates of.
func c2rBy[T any](dim int, each func(T) T) planned[T] {
	return func(c *ir.Call, r circle[T], roots map[int][]T) {
		x := decode(c.In[0], c.Compute, r.ring)
		for i, v := range x.v {
			x.v[i] = each(v)
		}
		axes, _ := transformed(c)
		last := axes[len(axes)-1]
		for _, a := range axes[:len(axes)-1] {
			x = r.along(x, a, x.shape[a], roots[x.shape[a]], true)
		}
		n := int(c.Attrs[dim+1].Int)
		r.half(x, last, n, c.Attrs[dim+2].Scalar.Float(), 2*c.Attrs[dim+3].Scalar.Float())
		encode(c.Out[0], c.Compute, r.ring, r.along(x, last, n, roots[n], true))
	}
}
