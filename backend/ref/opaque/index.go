package opaque

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// extent returns the number of elements of shape along axis; a scalar has one.
func extent(shape []int, axis int) int {
	if len(shape) == 0 {
		return 1
	}
	return shape[axis]
}

// with returns coords with i along axis; the coordinates of a scalar stay empty.
func with(coords []int, axis, i int) []int {
	out := append([]int{}, coords...)
	if len(out) > 0 {
		out[axis] = i
	}
	return out
}

// Gather takes the elements of x that index names along attribute dim:
// out[i][j] = x[index[i][j]][j] for dim 0.
func Gather(c *ir.Call) error {
	c = c.Raised()
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil {
		return err
	}
	index, err := indexOf(c.In[1], axis, extent(c.In[0].Shape, axis))
	if err != nil {
		return err
	}
	x := load(c.In[0], c.Compute)
	out := newTensor(index.shape, ir.Scalar{})
	each(index.shape, func(at []int) {
		*out.at(at) = *x.at(with(at, axis, *index.at(at)))
	})
	store(c.Out[0], out, c.Compute)
	return nil
}

// scatter calls put with the position in x and in src of every element that
// index names along attribute dim, in row-major order of index. A src of rank 0
// is one element that goes everywhere.
func scatter(c *ir.Call, put func(x, src int)) error {
	c = c.Raised()
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil {
		return err
	}
	x, src := c.In[0].Shape, c.In[2].Shape
	index, err := indexOf(c.In[1], axis, extent(x, axis))
	if err != nil {
		return err
	}
	each(index.shape, func(at []int) {
		put(position(x, with(at, axis, *index.at(at))), position(src, at))
	})
	return nil
}

// Scatter returns x with the elements of src written where index says along
// attribute dim; the last write to an element wins.
func Scatter(c *ir.Call) error {
	out, src := load(c.In[0], c.Compute), load(c.In[2], c.Compute)
	if err := scatter(c, func(x, s int) { out.v[x] = src.v[s] }); err != nil {
		return err
	}
	store(c.Out[0], out, c.Compute)
	return nil
}

// ScatterAdd returns x with the elements of src added where index says along
// attribute dim.
func ScatterAdd(c *ir.Call) error {
	if c.Compute == ir.Bool {
		return addBools(c, scatter)
	}
	return inRing(c.Compute, c, scatterAdd[int64], scatterAdd[float64], scatterAdd[wide.Float], scatterAdd[complex128], scatterAdd[wideComplex])
}

// fold returns x with what join makes of its elements and of those of src that index
// names along attribute dim. Without attribute include_self, the first of these take
// the place of x's.
func fold(c *ir.Call, join func(a, b ir.Scalar) ir.Scalar) error {
	out, src := load(c.In[0], c.Compute), load(c.In[2], c.Compute)
	counts := make([]bool, len(out.v))
	for i := range counts {
		counts[i] = c.Attrs[1].Int != 0
	}
	err := scatter(c, func(x, s int) {
		if !counts[x] {
			out.v[x], counts[x] = src.v[s], true
			return
		}
		out.v[x] = join(out.v[x], src.v[s])
	})
	if err != nil {
		return err
	}
	store(c.Out[0], out, c.Compute)
	return nil
}

// ScatterMax is scatter_reduce with the largest element; NaN is the largest.
func ScatterMax(c *ir.Call) error {
	return fold(c, func(a, b ir.Scalar) ir.Scalar {
		if order(b, a) > 0 {
			return b
		}
		return a
	})
}

// ScatterMin is scatter_reduce with the smallest element; NaN is the smallest too.
func ScatterMin(c *ir.Call) error {
	isNaN := func(s ir.Scalar) bool { return s.Float() != s.Float() }
	return fold(c, func(a, b ir.Scalar) ir.Scalar {
		if isNaN(b) || !isNaN(a) && order(b, a) < 0 {
			return b
		}
		return a
	})
}

// ScatterProd is scatter_reduce with the product. That of bools is the smallest.
func ScatterProd(c *ir.Call) error {
	if c.Compute == ir.Bool {
		return ScatterMin(c)
	}
	return inRing(c.Compute, c, scatterProd[int64], scatterProd[float64], scatterProd[wide.Float], scatterProd[complex128], scatterProd[wideComplex])
}

