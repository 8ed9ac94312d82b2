package core

import (
	goruntime "runtime"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// short applies an element-wise operator to operands that are all there, row-major,
// of one shape, of one dtype and on one device, as nearly all are: then nothing is
// to be promoted or broadcast, and the result is like the first. It reports whether
// it did. Where something is otherwise, or wrong, it did nothing, and the application of
// the long way finds out what.
func short(a *Apply, in []*Tensor) (out *Tensor, ok bool, err error) {
	op := a.Op
	if len(in) == 0 || len(in) != len(op.In) || a.Place != nil || a.DType != ir.Invalid || a.Shapes != nil {
		return nil, false, nil
	}
	graded, ok := similar(op, in)
	if !ok || a.checkVariant() != nil || op.Accepts(a.Attrs...) != nil {
		return nil, false, nil
	}
	first := in[0]
	if first.dtype.Carried() {
		return nil, false, nil
	}
	k := op.Kernel(a.Variant, first.dtype)
	if !k.Direct || attrsFit(op, a.Attrs, first.dtype) != nil {
		return nil, false, nil
	}
	result := k.Out[0].DType
	drv, stream := first.storage.drv, current(first.dev)
	n := ir.NumElements(first.layout.Shape)
	s, err := newStorage(first.dev, drv, stream, int64(n)*int64(result.Size()))
	if err != nil {
		return nil, true, err
	}
	out = newTensor(s, first.dev, ir.Layout{Shape: first.layout.Shape, Strides: first.layout.Strides}, result)
	if n > 0 {
		err = shortLaunch(a, k, stream, in, out)
	}
	if err != nil {
		out.Release()
		return nil, true, err
	}
	if graded && a.Backward != nil && GradEnabled() {
		outs := [1]*Tensor{out}
		newNode(a, in, drv, stream, outs[:])
	}
	return out, true, nil
}

// similar reports whether the operands are such as short takes, and whether one of
// them takes part in differentiation.
func similar(op *ir.Op, in []*Tensor) (graded, ok bool) {
	first := in[0]
	if first == nil || !rowMajor(first.layout) {
		return false, false
	}
	for i, t := range in {
		if t == nil || t.storage == nil || t.fail.Load() != nil || t.wrapped || t.epoch != t.storage.epoch.Load() {
			return false, false
		}
		if t != first && (t.dtype != first.dtype || t.dev != first.dev ||
			!equalInts(t.layout.Shape, first.layout.Shape) || !equalInts(t.layout.Strides, first.layout.Strides)) {
			return false, false
		}
		if o := &op.In[i]; o.Fixed != ir.Invalid || o.DTypes != 0 && !o.DTypes.Has(t.dtype) {
			return false, false
		}
		graded = graded || t.grad != nil
	}
	return graded, true
}

// shortLaunch writes the result of a to out by kernel k, on a stream.
func shortLaunch(a *Apply, k *ir.Kernel, on device.StreamID, in []*Tensor, out *Tensor) error {
	p := applications.Get().(*application)
	c := p.prepareFor(a, k, 1, len(in))
	c.Space, c.Flat = out.layout.Shape, true
	out.storage.view(&c.Out[0], &out.layout, out.dtype)
	for i, t := range in {
		t.storage.view(&c.In[i], &t.layout, t.dtype)
	}
	drv := out.storage.drv
	if recorders.Held() {
		if done, err := p.recorded(c, out.dev, drv, nil, in); done {
			p.freeCall()
			return err
		}
	}
	err := give(drv, out.dev, on, c)
	for _, t := range in {
		goruntime.KeepAlive(t)
	}
	if err == nil && LaunchBlocking() {
		err = blocked(drv, out.dev, on)
	}
	p.freeCall()
	return err
}
