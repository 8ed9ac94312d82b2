package core

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// A way is how a graph comes by the memory of a buffer.
type way uint8

const (
	inPlace way = iota // it is where it was when the graph was captured
	carried            // it is copied to the graph's memory before a run, or from there behind it
	bound              // the kernels are given its address before each run
)

const (
	// bindFrom is how many bytes a buffer has for each step that uses it, at least, where
	// giving the steps' kernels its address costs less than a copy.
	bindFrom = 1 << 18
	// alignment is what kernels are chosen by at most: others are for addresses that differ
	// in what is left of them.
	alignment = 64
)

// alike reports whether the kernels that were chosen for one address serve another.
func alike(a, b uint64) bool { return a%alignment == b%alignment }

// moves returns the way of a result that is to be its caller's.
func (rec *Recorded) moves(i int) way {
	if rec.bindable(i) {
		return bound
	}
	return carried
}

// movesFrom returns the way of a buffer that was there before the run, and is somewhere else
// than when the graph was captured.
func (rec *Recorded) movesFrom(i int, now, captured uint64) way {
	switch {
	case rec.bindable(i) && alike(now, captured):
		return bound
	case rec.written[i] || rec.buffers[i].Kind == program.State:
		return inPlace
	}
	return carried
}

// bindable reports whether kernels can be given the address of a buffer, and it is worth it:
// only kernels of bodies use it, whose launches depend on how it is aligned and on nothing
// else of it.
func (rec *Recorded) bindable(i int) bool {
	b := &rec.buffers[i]
	if rec.capture.unbound || b.dev != rec.capture.device || b.Kind == program.State || b.Kind == program.Constant {
		return false
	}
	uses := func(r program.Ref) bool { return r.Buffer == i }
	n := int64(0)
	for k := range rec.steps {
		s := &rec.steps[k]
		if !slices.ContainsFunc(s.Out, uses) && !slices.ContainsFunc(s.In, uses) {
			continue
		}
		if s.Action != program.Launch {
			return false
		}
		op := s.Call.Op
		if body := op.Kind == ir.Elementwise || op.Kind == ir.Reduction || op.Tags&ir.TagFused != 0; !body || s.Call.Copied() != nil {
			return false // a copy may be the driver's, and no kernel
		}
		n++
	}
	return b.Bytes >= n*bindFrom || b.Kind != program.Result && rec.written[i]
}

// binds reports whether step i uses memory that is bound.
func (rec *Recorded) binds(i int) bool {
	is := func(r program.Ref) bool { return r.Buffer >= 0 && rec.capture.ways[r.Buffer] == bound }
	return slices.ContainsFunc(rec.steps[i].Out, is) || slices.ContainsFunc(rec.steps[i].In, is)
}

// unbind has nothing be bound from now on: a device could not give a kernel another address.
// The caller holds the capture's mutex.
func (rec *Recorded) unbind() {
	c := &rec.capture
	c.unbound = true
	for i, w := range c.ways {
		switch {
		case w != bound:
		case rec.written[i] && rec.buffers[i].Kind != program.Result:
			c.ways[i] = inPlace
		default:
			c.ways[i] = carried
		}
	}
	c.drop()
}

// bindResults allocates the bound results of the run that a graph is captured for. It is the
// caller's memory, and not of the graph's pool.
func (rec *Recorded) bindResults(k *captured) (err error) {
	for i := range rec.buffers {
		b := &rec.buffers[i]
		if b.Kind != program.Result || rec.capture.ways[i] != bound {
			continue
		}
		if k.static[i], err = newStorage(b.dev, b.drv, current(b.dev), b.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// fresh returns memory for a result that is the caller's.
func (rec *Recorded) fresh(k *captured, i int) (*Storage, error) {
	b := &rec.buffers[i]
	if s := k.static[i]; rec.capture.ways[i] == bound && s != nil {
		k.static[i] = nil
		return s, nil
	}
	return newStorage(b.dev, b.drv, current(b.dev), b.Bytes)
}

// rebind sets the addresses of views that are bound to those of the run that is under way.
func (rec *Recorded) rebind(k *captured, views []ir.View, refs []program.Ref) (changed bool) {
	for i, r := range refs {
		if r.Buffer < 0 || rec.capture.ways[r.Buffer] != bound {
			continue
		}
		if at := k.out.places[r.Buffer].addr + uint64(r.Offset); views[i].Addr != at {
			views[i].Addr, changed = at, true
		}
	}
	return changed
}