func scatterProd[T any](c *ir.Call, r ring[T]) error {
	out, src := decode(c.In[0], c.Compute, r), decode(c.In[2], c.Compute, r)
	counts := make([]bool, len(out.v))
	err := scatter(c, func(x, s int) {
		if c.Attrs[1].Int == 0 && !counts[x] {
			out.v[x], counts[x] = src.v[s], true
			return
		}
		out.v[x] = r.mul(out.v[x], src.v[s])
	})
	if err != nil {
		return err
	}
	encode(c.Out[0], c.Compute, r, out)
	return nil
}

// addBools is the logical or of what a walk over src and the places in x pairs.
func addBools(c *ir.Call, walk func(c *ir.Call, put func(x, src int)) error) error {
	out, src := load(c.In[0], ir.Bool), load(c.In[2], ir.Bool)
	err := walk(c, func(x, s int) { out.v[x] = ir.BoolScalar(out.v[x].Bool() || src.v[s].Bool()) })
	if err == nil {
		store(c.Out[0], out, ir.Bool)
	}
	return err
}

func scatterAdd[T any](c *ir.Call, r ring[T]) error {
	out, src := decode(c.In[0], c.Compute, r), decode(c.In[2], c.Compute, r)
	if err := scatter(c, func(x, s int) { out.v[x] = r.add(out.v[x], src.v[s]) }); err != nil {
		return err
	}
	encode(c.Out[0], c.Compute, r, out)
	return nil
}

// IndexSelect takes the slices of x along attribute dim that index names.
func IndexSelect(c *ir.Call) error {
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil {
		return err
	}
	index, err := indexOf(c.In[1], axis, extent(c.In[0].Shape, axis))
	if err != nil {
		return err
	}
	x := load(c.In[0], c.Compute)
	out := newTensor(c.Out[0].Shape, ir.Scalar{})
	each(out.shape, func(at []int) {
		k := 0
		if len(at) > 0 {
			k = at[axis]
		}
		*out.at(at) = *x.at(with(at, axis, index.v[k]))
	})
	store(c.Out[0], out, c.Compute)
	return nil
}

// IndexAdd returns x with slice i of src along attribute dim added to slice
// index[i].
func IndexAdd(c *ir.Call) error {
	if c.Compute == ir.Bool {
		return addBools(c, eachSlice)
	}
	return inRing(c.Compute, c, indexAdd[int64], indexAdd[float64], indexAdd[wide.Float], indexAdd[complex128], indexAdd[wideComplex])
}

// eachSlice calls put with the position in src of every element and that in x of the
// slice along attribute dim which index names for it.
func eachSlice(c *ir.Call, put func(x, src int)) error {
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil {
		return err
	}
	x, src := c.In[0].Shape, c.In[2].Shape
	index, err := indexOf(c.In[1], axis, extent(x, axis))
	if err != nil {
		return err
	}
	each(src, func(at []int) {
		k := 0
		if len(at) > 0 {
			k = at[axis]
		}
		from := position(src, at)
		put(position(x, with(at, axis, index.v[k])), from)
	})
	return nil
}

func indexAdd[T any](c *ir.Call, r ring[T]) error {
	out, src := decode(c.In[0], c.Compute, r), decode(c.In[2], c.Compute, r)
	if err := eachSlice(c, func(x, s int) { out.v[x] = r.add(out.v[x], src.v[s]) }); err != nil {
		return err
	}
	encode(c.Out[0], c.Compute, r, out)
	return nil
}

// MaskedSelectSized returns the elements of x where mask is not zero, of which there
// must be as many as attribute n says.
func MaskedSelectSized(c *ir.Call) error {
	x, mask := load(c.In[0], c.Compute), load(c.In[1], ir.Bool)
	out := tensor[ir.Scalar]{shape: c.Out[0].Shape}
	for i, v := range x.v {
		if mask.v[i].Bool() {
			out.v = append(out.v, v)
		}
	}
	if want := int(c.Attrs[0].Int); len(out.v) != want {
		return fmt.Errorf("mask has %d nonzero elements, not %d", len(out.v), want)
	}
	store(c.Out[0], out, c.Compute)
	return nil
}

