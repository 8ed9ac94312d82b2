package core

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// Grad is what a backward function sees of a node.
type Grad struct {
	node      *Node
	dys       []*Tensor
	recording bool
	set       []*Tensor // by operand
	wanted    []bool    // by operand
}

// HasDy reports whether a gradient reached result i.
func (g *Grad) HasDy(i int) bool { return g.dys[i] != nil }

// Dy returns the gradient of result i; zeros when none reached it.
func (g *Grad) Dy(i int) *Tensor {
	if g.dys[i] == nil {
		r := g.node.out[i]
		t, err := zeros(r)
		if err != nil {
			return Fail(g.node.op, err)
		}
		return t
	}
	return g.dys[i]
}

func zeros(r resultMeta) (*Tensor, error) {
	s, err := newStorage(r.dev, r.drv, int64(ir.NumElements(r.shape))*int64(r.dtype.Size()))
	if err != nil {
		return nil, err
	}
	if s.bytes > 0 {
		if err := r.drv.Zero(r.dev.Index, 0, s.block.Memory, s.bytes); err != nil {
			return nil, err
		}
	}
	return newTensor(s, ir.ContiguousLayout(r.shape), r.dtype), nil
}

// In returns saved operand i, or nil where it was not given.
func (g *Grad) In(i int) *Tensor { return g.unpack(i, false) }

// Out returns saved result i.
func (g *Grad) Out(i int) *Tensor { return g.unpack(i, true) }

func (g *Grad) unpack(i int, result bool) *Tensor {
	n := g.node
	if n.freed {
		return Fail(n.op, fmt.Errorf("%w: backward through the graph a second time: its saved values were released; pass Retain the first time", ErrNoGrad))
	}
	for _, s := range n.saved {
		if s.index != i || s.result != result {
			continue
		}
		if now := s.t.Version(); now != s.version {
			what := "result"
			if !result {
				what = "operand " + operandOf(n.op, i).Name
			}
			return Fail(n.op, fmt.Errorf("a value that its gradient needs was %w: %s of shape %v is at version %d, was saved at %d",
				ErrChanged, what, s.t.layout.Shape, now, s.version))
		}
		t := newTensor(s.t.storage, s.t.layout, s.t.dtype)
		t.wrapped, t.view, t.detached, t.epoch = s.t.wrapped, s.t.view, s.t.detached, s.t.epoch
		if t.grad = s.state; result {
			t.grad = n.out[i].state
		}
		return t
	}
	return nil
}

// NumIn returns the number of operands, a list's members counted singly.
func (g *Grad) NumIn() int { return len(g.node.in) }

// InShape returns operand i's shape.
func (g *Grad) InShape(i int) []int { return g.node.in[i].layout.Shape }

// InLayout returns operand i's layout.
func (g *Grad) InLayout(i int) ir.Layout { return g.node.in[i].layout }

// InDType returns operand i's dtype.
func (g *Grad) InDType(i int) ir.DType { return g.node.in[i].dtype }

// OutShape returns result i's shape.
func (g *Grad) OutShape(i int) []int { return g.node.out[i].shape }

// Attr returns attribute i.
func (g *Grad) Attr(i int) ir.Value { return g.node.attrs[i] }

// Attrs returns every attribute. The slice must not be changed.
func (g *Grad) Attrs() []ir.Value { return g.node.attrs }

// Variant returns the index of the body that ran.
func (g *Grad) Variant() int { return g.node.variant }

// Dims returns a reduction's axes, normalised and ascending, or a scan's one axis.
func (g *Grad) Dims() []int { return g.node.dims }

// KeepDim reports whether a reduction kept its axes.
func (g *Grad) KeepDim() bool { return g.node.keepDim }

// Needs reports whether operand i's gradient is wanted.
func (g *Grad) Needs(i int) bool { return i < len(g.wanted) && g.wanted[i] }

// Recording reports whether the gradient must itself be differentiable.
func (g *Grad) Recording() bool { return g.recording }

// Set gives operand i's gradient, of the operand's shape and dtype.
func (g *Grad) Set(i int, dx *Tensor) {
	if g.Needs(i) {
		g.set[i] = dx
	}
}
