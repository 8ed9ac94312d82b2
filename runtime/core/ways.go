package core

import (
	"fmt"
	"slices"
	"weak"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A way is how a graph comes by the memory of a buffer.
type way uint8

const (
	inPlace way = iota // it is where it was when the graph was captured
	carried            // it is copied to the graph's memory before a run, or from there behind it
	inside             // the graph copies it so, by a kernel that is given its address before each run
	bound              // the kernels are given its address before each run
)

const (
	// bindFrom is how many bytes a buffer has for each step that uses it, at least, where
	// giving the steps' kernels its address costs less than a copy.
	bindFrom = 1 << 18
	// copiedBelow is how many bytes a buffer has that a kernel of the graph copies: larger ones
	// are the driver's to copy.
	copiedBelow = 1 << 20
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
	return rec.copying(i)
}

// copying returns the way of a buffer that is copied.
func (rec *Recorded) copying(i int) way {
	if b := &rec.buffers[i]; rec.capture.unbound || b.dev != rec.capture.device || b.Bytes == 0 || b.Bytes >= copiedBelow {
		return carried
	}
	return inside
}

// movesFrom returns the way of a buffer that was there before the run, and is somewhere else
// than when the graph was captured.
func (rec *Recorded) movesFrom(i int, now, captured uint64) way {
	switch {
	case rec.bindable(i) && alike(now, captured):
		return bound
	case rec.written[i] || rec.buffers[i].Kind == program.State:
		return inPlace
	case !alike(now, captured):
		return carried
	}
	return rec.copying(i)
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
		case w == inside:
			c.ways[i] = carried
		case w != bound:
		case rec.written[i] && rec.buffers[i].Kind != program.Result:
			c.ways[i] = inPlace
		default:
			c.ways[i] = carried
		}
	}
	c.drop()
}

// firstResults allocates those results of the run that a graph is captured for of which its
// kernels are given the addresses. It is the caller's memory, and not of the graph's pool.
func (rec *Recorded) firstResults(k *captured) (err error) {
	for i := range rec.buffers {
		b := &rec.buffers[i]
		if w := rec.capture.ways[i]; b.Kind != program.Result || w != bound && w != inside {
			continue
		}
		if k.first[i], err = newStorage(b.dev, b.drv, current(b.dev), b.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// fresh returns memory for a result that is the caller's.
func (rec *Recorded) fresh(k *captured, i int) (*Storage, error) {
	b := &rec.buffers[i]
	if s := k.first[i]; s != nil {
		k.first[i] = nil
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

// copies has the graph copy what comes to its memory or, with results set, goes from there,
// on a stream.
func (rec *Recorded) copies(k *captured, on stream.Stream, results bool) error {
	for _, i := range rec.outer {
		if rec.capture.ways[i] != inside || results != (rec.buffers[i].Kind == program.Result) {
			continue
		}
		if err := on.Do(func() error { return rec.copiedBy(k, i) }); err != nil {
			return err
		}
	}
	return nil
}

// copiedBy has a kernel of the graph copy buffer i.
func (rec *Recorded) copiedBy(k *captured, i int) error {
	b, c := &rec.buffers[i], &rec.capture
	t := ir.Uint8 // or the widest that divides the size and both addresses
	switch all := uint64(b.Bytes) | k.at[i] | k.outside[i]; {
	case all%8 == 0:
		t = ir.Int64
	case all%4 == 0:
		t = ir.Int32
	}
	n := int(b.Bytes) / t.Size()
	view := func(addr uint64) []ir.View {
		return []ir.View{{DType: t, Shape: []int{n}, Strides: []int{1}, Addr: addr}}
	}
	call := ir.Call{Kernel: copyOp.Kernel(0, t), Space: []int{n}, Flat: true, Out: view(k.at[i]), In: view(k.outside[i])}
	outside := func(c *ir.Call) *ir.View { return &c.In[0] }
	if b.Kind == program.Result {
		call.Out, call.In = call.In, call.Out
		outside = func(c *ir.Call) *ir.View { return &c.Out[0] }
	}
	weakly := weak.Make(k) // the graph keeps what renews its calls, which may not keep the graph
	renew := func(c *ir.Call) (bool, error) {
		k := weakly.Value()
		if k == nil {
			return false, fmt.Errorf("%s: internal error: the graph of a program that is gone", c.Op.Name)
		}
		v, at := outside(c), k.out.places[i].addr
		changed := v.Addr != at
		v.Addr = at
		return changed, nil
	}
	return graph.Renewing(renew, func() error { return give(c.driver, c.device, current(c.device), &call) })
}
