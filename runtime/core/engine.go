package core

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// Operators are the operators that the engine itself needs.
type Operators struct {
	Add      func(x, y *Tensor) *Tensor // element-wise sum of equal shapes
	OnesLike func(x *Tensor) *Tensor
	Clone    func(x *Tensor) *Tensor // a contiguous copy

	// Cat and Stack put tensors side by side, along an axis or a new one. Without them gradients
	// of parts are padded and added.
	Cat, Stack func(xs []*Tensor, dim int) *Tensor
}

// BackwardOptions adjusts a backward pass.
type BackwardOptions struct {
	Retain      bool // keep saved values, so that the graph can be walked again
	CreateGraph bool // record the pass, so that gradients can be differentiated; implies Retain
	Ops         *Operators
}

// Backward computes the gradients of roots with respect to all leaves they were
// made from and adds them to the leaves' Grad. grads are the gradients of the
// roots themselves; nil, or a nil member, stands for one, which the root must
// then be a single element for. When it returns an error no gradient was changed.
func Backward(roots, grads []*Tensor, o BackwardOptions) error {
	e, err := newEngine(roots, grads, o)
	if err != nil {
		return at(fmt.Errorf("backward: %w", err))
	}
	if err := e.finishTakers(e.run()); err != nil {
		e.abandon()
		return at(fmt.Errorf("backward: %w", err))
	}
	e.storeLeaves()
	return nil
}

// Gradients returns the gradients of roots with respect to inputs, which need
// not be leaves, without touching any Grad. Only the nodes between roots and
// inputs are walked and give up their saved values. An input that no root depends
// on gets nil.
func Gradients(roots, grads, inputs []*Tensor, o BackwardOptions) ([]*Tensor, error) {
	e, err := newEngine(roots, grads, o)
	if err != nil {
		return nil, at(fmt.Errorf("grad: %w", err))
	}
	defer e.abandon()
	e.captured = map[*gradState]*Tensor{}
	for i, x := range inputs {
		if err := x.Err(); err != nil {
			return nil, err
		}
		if x.grad == nil {
			return nil, at(fmt.Errorf("grad: %w: input %d does not require gradients", ErrNoGrad, i))
		}
		e.captured[x.grad] = nil
	}
	e.findNeeded()
	if err := e.run(); err != nil {
		return nil, at(fmt.Errorf("grad: %w", err))
	}
	out := make([]*Tensor, len(inputs))
	for i, x := range inputs {
		if g := e.captured[x.grad]; g != nil {
			out[i] = g.handle()
		}
	}
	return out, nil
}

// engine is one backward pass.
type engine struct {
	o        BackwardOptions
	queue    nodeHeap
	pending  map[*Node][]*Tensor    // gradients of a node's results so far
	parts    map[partsKey]*parts    // gradients of parts of nodes' results
	leaves   map[*gradState]*Tensor // gradients of leaves so far
	order    []*gradState           // leaves in the order they were reached
	captured map[*gradState]*Tensor // what Gradients asked for; nil in Backward
	needed   map[*Node]bool         // nodes on a path to what is captured
	retained map[*gradState]*Tensor
	due      []dueLeaf    // leaves whose hooks have not run
	visited  []*gradState // leaves whose hooks have run
	takers   []Taker      // those who took gradients of the pass
	caller   uintptr      // the frame that gave a pass that is recorded; 0 until it is asked for

	scope  Scope       // holds what backward functions make until the node is done
	outer  *Scope      // the program's, in which hooks run
	grad   Grad        // of the node that runs
	chunk  []*Tensor   // room that pending's values are cut from
	waited []workQueue // streams of the forward pass that the current ones wait for
}

// A workQueue is a stream of a device.
type workQueue struct {
	dev    device.Device
	stream device.StreamID
}

func newEngine(roots, grads []*Tensor, o BackwardOptions) (*engine, error) {
	e := &engine{o: o, pending: map[*Node][]*Tensor{}, leaves: map[*gradState]*Tensor{}}
	e.outer, _ = scopes.Get()
	if len(roots) == 0 {
		return nil, fmt.Errorf("%w: no tensor to start from", ErrNoGrad)
	}
	if grads != nil && len(grads) != len(roots) {
		return nil, fmt.Errorf("%d gradients for %d tensors", len(grads), len(roots))
	}
	for i, r := range roots {
		var given *Tensor
		if grads != nil {
			given = grads[i]
		}
		g, err := e.rootGrad(r, given)
		if err == nil {
			err = e.add(r.grad, g)
		}
		if given == nil {
			g.Release() // the engine holds its own handle
		}
		if err != nil {
			e.abandon()
			return nil, err
		}
	}
	return e, nil
}

