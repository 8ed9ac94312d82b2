package core

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// checkDst validates a tensor that a result is written to.
func (p *application) checkDst(dst *Tensor, shape []int) error {
	if recorders.Held() {
		p.writes = append(p.writes, dst)
	}
	switch {
	case dst.dev != p.dev:
		return fmt.Errorf("%w: the result is on %s, the tensor to write on %s", device.ErrMismatch, p.dev, dst.dev)
	case !equalInts(dst.layout.Shape, shape):
		return fmt.Errorf("%w: the result has shape %v, the tensor to write %v", ir.ErrShape, shape, dst.layout.Shape)
	case !ir.CanCast(p.resultDType(0), dst.dtype):
		return fmt.Errorf("%w: result type %s can't be cast to %s", ErrDType, p.resultDType(0), dst.dtype)
	case dst.layout.SelfOverlaps():
		return fmt.Errorf("%w: several elements of the tensor to write (shape %v, strides %v) share one place; clone it first",
			ErrOverlap, dst.layout.Shape, dst.layout.Strides)
	}
	return nil
}

// writable validates dst as the target of an out form.
func (a *Apply) writable(dst *Tensor) error {
	if dst == nil {
		return fmt.Errorf("%s: %w", a.Op.Name, ErrZeroTensor)
	}
	if err := a.outArgument(dst, -1, true); err != nil {
		return err
	}
	for i, t := range a.In {
		if t == nil {
			continue
		}
		if err := a.outArgument(t, i, a.Backward != nil || t == dst); err != nil {
			return err
		}
	}
	return nil
}

// outArgument validates one tensor that an out form is given, the operand at i or, with
// i negative, the one to write; noGrad where it must not require gradients.
func (a *Apply) outArgument(t *Tensor, i int, noGrad bool) error {
	if err := a.unusable(t, i); err != nil {
		return err
	}
	if t.grad != nil && noGrad && GradEnabled() {
		return fmt.Errorf("%s: out forms do not take part in differentiation, but an argument requires gradients; use NoGrad or the plain form", a.Op.Name)
	}
	return nil
}

// unusable returns the error of a tensor that cannot be used: what it carries, or what was
// done to it, with the names of the operator and of the operand at i.
func (a *Apply) unusable(t *Tensor, i int) error {
	f := t.broken()
	switch {
	case f == nil:
		return nil
	case t.fail.Load() != nil:
		return f.report()
	}
	f.seen.Store(true) // the new one takes over
	if i < 0 {
		return at(fmt.Errorf("%s: the tensor to write: %w", a.Op.Name, f.bare))
	}
	return at(fmt.Errorf("%s: %w", a.Op.Name, misused(a.Op, i, f.bare)))
}

// checkOverlap reports operands that share memory with dst. Where sameLayout is
// set an operand may be exactly dst.
func checkOverlap(op *ir.Op, dst *Tensor, in []*Tensor, sameLayout bool) error {
	for i, t := range in {
		if t == nil || t.storage != dst.storage || t.NumElements() == 0 {
			continue
		}
		if (sameLayout && sameElements(t, dst)) || !t.layout.MayOverlap(dst.layout) {
			continue
		}
		return fmt.Errorf("%w: operand %s and the tensor to write share elements; clone one of them first", ErrOverlap, operandOf(op, i).Name)
	}
	return nil
}

// runOut runs an out form by one of the application's methods.
func (a *Apply) runOut(dst *Tensor, sameLayout bool, run func(*application, *Tensor) (*Tensor, error)) error {
	return NotWritten(dst, a.writeOut(dst, sameLayout, run))
}

func (a *Apply) writeOut(dst *Tensor, sameLayout bool, run func(*application, *Tensor) (*Tensor, error)) error {
	if err := a.writable(dst); err != nil {
		return at(err)
	}
	if err := dst.changeable(); err != nil {
		return at(fmt.Errorf("%s: %w", a.Op.Name, err))
	}
	others := a.In
	if a.Op.Tags&ir.TagUpdates != 0 && dst.storage == a.In[0].storage && sameElements(dst, a.In[0]) {
		others = append([]*Tensor{nil}, a.In[1:]...)
	}
	if err := checkOverlap(a.Op, dst, others, sameLayout); err != nil {
		return at(fmt.Errorf("%s: %w", a.Op.Name, err))
	}
	if dst.dtype.Carried() || a.carries(a.In) {
		if err := a.writeCarried(dst); err != nil {
			return at(fmt.Errorf("%s: %w", a.Op.Name, err))
		}
	} else if _, err := apply(a, dst, run); err != nil {
		return at(fmt.Errorf("%s: %w", a.Op.Name, err))
	}
	dst.storage.version.Add(1)
	return nil
}

// ElementwiseOut writes the result of a to dst, which must have the result's
// shape and device, and a dtype that the result's casts to. The operands are a.In, or
// in.
func ElementwiseOut(dst *Tensor, a Apply, in ...*Tensor) error {
	if in != nil {
		a.In = slices.Clone(in)
	}
	return a.runOut(dst, true, (*application).elementwise)
}

