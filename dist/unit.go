package dist

import (
	"context"
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/core"
)

// A unit is parameters of one dtype that are gathered together. Each rank keeps an equal part
// of their elements, laid one after the other; the whole has memory only while it is used.
type unit struct {
	group  *Group
	names  []string
	params []*nn.Parameter // their elements are in whole
	whole  tensor.Tensor   // of all ranks' parts, with padding at the end; mostly evicted
	shard  tensor.Tensor   // this rank's part
	pieces []piece         // of all ranks; param counts in params
	parts  []*nn.Parameter // this rank's pieces, in shard

	gathered int64 // version of shard that whole was gathered from
	ahead    *Work // gathers the whole; nil once somebody has waited for it
	held     int   // gathers that ask for the whole to stay

	hold *bool // whether passes keep their gradients on this rank

	// Of the pass that is under way, and, with hold, of those before it.
	grads   tensor.Tensor // of whole; zero while none was taken
	kept    bool          // grads has those of earlier passes
	reduced tensor.Tensor // this rank's part of the averaged gradients
	work    *Work
	trained int // parameters that take part
	taken   int
}

// newUnit takes over parameters of one dtype, which are alike on all ranks.
func newUnit(g *Group, hold *bool, names []string, params []*nn.Parameter) (*unit, error) {
	u := &unit{group: g, hold: hold, names: names, params: params}
	n := 0
	for _, p := range params {
		n += p.NumElements()
	}
	ranks := g.Size()
	part := max(1, (n+ranks*grain-1)/(ranks*grain)) * grain
	var err error
	core.OutsideScope(func() {
		err = tensor.NoGrad(func() error {
			u.whole = tensor.Zeros([]int{part * ranks}, tensor.On(g.Device()), tensor.OfType(params[0].DType()))
			if err := u.lay(part); err != nil {
				return err
			}
			u.shard = u.whole.Narrow(0, part*g.Rank(), part).Clone()
			return u.shard.Err()
		})
	})
	if err != nil {
		return nil, err
	}
	for i := range u.pieces {
		if p := &u.pieces[i]; p.owner == g.Rank() {
			u.parts = append(u.parts, nn.NewParameter(u.shard.Narrow(0, u.at(p)-part*g.Rank(), p.to-p.from)))
		}
	}
	u.gathered = u.shard.Version()
	return u, u.evict()
}

// lay moves the parameters to their places in the whole, and cuts them into pieces.
func (u *unit) lay(part int) error {
	at := 0
	for i, p := range u.params {
		n := p.NumElements()
		view := u.whole.Narrow(0, at, n).View(p.Shape()...)
		if err := view.CopyFrom(p.Tensor); err != nil {
			return fmt.Errorf("%s: %w", u.names[i], err)
		}
		trained := p.RequiresGrad()
		old := p.Tensor
		if p.Tensor = view.Detach(); trained {
			p.Tensor = p.Tensor.RequireGrad()
			if err := p.Handle().SetTaker(u, i); err != nil {
				return fmt.Errorf("%s: %w", u.names[i], err)
			}
			u.trained++
		}
		old.Release()
		for from := 0; from < n; {
			owner := (at + from) / part
			to := min(n, (owner+1)*part-at)
			u.pieces = append(u.pieces, piece{i, owner, from, to})
			from = to
		}
		at += n
	}
	return nil
}

// at returns where a piece begins in the whole.
func (u *unit) at(p *piece) (at int) {
	for _, q := range u.params[:p.param] {
		at += q.NumElements()
	}
	return at + p.from
}

// begin has the whole be given its elements, if it has none.
func (u *unit) begin() error {
	if core.Recording() {
		return core.At(fmt.Errorf("%w: the memory of sharded parameters comes and goes; compile what a module computes, not its Forward", core.ErrUnrecordable))
	}
	if !u.whole.Handle().Away() {
		return nil
	}
	now := u.shard.Version()
	err := u.whole.Handle().Restore(now == u.gathered, func() error {
		return tensor.NoGrad(func() error {
			u.ahead = u.group.AllGather(u.whole, u.shard)
			return nil
		})
	})
	u.gathered = now
	if err != nil {
		u.group.Abort(err) // the others wait for this rank's part
	}
	return err
}

// gather has what is computed from now on see the elements of the whole. All ranks call it,
// and begin, in one order.
func (u *unit) gather() error {
	if u.ahead != nil && u.gathered != u.shard.Version() { // begun before a step
		if err := u.evict(); err != nil {
			return err
		}
	}
	if err := u.begin(); err != nil {
		return err
	}
	return u.await()
}

// await waits for a gather that was begun.
func (u *unit) await() error {
	if u.ahead == nil {
		return nil
	}
	work := u.ahead
	u.ahead = nil
	return u.ordered(work, u.whole)
}

// ordered has the current stream wait for what the group does with t, whose memory then is
// the stream's alone: given back, it serves what comes next.
func (u *unit) ordered(work *Work, t tensor.Tensor) error {
	err := work.Wait(context.Background())
	if err == nil && u.group.Device().Accelerator() {
		u.group.waited(t)
	}
	return err
}

