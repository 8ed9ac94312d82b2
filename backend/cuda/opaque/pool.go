package opaque

import (
	"strconv"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/shapes"
)

// A pooling moves windows over the planes of a tensor, its last axes.
type pooling struct {
	windows
	name   string // of the kernel, without dtype and axes
	planes int
	padded bool // padding counts in the divisor
}

// newPooling reads attributes kernel, stride, padding and, where there are more,
// dilation. x and out are the shapes that windows move over and their number.
func newPooling(name string, attrs []ir.Value, x, out []int, dilated bool) (*pooling, error) {
	lead := len(x) - len(attrs[0].Ints)
	w := windows{
		in: x[lead:], out: out[lead:], kernel: attrs[0].Ints,
		stride: attrs[1].Ints, padding: attrs[2].Ints, dilation: make([]int, len(attrs[0].Ints)),
	}
	for i := range w.dilation {
		w.dilation[i] = 1
	}
	if dilated {
		w.dilation = attrs[3].Ints
	}
	return &pooling{windows: w, name: name, planes: ir.NumElements(x[:lead])}, w.check()
}

// launch enqueues the kernel for all planes, as many at a time as the kernel takes.
// places are the result's and the operands', with the elements a plane has in
// each; the first is that of the positions.
func (l *pooling) launch(g code.GPU, dt ir.DType, places []place, planes []int, rest ...int64) error {
	name := ofType(l.name, dt) + "_" + strconv.Itoa(l.axes())
	most := (space.Limit - 1) / planes[0]
	var p driver.Params
	for at := 0; at < l.planes; at += most {
		count := int64(min(most, l.planes-at)) * int64(planes[0])
		p.Reset()
		l.append(&p)
		p.Uint32(uint32(count))
		p.Int32(int32(ir.BoolValue(l.padded).Int))
		divider(&p, planes[0])
		p.Align(8)
		for k, v := range places {
			p.Uint64(v.addr + uint64(at*planes[k]*v.size))
		}
		for _, v := range rest {
			p.Int64(v)
		}
		if err := g.Launch("pool", name, grid(count, blockThreads), block(blockThreads), 0, p.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// MaxPool returns the largest element of each window over the last axes of x, as
// many as attribute kernel has entries, and its place in these axes read as one.
// Attributes: kernel, stride, padding, dilation. The first of equal elements
// wins; NaN is the largest.
func MaxPool(g code.GPU, c *ir.Call) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	l, err := newPooling("max_pool", c.Attrs, c.In[0].Shape, c.Out[0].Shape, true)
	if err != nil {
		return err
	}
	dt := c.Out[0].DType
	x, err := g.Dense(c.In[0], dt)
	if err != nil {
		return err
	}
	values, err := contiguous(g, c.Out[0], dt)
	if err != nil {
		return err
	}
	indices, err := contiguous(g, c.Out[1], ir.Int64)
	if err != nil {
		return err
	}
	in, out := ir.NumElements(l.in), ir.NumElements(l.out)
	places := []place{{values.Addr, dt.Size()}, {indices.Addr, ir.Int64.Size()}, {x.Addr, dt.Size()}}
	if err := l.launch(g, dt, places, []int{out, out, in}); err != nil {
		return err
	}
	if err := values.finish(g); err != nil {
		return err
	}
	return indices.finish(g)
}

// AvgPool returns the mean of each window over the last axes of x. Attributes:
// kernel, stride, padding, ceil_mode and count_include_pad: whether padding
// counts in the divisor.
func AvgPool(g code.GPU, c *ir.Call) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	l, err := newPooling("avg_pool", c.Attrs, c.In[0].Shape, c.Out[0].Shape, false)
	if err != nil {
		return err
	}
	l.padded = c.Attrs[4].Int != 0
	return l.average(g, c, []int{ir.NumElements(l.out), ir.NumElements(l.in)})
}

// AvgPoolGrad returns the gradient of AvgPool with respect to its input, from
// the gradient g of its result. Attributes: input, the input's shape, then those
// of AvgPool.
func AvgPoolGrad(g code.GPU, c *ir.Call) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	l, err := newPooling("avg_pool_grad", c.Attrs[1:], c.Out[0].Shape, c.In[0].Shape, false)
	if err != nil {
		return err
	}
	l.padded = c.Attrs[5].Int != 0
	out := ir.NumElements(l.out)
	return l.average(g, c, []int{ir.NumElements(l.in), out}, int64(out))
}

// FoldBlocks returns planes that are the sums of their blocks, from x [planes, elements of a
// block, blocks]. Attributes: size, the extents of a plane, kernel, stride, padding, dilation.
func FoldBlocks(g code.GPU, c *ir.Call) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	a, x := c.Attrs, c.In[0].Shape
	count := shapes.Windows(a[0].Ints, a[1].Ints, a[2].Ints, a[3].Ints, a[4].Ints)
	l, err := newPooling("fold_blocks", a[1:], c.Out[0].Shape, append([]int{x[0]}, count...), true)
	if err != nil {
		return err
	}
	return l.average(g, c, []int{ir.NumElements(l.in), x[1] * x[2]}, int64(x[1]), int64(x[2]))
}

// average launches the kernel from c's operand to its result, of which a plane
// has so many elements.
func (l *pooling) average(g code.GPU, c *ir.Call, planes []int, rest ...int64) error {
	dt := c.Out[0].DType
	x, err := g.Dense(c.In[0], dt)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], dt)
	if err != nil {
		return err
	}
	if err := l.launch(g, dt, []place{{out.Addr, dt.Size()}, {x.Addr, dt.Size()}}, planes, rest...); err != nil {
		return err
	}
	return out.finish(g)
}
