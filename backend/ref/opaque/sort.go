package opaque

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Sort orders x along attribute dim, ascending or, with attribute descending,
// descending. Equal elements keep their order. The second result is where each
// element came from.
func Sort(c *ir.Call) error {
	x := load(c.In[0], c.Compute)
	axis, err := axisOf(c, 0, x.shape)
	if err != nil {
		return err
	}
	values, indices := sorted(x, axis, c.Attrs[1].Int != 0)
	store(c.Out[0], values, c.Compute)
	store(c.Out[1], indices, ir.Int64)
	return nil
}

// SortPlaces is where the elements were alone that Sort returns.
func SortPlaces(c *ir.Call) error {
	x := load(c.In[0], c.Compute)
	axis, err := axisOf(c, 0, x.shape)
	if err != nil {
		return err
	}
	_, indices := sorted(x, axis, c.Attrs[1].Int != 0)
	store(c.Out[0], indices, ir.Int64)
	return nil
}

// sorted returns the elements of x in order along an axis, and where each was.
func sorted(x tensor[ir.Scalar], axis int, descending bool) (values, indices tensor[ir.Scalar]) {
	sign := 1
	if descending {
		sign = -1
	}
	values, indices = newTensor(x.shape, ir.Scalar{}), newTensor(x.shape, ir.Scalar{})
	for _, l := range lines(x.shape, axis) {
		from := make([]int, len(l))
		for k := range from {
			from[k] = k
		}
		slices.SortStableFunc(from, func(a, b int) int { return sign * order(x.v[l[a]], x.v[l[b]]) })
		for k, i := range from {
			values.v[l[k]], indices.v[l[k]] = x.v[l[i]], ir.IntScalar(int64(i))
		}
	}
	return values, indices
}

// KeyOrder returns where the elements of x, along its one axis, are in ascending order.
func KeyOrder(c *ir.Call) error {
	_, places := sorted(load(c.In[0], ir.Int64), 0, false)
	store(c.Out[0], places, ir.Int64)
	return nil
}

// SortFirst is the first elements that Sort returns, as many as attribute k says.
func SortFirst(c *ir.Call) error {
	x := load(c.In[0], c.Compute)
	axis, err := axisOf(c, 0, x.shape)
	if err != nil {
		return err
	}
	values, indices := sorted(x, axis, c.Attrs[2].Int != 0)
	first := func(t tensor[ir.Scalar]) tensor[ir.Scalar] {
		out := newTensor(c.Out[0].Shape, ir.Scalar{})
		each(out.shape, func(at []int) { *out.at(at) = *t.at(at) })
		return out
	}
	store(c.Out[0], first(values), c.Compute)
	store(c.Out[1], first(indices), ir.Int64)
	return nil
}

// SearchSorted returns, for each of values, how many elements of its row of
// sorted are smaller or, with attribute right, smaller or equal.
func SearchSorted(c *ir.Call) error {
	sorted, values, right := load(c.In[0], c.Compute), load(c.In[1], c.Compute), c.Attrs[0].Int != 0
	out := newTensor(values.shape, ir.IntScalar(0))
	n := sorted.shape[len(sorted.shape)-1]
	each(values.shape, func(at []int) {
		row := 0
		if len(sorted.shape) > 1 {
			row = position(values.shape[:len(at)-1], at) * n
		}
		count, v := int64(0), *values.at(at)
		for _, s := range sorted.v[row : row+n] {
			if o := order(s, v); o < 0 || (right && o == 0) {
				count++
			}
		}
		*out.at(at) = ir.IntScalar(count)
	})
	store(c.Out[0], out, ir.Int64)
	return nil
}

// ArgMax returns the index of the largest element along the one axis in
// attribute dim, or in all of x in row-major order. NaN is larger than any
// number, and the first of equal ones is chosen.
func ArgMax(c *ir.Call) error {
	return extreme(c, func(x, best ir.Scalar) bool { return order(x, best) > 0 })
}

// ArgMin is ArgMax for the smallest element; NaN is smaller than any number.
func ArgMin(c *ir.Call) error {
	isNaN := func(s ir.Scalar) bool { return s.Float() != s.Float() }
	return extreme(c, func(x, best ir.Scalar) bool {
		if isNaN(x) || isNaN(best) {
			return isNaN(x) && !isNaN(best)
		}
		return order(x, best) < 0
	})
}

func extreme(c *ir.Call, better func(x, best ir.Scalar) bool) error {
	x, dims := load(c.In[0], c.Compute), c.Attrs[0].Ints
	all := []line{make(line, len(x.v))}
	for i := range x.v {
		all[0][i] = i
	}
	if len(dims) > 0 {
		axis, err := ir.Axis(dims[0], len(x.shape))
		if err != nil {
			return err
		}
		all = lines(x.shape, axis)
	}
	out := tensor[ir.Scalar]{shape: c.Out[0].Shape}
	for _, l := range all {
		best := 0
		for k, i := range l {
			if better(x.v[i], x.v[l[best]]) {
				best = k
			}
		}
		out.v = append(out.v, ir.IntScalar(int64(best)))
	}
	store(c.Out[0], out, ir.Int64)
	return nil
}
