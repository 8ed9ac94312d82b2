package fused

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/opaque"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
)

// TakesConvolution reports whether Product has code for a convolution and what follows it, by a
// call of them: results, and operands that have no number for each channel, are row-major.
func TakesConvolution(p *fusion.Product, c *ir.Call) bool {
	ok := p.Of.Op.Tags&ir.TagConvolution != 0 && p.After != nil
	for i := range c.Out {
		ok = ok && c.Out[i].IsContiguous()
	}
	for _, k := range p.In {
		ok = ok && (k < 0 || c.In[k].IsContiguous() || ofChannels(&c.In[k]))
	}
	return ok
}

// ofChannels reports whether a view like a convolution's result has one number for each channel.
func ofChannels(v *ir.View) bool {
	for a, step := range v.Strides {
		if a != 1 && step != 0 {
			return false
		}
	}
	return true
}

// convolutions runs convolutions on the processor, and a region over each block of theirs as
// soon as that is finished.
type convolutions struct{ *blocks }

// run is the function.
func (b *convolutions) run(c *ir.Call) error {
	raw, room := b.place(c, len(b.of.After.Outs))
	if room != nil {
		defer room.Put()
	}
	attrs := c.Attrs[len(b.of.After.Op.Attrs):]
	product := ir.Call{Kernel: b.of.Of, In: c.In[:b.factors], Out: []ir.View{raw}, Attrs: attrs, Precision: c.Precision, Kept: c.Kept}
	var mu sync.Mutex
	var failed error
	err := opaque.ConvolutionThen(&product, func(at opaque.Block) {
		if err := b.block(c, &raw, at); err != nil {
			mu.Lock()
			failed = err
			mu.Unlock()
		}
	})
	if err != nil {
		return err
	}
	return failed
}

// block runs the region over a block of the result.
func (b *convolutions) block(c *ir.Call, raw *ir.View, at opaque.Block) error {
	channels, windows := c.Space[1], ir.NumElements(c.Space[2:])
	for _, k := range b.of.In {
		if k >= 0 && at.Windows < windows && c.In[k].IsContiguous() { // in pieces
			size := c.In[k].DType.Size()
			first := (at.Image*channels+at.Channel)*windows + at.Window
			conv.Ask(simd.Active(), unsafe.Add(c.In[k].Ptr, first*size), windows*size, at.Channels, at.Windows*size)
		}
	}
	return b.region(c, raw, []int{at.Images, at.Channels, at.Windows}, func(to, from *ir.View) {
		to.Strides[0], to.Strides[1], to.Strides[2] = channels*windows, windows, 1
		first := (at.Image*channels+at.Channel)*windows + at.Window
		if ofChannels(from) && !from.IsContiguous() {
			to.Strides[0], to.Strides[1], to.Strides[2] = 0, from.Strides[1], 0
			first = at.Channel * from.Strides[1]
		}
		to.Ptr = unsafe.Add(from.Ptr, first*to.DType.Size())
	})
}
