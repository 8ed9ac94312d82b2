package opaque

import (
	"slices"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/ir"
)

// A share is a launch of the kernels in scatter_share.cu: the memory of what they read and
// write, all without gaps but the index.
type share struct {
	x, y, g, src ir.View
	index        ir.View
	marks        uint64 // of 4 bytes for each element of y
	dx, dsrc     target
	axis         int
	dtype        ir.DType
}

// ScatterExtremeGrad returns the gradients of scatter_reduce with amax or amin by x and src,
// from the gradient g of its result y. The elements that are y's share it.
// Attributes: dim, include_self.
func ScatterExtremeGrad(g code.GPU, c *ir.Call) (err error) {
	h := share{dtype: c.Out[0].DType}
	if h.axis, err = axisOf(c, 0, c.In[1].Shape); err != nil {
		return err
	}
	for i, to := range []*ir.View{&h.g, &h.x, &h.y, nil, &h.src} {
		if to == nil {
			h.index, err = onDevice(g, c.In[i], ir.Int64)
		} else {
			*to, err = g.Dense(c.In[i], h.dtype)
		}
		if err != nil {
			return err
		}
	}
	if h.dx, err = contiguous(g, c.Out[0], h.dtype); err != nil {
		return err
	}
	if h.dsrc, err = contiguous(g, c.Out[1], h.dtype); err != nil {
		return err
	}
	if h.marks, err = g.Scratch(4 * int64(h.y.NumElements())); err != nil {
		return err
	}
	if err := h.run(g, c.Attrs[1].Int != 0); err != nil {
		return err
	}
	if err := h.dx.finish(g); err != nil {
		return err
	}
	return h.dsrc.finish(g)
}

func (h *share) run(g code.GPU, includeSelf bool) error {
	if h.y.NumElements() == 0 {
		return nil
	}
	size := h.dtype.Size()
	if err := h.all(g, "start", h.x.Addr, h.y.Addr, h.marks); err != nil {
		return err
	}
	chosen := h.src.NumElements() > 0
	if chosen && !includeSelf {
		if err := h.over(g, "scatter_share_clear", nil); err != nil {
			return err
		}
	}
	if chosen {
		if err := h.over(g, ofType("scatter_share_count", h.dtype), []place{{h.y.Addr, size}}); err != nil {
			return err
		}
	}
	if err := h.all(g, "self", h.g.Addr, h.marks, h.dx.Addr); err != nil || !chosen {
		return err
	}
	return h.over(g, ofType("scatter_share_give", h.dtype), []place{{h.y.Addr, size}, {h.g.Addr, size}, {h.dsrc.Addr, size}})
}

// all launches a kernel over every element of y.
func (h *share) all(g code.GPU, step string, addrs ...uint64) error {
	n := int64(h.y.NumElements())
	var p driver.Params
	p.Int64(n)
	for _, a := range addrs {
		p.Uint64(a)
	}
	return g.Launch("scatter_share", ofType("scatter_share_"+step, h.dtype), grid(n, blockThreads*chosenEach), block(blockThreads), 0, p.Bytes())
}

// raised returns a view without axes as one of one axis.
func raised(v ir.View) ir.View {
	if len(v.Shape) == 0 {
		v.Shape, v.Strides = []int{1}, []int{1}
	}
	return v
}

// over launches a kernel over the index, with more places: those that lie as y does, and at
// last one that lies as src does.
func (h *share) over(g code.GPU, kernel string, more []place) error {
	y, index, src := raised(h.y), raised(h.index), raised(h.src)
	strides := slices.Clone(y.Strides)
	step, limit := strides[h.axis], y.Shape[h.axis]
	strides[h.axis] = 0
	s := space.New(index.Shape, src.Strides, index.Strides, strides)
	places := append([]place{{h.src.Addr, h.dtype.Size()}, {h.index.Addr, 8}, {h.marks, 4}}, more...)
	like := []int{0, 1, 2, 2, 2, 0} // the operand of the space that each place lies as
	var p driver.Params
	return s.Each(func(piece *space.Space, offsets []int64) error {
		p.Reset()
		piece.Append(&p)
		for k, at := range places {
			p.Uint64(at.addr + uint64(offsets[like[k]]*int64(at.size)))
		}
		p.Int64(int64(step))
		p.Int64(int64(limit))
		p.Uint64(g.Trap())
		p.Uint32(uint32(trap.ScatterReduce))
		p.Uint32(0) // places are not negative
		return g.Launch("scatter_share", kernel, grid(piece.Count(), blockThreads*chosenEach), block(blockThreads), 0, p.Bytes())
	})
}
