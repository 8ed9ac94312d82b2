package dist

import (
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/collective"
)

// Barrier waits for all ranks.
func (b *Batch) Barrier() {
	b.add(collective.Call{Kind: collective.Barrier}, tensor.Tensor{}, tensor.Tensor{})
}

// AllReduce replaces t by the reduction of every rank's t, element by element. All have
// the same shape and dtype.
func (b *Batch) AllReduce(t tensor.Tensor, op Op) {
	b.add(collective.Call{Kind: collective.AllReduce, Op: op}, t, t)
}

// Broadcast replaces t by that of rank root.
func (b *Batch) Broadcast(t tensor.Tensor, root int) {
	in := tensor.Tensor{}
	if b.rank() == root {
		in = t
	}
	b.add(collective.Call{Kind: collective.Broadcast, Root: root}, in, t)
}

// Reduce replaces t, on rank root alone, by the reduction of every rank's t.
func (b *Batch) Reduce(t tensor.Tensor, root int, op Op) {
	out := tensor.Tensor{}
	if b.rank() == root {
		out = t
	}
	b.add(collective.Call{Kind: collective.Reduce, Op: op, Root: root}, t, out)
}

// AllGather writes every rank's in to out, one after the other: for in [n, ...] out is
// [ranks*n, ...], or any shape of as many elements.
func (b *Batch) AllGather(out, in tensor.Tensor) {
	b.add(collective.Call{Kind: collective.AllGather}, in, out)
}

// ReduceScatter writes to out this rank's part of the reduction of every rank's in: the
// elements of in are cut into as many equal parts as there are ranks.
func (b *Batch) ReduceScatter(out, in tensor.Tensor, op Op) {
	b.add(collective.Call{Kind: collective.ReduceScatter, Op: op}, in, out)
}

// Gather is AllGather to rank root alone; the others pass the zero Tensor as out.
func (b *Batch) Gather(out, in tensor.Tensor, root int) {
	b.add(collective.Call{Kind: collective.Gather, Root: root}, in, out)
}

// Scatter writes to out this rank's part of rank root's in; the others pass the zero
// Tensor as in.
func (b *Batch) Scatter(out, in tensor.Tensor, root int) {
	b.add(collective.Call{Kind: collective.Scatter, Root: root}, in, out)
}

// AllToAll cuts in into as many equal parts as there are ranks, sends part r to rank r,
// and writes what it gets to out, by sender.
func (b *Batch) AllToAll(out, in tensor.Tensor) {
	b.add(collective.Call{Kind: collective.AllToAll}, in, out)
}

// Send sends t to another rank, which receives a tensor of the same shape and dtype.
func (b *Batch) Send(t tensor.Tensor, to int) {
	b.add(collective.Call{Kind: collective.Send, Root: to}, t, tensor.Tensor{})
}

// Receive replaces t by what another rank sends.
func (b *Batch) Receive(t tensor.Tensor, from int) {
	b.add(collective.Call{Kind: collective.Receive, Root: from}, tensor.Tensor{}, t)
}

// Barrier waits for all ranks.
func (g *Group) Barrier() *Work { return g.Batch((*Batch).Barrier) }

// AllReduce replaces t by the reduction of every rank's t, element by element. All have
// the same shape and dtype.
func (g *Group) AllReduce(t tensor.Tensor, op Op) *Work {
	return g.Batch(func(b *Batch) { b.AllReduce(t, op) })
}

// Broadcast replaces t by that of rank root.
func (g *Group) Broadcast(t tensor.Tensor, root int) *Work {
	return g.Batch(func(b *Batch) { b.Broadcast(t, root) })
}

// Reduce replaces t, on rank root alone, by the reduction of every rank's t.
func (g *Group) Reduce(t tensor.Tensor, root int, op Op) *Work {
	return g.Batch(func(b *Batch) { b.Reduce(t, root, op) })
}

// AllGather writes every rank's in to out, one after the other: for in [n, ...] out is
// [ranks*n, ...], or any shape of as many elements.
func (g *Group) AllGather(out, in tensor.Tensor) *Work {
	return g.Batch(func(b *Batch) { b.AllGather(out, in) })
}

// ReduceScatter writes to out this rank's part of the reduction of every rank's in: the
// elements of in are cut into as many equal parts as there are ranks.
func (g *Group) ReduceScatter(out, in tensor.Tensor, op Op) *Work {
	return g.Batch(func(b *Batch) { b.ReduceScatter(out, in, op) })
}

// Gather is AllGather to rank root alone; the others pass the zero Tensor as out.
func (g *Group) Gather(out, in tensor.Tensor, root int) *Work {
	return g.Batch(func(b *Batch) { b.Gather(out, in, root) })
}

// Scatter writes to out this rank's part of rank root's in; the others pass the zero
// Tensor as in.
func (g *Group) Scatter(out, in tensor.Tensor, root int) *Work {
	return g.Batch(func(b *Batch) { b.Scatter(out, in, root) })
}

// AllToAll cuts in into as many equal parts as there are ranks, sends part r to rank r,
// and writes what it gets to out, by sender.
func (g *Group) AllToAll(out, in tensor.Tensor) *Work {
	return g.Batch(func(b *Batch) { b.AllToAll(out, in) })
}

// Send sends t to another rank, which receives a tensor of the same shape and dtype.
func (g *Group) Send(t tensor.Tensor, to int) *Work {
	return g.Batch(func(b *Batch) { b.Send(t, to) })
}

// Receive replaces t by what another rank sends.
func (g *Group) Receive(t tensor.Tensor, from int) *Work {
	return g.Batch(func(b *Batch) { b.Receive(t, from) })
}
