package core

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/observe"
	"github.com/sinter-go/sinter/runtime/precision"
)

// An application is an operator being applied: what was asked for, what follows from the
// operands, and room for the launch, so that applying an operator allocates
// little but its result. Applications are recycled: nothing may keep one, its call, or
// a slice of either.
type application struct {
	a       Apply
	dev     device.Device
	drv     device.Driver
	stream  device.StreamID // where the work goes
	others  []device.Device // that operands or the result are on besides dev; mostly none
	writes  []*Tensor       // that were there before; only while a goroutine records
	found   *ir.Kernel      // that computes in compute, where it was found already; or nil
	compute ir.DType
	result  ir.DType
	wrapped bool        // every operand is a host number, and so is the result
	pin     device.Kind // of the accelerators that results in host memory are page-locked for; KindCPU for none

	call    ir.Call
	ins     [3]*Tensor // room for the operands
	views   []ir.View  // room for the call's, of which viewed are in use
	viewed  int
	scalars [6]ir.Scalar
	ints    [48]int // of which used are taken
	used    int
}

var applications = sync.Pool{New: func() any { return new(application) }}

// newApplication returns an application of a, which its user gives back with free.
func newApplication(a *Apply) *application {
	p := applications.Get().(*application)
	p.a = *a
	return p
}

func (p *application) free() {
	p.a, p.ins, p.drv, p.found, p.writes = Apply{}, [3]*Tensor{}, nil, nil, nil
	p.dev, p.stream, p.compute, p.result = device.Device{}, 0, ir.Invalid, ir.Invalid
	p.wrapped, p.pin, p.used = false, device.KindCPU, 0
	if len(p.others) > 0 {
		p.others = p.others[:0]
	}
	p.freeCall()
}

// freeCall gives back an application of which nothing but the call was used.
func (p *application) freeCall() {
	for i := range p.viewed {
		p.views[i] = ir.View{}
	}
	p.call = ir.Call{}
	applications.Put(p)
}

// room returns n zeros that last as long as the application.
func (p *application) room(n int) []int {
	if p.used+n > len(p.ints) {
		return make([]int, n)
	}
	out := p.ints[p.used : p.used+n : p.used+n]
	p.used += n
	clear(out)
	return out
}

// prepare makes the application's call a launch of its operator, with room for its views. What
// it launches is settled when these are there.
func (p *application) prepare(results, operands int) *ir.Call {
	return p.prepareFor(&p.a, nil, results, operands)
}

