package core

import (
	"fmt"
	goruntime "runtime"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// A plan is one application under way: what was asked for, what follows from the
// operands, and room for the launch, so that applying an operator allocates
// little but its result. Plans are recycled: nothing may keep one, its call, or
// a slice of either.
type plan struct {
	a       Apply
	dev     device.Device
	drv     device.Driver
	stream  device.StreamID // where the work goes
	others  []device.Device // that operands or the result are on besides dev; mostly none
	compute ir.DType
	result  ir.DType
	wrapped bool        // every operand is a host number, and so is the result
	pin     device.Kind // of the accelerators that results in host memory are page-locked for; KindCPU for none

	call    ir.Call
	ins     [3]*Tensor // room for the operands
	views   []ir.View  // room for the call's
	scalars [6]ir.Scalar
	ints    [48]int // of which used are taken
	used    int
}

var plans = sync.Pool{New: func() any { return new(plan) }}

// newPlan returns a plan for a, which its user gives back with free.
func newPlan(a *Apply) *plan {
	p := plans.Get().(*plan)
	p.a = *a
	return p
}

func (p *plan) free() {
	p.a, p.ins, p.drv = Apply{}, [3]*Tensor{}, nil
	p.dev, p.stream, p.compute, p.result = device.Device{}, 0, ir.Invalid, ir.Invalid
	p.wrapped, p.pin, p.used = false, device.KindCPU, 0
	if len(p.others) > 0 {
		p.others = p.others[:0]
	}
	p.freeCall()
}

// freeCall gives back a plan of which nothing but the call was used.
func (p *plan) freeCall() {
	for i := range len(p.call.Out) + len(p.call.In) {
		p.views[i] = ir.View{}
	}
	p.call = ir.Call{}
	plans.Put(p)
}

// room returns n zeros that last as long as the plan.
func (p *plan) room(n int) []int {
	if p.used+n > len(p.ints) {
		return make([]int, n)
	}
	out := p.ints[p.used : p.used+n : p.used+n]
	p.used += n
	clear(out)
	return out
}

// prepare makes the plan's call the launch of its operator, with room for its
// views.
func (p *plan) prepare(results, operands int) *ir.Call {
	return p.prepareFor(&p.a, p.compute, results, operands)
}

// prepareFor makes the plan's call the launch of a in dtype compute.
func (p *plan) prepareFor(a *Apply, compute ir.DType, results, operands int) *ir.Call {
	c := &p.call
	c.Op, c.Variant, c.Compute, c.Attrs = a.Op, a.Variant, compute.Compute(), a.Attrs
	c.Scalars = p.scalars[:0]
	if len(a.Attrs) > 0 {
		c.Scalars = scalarAttrs(c.Scalars, a.Op, a.Attrs)
	}
	if n := results + operands; n > len(p.views) {
		p.views = make([]ir.View, max(n, 8))
	}
	c.Out, c.In = p.views[:results:results], p.views[results:results+operands:results+operands]
	return c
}

// scalarAttrs appends the attributes that scalar expressions read to out.
func scalarAttrs(out []ir.Scalar, op *ir.Op, attrs []ir.Value) []ir.Scalar {
	for i := range op.Attrs {
		switch op.Attrs[i].Kind {
		case ir.AttrScalar, ir.AttrFloat:
			out = append(out, attrs[i].Scalar)
		case ir.AttrInt:
			out = append(out, ir.IntScalar(attrs[i].Int))
		case ir.AttrBool:
			out = append(out, ir.BoolScalar(attrs[i].Int != 0))
		}
	}
	return out
}

// launch gives the plan's call to the device. The operands live until it returns.
func (p *plan) launch() error {
	var err error
	if len(p.others) > 0 {
		err = between(p.dev, p.stream, p.others, func() error { return p.drv.Launch(p.dev.Index, p.stream, &p.call) })
	} else {
		err = p.drv.Launch(p.dev.Index, p.stream, &p.call)
	}
	keepAlive(p.a.In)
	if err == nil && LaunchBlocking() {
		err = blocked(p.drv, p.dev, p.stream)
	}
	return err
}

// keepAlive keeps operands' storages reachable until the launch has returned.
func keepAlive(in []*Tensor) {
	for _, t := range in {
		goruntime.KeepAlive(t)
	}
}

// place finds the device all operands are on, or the placement's (S10, S11), and
// the calling goroutine's current stream of it. Where mixHost is set, host scalars
// may join (P33), and operands on devices that the program opened to each other
// (S13): the first one's is then the result's.
func (p *plan) place(mixHost bool) error {
	var first *Tensor
	for i, t := range p.a.In {
		if t == nil || t.wrapped || (mixHost && t.hostScalar()) {
			continue
		}
		if first == nil {
			first = t
			continue
		}
		if first.dev != t.dev && !(mixHost && p.joins(first.dev, t.dev)) {
			return fmt.Errorf("%w: Expected all tensors to be on the same device, but found at least two devices, %s and %s! (when checking argument for argument %s in method %s)",
				device.ErrMismatch, first.dev, t.dev, operandOf(p.a.Op, i).Name, p.a.Op.Name)
		}
	}
	if first == nil {
		for _, t := range p.a.In {
			if t != nil {
				first = t
				break
			}
		}
	}
	if first != nil {
		p.dev, p.drv, p.stream = first.dev, first.storage.drv, current(first.dev)
		return nil
	}
	if p.a.Place == nil {
		return fmt.Errorf("%w: want at least one tensor", ir.ErrShape)
	}
	var err error
	p.pin = p.a.Place.Pin
	if p.dev, p.drv, err = device.Find(p.a.Place.Device); err == nil {
		p.stream = current(p.dev)
	}
	return err
}

// hostScalar reports whether t is a zero-dimensional tensor in host memory,
// which may join operands of any device.
func (t *Tensor) hostScalar() bool {
	return len(t.layout.Shape) == 0 && t.dev.Kind == device.KindCPU
}

// types finds the dtype the operator computes in and that of its results.
func (p *plan) types() error {
	if p.agreed() {
		return nil
	}
	var buf [4]ir.TypeOperand
	types := buf[:0]
	for i, t := range p.a.In {
		o := operandOf(p.a.Op, i)
		if t == nil || o.Fixed != ir.Invalid {
			continue
		}
		dt := t.promoteDType()
		if p.wrapped { // numbers among themselves keep their full precision
			dt = t.dtype
		}
		types = append(types, ir.TypeOperand{DType: dt, Rank: t.Rank(), Wrapped: t.wrapped})
	}
	var err error
	p.compute, p.result, err = p.a.Op.Types(types, p.a.option(), DefaultFloat())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDType, err)
	}
	return nil
}

