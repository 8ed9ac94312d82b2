package core

import (
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// KernelInto applies an operator on lists of tensors, whose results are written over
// tensors that exist. It is for steps of optimizers over many tensors in few launches.
//
// Every entry of Op.Out and of Op.In stands for a list of n tensors: writes holds
// the n tensors of the first result, then those of the second, and so on, and a.In
// the operands in the same way. The kernel finds them so in Call.Out and Call.In,
// n = len(Call.Out)/len(Op.Out). The i-th tensors of all lists have one shape, but
// an operand may also have no axes. A result whose descriptor names a dtype has
// that one; all other results, and the operands without a fixed dtype, agree in the
// dtype that the kernel computes in. What is written may be an operand, too, when
// it is exactly the same elements, and the kernel reads each element before it
// writes it. a.Dims, a.Shapes, a.Save and a.Backward are not used.
//
// Nothing is recorded: an error says so where a tensor to write requires gradients
// and operators are recorded. All tensors that were written count as changed in
// place. When there is an error, nothing was launched.
func KernelInto(a Apply, writes []*Tensor) error {
	a.Dims, a.Shapes, a.Backward = nil, nil, nil
	p := newApplication(&a)
	err := p.kernelInto(writes)
	p.free()
	if err != nil {
		return at(fmt.Errorf("%s: in place: %w", a.Op.Name, err))
	}
	return nil
}

func (p *application) kernelInto(writes []*Tensor) error {
	op, in := p.a.Op, p.a.In
	n := len(writes) / max(len(op.Out), 1)
	if n*len(op.Out) != len(writes) || n*len(op.In) != len(in) {
		return fmt.Errorf("%w: %d tensors to write and %d operands do not make lists of one length for %d results and %d operands",
			ir.ErrShape, len(writes), len(in), len(op.Out), len(op.In))
	}
	if n == 0 {
		return nil
	}
	if err := p.a.checkVariant(); err != nil {
		return err
	}
	if err := op.Accepts(p.a.Attrs...); err != nil {
		return err
	}
	if err := p.placeInto(writes); err != nil {
		return err
	}
	for i, t := range writes {
		if err := p.checkWrite(t, writes[i%n], i/n); err != nil {
			return fmt.Errorf("%s %d: %w", op.Out[i/n].Name, i%n, err)
		}
	}
	for i, t := range in {
		err := p.checkRead(t, writes[i%n], &op.In[i/n])
		if err == nil && op.Tags&ir.TagNarrow != 0 && t.dtype != in[0].dtype {
			err = fmt.Errorf("%w: it is %s, others are %s", ErrDType, t.dtype, in[0].dtype)
		}
		if err != nil {
			return fmt.Errorf("%s %d: %w", op.In[i/n].Name, i%n, err)
		}
	}
	if !op.DTypes.Has(p.compute) {
		return fmt.Errorf("%w: not implemented for %s (have %s)", ErrDType, p.compute, dtypeList(op.DTypes))
	}
	if err := checkWritesApart(op, writes, in, n); err != nil {
		return err
	}
	c := p.prepare(len(writes), len(in))
	for i, t := range writes {
		t.storage.view(&c.Out[i], &t.layout, t.dtype)
	}
	for i, t := range in {
		if t != nil {
			t.storage.view(&c.In[i], &t.layout, t.dtype)
		}
	}
	p.writes = writes
	err := p.launch()
	keepAlive(writes)
	if err != nil {
		return err
	}
	for _, t := range writes {
		t.storage.version.Add(1)
	}
	return nil
}

// placeInto finds device, stream and compute dtype of an application that writes
// over tensors: the first's, of a result that has no dtype of its own.
func (p *application) placeInto(writes []*Tensor) error {
	op, n := p.a.Op, len(writes)/len(p.a.Op.Out)
	for i, t := range writes {
		if t == nil {
			return fmt.Errorf("%s %d: %w", op.Out[i/n].Name, i%n, ErrZeroTensor)
		}
		if f := t.broken(); f != nil {
			return f.report()
		}
		if p.compute == ir.Invalid && op.Out[i/n].DType == ir.Invalid {
			p.compute = t.dtype
		}
	}
	if p.compute == ir.Invalid {
		p.compute = op.Fixed
	}
	p.dev, p.drv, p.stream = writes[0].dev, writes[0].storage.drv, current(writes[0].dev)
	return nil
}

// checkWrite validates a tensor that result r is written to; like has the shape.
func (p *application) checkWrite(t, like *Tensor, r int) error {
	want := p.a.Op.Out[r].DType
	if want == ir.Invalid {
		want = p.compute
	}
	switch {
	case t.dev != p.dev:
		return fmt.Errorf("%w: it is on %s, others on %s", device.ErrMismatch, t.dev, p.dev)
	case t.dtype != want:
		return fmt.Errorf("%w: it must be %s, not %s", ErrDType, want, t.dtype)
	case !equalInts(t.layout.Shape, like.layout.Shape):
		return fmt.Errorf("%w: it has shape %v, another of its place %v", ir.ErrShape, t.layout.Shape, like.layout.Shape)
	case !t.layout.IsContiguous() && t.layout.SelfOverlaps():
		return fmt.Errorf("%w: several of its elements (shape %v, strides %v) share one place; clone it first", ErrOverlap, t.layout.Shape, t.layout.Strides)
	case t.grad != nil && GradEnabled():
		return fmt.Errorf("%w: a tensor that requires gradients cannot be changed by this operator while operators are recorded; use NoGrad", ErrNoGrad)
	}
	return t.changeable()
}

// checkRead validates an operand; like has the shape.
func (p *application) checkRead(t, like *Tensor, o *ir.Operand) error {
	if t == nil {
		if o.Optional {
			return nil
		}
		return ErrZeroTensor
	}
	if f := t.broken(); f != nil {
		return f.report()
	}
	want := o.Fixed
	if want == ir.Invalid && o.DTypes == 0 {
		want = p.compute
	}
	switch {
	case t.dev != p.dev && !t.hostScalar():
		return fmt.Errorf("%w: it is on %s, what is written on %s", device.ErrMismatch, t.dev, p.dev)
	case want != ir.Invalid && t.dtype != want && (o.Fixed != ir.Invalid || !p.a.Op.Reads(t.dtype, want)):
		return fmt.Errorf("%w: it must be %s, not %s", ErrDType, want, t.dtype)
	case want == ir.Invalid && !o.DTypes.Has(t.dtype):
		return fmt.Errorf("%w: it must be %s, not %s", ErrDType, dtypeList(o.DTypes), t.dtype)
	case len(t.layout.Shape) > 0 && !equalInts(t.layout.Shape, like.layout.Shape):
		return fmt.Errorf("%w: it has shape %v, what is written %v", ir.ErrShape, t.layout.Shape, like.layout.Shape)
	}
	return nil
}

// A writeTable finds which tensors of a list are written in a storage.
type writeTable struct {
	slots []int32 // 1 + index in the list, by the storage's hash; 0 for none
	after []int32 // for each of the list, 1 + index of the next of its storage
}

var (
	writeTables = sync.Pool{New: func() any { return new(writeTable) }}
	writeSeed   = maphash.MakeSeed()
)

// first returns 1 + the index of the first tensor in s, and its slot.
func (w *writeTable) first(s *Storage, writes []*Tensor) (index int32, slot int) {
	mask := len(w.slots) - 1
	h := maphash.Comparable(writeSeed, s)
	for slot = int(h) & mask; w.slots[slot] != 0 && writes[w.slots[slot]-1].storage != s; slot = (slot + 1) & mask {
	}
	return w.slots[slot], slot
}

// index enters all of writes, and reports two that share elements.
func (w *writeTable) index(op *ir.Op, writes []*Tensor, n int) error {
	size := 16
	for size < 2*len(writes) {
		size *= 2
	}
	if len(w.slots) < size {
		w.slots = make([]int32, size)
	}
	if len(w.after) < len(writes) {
		w.after = make([]int32, size)
	}
	clear(w.slots)
	for i, t := range writes {
		next, slot := w.first(t.storage, writes)
		w.after[i] = next
		for ; next != 0; next = w.after[next-1] {
			if j := int(next - 1); overlap(t, writes[j]) {
				return fmt.Errorf("%w: %s %d and %s %d, both to be written, share elements", ErrOverlap, op.Out[j/n].Name, j%n, op.Out[i/n].Name, i%n)
			}
		}
		w.slots[slot] = int32(i + 1)
	}
	return nil
}

// checkWritesApart reports tensors to write that share elements with each other,
// and operands that share them other than as the tensor written in their place.
func checkWritesApart(op *ir.Op, writes, in []*Tensor, n int) error {
	w := writeTables.Get().(*writeTable)
	defer writeTables.Put(w)
	if err := w.index(op, writes, n); err != nil {
		return err
	}
	for i, t := range in {
		if t == nil {
			continue
		}
		next, _ := w.first(t.storage, writes)
		for ; next != 0; next = w.after[next-1] {
			j := int(next - 1)
			if !overlap(t, writes[j]) || j%n == i%n && sameElements(t, writes[j]) {
				continue
			}
			return fmt.Errorf("%w: %s %d, which is read, and %s %d, to be written, share elements; clone one of them first",
				ErrOverlap, op.In[i/n].Name, i%n, op.Out[j/n].Name, j%n)
		}
	}
	return nil
}

// overlap reports whether two tensors of one storage may share elements.
func overlap(t, u *Tensor) bool {
	if t.NumElements() == 0 || u.NumElements() == 0 {
		return false
	}
	if t.dtype != u.dtype {
		return true
	}
	return t.layout.MayOverlap(u.layout)
}

// sameElements reports whether two tensors of one storage are the same elements in
// the same order.
func sameElements(t, u *Tensor) bool {
	return t.layout.Offset == u.layout.Offset && t.dtype == u.dtype &&
		equalInts(t.layout.Shape, u.layout.Shape) && equalInts(t.layout.Strides, u.layout.Strides)
}