// rootGrad checks a root and returns its gradient.
func (e *engine) rootGrad(r, g *Tensor) (*Tensor, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	if r.grad == nil {
		return nil, fmt.Errorf("%w: the tensor does not require gradients and was not made from one that does", ErrNoGrad)
	}
	if err := checkEpochs(nameless, []*Tensor{r}); err != nil {
		return nil, err
	}
	if g == nil {
		if ir.NumElements(r.layout.Shape) != 1 {
			return nil, fmt.Errorf("%w: a gradient can be left out only for one element, not for shape %v", ir.ErrShape, r.layout.Shape)
		}
		NoGrad(func() { g = e.o.Ops.OnesLike(r) })
	}
	if err := g.Err(); err != nil {
		return nil, err
	}
	if !equalInts(g.layout.Shape, r.layout.Shape) || g.dtype != r.dtype || g.Device() != r.Device() {
		return nil, fmt.Errorf("%w: the gradient is %s %v on %s, the tensor %s %v on %s", ir.ErrShape,
			g.dtype, g.layout.Shape, g.Device(), r.dtype, r.layout.Shape, r.Device())
	}
	return g, nil
}

var nameless = &ir.Op{Name: "backward", In: []ir.Operand{{Name: "root"}}}

// hold returns a handle on g that lives as long as the engine wants.
func (e *engine) hold(g *Tensor) *Tensor {
	var h *Tensor
	if r := recorderNow(); r != nil { // none outlives the recording
		h = &r.tensors.take(1)[0]
	} else {
		h = new(Tensor)
	}
	g.aliasTo(h)
	h.grad = g.grad
	return h
}

// add adds g to the gradients of what s stands for.
func (e *engine) add(s *gradState, g *Tensor) error {
	if s.node == nil {
		if _, seen := e.leaves[s]; !seen {
			e.order = append(e.order, s)
		}
		sum, err := e.sum(e.leaves[s], g)
		e.leaves[s] = sum
		return err
	}
	dys := e.await(s.node)
	sum, err := e.sum(dys[s.index], g)
	dys[s.index] = sum
	return err
}

// await has n run in its turn, and returns the gradients of its results so far.
func (e *engine) await(n *Node) []*Tensor {
	dys := e.pending[n]
	if dys == nil {
		dys = e.room(len(n.out))
		e.pending[n] = dys
		heap.Push(&e.queue, n)
	}
	return dys
}

// room returns n nil handles that nothing else uses.
func (e *engine) room(n int) []*Tensor {
	const chunk = 64
	if len(e.chunk) < n {
		e.chunk = make([]*Tensor, max(n, chunk))
	}
	out := e.chunk[:n:n]
	e.chunk = e.chunk[n:]
	return out
}

// sum returns a held handle on old + g, and lets old go.
func (e *engine) sum(old, g *Tensor) (*Tensor, error) {
	if f := g.broken(); f != nil {
		return old, f.report()
	}
	if old == nil {
		return e.hold(g), nil
	}
	t := e.o.Ops.Add(old, g)
	if err := t.Err(); err != nil {
		return old, err
	}
	h := e.hold(t)
	t.Release()
	if !e.o.CreateGraph {
		old.Release()
	}
	return h, nil
}

// findNeeded finds the nodes from which a captured tensor is reached. Operands are
// recorded before what is made of them, so one walk in that order decides.
func (e *engine) findNeeded() {
	var order []*Node
	e.eachNode(func(n *Node) { order = append(order, n) })
	slices.SortFunc(order, func(a, b *Node) int { return cmp.Compare(a.seq, b.seq) })
	e.needed = map[*Node]bool{}
	for _, n := range order {
		e.needed[n] = slices.ContainsFunc(n.in, func(o operand) bool { return e.wants(o.state) })
	}
}