// ReduceOut is ElementwiseOut for reductions.
func ReduceOut(dst *Tensor, a Apply) error { return a.runOut(dst, false, (*application).reduce) }

// ScanOut is ElementwiseOut for scans.
func ScanOut(dst *Tensor, a Apply) error { return a.runOut(dst, false, (*application).scan) }

// KernelOut is ElementwiseOut for kernels with one result. Kernels write their
// result's dtype, so dst must have exactly that. It may be the first operand of one that
// updates this.
func KernelOut(dst *Tensor, a Apply) error { return a.runOut(dst, false, (*application).kernelOne) }

// CopyOut copies the result of a composition to dst.
func CopyOut(dst *Tensor, op *ir.Op, out *Tensor) error {
	if err := out.Err(); err != nil {
		return NotWritten(dst, err)
	}
	a := Apply{Op: copyAs(op), In: []*Tensor{out}, Backward: copyBackward}
	return ElementwiseOut(dst, a)
}

// ElementwiseInPlace writes the result of a to its first operand and counts as a
// change of that storage. When it is recorded, the handle in a.In[0] stands for
// the result from then on, and other views of the storage may no longer be used
// in recorded operators. The operands are a.In, or in.
func ElementwiseInPlace(a Apply, in ...*Tensor) error {
	if in != nil {
		a.In = slices.Clone(in)
	}
	dst := a.In[0] // which may become another when it is recorded
	for i, t := range a.In {
		if t == nil {
			return NotWritten(dst, at(fmt.Errorf("%s: %w", a.Op.Name, ErrZeroTensor)))
		}
		if err := a.unusable(t, i); err != nil {
			return NotWritten(dst, err)
		}
	}
	if err := elementwiseInPlace(&a); err != nil {
		return NotWritten(dst, at(fmt.Errorf("%s: in place: %w", a.Op.Name, err)))
	}
	return nil
}

func elementwiseInPlace(a *Apply) error {
	dst := a.In[0]
	if err := checkEpochs(a.Op, a.In); err != nil {
		return err
	}
	if err := dst.changeable(); err != nil {
		return err
	}
	if dst.grad != nil && dst.grad.node == nil && GradEnabled() {
		return fmt.Errorf("%w: a leaf that requires gradients cannot be changed while operators are recorded; use NoGrad", ErrNoGrad)
	}
	if dst.grad != nil && a.Backward == nil && GradEnabled() {
		return fmt.Errorf("%w: the operator is not differentiable and the tensor requires gradients; use NoGrad or the plain form", ErrNoGrad)
	}
	if dst.dtype.Carried() {
		return carriedInPlace(a, dst)
	}
	if a.carries(a.In) {
		return inPlaceOfCarried(a)
	}
	if recording(a) {
		return recordedInPlace(a, dst)
	}
	if err := checkOverlap(a.Op, dst, a.In, true); err != nil {
		return err
	}
	if _, err := apply(a, dst, (*application).elementwise); err != nil {
		return err
	}
	dst.storage.version.Add(1)
	return nil
}

// recordedInPlace computes the result beside dst, so that what the gradient
// needs of the old value can be saved, and then moves it there.
func recordedInPlace(a *Apply, dst *Tensor) error {
	if r := recorderNow(); r != nil && !slices.Contains(r.handles, dst) {
		return r.fail(fmt.Errorf("%w: a tensor from outside of the function would take part in differentiation; use NoGrad or the plain form", ErrUnrecordable))
	}
	if dst.view && dst.storage.shared.Load() {
		return fmt.Errorf("%w: a view cannot be changed while operators are recorded; use the plain form", ErrNoGrad)
	}
	if err := checkOverlap(a.Op, dst, a.In, true); err != nil {
		return err
	}
	if _, err := apply(a, dst, (*application).checkElementwise); err != nil {
		return err
	}
	if a.Save&SaveIn(0) != 0 {
		old := Copy(dst)
		if err := old.Err(); err != nil {
			return err
		}
		defer old.Release() // the node holds what it saved
		old.grad = dst.grad
		in := append([]*Tensor(nil), a.In...)
		for i, t := range in {
			if t == dst {
				in[i] = old
			}
		}
		a.In = in
	}
	r, err := apply(a, nil, (*application).elementwise)
	if err != nil {
		return err
	}
	defer r.Release()
	if r.dtype != dst.dtype {
		r = castTo(r, dst.dtype)
		defer r.Release()
		if err := r.Err(); err != nil {
			return err
		}
	}
	if _, err := apply(&Apply{Op: copyOp, In: []*Tensor{r}}, dst, (*application).elementwise); err != nil {
		return err
	}
	dst.storage.version.Add(1)
	dst.epoch = dst.storage.epoch.Add(1)
	dst.grad, dst.detached = r.grad, false
	return nil
}

// checkElementwise validates an application and the tensor to write, and does
// nothing else.
func (p *application) checkElementwise(dst *Tensor) (*Tensor, error) {
	if err := p.check(true); err != nil {
		return nil, err
	}
	space, err := p.a.space()
	if err != nil {
		return nil, err
	}
	return dst, p.checkDst(dst, space)
}
