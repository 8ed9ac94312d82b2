package core

import (
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/ir"
)

// copyOp is the runtime's own operator: element for element, with conversion to
// the destination's dtype. It has no code: every backend copies.
var copyOp = newCopyOp("copy")

func newCopyOp(name string) *ir.Op {
	return &ir.Op{
		Name: name, Doc: "copies x.", Kind: ir.Elementwise, Switch: -1,
		In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}},
		DTypes: ir.ClassAll, Promote: ir.PromoteNone,
		Bodies: []ir.Body{{Exprs: []string{"x"}, Identity: true}}, Tags: ir.TagPointwise | ir.TagHidden | ir.TagSignless,
	}
}

// copiesAs are the copy operators under other operators' names, by these, *ir.Op.
var copiesAs sync.Map

// copyAs returns the copy operator under another operator's name, for messages.
func copyAs(op *ir.Op) *ir.Op {
	c, ok := copiesAs.Load(op)
	if !ok {
		c, _ = copiesAs.LoadOrStore(op, newCopyOp(op.Name))
	}
	return c.(*ir.Op)
}

func copyBackward(g *Grad) { g.Set(0, castTo(g.Dy(0), g.InDType(0))) }

// Copy returns a contiguous copy of x on its device.
func Copy(x *Tensor) *Tensor {
	return Elementwise(Apply{Op: copyOp, In: []*Tensor{x}, Backward: copyBackward})
}

// castTo returns x converted to dt; x itself when it has that dtype.
func castTo(x *Tensor, dt ir.DType) *Tensor {
	if t := FirstError(x); t != nil || x.dtype == dt {
		if t != nil {
			return t
		}
		return x
	}
	if x.dtype.Carried() || dt.Carried() {
		return castCarried(x, dt)
	}
	a := Apply{Op: copyOp, In: []*Tensor{x}, Backward: copyBackward}
	if !dt.Differentiable() {
		a.Backward = nil
	}
	p := newApplication(&a)
	defer p.free()
	out, err := p.cast(dt)
	if err != nil {
		return Fail(copyOp, err)
	}
	return out
}

func (p *application) cast(dt ir.DType) (*Tensor, error) {
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
	if !ir.ClassStored.Has(dt) {
		return Fail(&toOp, fmt.Errorf("%w: %s; want %s", ErrDType, dt, dtypeList(ir.ClassStored)))
	}
	return castTo(x, dt)
}

// assignedOp is copyOp by the name of assignOp.
var assignedOp = newCopyOp(assignOp.Name)

// assignOp is the in-place copy: its first operand gives only the place.
var assignOp = ir.Op{
	Name: "copy", Doc: "copies src over dst.", Kind: ir.Elementwise, Switch: -1,
	In:  []ir.Operand{{Name: "dst"}, {Name: "src"}},
	Out: []ir.Result{{Name: "out"}}, DTypes: ir.ClassAll, Promote: ir.PromoteNone,
	Bodies: []ir.Body{{Exprs: []string{"src"}, Identity: true}}, Tags: ir.TagPointwise | ir.TagHidden | ir.TagSignless,
}