// wants reports whether the pass has a use for the gradient of s.
func (e *engine) wants(s *gradState) bool {
	if s == nil || e.captured == nil {
		return s != nil
	}
	_, asked := e.captured[s]
	return asked || s.node != nil && e.needed[s.node]
}

func (e *engine) run() error {
	var err error
	work := func() {
		e.findDue()
		err = e.runDue()
		for e.queue.Len() > 0 && err == nil {
			if err = e.step(heap.Pop(&e.queue).(*Node)); err == nil {
				err = e.runDue()
			}
		}
		if err == nil {
			err = e.finishLeaves()
		}
	}
	if e.o.CreateGraph {
		EnableGrad(work)
	} else {
		NoGrad(func() { scopes.With(&e.scope, work) })
	}
	return err
}

// step runs one node's backward function.
func (e *engine) step(n *Node) (err error) {
	if err := e.joinParts(n); err != nil {
		return err
	}
	dys := e.pending[n]
	delete(e.pending, n)
	if !e.o.CreateGraph {
		defer func() {
			e.scope.empty()
			releaseAll(dys)
		}()
	}
	for i, dy := range dys {
		if dy == nil || n.out[i].state.node == nil {
			continue
		}
		if dys[i], err = e.visit(&n.out[i].state, dy); err != nil {
			return err
		}
	}
	if e.captured != nil && !e.needed[n] {
		return nil
	}
	if err = e.follow(n); err == nil {
		err = e.differentiate(n, dys)
	}
	if !e.o.Retain && !e.o.CreateGraph {
		n.free()
	}
	return err
}

// follow makes the current stream of n's device wait for the stream that n was
// computed on, where that is another one, once a pass: the pass runs on the
// caller's current streams, whatever the forward pass ran on. What n saved is not
// given to others before the current stream is done with it.
func (e *engine) follow(n *Node) error {
	dev := n.out[0].dev
	q := current(dev)
	if q == n.stream {
		return nil
	}
	for i := range n.in {
		n.in[i].saved.usedOn(q)
	}
	for i := range n.out {
		n.out[i].saved.usedOn(q)
	}
	if from := (workQueue{dev, n.stream}); !slices.Contains(e.waited, from) {
		e.waited = append(e.waited, from)
		return waitFor(dev, q, dev, n.stream)
	}
	return nil
}

// differentiate adds what the gradients of n's results are by n's operands to the operands'.
func (e *engine) differentiate(n *Node, dys []*Tensor) error {
	if len(dys) == 1 {
		if kept, err := e.keepPart(n, dys[0]); kept || err != nil {
			return err
		}
	}
	return e.pull(n, dys)
}

// pull is differentiate by n's own function.
func (e *engine) pull(n *Node, dys []*Tensor) error {
	g := &e.grad
	g.node, g.dys, g.recording = n, dys, e.o.CreateGraph
	g.set, g.wanted = g.set[:0], g.wanted[:0]
	for i := range n.in {
		g.set, g.wanted = append(g.set, nil), append(g.wanted, e.wants(n.in[i].state))
	}
	end := attempt(func() {
		if r := recorderNow(); r != nil {
			r.generated(n.backward, &e.caller)
			defer func() { r.pass = 0 }()
		}
		n.backward(g)
	})
	if end != nil {
		_ = FirstError(g.set...) // it stands for those, too
		return end.report()
	}
	for i := range n.in {
		s, dx := n.in[i].state, g.set[i]
		if s == nil || dx == nil {
			continue
		}
		if f := dx.broken(); f != nil {
			_ = FirstError(g.set[i:]...) // it stands for those after it
			return f.report()
		}
		if dev := n.in[i].dev; dx.dev != dev { // a host number among operands of an accelerator
			if dx = To(dx, dev, TransferOptions{}); dx.fail.Load() != nil {
				return dx.Err()
			}
		}
		if !equalInts(dx.layout.Shape, n.in[i].layout.Shape) || dx.dtype != n.in[i].dtype {
			return fmt.Errorf("internal error: gradient of %s's operand %s is %s %v, the operand %s %v", n.op.Name,
				operandOf(n.op, i).Name, dx.dtype, dx.layout.Shape, n.in[i].dtype, n.in[i].layout.Shape)
		}
		if err := e.add(s, dx); err != nil {
			return err
		}
	}
	return nil
}

