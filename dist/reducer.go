package dist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/core"
)

// A reducer averages the gradients of a model over a group, in buckets, as a pass of
// Backward completes them. It takes them from the pass (core.Taker).
//
// Buckets are reduced in their order on every rank, whatever order gradients become ready
// in: one that is full waits for those before it.
type reducer struct {
	d       *DistributedDataParallel
	buckets []*bucket
	places  []spot // by parameter
	hold    bool   // gradients stay this rank's

	// Of the pass that is under way.
	under bool
	ended bool   // Finish was called
	taken []bool // by parameter
	order []int  // parameters as they became ready
	next  int    // the first bucket that is not being reduced
	few   bool   // the pass may leave parameters out

	// fixed: the memory of all gradients stays from pass to pass, as programs were recorded
	// that use it.
	fixed bool
	aside aside

	change  func(some []*nn.Parameter) error // makes a step of parameters as their averages arrive; nil: none is made
	changed bool                             // change was called for all of the pass

	wanted []int // the order that buckets are to be filled in; nil: as they are
	tuned  bool  // wanted was decided
	fills  int   // how often buckets were made
}

// newReducer fills buckets in the order that gradients mostly become ready in, the reverse
// of that of the parameters, and has the gradients come here.
func newReducer(d *DistributedDataParallel) *reducer {
	r := &reducer{d: d}
	order := make([]int, len(d.params))
	for i := range order {
		order[i] = len(order) - 1 - i
	}
	r.fill(order)
	r.taken = make([]bool, len(order))
	for i, p := range d.params {
		_ = p.Handle().SetTaker(r, i)
	}
	return r
}

// start begins a pass.
func (r *reducer) start() error {
	if r.under {
		return nil
	}
	if err := r.d.group.Err(); err != nil {
		return err
	}
	if r.wanted != nil {
		core.Unrecorded(func() { r.fill(r.wanted) })
		r.wanted = nil
	}
	if err := r.declare(); err != nil {
		return err
	}
	r.under, r.next, r.order = true, 0, nil
	clear(r.taken)
	for _, b := range r.buckets {
		b.ready, b.work = 0, nil
	}
	return nil
}

// declare has a pass that is recorded use the memory of gradients as it is.
func (r *reducer) declare() (err error) {
	if !core.Recording() {
		return nil
	}
	if !r.fixed {
		r.fixed = true
		core.Unrecorded(func() { err = r.layAll() })
	}
	for _, b := range r.buckets {
		for _, t := range b.memory(r) {
			core.Declare(t.Handle())
		}
	}
	fills, hold := r.fills, r.hold
	core.Guard("the buckets of data parallel training, or NoSync", func() bool { return r.fills == fills && r.hold == hold })
	return err
}

// Take adds the gradient of a parameter to what its bucket holds for it, and has the
// buckets reduced that are full.
func (r *reducer) Take(i int, g *core.Tensor) error {
	if err := r.start(); err != nil {
		return err
	}
	if r.taken[i] {
		return fmt.Errorf("internal error: the gradient of %s came twice", r.d.names[i])
	}
	if err := r.put(i, tensor.Wrap(g)); err != nil {
		return fmt.Errorf("%s: %w", r.d.names[i], err)
	}
	r.taken[i] = true
	r.order = append(r.order, i)
	r.places[i].bucket.ready++
	return r.reduceFull()
}

// reduceFull has every bucket reduced that is full and whose turn it is.
func (r *reducer) reduceFull() (err error) {
	if r.hold {
		return nil
	}
	for ; r.next < len(r.buckets) && err == nil; r.next++ {
		b := r.buckets[r.next]
		if b.ready < len(b.params) {
			return nil
		}
		core.OutsideScope(func() { err = r.reduce(b) })
	}
	return err
}

// empty is a pass of a rank that has no samples.
func (r *reducer) empty() (err error) {
	r.few = true
	defer func() { r.few = false }()
	core.NoGrad(func() {
		if err = r.start(); err == nil {
			err = r.Finish(nil)
		}
	})
	return err
}