// agreed decides the dtypes where the general rule, ir.Op.Types, needs no thought:
// all tensors have one dtype, which the operator computes in, and numbers among
// them are of no higher category. It reports whether that is so.
func (p *plan) agreed() bool {
	op := p.a.Op
	if p.wrapped || p.a.DType != ir.Invalid || p.a.Place != nil || op.Promote == ir.PromoteFixed {
		return false
	}
	dt, numbers := ir.Invalid, ir.CategoryNone
	for i, t := range p.a.In {
		switch {
		case t == nil || operandOf(op, i).Fixed != ir.Invalid:
		case t.wrapped:
			numbers = max(numbers, t.dtype.Category())
		case dt == ir.Invalid:
			dt = t.dtype
		case dt != t.dtype:
			return false
		}
	}
	return dt != ir.Invalid && numbers <= dt.Category() && p.resolve(dt)
}

// resolve finds the dtypes of an operator whose operands have dt, and reports
// whether it can.
func (p *plan) resolve(dt ir.DType) bool {
	result, ok := resolve(p.a.Op, dt)
	if ok {
		p.compute, p.result = dt, result
	}
	return ok
}

// resolve returns the dtype of the results of an operator that computes in dt, the
// dtype of its operands. It is not ok for what takes integers to another dtype, and
// for dtypes that the operator does not compute in: these are left to Op.Types.
func resolve(op *ir.Op, dt ir.DType) (result ir.DType, ok bool) {
	if !op.DTypes.Has(dt) {
		return ir.Invalid, false
	}
	if (op.Promote == ir.PromoteArithFloat || op.Promote == ir.PromoteSumAcc) && dt.Category() <= ir.CategoryInt {
		return ir.Invalid, false
	}
	return op.Promote.Result(dt), true
}