// visit runs hooks on the complete gradient of s, which it takes over, and keeps
// what they made of it where asked.
func (e *engine) visit(s *gradState, g *Tensor) (*Tensor, error) {
	s.mu.Lock()
	hooks, retain := s.hooks, s.retain
	s.mu.Unlock()
	for _, h := range hooks {
		r := e.call(h, g)
		if r == nil {
			continue
		}
		if err := r.Err(); err != nil {
			return g, err
		}
		if !equalInts(r.layout.Shape, g.layout.Shape) || r.dtype != g.dtype || r.Device() != g.Device() {
			return g, fmt.Errorf("%w: a hook returned %s %v on %s for a gradient that is %s %v on %s", ir.ErrShape,
				r.dtype, r.layout.Shape, r.Device(), g.dtype, g.layout.Shape, g.Device())
		}
		h := e.hold(r)
		if !e.o.CreateGraph {
			g.Release()
		}
		g = h
	}
	if _, wanted := e.captured[s]; wanted {
		e.captured[s] = e.hold(g)
	} else if retain && s.node != nil && e.captured == nil {
		if e.retained == nil {
			e.retained = map[*gradState]*Tensor{}
		}
		e.retained[s] = e.hold(g)
	}
	return g, nil
}

// call runs a hook in the program's own scope: it may keep the gradient, and what
// it makes.
func (e *engine) call(h *hook, g *Tensor) (r *Tensor) {
	if e.o.CreateGraph {
		return h.f(g.handle())
	}
	scopes.With(e.outer, func() { r = h.f(g.handle()) })
	return r
}

// finishLeaves keeps what was asked for of the leaves, and computes their new gradients.
func (e *engine) finishLeaves() error {
	for _, s := range slices.Clone(e.order) {
		g, err := e.leaves[s], error(nil)
		if !slices.Contains(e.visited, s) {
			g, err = e.visit(s, g)
			e.leaves[s] = g
			if err == nil {
				err = e.hand(s)
			}
		}
		if err != nil {
			return err
		}
		if _, kept := e.leaves[s]; !kept || e.captured != nil {
			continue
		}
		if e.leaves[s], err = e.accumulated(s.current(), g); err != nil {
			return err
		}
	}
	for s, g := range e.retained {
		sum, err := e.accumulated(s.current(), g)
		if err != nil {
			return err
		}
		e.retained[s] = sum
	}
	return nil
}

// accumulated returns old + g as a tensor that shares memory with no other.
func (e *engine) accumulated(old, g *Tensor) (*Tensor, error) {
	var t *Tensor
	switch {
	case old != nil:
		t = e.o.Ops.Add(old, g)
	case g.Sole():
		return g, nil
	default:
		t = e.o.Ops.Clone(g)
	}
	if err := t.Err(); err != nil {
		return g, err
	}
	h := e.hold(t)
	t.Release()
	if !e.o.CreateGraph {
		g.Release()
	}
	return h, nil
}

// storeLeaves makes the new gradients visible.
func (e *engine) storeLeaves() {
	for _, s := range e.order {
		s.store(e.leaves[s])
	}
	for s, g := range e.retained {
		s.store(g)
	}
}

// current returns the gradient that there is.
func (s *gradState) current() *Tensor {
	s.mu.Lock()
	defer s.mu.Unlock()
	if recorders.Held() {
		s.readGrad()
	}
	return s.held()
}

func (s *gradState) store(g *Tensor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replace(g)
}

// abandon releases what the engine still holds.
func (e *engine) abandon() {
	if e.o.CreateGraph {
		return
	}
	for _, dys := range e.pending {
		releaseAll(dys)
	}
	for _, all := range e.parts {
		all.release()
	}
	for _, g := range e.leaves {
		g.Release()
	}
	for _, g := range e.retained {
		g.Release()
	}
	for _, g := range e.captured {
		g.Release()
	}
}

// nodeHeap orders nodes latest first, so that every gradient of a node's results
// is there before the node runs.
type nodeHeap []*Node

func (h nodeHeap) Len() int           { return len(h) }
func (h nodeHeap) Less(i, j int) bool { return h[i].seq > h[j].seq }
func (h nodeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *nodeHeap) Push(x any)        { *h = append(*h, x.(*Node)) }
func (h *nodeHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return n
}