// evict gives the whole's memory back, unless somebody holds it.
func (u *unit) evict() error {
	if u.held > 0 || u.whole.Handle().Away() {
		return nil
	}
	if err := u.await(); err != nil {
		return err
	}
	return u.whole.Handle().Evict()
}

// keep makes this rank's part what it is in the whole, where parameters were changed.
func (u *unit) keep() error {
	n := u.shard.NumElements()
	err := tensor.NoGrad(func() error { return u.shard.CopyFrom(u.whole.Narrow(0, n*u.group.Rank(), n)) })
	u.gathered = u.shard.Version()
	return err
}

// Take keeps the gradient of a parameter, and has all be reduced once all are there: then no
// other part of the pass reads parameters that are trained.
func (u *unit) Take(i int, g *core.Tensor) (err error) {
	if err := u.add(i, tensor.Wrap(g)); err != nil {
		return fmt.Errorf("%s: %w", u.names[i], err)
	}
	if u.taken++; u.taken < u.trained {
		return nil
	}
	if !*u.hold {
		if err := u.reduce(); err != nil {
			return err
		}
	}
	if u.trained < len(u.params) {
		return nil
	}
	return u.evict()
}

// add adds a gradient to those of the whole. That of a parameter alone in its unit is taken as
// it is, where nobody else has its memory.
func (u *unit) add(i int, g tensor.Tensor) error {
	p := u.params[i]
	if u.grads == (tensor.Tensor{}) {
		if !u.small() {
			if err := u.group.dividing.settle(); err != nil {
				return err
			}
		}
		if p.NumElements() == u.whole.NumElements() && g.IsContiguous() && g.Handle().Sole() {
			core.OutsideScope(func() {
				same := g.Detach()
				u.grads = same.View(-1)
				same.Release()
			})
			return u.grads.Err()
		}
		core.OutsideScope(func() {
			u.grads = tensor.Zeros(u.whole.Shape(), tensor.On(u.group.Device()), tensor.OfType(u.whole.DType()))
		})
	}
	first := piece{param: i}
	return tensor.Scope(func() error {
		to := u.grads.Narrow(0, u.at(&first), p.NumElements()).View(p.Shape()...)
		if u.kept {
			return to.AddInPlace(g)
		}
		return to.CopyFrom(g)
	})
}

// small reports whether the unit's gradients take little memory beside those that are being
// averaged: too little to wait for that.
func (u *unit) small() bool {
	other := u.group.dividing
	bytes := func(u *unit) int { return u.whole.NumElements() * u.whole.DType().Size() }
	return other != nil && other.grads != (tensor.Tensor{}) && bytes(u) < bytes(other)/64
}

// reduce begins to average the gradients; those that were not reached are zeros. Their memory
// is kept until the next unit needs as much, which waits for the average rather than that
// there are two.
func (u *unit) reduce() error {
	core.OutsideScope(func() { u.reduced = tensor.ZerosLike(u.shard) })
	u.work = u.group.ReduceScatter(u.reduced, u.grads, Average)
	if !u.small() {
		u.group.dividing = u
	}
	return u.reduced.Err()
}

// settle has the current stream wait for the average that was begun, and gives back what it
// is of. u may be nil.
func (u *unit) settle() error {
	if u == nil || u.work == nil || u.grads == (tensor.Tensor{}) {
		return nil
	}
	err := u.ordered(u.work, u.grads)
	u.grads.Release()
	u.grads = tensor.Tensor{}
	return err
}

// Finish ends a pass: the parts get their gradients, unless these are kept for a later pass.
func (u *unit) Finish(err error) error {
	if err == nil && *u.hold {
		u.kept, u.taken = true, 0
		return u.evict()
	}
	if err == nil && u.work == nil {
		err = u.reduce()
	}
	if err == nil {
		err = u.settle()
	}
	if err == nil {
		err = u.work.Wait(context.Background())
	}
	if err == nil {
		err = u.accumulate()
	}
	if u.group.dividing == u {
		u.group.dividing = nil
	}
	u.grads.Release()
	u.reduced.Release()
	u.grads, u.reduced, u.work, u.taken, u.kept = tensor.Tensor{}, tensor.Tensor{}, nil, 0, false
	if err != nil {
		u.group.Abort(err)
	}
	return errors.Join(err, u.evict())
}

// accumulate adds the averaged gradients to those that the parts have.
func (u *unit) accumulate() error {
	before, k := u.shard.NumElements()*u.group.Rank(), 0
	for i := range u.pieces {
		p := &u.pieces[i]
		if p.owner != u.group.Rank() {
			continue
		}
		part := u.parts[k]
		if k++; !u.params[p.param].RequiresGrad() {
			continue
		}
		g := u.reduced.Narrow(0, u.at(p)-before, p.to-p.from)
		old, has := part.Grad()
		var err error
		if has {
			err = old.AddInPlace(g)
			old.Release()
		} else {
			err = part.SetGrad(g)
		}
		g.Release()
		if err != nil {
			return fmt.Errorf("%s: %w", u.names[p.param], err)
		}
	}
	return nil
}
