package core

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Gradients of parts of one tensor, from one place on along an axis, which its users took
// with views, are kept until all are there. Where they make up the tensor they are put side by
// side; otherwise each is padded with zeros and added, as the views' gradients say. What is kept
// has no more elements than the tensor: parts that have more overlap.

// parts are the gradients of parts of one result of a node. All were taken along one axis.
type parts struct {
	dim     int
	bare    bool // without that axis
	list    []piece
	places  int  // that those of the list have
	overlap bool // there are parts of the same places, and none are kept
}

// A piece is the gradient of what a view's node took, in a handle that the engine holds.
type piece struct {
	node          *Node
	dy            *Tensor
	start, length int
}

// partsKey is a result of a node.
type partsKey struct {
	node  *Node
	index int
}

// partOf returns which part of its operand a view is: length places from start on along
// axis dim, or, where bare is true, one without that axis. It reports whether it is one.
func partOf(n *Node) (dim int, bare bool, p piece, ok bool) {
	if n.op.Tags&ir.TagPart == 0 {
		return 0, false, piece{}, false
	}
	in, out := &n.in[0].layout, &n.out[0].layout
	dim = int(n.attrs[0].Int)
	if dim < 0 {
		dim += len(in.Shape)
	}
	bare = len(out.Shape) < len(in.Shape)
	p.node, p.length = n, 1
	stride := in.Strides[dim]
	if !bare {
		if p.length = out.Shape[dim]; p.length > 1 && out.Strides[dim] != stride {
			return 0, false, piece{}, false // with places between
		}
	}
	if stride == 0 || ir.NumElements(out.Shape) == 0 {
		return 0, false, piece{}, false
	}
	p.start = (out.Offset - in.Offset) / stride
	return dim, bare, p, true
}

// keepPart keeps the gradient dy of n's result for joinParts, if n takes a part of what
// another node made, and reports whether it did.
func (e *engine) keepPart(n *Node, dy *Tensor) (kept bool, err error) {
	if e.o.CreateGraph || e.o.Ops == nil || e.o.Ops.Cat == nil || dy == nil || len(n.in) == 0 {
		return false, nil
	}
	s := n.in[0].state
	if s == nil || s.node == nil || !e.wants(s) || dy.dev != n.in[0].dev || dy.dtype != n.in[0].dtype {
		return false, nil
	}
	dim, bare, p, ok := partOf(n)
	if !ok {
		return false, nil
	}
	key := partsKey{s.node, s.index}
	all := e.parts[key]
	switch {
	case all == nil:
		if e.parts == nil {
			e.parts = map[partsKey]*parts{}
		}
		all = &parts{dim: dim, bare: bare}
		e.parts[key] = all
	case all.dim != dim || all.bare != bare:
		return false, nil
	}
	if all.places += p.length; all.overlap || all.places > n.in[0].layout.Shape[dim] {
		all.overlap = true
		return false, e.pad(all)
	}
	p.dy = e.hold(dy)
	all.list = append(all.list, p)
	e.await(s.node)
	return true, nil
}

// joinParts adds the gradients that were kept of parts of n's results to those of the results.
func (e *engine) joinParts(n *Node) error {
	for i := range n.out {
		key := partsKey{n, i}
		all := e.parts[key]
		if all == nil {
			continue
		}
		delete(e.parts, key)
		err := e.join(all, n.out[i].layout.Shape)
		all.release()
		if err != nil {
			return err
		}
	}
	return nil
}

// pad adds each part to the gradient of what it is a part of, padded with zeros: one after
// another, since each is as large as the whole then.
func (e *engine) pad(all *parts) error {
	for _, p := range all.list {
		if err := e.pull(p.node, []*Tensor{p.dy}); err != nil {
			return err
		}
		e.scope.empty()
	}
	all.release()
	return nil
}

// release drops what is kept.
func (p *parts) release() {
	for _, q := range p.list {
		q.dy.Release()
	}
	p.list = nil
}

// join adds parts to the gradient of what they are parts of, which has a shape.
func (e *engine) join(all *parts, shape []int) error {
	if len(all.list) < 2 || !all.whole(shape[all.dim]) {
		return e.pad(all)
	}
	slices.SortFunc(all.list, byStart)
	var dys []*Tensor
	for _, p := range all.list {
		dys = append(dys, p.dy)
	}
	put := e.o.Ops.Cat
	if all.bare {
		put = e.o.Ops.Stack
	}
	first := all.list[0].node
	var dx *Tensor
	if end := attempt(func() {
		if r := recorderNow(); r != nil {
			r.generated(first.backward, &e.caller)
			defer func() { r.pass = 0 }()
		}
		dx = put(dys, all.dim)
	}); end != nil {
		return end.report()
	}
	if f := dx.broken(); f != nil {
		return f.report()
	}
	if !equalInts(dx.layout.Shape, shape) {
		return fmt.Errorf("internal error: gradients of parts of %v make up %v", shape, dx.layout.Shape)
	}
	return e.add(first.in[0].state, dx)
}

// whole reports whether the parts are all n places of their axis, each once.
func (p *parts) whole(n int) bool {
	sorted := slices.Clone(p.list)
	slices.SortFunc(sorted, byStart)
	at := 0
	for _, q := range sorted {
		if q.start != at {
			return false
		}
		at += q.length
	}
	return at == n
}

func byStart(a, b piece) int { return cmp.Compare(a.start, b.start) }