// resultDType returns the dtype of the i-th result.
func (p *plan) resultDType(i int) ir.DType { return p.a.Op.Out[i].Of(p.result) }

// allocate returns a new contiguous result. It keeps the slice.
func (p *plan) allocate(shape []int, dt ir.DType) (*Tensor, error) {
	if err := checkNew(p.dev, p.drv, shape, dt); err != nil {
		return nil, err
	}
	return p.fill(ir.ContiguousLayout(shape), dt)
}

// allocateLike returns a new contiguous result of the given shape, which shares
// shape and strides with an operand that has the same.
func (p *plan) allocateLike(shape []int, dt ir.DType) (*Tensor, error) {
	for _, t := range p.a.In {
		if t != nil && equalInts(t.layout.Shape, shape) && rowMajor(t.layout) {
			return p.fill(ir.Layout{Shape: t.layout.Shape, Strides: t.layout.Strides}, dt)
		}
	}
	return p.allocate(shape, dt)
}

// rowMajor reports whether l has the strides that ir.ContiguousStrides gives its
// shape, also along axes of extent 1.
func rowMajor(l ir.Layout) bool {
	n := 1
	for i := len(l.Shape) - 1; i >= 0; i-- {
		if l.Strides[i] != n {
			return false
		}
		n *= max(l.Shape[i], 1)
	}
	return true
}

// fill returns a tensor of the given contiguous layout in new memory.
func (p *plan) fill(l ir.Layout, dt ir.DType) (*Tensor, error) {
	return newIn(p.dev, p.drv, p.stream, p.pin, l, dt)
}

// newIn returns a tensor of the given contiguous layout in new memory of dev, which
// drv provides, for work on stream q; where pin is a kind of accelerators, in host
// memory that is page-locked for them.
func newIn(dev device.Device, drv device.Driver, q device.StreamID, pin device.Kind, l ir.Layout, dt ir.DType) (*Tensor, error) {
	bytes := int64(ir.NumElements(l.Shape)) * int64(dt.Size())
	var s *Storage
	var err error
	switch {
	case pin == device.KindCPU:
		s, err = newStorage(dev, drv, q, bytes)
	case dev.Accelerator():
		err = fmt.Errorf("only host tensors can be pinned, this one is for %s", dev)
	default:
		s, err = newPinned(pin, drv, bytes)
	}
	if err != nil {
		return nil, err
	}
	return newTensor(s, dev, l, dt), nil
}

// expand sets v to t's elements as a kernel over space reads them.
func (p *plan) expand(v *ir.View, t *Tensor, space []int) {
	t.storage.view(v, &t.layout, t.dtype)
	if equalInts(v.Shape, space) {
		return
	}
	strides := p.room(len(space))
	lead := len(space) - len(v.Shape)
	for i, s := range v.Strides {
		if v.Shape[i] != 1 || space[lead+i] == 1 {
			strides[lead+i] = s
		}
	}
	v.Shape, v.Strides = space, strides
}

// discard releases a result that was not computed, unless it is the program's dst.
func discard(out, dst *Tensor) {
	if dst == nil {
		out.Release()
	}
}