// prepareFor makes the application's call a launch of a by kernel k.
func (p *application) prepareFor(a *Apply, k *ir.Kernel, results, operands int) *ir.Call {
	c := &p.call
	c.Kernel, c.Attrs = k, a.Attrs
	c.Scalars = p.scalars[:0]
	if len(a.Attrs) > 0 {
		c.Scalars = scalarAttrs(c.Scalars, a.Op, a.Attrs)
	}
	p.viewed = results + operands
	if p.viewed > len(p.views) {
		p.views = make([]ir.View, max(p.viewed, 8))
	}
	c.Out, c.In = p.views[:results:results], p.views[results:p.viewed:p.viewed]
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

// settle decides which kernel the application's call launches, by the views that it has, and
// what the kernel may round.
func (p *application) settle() {
	c, op := &p.call, p.a.Op
	if c.Kernel = p.found; c.Kernel == nil || c.Kernel.Compute != p.compute {
		in := c.In
		if recorders.Held() {
			in = p.inMemory(in)
		}
		c.Kernel = op.Stored(p.a.Variant, p.compute, c.Out, in)
	}
	if op.Kind == ir.Opaque {
		c.Precision = precision.Now()
	}
	if op.Special != nil {
		p.special()
	}
}

// special has the call launch the operator that its own is for a number in host memory,
// if there is one. It is the number of this launch, in a graph too.
func (p *application) special() {
	c := &p.call
	if p.compute.IsComplex() || len(p.a.In) != 2 {
		return
	}
	for i := range p.a.Op.Special {
		s := &p.a.Op.Special[i]
		t := p.a.In[s.Operand]
		if t == nil || t.dev.Accelerator() || !t.wrapped && Recording() || t.NumElements() != 1 || !s.Op.DTypes.Has(p.compute) {
			continue
		}
		if decode(t.storage.host()[t.layout.Offset*t.dtype.Size():], t.dtype).Float() != s.Value {
			continue
		}
		rest := 1 - s.Operand
		c.In = c.In[rest : rest+1 : rest+1]
		c.Kernel = s.Op.Stored(0, p.compute, c.Out, c.In)
		c.Flat = c.Out[0].IsContiguous() && c.In[0].IsContiguous()
		return
	}
}

// launch gives the application's call to the device. The operands live until it returns.
func (p *application) launch() error {
	p.settle()
	if recorders.Held() && !p.wrapped {
		if done, err := p.recorded(&p.call, p.dev, p.drv, p.others, p.a.In); done {
			return err
		}
	}
	var err error
	if len(p.others) > 0 {
		err = between(p.dev, p.stream, p.others, func() error { return give(p.drv, p.dev, p.stream, &p.call) })
	} else {
		err = give(p.drv, p.dev, p.stream, &p.call)
	}
	keepAlive(p.a.In)
	if err == nil && LaunchBlocking() {
		err = blocked(p.drv, p.dev, p.stream)
	}
	return err
}

// give gives a call to a stream, before the eyes of the observer if there is one.
func give(drv device.Driver, dev device.Device, s device.StreamID, c *ir.Call) error {
	if observe.Now() != nil {
		return observed(drv, dev, s, c)
	}
	return drv.Launch(dev.Index, s, c)
}

func observed(drv device.Driver, dev device.Device, s device.StreamID, c *ir.Call) error {
	return observe.Give(observe.Work{Driver: drv, Device: dev, Stream: s, Call: c},
		func() error { return drv.Launch(dev.Index, s, c) })
}

// copied gives a copy of n bytes to a stream, before the eyes of the observer if there is one.
func copied(what string, drv device.Driver, dev device.Device, s device.StreamID, n int64, copy func() error) error {
	return observe.Give(observe.Work{Driver: drv, Device: dev, Stream: s, What: what, Bytes: n}, copy)
}

// recorded takes the call down where the goroutine records, and reports whether nothing is
// left to do.
func (p *application) recorded(c *ir.Call, dev device.Device, drv device.Driver, others []device.Device, in []*Tensor) (done bool, err error) {
	if r := recorderNow(); r != nil {
		return true, r.launch(c, dev, drv, others, in, p.writes)
	}
	err = foreign(in)
	return err != nil, err
}

// inMemory returns the views of operands such that those in host memory have an address
// there: virtual ones lack it.
func (p *application) inMemory(in []ir.View) []ir.View {
	if len(in) != len(p.a.In) {
		return in
	}
	out := slices.Clone(in)
	for i, t := range p.a.In {
		if t != nil && !t.dev.Accelerator() {
			out[i].Ptr = unsafe.Pointer(&noElements)
		}
	}
	return out
}

// keepAlive keeps operands' storages reachable until the launch has returned.
func keepAlive(in []*Tensor) {
	for _, t := range in {
		goruntime.KeepAlive(t)
	}
}

// place finds the device all operands are on, or the placement's, and the calling
// goroutine's current stream of it. Where mixHost is set, host scalars may join, and
// operands on devices that the program opened to each other: the first one's is then the
// result's.
func (p *application) place(mixHost bool) error {
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
func (p *application) types() error {
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
func (p *application) agreed() bool {
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
func (p *application) resolve(dt ir.DType) bool {
	k := p.a.Op.Kernel(p.a.Variant, dt)
	if k.Direct { // otherwise Op.Types decides
		p.found, p.compute, p.result = k, dt, p.a.Op.Promote.Result(dt)
	}
	return k.Direct
}

// resultDType returns the dtype of the i-th result.
func (p *application) resultDType(i int) ir.DType { return p.a.Op.Out[i].Of(p.result) }

// allocate returns a new contiguous result. It keeps the slice.
func (p *application) allocate(shape []int, dt ir.DType) (*Tensor, error) {
	if err := checkNew(p.dev, p.drv, shape, dt); err != nil {
		return nil, err
	}
	return p.fill(ir.ContiguousLayout(shape), dt)
}

// allocateLike returns a new contiguous result of the given shape, which shares
// shape and strides with an operand that has the same.
func (p *application) allocateLike(shape []int, dt ir.DType) (*Tensor, error) {
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
func (p *application) fill(l ir.Layout, dt ir.DType) (t *Tensor, err error) {
	if p.wrapped && recorders.Held() { // numbers among themselves are numbers of the host
		Unrecorded(func() { t, err = newIn(p.dev, p.drv, p.stream, p.pin, l, dt) })
		if r := recorderNow(); r != nil && err == nil {
			r.constant(t.keep())
		}
		return t, err
	}
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

// expand sets v to t's elements as a kernel over space reads them, and reports whether
// some are read more than once.
func (p *application) expand(v *ir.View, t *Tensor, space []int) bool {
	t.storage.view(v, &t.layout, t.dtype)
	if equalInts(v.Shape, space) {
		return false
	}
	strides := p.room(len(space))
	lead := len(space) - len(v.Shape)
	for i, s := range v.Strides {
		if v.Shape[i] != 1 || space[lead+i] == 1 {
			strides[lead+i] = s
		}
	}
	v.Shape, v.Strides = space, strides
	return true
}

// discard releases a result that was not computed, unless it is the program's dst.
func discard(out, dst *Tensor) {
	if dst == nil {
		out.Release()
	}
}
