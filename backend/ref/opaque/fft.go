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
func FFTR2C(c *ir.Call) error { return transform(c, r2c[complex128], r2c[wideComplex]) }

// FFTC2R is the sum of x[k]*exp(2*pi*i*j*k/n) over the attribute n numbers of which
// x along attribute dim has those that FFTR2C returns; the others are conjugates of
// these. X is multiplied first as FFTR2C multiplies results.
func FFTC2R(c *ir.Call) error { return transform(c, c2r[complex128], c2r[wideComplex]) }

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

// transformed returns the axes in the first attribute, dims or dim.
func transformed(c *ir.Call) ([]int, error) {
	rank := len(c.In[0].Shape)
	if c.Op.Attrs[0].Kind == ir.AttrInts {
		return ir.Axes(c.Attrs[0].Ints, rank)
	}
	a, err := ir.Axis(int(c.Attrs[0].Int), rank)
	return []int{a}, err
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

func r2c[T any](c *ir.Call, r circle[T], roots map[int][]T) {
	dtype := c.Compute.Complex()
	x := decode(c.In[0], dtype, r.ring)
	axes, _ := transformed(c)
	n := x.shape[axes[0]]
	out := r.along(x, axes[0], n/2+1, roots[n], false)
	r.half(out, axes[0], n, c.Attrs[1].Scalar.Float(), c.Attrs[2].Scalar.Float())
	encode(c.Out[0], dtype, r.ring, out)
}

// c2r leaves the conjugates out of the sum, and takes twice the real part of what
// they are conjugates of.
func c2r[T any](c *ir.Call, r circle[T], roots map[int][]T) {
	x := decode(c.In[0], c.Compute, r.ring)
	axes, _ := transformed(c)
	n := int(c.Attrs[1].Int)
	r.half(x, axes[0], n, c.Attrs[2].Scalar.Float(), 2*c.Attrs[3].Scalar.Float())
	encode(c.Out[0], c.Compute, r.ring, r.along(x, axes[0], n, roots[n], true))
}