// NonzeroSized returns the coordinates of x's nonzero elements, of which there
// must be as many as attribute n says, in row-major order.
func NonzeroSized(c *ir.Call) error {
	x, want := load(c.In[0], c.Compute), int(c.Attrs[0].Int)
	out := tensor[ir.Scalar]{shape: c.Out[0].Shape}
	have := 0
	each(x.shape, func(at []int) {
		if !x.at(at).Bool() {
			return
		}
		have++
		for _, i := range at {
			out.v = append(out.v, ir.IntScalar(int64(i)))
		}
	})
	if have != want {
		return fmt.Errorf("x has %d nonzero elements, not %d", have, want)
	}
	store(c.Out[0], out, ir.Int64)
	return nil
}

// ScatterExtremeGrad returns the gradients of ScatterMax or ScatterMin by x and src, from the
// gradient g of its result y: the elements that are y's share it. Attributes: dim,
// include_self.
func ScatterExtremeGrad(c *ir.Call) error {
	return inField(c, scatterExtremeGrad[float64], scatterExtremeGrad[wide.Float])
}

func scatterExtremeGrad[T any](c *ir.Call, f field[T]) error {
	g, x, y := decode(c.In[0], c.Compute, f.ring), decode(c.In[1], c.Compute, f.ring), decode(c.In[2], c.Compute, f.ring)
	src := decode(c.In[4], c.Compute, f.ring)
	parts := *c
	parts.In = []ir.View{c.In[1], c.In[3], c.In[4]}
	equal := func(a, b T) bool { return f.to(a).Float() == f.to(b).Float() }
	mine, counts, out := make([]bool, len(y.v)), make([]int, len(y.v)), make([]bool, len(y.v))
	for i := range mine {
		mine[i] = equal(x.v[i], y.v[i])
	}
	if c.Attrs[1].Int == 0 {
		if err := scatter(&parts, func(x, _ int) { mine[x], out[x] = false, true }); err != nil {
			return err
		}
	}
	if err := scatter(&parts, func(x, s int) {
		if equal(src.v[s], y.v[x]) {
			counts[x]++
		}
	}); err != nil {
		return err
	}
	part := func(i int, has bool) T {
		n, one := counts[i], 0
		if mine[i] {
			n++
		}
		if has {
			one = 1
		}
		return f.mul(f.number(one), f.quo(g.v[i], f.number(n)))
	}
	dx, dsrc := newTensor(c.Out[0].Shape, f.number(0)), newTensor(c.Out[1].Shape, f.number(0))
	for i := range dx.v {
		if !out[i] {
			dx.v[i] = part(i, mine[i])
		}
	}
	if err := scatter(&parts, func(x, s int) { dsrc.v[s] = part(x, equal(src.v[s], y.v[x])) }); err != nil {
		return err
	}
	encode(c.Out[0], c.Compute, f.ring, dx)
	encode(c.Out[1], c.Compute, f.ring, dsrc)
	return nil
}

// TakeWrapped returns the elements of x at the places in index, of which negative ones count from
// the end. Both have one axis.
func TakeWrapped(c *ir.Call) error { return IndexSelect(wrapped(c)) }

// PutAdded returns x with the elements of src added at such places.
func PutAdded(c *ir.Call) error { return ScatterAdd(wrapped(c)) }

// wrapped is a call of an operator with attribute dim, of places that are not negative.
func wrapped(c *ir.Call) *ir.Call {
	places := make([]int64, c.In[1].NumElements()+1) // one more, so that there is an address
	n := int64(c.In[0].NumElements())
	for i, s := range load(c.In[1], ir.Int64).v {
		if places[i] = s.Int(); places[i] < 0 && places[i] >= -n {
			places[i] += n
		}
	}
	own := *c
	own.In = slices.Clone(c.In)
	shape := c.In[1].Shape
	own.In[1] = ir.View{Ptr: unsafe.Pointer(&places[0]), DType: ir.Int64, Shape: shape, Strides: ir.ContiguousStrides(shape)}
	own.Attrs = []ir.Value{ir.IntValue(0)}
	return &own
}