// Finish ends a pass: buckets that are not full are completed, the current stream waits
// for all, and the parameters get their gradients.
func (r *reducer) Finish(err error) error {
	if err == nil {
		err = r.finish()
	}
	r.under, r.ended = false, true
	defer r.letGo()
	if err == nil {
		return nil
	}
	if !r.hold && !core.Recording() { // of which other ranks know nothing
		r.d.group.Abort(err)
	}
	for i, p := range r.d.params {
		old, has := p.Grad()
		if !has {
			continue
		}
		if r.apart(i) || old.Err() != nil || old.SharesStorage(r.places[i].view) {
			err = errors.Join(err, p.ZeroGrad())
		}
		old.Release()
	}
	return err
}

func (r *reducer) finish() error {
	if r.hold {
		return r.publish(r.taken)
	}
	has := make([]bool, len(r.taken))
	var missing []string
	for i, taken := range r.taken {
		has[i] = taken
		if taken {
			continue
		}
		missing = append(missing, r.d.names[i])
		g, there := r.d.params[i].Grad()
		if has[i] = there; there {
			g.Release()
		}
	}
	if len(missing) > 0 && !r.d.unused && !r.few {
		return fmt.Errorf("dist: rank %d: %w: the pass did not reach %s, which other ranks wait for; FindUnused allows that",
			r.d.group.Rank(), ErrUnused, strings.Join(missing, ", "))
	}
	for i, taken := range r.taken {
		if taken {
			continue
		}
		if err := r.put(i, tensor.Tensor{}); err != nil {
			return fmt.Errorf("%s: %w", r.d.names[i], err)
		}
		r.places[i].bucket.ready++
	}
	if err := r.reduceFull(); err != nil {
		return err
	}
	// Before anything changes: a GPU whose memory others reach may wait for theirs as memory is taken for
	// an optimizer's state, and these for the rank that has not made the call yet.
	if err := r.tune(len(missing) == 0); err != nil {
		return err
	}
	if err := r.await(); err != nil {
		return err
	}
	if r.d.unused {
		var err error
		if has, err = r.d.group.any(has); err != nil {
			return err
		}
	} else {
		for i := range has {
			has[i] = true
		}
	}
	if r.changed { // the gradients were given then
		return nil
	}
	return r.publish(has)
}

// ErrUnused is wrapped when a pass did not reach a parameter that it has to.
const ErrUnused ir.Error = "unused parameters"

// publish makes what was reduced the gradients of those parameters that have one.
func (r *reducer) publish(has []bool) error {
	for i := range r.d.params {
		if !has[i] {
			continue
		}
		if err := r.give(i); err != nil {
			return err
		}
	}
	return nil
}

// tune has buckets be filled, from the second pass that reached everything on, in the
// order in which gradients became ready in the first one on rank 0. Passes that are recorded
// leave buckets as they are.
func (r *reducer) tune(all bool) error {
	if r.tuned || r.d.unused || len(r.buckets) == 1 || core.Recording() {
		return nil
	}
	r.tuned = true
	order := make([]int32, len(r.taken))
	for k := range order {
		order[k] = int32(k)
		if all {
			order[k] = int32(r.order[k])
		}
	}
	return tensor.Scope(func() error {
		t := tensor.FromSlice(order, []int{len(order)}, tensor.On(r.d.group.Device()))
		if err := r.d.group.Broadcast(t, 0).Wait(context.Background()); err != nil {
			return err
		}
		first, err := tensor.Data[int32](t)
		if err != nil {
			return err
		}
		wanted := make([]int, len(first))
		for k, i := range first {
			wanted[k] = int(i)
		}
		if !slices.Equal(wanted, slices.Concat(r.filled()...)) {
			r.wanted = wanted
		}
		return nil
	})
}

// filled returns the parameters of each bucket.
func (r *reducer) filled() (out [][]int) {
	for _, b := range r.buckets {
		out = append(out, b.params)
	}
	return out
}
