package core

import (
	"context"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
)

// mostHoisted is how many bytes a program keeps at most of what is the same in every run.
const mostHoisted = 1 << 20

// A hoister computes what is the same in every run, once.
type hoister struct {
	r       *recorder
	writers []int // by buffer: how many steps write to it
	used    []bool
	bytes   int64
	done    []int // steps
	made    []int // buffers
}

// hoist runs the steps that depend on nothing but constants, makes constants of what they
// give, and takes them out of the program. What cannot be run now stays where it is.
// Element-wise steps whose results nobody reads are taken out, too.
// Settle, which it returns, waits until devices have computed them.
func (r *recorder) hoist(p *program.Program) (settle func() error) {
	h := &hoister{r: r, writers: make([]int, len(p.Buffers)), used: make([]bool, len(p.Buffers))}
	for i := range p.Steps {
		for _, o := range p.Steps[i].Out {
			h.writers[o.Buffer]++
		}
		for _, o := range p.Steps[i].In {
			if o.Buffer >= 0 {
				h.used[o.Buffer] = true
			}
		}
	}
	Unrecorded(func() {
		OutsideScope(func() {
			for i := range p.Steps {
				if h.constant(&r.program[i]) && h.run(&r.program[i]) {
					h.done = append(h.done, i)
				}
			}
		})
	})
	settle = h.settling()
	if h.unread(p); len(h.done) == 0 {
		return settle
	}
	r.without(h.done)
	for i := range r.program {
		s := &r.program[i]
		for j := range s.In {
			if slices.Contains(h.made, s.In[j].Buffer) {
				s.In[j].Version = 0
			}
		}
	}
	return settle
}

// unread adds to the steps that are done those that need not be: element-wise ones that write
// temporaries alone, which nobody reads behind them but such steps.
func (h *hoister) unread(p *program.Program) {
	needed := make([]bool, len(p.Buffers))
	for i := range needed {
		needed[i] = p.Buffers[i].Kind != program.Temporary
	}
	for i := len(p.Steps) - 1; i >= 0; i-- {
		s := &h.r.program[i]
		if _, hoisted := slices.BinarySearch(h.done, i); hoisted {
			continue
		}
		needs := s.Action != program.Launch || s.Call.Op.Kind != ir.Elementwise || refused(s) != "" || s.exchange != nil ||
			slices.ContainsFunc(s.Out, func(r program.Ref) bool { return needed[r.Buffer] })
		if !needs {
			at, _ := slices.BinarySearch(h.done, i)
			h.done = slices.Insert(h.done, at, i)
			continue
		}
		for _, list := range [2][]program.Ref{s.Out, s.In} {
			for _, r := range list {
				if r.Buffer >= 0 {
					needed[r.Buffer] = true
				}
			}
		}
	}
}

// without takes steps out of the program, which are ascending numbers, and has buffers name
// those that are left.
func (r *recorder) without(gone []int) {
	steps, rest := r.program[:0], gone
	for i := range r.program {
		if len(rest) > 0 && rest[0] == i {
			rest = rest[1:]
		} else {
			steps = append(steps, r.program[i])
		}
	}
	r.program = steps
	left := func(step int) int { // of those before step
		n, _ := slices.BinarySearch(gone, step)
		return step - n
	}
	for i := range r.buffers {
		b := &r.buffers[i]
		if b.Made = left(b.Made); b.Released >= 0 { // below 0 where an eager run keeps it
			b.Released = left(b.Released)
		}
	}
	for i := range steps { // whose versions the other program keeps
		s := &steps[i]
		s.Out, s.In = r.refs.clone(s.Out), r.refs.clone(s.In)
	}
}

// constant reports whether a step gives the same in every run, and to nobody but others.
func (h *hoister) constant(s *step) bool {
	if s.Action != program.Launch || refused(s) != "" || s.exchange != nil || graph.Of(s.drv, s.dev.Index, current(s.dev)) != nil {
		return false
	}
	for _, ref := range s.In {
		if ref.Buffer >= 0 && h.r.buffers[ref.Buffer].Kind != program.Constant {
			return false
		}
	}
	bytes := h.bytes
	for _, ref := range s.Out {
		b := &h.r.buffers[ref.Buffer]
		if b.Kind != program.Temporary || h.writers[ref.Buffer] != 1 || b.dev != s.dev {
			return false
		}
		bytes += b.Bytes
	}
	return bytes <= mostHoisted && slices.ContainsFunc(s.Out, func(r program.Ref) bool { return h.used[r.Buffer] })
}

// run does a step now. It reports false, and changes nothing, where that fails: a run of the
// program will say why.
func (h *hoister) run(s *step) bool {
	q := current(s.dev)
	c := s.Call
	c.Room = [6]unsafe.Pointer{}
	c.Out, c.In = slices.Clone(c.Out), slices.Clone(c.In)
	to := make([]*Storage, len(s.Out))
	for j, ref := range s.Out {
		var err error
		if to[j], err = newStorage(s.dev, s.drv, q, h.r.buffers[ref.Buffer].Bytes); err != nil {
			return false
		}
		see(&c.Out[j], to[j], ref.Offset)
	}
	for j, ref := range s.In {
		if ref.Buffer >= 0 {
			see(&c.In[j], h.r.buffers[ref.Buffer].storage, ref.Offset)
		}
	}
	if give(s.drv, s.dev, q, &c) != nil {
		return false
	}
	for j, ref := range s.Out {
		b := &h.r.buffers[ref.Buffer]
		h.bytes += b.Bytes
		v := &s.Call.Out[j]
		b.Kind, b.storage, b.handle = program.Constant, to[j], newTensor(to[j], s.dev, ir.ContiguousLayout(v.Shape), v.DType)
		b.handle.wrapped = to[j].block.Host != nil && b.Bytes == int64(v.DType.Size()) // a number
		h.made = append(h.made, ref.Buffer)
	}
	return true
}

// see has a view be in a storage, or in none.
func see(v *ir.View, s *Storage, offset int64) {
	switch {
	case s == nil || s.bytes == 0:
		v.Ptr = unsafe.Pointer(&noElements)
	case s.block.Host != nil:
		v.Ptr = unsafe.Add(s.block.Host, offset)
	default:
		v.Addr = s.block.Addr + uint64(offset)
	}
}

// settling returns what waits until the devices have done what they were given: runs come on any
// stream. Steps that are done have other numbers when it is called.
func (h *hoister) settling() func() error {
	type queue struct {
		drv device.Driver
		dev device.Device
		on  device.StreamID
	}
	var list []queue
	for _, i := range h.done {
		s := &h.r.program[i]
		if s.dev.Accelerator() && !slices.ContainsFunc(list, func(q queue) bool { return q.dev == s.dev }) {
			list = append(list, queue{s.drv, s.dev, current(s.dev)})
		}
	}
	return func() (err error) {
		Unrecorded(func() {
			OutsideScope(func() {
				for _, q := range list {
					if err = stream.Settle(context.Background(), q.drv, q.dev, q.on); err != nil {
						return
					}
				}
			})
		})
		return err
	}
}
