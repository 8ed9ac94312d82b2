package fused

import (
	"errors"
	"slices"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/exec"
	"github.com/sinter-go/sinter/backend/cpu/opaque"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
)

// Product returns the function of a product or a convolution and what follows it: the region
// runs over each block of the product as soon as that is finished, while it is in a cache.
func Product(p *fusion.Product) (ir.Code, error) {
	code, err := Code(p.After)
	if err != nil {
		return ir.Code{}, err
	}
	p.After.Op.Code = []ir.Code{code}
	b := &blocks{of: p, factors: len(p.Of.In), axes: 2}
	if p.Of.Op.Tags&ir.TagConvolution != 0 {
		b.axes = 3 // images, channels, windows
		return ir.Code{For: vector.Kind, Of: ir.KernelFunc((&convolutions{b}).run)}, nil
	}
	return ir.Code{For: vector.Kind, Of: ir.KernelFunc(b.run)}, nil
}

// blocks runs products on the processor.
type blocks struct {
	of      *fusion.Product
	factors int // operands of the product
	axes    int // of a block
	calls   sync.Pool
}

// run is the function.
func (b *blocks) run(c *ir.Call) error {
	after := len(b.of.After.Outs)
	raw, block := b.place(c, after)
	if block != nil {
		defer block.Put()
	}
	product := ir.Call{Kernel: b.of.Of, In: c.In[:b.factors], Out: []ir.View{raw}, Precision: c.Precision, Kept: c.Kept}
	x := c.In[0].Shape
	product.Out[0].Shape = append(slices.Clone(x[:len(x)-1]), c.Space[1])
	product.Out[0].Strides = ir.ContiguousStrides(product.Out[0].Shape)
	var mu sync.Mutex
	var failed error
	err := opaque.MatMulThen(&product, func(i0, i1, j0, j1 int) {
		if err := b.block(c, &raw, i0, i1, j0, j1); err != nil {
			mu.Lock()
			failed = errors.Join(failed, err)
			mu.Unlock()
		}
	})
	if err = errors.Join(err, failed); err != nil || b.of.Sums == nil {
		return err
	}
	return b.sums(c)
}

// place returns where the product goes: to its result or, where it has none, to that of the
// region, which may be written over what it reads, or else to a block.
func (b *blocks) place(c *ir.Call, after int) (ir.View, *scratch.Block) {
	if b.of.Raw {
		return c.Out[after], nil
	}
	dtype := b.of.Of.DType
	if after == 1 && c.Out[0].DType == dtype {
		free := true
		for i := range c.In {
			free = free && c.In[i].Ptr != c.Out[0].Ptr
		}
		if free {
			return c.Out[0], nil
		}
	}
	block := scratch.Get(ir.NumElements(c.Space) * dtype.Size())
	return ir.View{Ptr: block.Ptr(), DType: dtype, Shape: c.Space, Strides: ir.ContiguousStrides(c.Space)}, block
}

// block runs the region over a block of the product.
func (b *blocks) block(c *ir.Call, raw *ir.View, i0, i1, j0, j1 int) error {
	return b.region(c, raw, []int{i1 - i0, j1 - j0}, func(to, from *ir.View) {
		copy(to.Strides, from.Strides)
		to.Ptr = unsafe.Add(from.Ptr, (i0*from.Strides[0]+j0*from.Strides[1])*to.DType.Size())
	})
}

// region runs the region over a block of the shape size. Part sets the strides and the pointer of
// a view to those of the block in another.
func (b *blocks) region(c *ir.Call, raw *ir.View, size []int, part func(to, from *ir.View)) error {
	own, _ := b.calls.Get().(*ir.Call)
	if own == nil {
		own = b.newCall()
	}
	copy(own.Space, size)
	n := len(b.of.After.Op.Attrs)
	own.Scalars, own.Attrs = c.Scalars[:n], c.Attrs[:n]
	for i := range own.Out {
		part(&own.Out[i], &c.Out[i])
	}
	for i, k := range b.of.In {
		if k < 0 {
			part(&own.In[i], raw)
		} else {
			part(&own.In[i], &c.In[k])
		}
	}
	own.Flat = own.AllFlat()
	err := exec.Run(own)
	own.Scalars, own.Attrs, own.Room = nil, nil, [6]unsafe.Pointer{}
	for _, list := range [][]ir.View{own.Out, own.In} {
		for i := range list {
			list[i].Ptr = nil
		}
	}
	b.calls.Put(own)
	return err
}

// newCall returns a call of the region without memory.
func (b *blocks) newCall() *ir.Call {
	c := &ir.Call{Kernel: b.of.After.Kernel, Space: make([]int, b.axes)}
	views := func(ports []ir.Port) (list []ir.View) {
		for _, p := range ports {
			list = append(list, ir.View{DType: p.DType, Shape: c.Space, Strides: make([]int, b.axes)})
		}
		return list
	}
	c.Out, c.In = views(c.Kernel.Out), views(c.Kernel.In)
	return c
}

// sums folds the columns, as a call of its own does.
func (b *blocks) sums(c *ir.Call) error {
	x, out, n := &c.Out[b.of.Summed], &c.Out[len(c.Out)-1], len(b.of.After.Op.Attrs)
	own := &ir.Call{Kernel: b.of.Sums, Space: x.Shape, Axes: []int{0}, In: []ir.View{*x}, Scalars: c.Scalars[n:], Attrs: c.Attrs[n:]}
	own.Out = []ir.View{{Ptr: out.Ptr, DType: out.DType, Shape: []int{1, x.Shape[1]}, Strides: []int{0, 1}}}
	return exec.Run(own)
}
