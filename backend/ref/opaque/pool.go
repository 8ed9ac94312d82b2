package opaque

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/backend/ref/element"
	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// A pooling is windows over the last axes of a tensor.
type pooling struct {
	kernel, stride, padding, dilation []int // one entry a pooled axis
}

// window returns the places of x in the window that result out is made of, in
// row-major order, and how many places of it lie in x or its padding: those that
// a last window has beyond are neither.
func (p pooling) window(x, out []int) (places [][]int, padded int) {
	lead := len(x) - len(p.kernel)
	each(p.kernel, func(k []int) {
		place, within := append([]int{}, out...), true
		for a := range k {
			i := out[lead+a]*p.stride[a] - p.padding[a] + k[a]*p.dilation[a]
			place[lead+a] = i
			within = within && i < x[lead+a]+p.padding[a]
		}
		if within {
			padded++
		}
		if inside(x, place) {
			places = append(places, place)
		}
	})
	return places, padded
}

// MaxPool returns the largest element of each window and its place in the pooled
// axes read as one. NaN is the largest, and the first of equal ones is chosen.
// Attributes: kernel, stride, padding and dilation with one entry a pooled axis,
// and ceil_mode, which the results' shape already answers.
func MaxPool(c *ir.Call) error {
	x := load(c.In[0], c.Compute)
	p := pooling{c.Attrs[0].Ints, c.Attrs[1].Ints, c.Attrs[2].Ints, c.Attrs[3].Ints}
	lead := len(x.shape) - len(p.kernel)
	// A window without any element has the value of the padding.
	values, indices := newTensor(c.Out[0].Shape, least(c.Compute)), newTensor(c.Out[1].Shape, ir.IntScalar(0))
	each(values.shape, func(at []int) {
		places, _ := p.window(x.shape, at)
		for i, place := range places {
			if s := *x.at(place); i == 0 || order(s, *values.at(at)) > 0 {
				*values.at(at) = s
				*indices.at(at) = ir.IntScalar(int64(position(x.shape[lead:], place[lead:])))
			}
		}
	})
	store(c.Out[0], values, c.Compute)
	store(c.Out[1], indices, ir.Int64)
	return nil
}

// MaxUnpool returns the gradient of MaxPool with respect to x, from the gradient g
// of its values and its indices. Attributes: input, the shape of x, and how many of its
// axes were pooled.
func MaxUnpool(c *ir.Call) error { return inField(c, maxUnpool[float64], maxUnpool[wide.Float]) }

func maxUnpool[T any](c *ir.Call, f field[T]) error {
	g, indices, dx := decode(c.In[0], c.Compute, f.ring), load(c.In[1], ir.Int64), newTensor(c.Out[0].Shape, f.number(0))
	lead := len(dx.shape) - int(c.Attrs[1].Int)
	size, positions := ir.NumElements(dx.shape[lead:]), ir.NumElements(g.shape[lead:])
	for i, v := range g.v {
		k := indices.v[i].Int()
		if k < 0 || k >= int64(size) {
			return fmt.Errorf("index %d names none of %d elements", k, size)
		}
		at := i/positions*size + int(k)
		dx.v[at] = f.add(dx.v[at], v)
	}
	encode(c.Out[0], c.Compute, f.ring, dx)
	return nil
}

// AvgPool returns the mean of each window. Attributes: kernel, stride and
// padding with one entry a pooled axis; ceil_mode; and count_include_pad, by
// which padding counts as zeros in the mean rather than not at all.
func AvgPool(c *ir.Call) error { return inField(c, avgPool[float64], avgPool[wide.Float]) }

func avgPool[T any](c *ir.Call, f field[T]) error {
	x, out := decode(c.In[0], c.Compute, f.ring), newTensor(c.Out[0].Shape, f.number(0))
	average(c, f, 0, x.shape, out.shape, func(at, place []int, count T) {
		*out.at(at) = f.add(*out.at(at), *x.at(place))
	}, func(at []int, count T) {
		*out.at(at) = f.quo(*out.at(at), count)
	})
	encode(c.Out[0], c.Compute, f.ring, out)
	return nil
}

// AvgPoolGrad returns the gradient of an average pooling with respect to x, from
// the gradient g of its result: each place gets its part of every window it is
// in. Attributes: input, the shape of x, then those of AvgPool.
func AvgPoolGrad(c *ir.Call) error { return inField(c, avgPoolGrad[float64], avgPoolGrad[wide.Float]) }

func avgPoolGrad[T any](c *ir.Call, f field[T]) error {
	g, dx := decode(c.In[0], c.Compute, f.ring), newTensor(c.Out[0].Shape, f.number(0))
	average(c, f, 1, dx.shape, g.shape, func(at, place []int, count T) {
		*dx.at(place) = f.add(*dx.at(place), f.quo(*g.at(at), count))
	}, func([]int, T) {})
	encode(c.Out[0], c.Compute, f.ring, dx)
	return nil
}

// FoldBlocks returns planes that are the sums of their blocks: element k of block l of x
// [planes, elements, blocks] is added where it lies in its plane, or left out in its padding.
// Attributes: size, the extents of a plane, kernel, stride, padding, dilation.
func FoldBlocks(c *ir.Call) error { return inField(c, foldBlocks[float64], foldBlocks[wide.Float]) }

func foldBlocks[T any](c *ir.Call, f field[T]) error {
	x, out := decode(c.In[0], c.Compute, f.ring), newTensor(c.Out[0].Shape, f.number(0))
	size, kernel, stride, padding, dilation := c.Attrs[0].Ints, c.Attrs[1].Ints, c.Attrs[2].Ints, c.Attrs[3].Ints, c.Attrs[4].Ints
	count := make([]int, len(size))
	for a := range size {
		for start := -padding[a]; start+dilation[a]*(kernel[a]-1) < size[a]+padding[a]; start += stride[a] {
			count[a]++
		}
	}
	for plane := range x.shape[0] {
		each(kernel, func(k []int) {
			each(count, func(block []int) {
				place := []int{plane}
				for a := range size {
					place = append(place, block[a]*stride[a]-padding[a]+k[a]*dilation[a])
				}
				if inside(out.shape, place) {
					from := *x.at([]int{plane, position(kernel, k), position(count, block)})
					*out.at(place) = f.add(*out.at(place), from)
				}
			})
		})
	}
	encode(c.Out[0], c.Compute, f.ring, out)
	return nil
}

// average visits the windows of an average pooling: each of their places, then
// their end, with what the window's sum is divided by. The attributes from the
// one at index first are those of AvgPool.
func average[T any](c *ir.Call, f field[T], first int, x, out []int, visit func(at, place []int, count T), end func(at []int, count T)) {
	a := c.Attrs[first:]
	p := pooling{a[0].Ints, a[1].Ints, a[2].Ints, nil}
	for range p.kernel {
		p.dilation = append(p.dilation, 1)
	}
	countPadding := a[4].Int != 0
	each(out, func(at []int) {
		places, n := p.window(x, at)
		if !countPadding {
			n = len(places)
		}
		count := f.number(n)
		for _, place := range places {
			visit(at, place, count)
		}
		end(at, count)
	})
}

// least returns what padding counts as: no number of dtype d is smaller.
func least(d ir.DType) ir.Scalar {
	return element.Convert(ir.FloatScalar(math.Inf(-1)), d)
}
