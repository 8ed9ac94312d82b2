package opaque

import (
	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// A geometry is what a convolution and its two gradients have in common.
type geometry struct {
	x, weight, out            []int // shapes: [n, channels, spatial...], [out, channels/groups, kernel...], [n, out, spatial...]
	stride, padding, dilation []int // one entry a spatial axis
	groups                    int
}

// products calls f with the places in out, x and weight of every product that a
// convolution sums: out += x * weight. Where x is padding its place is nil. f must not keep them.
func (g geometry) products(f func(out, x, weight []int)) {
	inGroup, outGroup := g.weight[1], g.weight[0]/g.groups
	taps := append([]int{inGroup}, g.weight[2:]...)
	x, weight := make([]int, len(g.x)), make([]int, len(g.weight))
	each(g.out, func(out []int) {
		n, o := out[0], out[1]
		each(taps, func(tap []int) {
			x[0], x[1] = n, o/outGroup*inGroup+tap[0]
			for a, k := range tap[1:] {
				x[2+a] = out[2+a]*g.stride[a] - g.padding[a] + k*g.dilation[a]
			}
			weight[0] = o
			copy(weight[1:], tap)
			if inside(g.x, x) {
				f(out, x, weight)
			} else {
				f(out, nil, weight)
			}
		})
	})
}

// orZero returns the element of x at a place, and zero for padding.
func orZero[T any](f field[T], x tensor[T], at []int) T {
	if at == nil {
		return f.number(0)
	}
	return *x.at(at)
}

// newGeometry reads the attributes stride, padding, dilation and groups from the
// one at index first.
func newGeometry(c *ir.Call, first int, x, weight, out []int) geometry {
	a := c.Attrs[first:]
	return geometry{x, weight, out, a[0].Ints, a[1].Ints, a[2].Ints, int(a[3].Int)}
}

// Convolution returns the cross-correlation of x [n, channels, spatial...] with
// weight [out, channels/groups, kernel...]. Attributes: stride, padding and
// dilation with one entry a spatial axis, and groups.
func Convolution(c *ir.Call) error { return inField(c, convolution[float64], convolution[wide.Float]) }

// ConvolutionBias is Convolution plus bias, one number a channel.
func ConvolutionBias(c *ir.Call) error {
	return inField(c, convolutionBias[float64], convolutionBias[wide.Float])
}

func convolution[T any](c *ir.Call, f field[T]) error {
	encode(c.Out[0], c.Compute, f.ring, correlate(c, f))
	return nil
}

func convolutionBias[T any](c *ir.Call, f field[T]) error {
	out, bias := correlate(c, f), decode(c.In[2], c.Compute, f.ring)
	places := ir.NumElements(out.shape[2:])
	for i := range out.v {
		out.v[i] = f.add(out.v[i], bias.v[i/places%len(bias.v)])
	}
	encode(c.Out[0], c.Compute, f.ring, out)
	return nil
}

func correlate[T any](c *ir.Call, f field[T]) tensor[T] {
	x, weight := decode(c.In[0], c.Compute, f.ring), decode(c.In[1], c.Compute, f.ring)
	out := newTensor(c.Out[0].Shape, f.number(0))
	newGeometry(c, 0, x.shape, weight.shape, out.shape).products(func(o, i, w []int) {
		*out.at(o) = f.add(*out.at(o), f.mul(orZero(f, x, i), *weight.at(w)))
	})
	return out
}

// ConvolutionGradInput returns the gradient of a convolution with respect to x,
// from the gradient g of its result. Attributes: input, the shape of x, then
// those of Convolution.
func ConvolutionGradInput(c *ir.Call) error {
	return inField(c, convolutionGradInput[float64], convolutionGradInput[wide.Float])
}

func convolutionGradInput[T any](c *ir.Call, f field[T]) error {
	g, weight := decode(c.In[0], c.Compute, f.ring), decode(c.In[1], c.Compute, f.ring)
	dx := newTensor(c.Out[0].Shape, f.number(0))
	newGeometry(c, 1, dx.shape, weight.shape, g.shape).products(func(o, i, w []int) {
		if i != nil { // padding has no gradient
			*dx.at(i) = f.add(*dx.at(i), f.mul(*g.at(o), *weight.at(w)))
		}
	})
	encode(c.Out[0], c.Compute, f.ring, dx)
	return nil
}

// ConvolutionGradWeight returns the gradient of a convolution with respect to
// weight, from the gradient g of its result and x. Attributes: kernel, the shape
// of weight, then those of Convolution.
func ConvolutionGradWeight(c *ir.Call) error {
	return inField(c, convolutionGradWeight[float64], convolutionGradWeight[wide.Float])
}

func convolutionGradWeight[T any](c *ir.Call, f field[T]) error {
	g, x := decode(c.In[0], c.Compute, f.ring), decode(c.In[1], c.Compute, f.ring)
	dw := newTensor(c.Out[0].Shape, f.number(0))
	newGeometry(c, 1, x.shape, dw.shape, g.shape).products(func(o, i, w []int) {
		*dw.at(w) = f.add(*dw.at(w), f.mul(*g.at(o), orZero(f, x, i)))
	})
	encode(c.Out[0], c.Compute, f.ring, dw)
	return nil
}
