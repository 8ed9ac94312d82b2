package core

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// Grad is what a backward function sees of a node. It is valid until the function
// returns.
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
		t, err := g.node.zeros(i)
		if err != nil {
			return Fail(g.node.op, err)
		}
		return t
	}
	return g.dys[i]
}

// zeros returns zeros like result i.
func (n *Node) zeros(i int) (*Tensor, error) {
	r := &n.out[i]
	q := current(r.dev)
	shape := r.layout.Shape
	s, err := newStorage(r.dev, n.drv, q, int64(ir.NumElements(shape))*int64(r.dtype.Size()))
	if err != nil {
		return nil, err
	}
	t := newTensor(s, r.dev, ir.ContiguousLayout(shape), r.dtype)
	if err := s.zero(r.dev, q); err != nil {
		t.Release()
		return nil, err
	}
	return t, nil
}

// In returns saved operand i, or nil where it was not given.
func (g *Grad) In(i int) *Tensor {
	n := g.node
	if i >= len(n.in) {
		return nil
	}
	o := &n.in[i]
	return g.unpack(&o.saved, o.layout, o.dev, o.dtype, o.state, func() string { return "operand " + operandOf(n.op, i).Name })
}

// Out returns saved result i.
func (g *Grad) Out(i int) *Tensor {
	r := &g.node.out[i]
	state := &r.state
	if state.node == nil {
		state = nil
	}
	return g.unpack(&r.saved, r.layout, r.dev, r.dtype, state, func() string { return "result" })
}

// unpack returns a handle on a saved value. What names it in messages.
func (g *Grad) unpack(s *saved, layout ir.Layout, dev device.Device, dt ir.DType, state *gradState, what func() string) *Tensor {
	n := g.node
	if n.freed {
		return Fail(n.op, fmt.Errorf("%w: backward through the graph a second time: its saved values were released; pass Retain the first time", ErrNoGrad))
	}
	if s.storage == nil {
		return nil
	}
	if s.storage.away {
		return Fail(n.op, fmt.Errorf("a value that its gradient needs: %w", errAway))
	}
	if now := s.storage.version.Load(); now != s.version {
		return Fail(n.op, fmt.Errorf("a value that its gradient needs was %w: %s of shape %v is at version %d, was saved at %d",
			ErrChanged, what(), layout.Shape, now, s.version))
	}
	s.storage.ref()
	t := newTensor(s.storage, dev, layout, dt)
	t.wrapped, t.view, t.detached, t.epoch = s.wrapped, s.view, s.detached, s.epoch
	t.grad = state
	return t
}

// NumIn returns the number of operands, a list's members counted singly.
func (g *Grad) NumIn() int { return len(g.node.in) }

// InShape returns operand i's shape.
func (g *Grad) InShape(i int) []int { return g.node.in[i].layout.Shape }

// Fits reports whether dx has the shape and dtype of operand i.
func (g *Grad) Fits(i int, dx *Tensor) bool {
	o := &g.node.in[i]
	return dx != nil && dx.fail.Load() == nil && dx.dtype == o.dtype && equalInts(dx.layout.Shape, o.layout.Shape)
}

// InLayout returns operand i's layout.
func (g *Grad) InLayout(i int) ir.Layout { return g.node.in[i].layout }

// InDType returns operand i's dtype.
func (g *Grad) InDType(i int) ir.DType { return g.node.in[i].dtype }

// OutShape returns result i's shape.
func (g *Grad) OutShape(i int) []int { return g.node.out[i].layout.Shape }

// Space returns the shape that the operands of an element-wise operator or a reduction
// broadcast to.
func (g *Grad) Space() []int {
	shape := g.node.in[0].layout.Shape
	for i := 1; i < len(g.node.in); i++ {
		shape, _ = ir.Broadcast(shape, g.node.in[i].layout.Shape) // as when it was applied
	}
	return shape
}

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
