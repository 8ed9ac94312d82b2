package core

import (
	"context"
	"math"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
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
	queues  []queue
	reads   [][]int // by buffer: the steps that read it; made when it is asked for
}

// A queue is a stream that was given steps.
type queue struct {
	drv device.Driver
	dev device.Device
	on  device.StreamID
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
				s := &r.program[i]
				if !h.constant(s) {
					continue
				}
				done := h.number(s) || h.run(s, s.dev, s.drv)
				if done {
					h.done = append(h.done, i)
				}
				if !done || !h.follows(s) {
					r.unsure.Store(true)
				}
			}
		})
	})
	if h.unread(p); len(h.done) == 0 {
		return h.settle
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
	return h.settle
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
	r.ownRefs()
}

// ownRefs gives the steps copies of their lists of places. The program before them, which runs may
// read meanwhile, keeps the old ones: the next program writes versions to its own.
func (r *recorder) ownRefs() {
	for i := range r.program {
		s := &r.program[i]
		s.Out, s.In = r.refs.clone(s.Out), r.refs.clone(s.In)
	}
}

// constant reports whether a step gives the same in every run, and to nobody but others.
func (h *hoister) constant(s *step) bool {
	if s.Action != program.Launch || refused(s) != "" || s.exchange != nil {
		return false
	}
	if graph.Of(s.drv, s.dev.Index, current(s.dev)) != nil {
		h.r.unsure.Store(true)
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

// follows reports whether what a step gives follows from numbers of the host.
func (h *hoister) follows(s *step) bool {
	return !slices.ContainsFunc(s.In, func(ref program.Ref) bool {
		return ref.Buffer >= 0 && h.r.buffers[ref.Buffer].number() == nil && !slices.Contains(h.made, ref.Buffer)
	})
}

// again runs steps that are recorded as they were when hoist ran them, and reports whether all
// ran.
func (h *hoister) again(steps []int) (all bool) {
	if len(steps) == 0 {
		return true
	}
	all = true
	Unrecorded(func() {
		OutsideScope(func() {
			for _, i := range steps {
				s := &h.r.program[i]
				all = all && graph.Of(s.drv, s.dev.Index, current(s.dev)) == nil && h.run(s, s.dev, s.drv)
			}
		})
	})
	return all
}

// number computes on the host what is one number for element-wise steps of an accelerator, which
// are launched with numbers of the host, and reports whether it did: where the device gives the
// same bits. Neither a launch nor the device is waited for then.
func (h *hoister) number(s *step) bool {
	c := &s.Call
	if !s.dev.Accelerator() || c.Op.Kind != ir.Elementwise || len(s.Out) != 1 || c.Out[0].NumElements() != 1 {
		return false
	}
	for _, ref := range s.In {
		if ref.Buffer < 0 || h.r.buffers[ref.Buffer].storage == nil || h.r.buffers[ref.Buffer].storage.block.Host == nil {
			return false
		}
	}
	out := s.Out[0].Buffer
	if h.r.buffers[out].Bytes != int64(c.Out[0].DType.Size()) || slices.ContainsFunc(h.readers(out), func(i int) bool {
		c := &h.r.program[i].Call
		return h.r.program[i].Action != program.Launch || c.Op.Kind != ir.Elementwise || len(c.In) < 2 // a kernel of one operand reads memory
	}) {
		return false
	}
	if !fusion.Portable(c.Kernel) {
		return false
	}
	host, err := device.DriverOf(device.KindCPU)
	return err == nil && h.run(s, device.CPU, host)
}

// readers returns the steps that read a buffer.
func (h *hoister) readers(buffer int) []int {
	if h.reads == nil {
		h.reads = make([][]int, len(h.r.buffers))
		for i := range h.r.program {
			for _, ref := range h.r.program[i].In {
				if ref.Buffer >= 0 {
					h.reads[ref.Buffer] = append(h.reads[ref.Buffer], i)
				}
			}
		}
	}
	return h.reads[buffer]
}

// run does a step now, on a device. It reports false, and changes nothing, where that fails: a
// run of the program will say why. NaN has other bits on other devices.
func (h *hoister) run(s *step, dev device.Device, drv device.Driver) bool {
	q := current(dev)
	c := s.Call
	c.Room = [6]unsafe.Pointer{}
	c.Out, c.In = slices.Clone(c.Out), slices.Clone(c.In)
	to := make([]*Storage, len(s.Out))
	for j, ref := range s.Out {
		var err error
		if to[j], err = newStorage(dev, drv, q, h.r.buffers[ref.Buffer].Bytes); err != nil {
			return false
		}
		see(&c.Out[j], to[j], ref.Offset)
	}
	for j, ref := range s.In {
		if ref.Buffer >= 0 {
			see(&c.In[j], h.r.buffers[ref.Buffer].storage, ref.Offset)
		}
	}
	if give(drv, dev, q, &c) != nil {
		return false
	}
	if dev != s.dev && math.IsNaN(decode(to[0].host(), c.Out[0].DType).Float()) {
		return false
	}
	for j, ref := range s.Out {
		b := &h.r.buffers[ref.Buffer]
		h.bytes += b.Bytes
		v := &s.Call.Out[j]
		b.dev, b.drv, b.Device = dev, drv, dev.String()
		b.Kind, b.storage, b.handle = program.Constant, to[j], newTensor(to[j], dev, ir.ContiguousLayout(v.Shape), v.DType)
		b.handle.wrapped = to[j].block.Host != nil && b.Bytes == int64(v.DType.Size()) // a number
		h.made = append(h.made, ref.Buffer)
	}
	if dev.Accelerator() && !slices.ContainsFunc(h.queues, func(to queue) bool { return to.dev == dev }) {
		h.queues = append(h.queues, queue{drv, dev, q})
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

// settle waits until the devices have done what they were given: runs come on any stream.
func (h *hoister) settle() (err error) {
	if len(h.queues) == 0 {
		return nil
	}
	Unrecorded(func() {
		OutsideScope(func() {
			for _, q := range h.queues {
				if err = stream.Settle(context.Background(), q.drv, q.dev, q.on); err != nil {
					return
				}
			}
		})
	})
	return err
}
