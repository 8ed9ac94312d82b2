package core

import "github.com/sinter-go/sinter/ir"

// alike does what check does for operands that are all there, on one device and of
// one dtype, in one pass: programs apply operators to little else. It reports
// whether it did; where not, check finds out what there is, and what is wrong.
func (p *application) alike() bool {
	a, op := &p.a, p.a.Op
	if len(a.In) == 0 || len(a.In) != len(op.In) || a.In[0] == nil || a.Place != nil || a.DType != ir.Invalid {
		return false
	}
	first := a.In[0]
	dev, dt := first.dev, first.dtype
	for i, t := range a.In {
		if t == nil || t.wrapped || t.dtype != dt || t.dev != dev || t.epoch != t.storage.epoch.Load() {
			return false
		}
		if o := &op.In[i]; o.Fixed != ir.Invalid || o.DTypes != 0 && !o.DTypes.Has(dt) {
			return false
		}
	}
	if a.checkVariant() != nil || !p.resolve(dt) {
		return false
	}
	p.dev, p.drv, p.stream = dev, first.storage.drv, current(dev)
	return true
}

// even reports whether the operands of an element-wise operator are all there, of
// one shape, and row-major: then they are what a kernel reads, and the result is
// like the first.
func (p *application) even() bool {
	a := &p.a
	if len(a.In) == 0 || a.Shapes != nil || a.In[0] == nil || !rowMajor(a.In[0].layout) {
		return false
	}
	l := &a.In[0].layout
	for _, t := range a.In[1:] {
		if t == nil || !equalInts(t.layout.Shape, l.Shape) || !equalInts(t.layout.Strides, l.Strides) {
			return false
		}
	}
	return true
}
