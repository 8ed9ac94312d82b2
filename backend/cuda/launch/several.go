package launch

import (
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// As in several.cuh.
const (
	severalThreads = 256
	severalEach    = 4 // elements a thread
)

// several computes an element-wise body with several results, whose views are results,
// then operands. Results of another dtype than the kernel's go through scratch.
func (x *Context) several(c *ir.Call, n int64) error {
	e := elements{set: x.device.loopsOf(c.Kernel), count: n, result: c.Kernel.Out[0].DType}
	if err := x.operands(c, &e); err != nil {
		return err
	}
	in := x.views
	out := make([]ir.View, len(c.Out))
	for i, v := range c.Out {
		out[i] = v
		if want := c.Kernel.Out[i].DType; v.DType != want {
			var err error
			if out[i], err = x.dense(c.Space, want); err != nil {
				return err
			}
		}
	}
	if err := x.severalLoop(c, out, in, &e); err != nil {
		return err
	}
	for i, v := range c.Out {
		if out[i].DType != v.DType {
			if err := x.Store(v, out[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// severalLoop launches the kernel for a layout: the contiguous one or the strided one.
func (x *Context) severalLoop(c *ir.Call, out, in []ir.View, e *elements) error {
	contiguous := true
	x.strides = x.strides[:0]
	for _, v := range out {
		contiguous = contiguous && v.IsContiguous()
		x.strides = append(x.strides, v.Strides)
	}
	for i, v := range in {
		contiguous = contiguous && (e.numbers>>(1+i)&1 != 0 || v.IsContiguous())
		x.strides = append(x.strides, v.Strides)
	}
	if contiguous {
		x.params.Reset()
		x.params.Int64(e.count)
		return x.severalLaunch(c, out, in, e, contiguousLoop, e.count, nil)
	}
	x.order = natural(x.order, c.Space)
	l := &x.space
	l.set(c.Space, x.order, x.strides)
	if l.fits(true) {
		x.params.Reset()
		l.encode(&x.params, 0)
		return x.severalLaunch(c, out, in, e, stridedLoop, l.count, nil)
	}
	return l.pieces(true, func(p *piece) error {
		x.params.Reset()
		p.encode(&x.params, p.first)
		return x.severalLaunch(c, out, in, e, stridedLoop, p.count, p.offsets)
	})
}

// severalLaunch adds the struct Operands and the functor to the parameters, and enqueues
// the kernel for n positions. offsets are those of position 0, nil for none.
func (x *Context) severalLaunch(c *ir.Call, out, in []ir.View, e *elements, loop int, n int64, offsets []int64) error {
	at := func(k int, v *ir.View) uint64 {
		if offsets == nil {
			return v.Addr
		}
		return v.Addr + uint64(offsets[k]*int64(v.DType.Size()))
	}
	for i := range out {
		x.params.Uint64(at(i, &out[i]))
	}
	for i := range in {
		if e.numbers>>(1+i)&1 != 0 {
			x.params.Uint64(x.values[i].low())
		} else {
			x.params.Uint64(at(len(out)+i, &in[i]))
		}
	}
	x.params.Uint32(e.numbers >> 1 << len(out))
	x.params.Align(8)
	if err := x.functor(c); err != nil {
		return err
	}
	const each = severalThreads * severalEach
	blocks := min((n+each-1)/each, 1<<31-1)
	return x.launch(e.set, loop, driver.Dim3{X: uint32(blocks), Y: 1, Z: 1}, driver.Dim3{X: severalThreads, Y: 1, Z: 1})
}
