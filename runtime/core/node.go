package core

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// gradState is a tensor's part in differentiation. A handle's state is replaced,
// never changed, when an in-place operator gives it a new producer, so that what
// was recorded before keeps pointing to the old one.
type gradState struct {
	node  *Node // producer; nil for a leaf
	index int   // which of the producer's results

	mu     sync.Mutex
	grad   *Tensor     // accumulated gradient of a leaf, or of a retained result
	narrow *narrowGrad // what grad is converted from; nil: it is as it is
	retain bool
	hooks  []*hook
	taker  Taker // takes the gradients of a leaf; nil where they are accumulated here
	number int   // of the leaf, among the taker's
}

type hook struct {
	f func(*Tensor) *Tensor
}

// A Node is one recorded application of an operator. It is one allocation for up
// to two operands and one result.
type Node struct {
	op       *ir.Op
	seq      uint64 // grows along every path from leaves to results
	variant  int
	dims     []int
	attrs    []ir.Value
	backward func(*Grad)
	in       []operand
	out      []result
	drv      device.Driver   // of the results' device
	stream   device.StreamID // of the results' device, which the operator ran on
	keepDim  bool
	freed    bool // saved values were released by a backward pass

	ins  [2]operand
	outs [1]result
}

// operand is what a node keeps of an operand; the zero one stands for one that was
// not given.
type operand struct {
	layout ir.Layout
	dev    device.Device
	dtype  ir.DType
	state  *gradState // nil where no gradient is wanted
	saved  saved
}

// result is what a node keeps of a result.
type result struct {
	layout ir.Layout
	dev    device.Device
	dtype  ir.DType
	state  gradState // without node where the result is not differentiable
	saved  saved
}

// saved is a value kept for the backward pass.
type saved struct {
	storage                 *Storage // holds a reference; nil where nothing is saved
	version, epoch          int64
	wrapped, view, detached bool
}

// save keeps t's value.
func save(t *Tensor) saved {
	t.storage.ref()
	return saved{t.storage, t.Version(), t.epoch, t.wrapped, t.view, t.detached}
}

// usedOn keeps the value's memory from others until stream q is done with what it
// was given.
func (s *saved) usedOn(q device.StreamID) {
	if s.storage != nil && s.storage.held {
		s.storage.block.RecordStream(q)
	}
}

// drop gives up the value and reports whether there was one.
func (s *saved) drop() bool {
	held := s.storage
	*s = saved{}
	if held != nil {
		_ = held.unref() // a driver that cannot free reports it at the next synchronisation
	}
	return held != nil
}

var nodeSeq atomic.Uint64

// Save says which operands and results a backward function reads.
type Save uint64

// SaveAllIn saves every operand.
const SaveAllIn Save = 1<<31 - 1

// SaveNothing saves no value.
const SaveNothing Save = 0

// SaveIn saves operand i.
func SaveIn(i int) Save { return 1 << i }

// SaveOut saves result i.
func SaveOut(i int) Save { return 1 << (32 + i) }

// RequiresGrad reports whether gradients flow to t.
func (t *Tensor) RequiresGrad() bool { return t != nil && t.grad != nil }

// IsLeaf reports whether t was not made by a recorded operator.
func (t *Tensor) IsLeaf() bool { return t == nil || t.grad == nil || t.grad.node == nil }

// GradFn returns the name of the operator that made t, or "" for a leaf.
func (t *Tensor) GradFn() string {
	if t.IsLeaf() {
		return ""
	}
	return t.grad.node.op.Name
}

// recording reports whether a will be recorded.
func recording(a *Apply) bool {
	if a.Backward == nil {
		return false
	}
	for _, t := range a.In {
		if t != nil && t.grad != nil {
			return GradEnabled()
		}
	}
	return false
}

// checkEpochs reports an operand whose storage a recorded operator changed
// through another handle: its place in the graph would be wrong.
func checkEpochs(op *ir.Op, in []*Tensor) error {
	for i, t := range in {
		if t != nil && t.storage != nil && t.epoch != t.storage.epoch.Load() && !t.detached && GradEnabled() {
			return fmt.Errorf("operand %s: %w through another view while operators were recorded; use the tensor that was changed, or detach this one",
				operandOf(op, i).Name, ErrChanged)
		}
	}
	return nil
}

// record adds the application to the graph when a gradient may be wanted.
func (p *application) record(outs ...*Tensor) {
	if p.a.Place != nil && p.a.Place.RequireGrad {
		for _, t := range outs {
			t.grad = &gradState{}
		}
	}
	if recording(&p.a) {
		newNode(&p.a, p.a.In, p.drv, p.stream, outs)
	}
}

// recordOn adds a result that no application made, with results on a device of drv.
func recordOn(a *Apply, drv device.Driver, outs ...*Tensor) {
	if recording(a) {
		newNode(a, a.In, drv, current(outs[0].dev), outs)
	}
}

