package core

import (
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// copyOp is the runtime's own operator: element for element, with conversion to
// the destination's dtype.
var copyOp = ir.Op{
	Name: "copy", Doc: "copies x.", Kind: ir.Elementwise, Switch: -1,
	In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}},
	DTypes: ir.ClassAll, Promote: ir.PromoteNone,
	Bodies: []ir.Body{{Expr: "x"}}, Tags: ir.TagPointwise | ir.TagHidden,
	CPU:  ir.CPUKernels{Elementwise: []*[ir.NumDTypes]ir.Loop{identityLoops()}},
	CUDA: ir.CUDAKernels{Module: "copy", Symbol: "copy"},
}

// copyAs returns the copy operator under another operator's name, for messages.
func copyAs(op *ir.Op) *ir.Op {
	c := copyOp
	c.Name = op.Name
	return &c
}

func identityLoops() *[ir.NumDTypes]ir.Loop {
	var loops [ir.NumDTypes]ir.Loop
	for _, d := range ir.AllDTypes() {
		size := d.Size()
		loops[d] = func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
			copy(unsafe.Slice((*byte)(p[0]), n*size), unsafe.Slice((*byte)(p[1]), n*size))
		}
	}
	return &loops
}

func copyBackward(g *Grad) { g.Set(0, castTo(g.Dy(0), g.InDType(0))) }

// Copy returns a contiguous copy of x on its device.
func Copy(x *Tensor) *Tensor {
	return Elementwise(Apply{Op: &copyOp, In: []*Tensor{x}, Backward: copyBackward})
}

// castTo returns x converted to dt; x itself when it has that dtype.
func castTo(x *Tensor, dt ir.DType) *Tensor {
	if t := FirstError(x); t != nil || x.dtype == dt {
		if t != nil {
			return t
		}
		return x
	}
	a := Apply{Op: &copyOp, In: []*Tensor{x}, Backward: copyBackward}
	if !dt.Differentiable() {
		a.Backward = nil
	}
	p := newPlan(&a)
	defer p.free()
	out, err := p.cast(dt)
	if err != nil {
		return Fail(&copyOp, err)
	}
	return out
}

func (p *plan) cast(dt ir.DType) (*Tensor, error) {
	if err := p.check(false); err != nil {
		return nil, err
	}
	shape := p.a.In[0].layout.Shape
	out, err := p.allocateLike(shape, dt)
	if err != nil {
		return nil, err
	}
	if err := p.launchElementwise(out, shape, false); err != nil {
		out.Release()
		return nil, err
	}
	p.record(out)
	return out, nil
}

// Cast returns x converted to dt, differentiably; x itself when it has that
// dtype. Floats become integers by truncation that saturates, NaN becomes 0.
func Cast(x *Tensor, dt ir.DType) *Tensor {
	if !ir.ClassAll.Has(dt) {
		return Fail(&toOp, fmt.Errorf("%w: %s; want %s", ErrDType, dt, dtypeList(ir.ClassAll)))
	}
	return castTo(x, dt)
}

// assignOp is the in-place copy: its first operand gives only the place.
var assignOp = ir.Op{
	Name: "copy", Doc: "copies src over dst.", Kind: ir.Elementwise, Switch: -1,
	In:  []ir.Operand{{Name: "dst"}, {Name: "src"}},
	Out: []ir.Result{{Name: "out"}}, DTypes: ir.ClassAll, Promote: ir.PromoteNone,
	Bodies: []ir.Body{{Expr: "src"}}, Tags: ir.TagPointwise | ir.TagHidden,
	CPU:  ir.CPUKernels{Elementwise: []*[ir.NumDTypes]ir.Loop{secondLoops()}},
	CUDA: ir.CUDAKernels{Module: "copy", Symbol: "copy"},
}

func secondLoops() *[ir.NumDTypes]ir.Loop {
	var loops [ir.NumDTypes]ir.Loop
	for d, loop := range copyOp.CPU.Elementwise[0] {
		if loop != nil {
			loops[d] = func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
				loop(n, []unsafe.Pointer{p[0], p[2]}, s, index)
			}
		}
	}
	return &loops
}
