package kernel

import (
	"fmt"

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
	return inRing(c.Compute, c, scatterAdd[int64], scatterAdd[float64], scatterAdd[wide.Float], scatterAdd[complex128], scatterAdd[wideComplex])
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
	return inRing(c.Compute, c, indexAdd[int64], indexAdd[float64], indexAdd[wide.Float], indexAdd[complex128], indexAdd[wideComplex])
}

func indexAdd[T any](c *ir.Call, r ring[T]) error {
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil {
		return err
	}
	index, err := indexOf(c.In[1], axis, extent(c.In[0].Shape, axis))
	if err != nil {
		return err
	}
	out, src := decode(c.In[0], c.Compute, r), decode(c.In[2], c.Compute, r)
	each(src.shape, func(at []int) {
		k := 0
		if len(at) > 0 {
			k = at[axis]
		}
		to := out.at(with(at, axis, index.v[k]))
		*to = r.add(*to, *src.at(at))
	})
	encode(c.Out[0], c.Compute, r, out)
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