// newNode records an application to in, whatever a.In is. It keeps neither in nor
// outs, but what a has.
func newNode(a *Apply, in []*Tensor, drv device.Driver, stream device.StreamID, outs []*Tensor) {
	var n *Node
	if r := recorderNow(); r != nil { // whose graph ends with it
		n = &r.nodes.take(1)[0]
	} else {
		n = new(Node)
	}
	n.op, n.seq, n.variant, n.dims, n.keepDim = a.Op, nodeSeq.Add(1), a.Variant, a.Dims, a.KeepDim
	n.attrs, n.backward, n.drv, n.stream = a.Attrs, a.Backward, drv, stream
	if n.in = n.ins[:min(len(in), len(n.ins))]; len(in) > len(n.ins) {
		n.in = make([]operand, len(in))
	}
	if n.out = n.outs[:min(len(outs), len(n.outs))]; len(outs) > len(n.outs) {
		n.out = make([]result, len(outs))
	}
	for i, t := range in {
		if t == nil {
			continue
		}
		o := &n.in[i]
		o.layout, o.dev, o.dtype, o.state = t.layout, t.dev, t.dtype, t.grad
		if a.Save&SaveIn(min(i, 30)) != 0 {
			o.saved = save(t)
		}
	}
	for i, t := range outs {
		r := &n.out[i]
		r.layout, r.dev, r.dtype = t.layout, t.dev, t.dtype
		if t.dtype.Differentiable() {
			r.state.node, r.state.index = n, i
			t.grad = &r.state
		}
		if a.Save&SaveOut(i) != 0 {
			r.saved = save(t)
		}
	}
}

// free releases what the node saved.
func (n *Node) free() {
	for i := range n.in {
		n.freed = n.in[i].saved.drop() || n.freed
	}
	for i := range n.out {
		n.freed = n.out[i].saved.drop() || n.freed
	}
}

// SetRequiresGrad makes a leaf require gradients or stop doing so.
func (t *Tensor) SetRequiresGrad(on bool) error {
	if err := t.Err(); err != nil {
		return err
	}
	switch {
	case !t.IsLeaf() && !on:
		return at(fmt.Errorf("require_grad: only leaves can stop requiring gradients; this tensor was made by %s: use Detach", t.GradFn()))
	case on && !t.dtype.Differentiable():
		return at(fmt.Errorf("require_grad: %w: only floating-point and complex tensors can require gradients, not %s", ErrDType, t.dtype))
	case recorders.Held() && on != (t.grad != nil) && !t.storage.recorded() && Recording():
		return recorderNow().fail(fmt.Errorf("require_grad: %w: of a tensor from outside of the function", ErrUnrecordable))
	case on && t.grad == nil:
		t.grad = &gradState{}
	case !on:
		t.grad = nil
	}
	return nil
}

// Detach returns a handle on the same elements that has no part in differentiation.
func (t *Tensor) Detach() *Tensor {
	if t == nil {
		return Absent()
	}
	if f := t.broken(); f != nil {
		return failed(f)
	}
	d := t.again(t.layout)
	d.view, d.detached = t.view, true
	return d
}

// RetainGrad makes backward passes keep the gradient of a tensor that is not a leaf.
func (t *Tensor) RetainGrad() error {
	if err := t.Err(); err != nil {
		return err
	}
	if t.grad == nil {
		return at(fmt.Errorf("retain_grad: %w: the tensor does not require gradients", ErrNoGrad))
	}
	t.grad.mu.Lock()
	defer t.grad.mu.Unlock()
	t.grad.retain = true
	return nil
}

// RegisterHook has f called with the gradient of t in every backward pass, when it is
// complete and before it is used or stored. A result that is not nil takes its place.
// A leaf's hook runs while the pass goes on to other leaves, whose gradients are stored
// together when all has succeeded. The returned function removes the hook.
func (t *Tensor) RegisterHook(f func(grad *Tensor) *Tensor) (remove func(), err error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	if f == nil {
		return nil, at(errors.New("register_hook: the hook is nil; want a function of the gradient"))
	}
	if t.grad == nil {
		return nil, at(fmt.Errorf("register_hook: %w: the tensor does not require gradients", ErrNoGrad))
	}
	s, h := t.grad, &hook{f}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(s.hooks, h)
	if s.node == nil {
		leafHooks.Add(1)
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, other := range s.hooks {
			if other == h {
				if s.node == nil {
					leafHooks.Add(-1)
				}
				s.hooks = append(s.hooks[:i:i], s.hooks[i+1:]...)
				return
			}
		}
	}, nil
}

// Grad returns the gradient accumulated for a leaf, or for a tensor whose
// gradient is retained. It is nil before the first backward pass.
func (t *Tensor) Grad() *Tensor {
	if t == nil || t.grad == nil {
		return nil
	}
	t.grad.mu.Lock()
	defer t.grad.mu.Unlock()
	t.grad.readGrad()
	g := t.grad.held()
	if g == nil || g.storage == nil {
		return g
	}
	return g.handle()
}

// handle returns another handle on a gradient, for a program to hold.
func (t *Tensor) handle() *Tensor {
	h := t.again(t.layout)
	h.grad, h.epoch, h.detached = t.grad, t.epoch, t.detached
	return h
}

// SetGrad replaces the accumulated gradient; nil removes it. The gradient must
// have t's shape, dtype and device.
func (t *Tensor) SetGrad(g *Tensor) error {
	if err := t.Err(); err != nil {
		return err
	}
	if t.grad == nil {
		return at(fmt.Errorf("set_grad: %w: the tensor does not require gradients", ErrNoGrad))
	}
	if g != nil {
		if err := g.Err(); err != nil {
			return err
		}
		if !equalInts(g.layout.Shape, t.layout.Shape) || g.dtype != t.dtype || g.Device() != t.Device() {
			return at(fmt.Errorf("set_grad: gradient is %s %v on %s, the tensor %s %v on %s",
				g.dtype, g.layout.Shape, g.Device(), t.dtype, t.layout.Shape, t.Device()))
		}
		g = g.alias()
	}
	t.grad.mu.Lock()
	defer t.grad.mu.Unlock()
	t.grad.replace(g)
	return nil
}
