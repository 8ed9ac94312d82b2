package core

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// copyOp is the runtime's own operator: element for element, with conversion to
// the destination's dtype.
var copyOp = ir.Op{
	Name: "copy", Doc: "copies x.", Kind: ir.Elementwise, Switch: -1,
	In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}},
	DTypes: ir.ClassAll, Promote: ir.PromoteNone,
	Bodies: []ir.Body{{Expr: "x"}}, Tags: ir.TagPointwise | ir.TagHidden,
	CPU: ir.CPUKernels{Elementwise: []*[ir.NumDTypes]ir.Loop{identityLoops()}},
}

// CopyOp returns the descriptor of the copy operator, for backends.
func CopyOp() *ir.Op { return &copyOp }

// copyAs returns the copy operator under another operator's name, for messages.
func copyAs(op *ir.Op) *ir.Op {
	c := copyOp
	c.Name = op.Name
	return &c
}

func identityLoops() *[ir.NumDTypes]ir.Loop {
	var loops [ir.NumDTypes]ir.Loop
	for _, d := range ir.AllDTypes() {
		size := d.Size()
		loops[d] = func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
			copy(unsafe.Slice((*byte)(p[0]), n*size), unsafe.Slice((*byte)(p[1]), n*size))
		}
	}
	return &loops
}

func copyBackward(g *Grad) { g.Set(0, castTo(g.Dy(0), g.InDType(0))) }

// Copy returns a contiguous copy of x on its device.
func Copy(x *Tensor) *Tensor {
	return Elementwise(Apply{Op: &copyOp, In: []*Tensor{x}, Backward: copyBackward})
}

// castTo returns x converted to dt; x itself when it has that dtype.
func castTo(x *Tensor, dt ir.DType) *Tensor {
	if t := FirstError(x); t != nil || x.dtype == dt {
		if t != nil {
			return t
		}
		return x
	}
	a := Apply{Op: &copyOp, In: []*Tensor{x}, Backward: copyBackward}
	p, err := a.check(false)
	if err != nil {
		return Fail(&copyOp, err)
	}
	p.result = dt
	out, err := p.allocate(x.layout.Shape, dt)
	if err != nil {
		return Fail(&copyOp, err)
	}
	if err := p.launchElementwise(out, x.layout.Shape); err != nil {
		out.Release()
		return Fail(&copyOp, err)
	}
	if dt.Differentiable() {
		record(&a, &p, []*Tensor{out})
	}
	return out
}

// Cast returns x converted to dt, differentiably; x itself when it has that
// dtype. Floats become integers by truncation that saturates, NaN becomes 0.
func Cast(x *Tensor, dt ir.DType) *Tensor {
	if !ir.ClassAll.Has(dt) {
		return Fail(&toOp, fmt.Errorf("%w: %s; want %s", ErrDType, dt, dtypeList(ir.ClassAll)))
	}
	return castTo(x, dt)
}

var toOp = ir.Op{Name: "to", In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, Switch: -1}

// TransferOptions adjusts a copy between devices.
type TransferOptions struct {
	NonBlocking bool // do not wait for the copy where the memory allows it
}

// To returns x on device dev; x itself when it is there (P32). The copy is
// differentiable.
func To(x *Tensor, dev device.Device, o TransferOptions) *Tensor {
	if t := FirstError(x); t != nil {
		return t
	}
	if x == nil {
		return Absent()
	}
	dev, drv, err := device.Find(dev)
	if err != nil {
		return Fail(&toOp, err)
	}
	if x.storage.dev == dev {
		return x
	}
	a := Apply{Op: &toOp, In: []*Tensor{x}, Backward: func(g *Grad) {
		g.Set(0, To(g.Dy(0), g.node.in[0].dev, TransferOptions{}))
	}}
	p := plan{a: &a, dev: dev, drv: drv, result: x.dtype}
	if err := checkEpochs(a.Op, a.In); err != nil {
		return Fail(&toOp, err)
	}
	out, err := transfer(&p, x, o)
	if err != nil {
		return Fail(&toOp, err)
	}
	record(&a, &p, []*Tensor{out})
	return out
}

// transfer copies x to the plan's device. The elements travel without gaps: a
// strided source is copied to a dense one on its own device first.
func transfer(p *plan, x *Tensor, o TransferOptions) (*Tensor, error) {
	if !x.IsContiguous() {
		var dense *Tensor
		NoGrad(func() { dense = Copy(x) })
		if err := dense.Err(); err != nil {
			return nil, err
		}
		defer dense.Release()
		x = dense
	}
	out, err := p.allocate(x.layout.Shape, x.dtype)
	if err != nil {
		return nil, err
	}
	if err := moveBytes(out, x, o); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// moveBytes copies the elements of src to dst, both dense and of one dtype, on
// different devices.
func moveBytes(dst, src *Tensor, o TransferOptions) error {
	n := int64(src.NumElements() * src.dtype.Size())
	if n == 0 {
		return nil
	}
	d, s := dst.kernelView(), src.kernelView()
	from, to := src.storage.dev, dst.storage.dev
	ctx := context.Background()
	switch {
	case !from.Accelerator() && !to.Accelerator():
		copy(unsafe.Slice((*byte)(d.Ptr), n), unsafe.Slice((*byte)(s.Ptr), n))
		return nil
	case !from.Accelerator():
		err := dst.storage.drv.CopyFromHost(to.Index, 0, d.Addr, s.Ptr, n)
		if err != nil || (o.NonBlocking && src.IsPinned()) {
			return err
		}
		return dst.storage.drv.SyncStream(ctx, to.Index, 0)
	case !to.Accelerator():
		err := src.storage.drv.CopyToHost(from.Index, 0, d.Ptr, s.Addr, n)
		if err != nil {
			return err
		}
		return src.storage.drv.SyncStream(ctx, from.Index, 0)
	case from.Kind != to.Kind:
		staging := make([]byte, n)
		if err := src.storage.drv.CopyToHost(from.Index, 0, unsafe.Pointer(&staging[0]), s.Addr, n); err != nil {
			return err
		}
		if err := src.storage.drv.SyncStream(ctx, from.Index, 0); err != nil {
			return err
		}
		if err := dst.storage.drv.CopyFromHost(to.Index, 0, d.Addr, unsafe.Pointer(&staging[0]), n); err != nil {
			return err
		}
		return dst.storage.drv.SyncStream(ctx, to.Index, 0)
	}
	return copyPeer(src.storage.drv, from.Index, to.Index, d.Addr, s.Addr, n)
}

// copyPeer copies between two devices of one driver on the source's stream,
// after what the destination's stream has to do and before what it is given
// next (P25).
func copyPeer(drv device.Driver, from, to int, dst, src uint64, n int64) error {
	if err := waitFor(drv, from, to); err != nil {
		return err
	}
	if err := drv.CopyPeer(from, 0, to, dst, src, n); err != nil {
		return err
	}
	return waitFor(drv, to, from)
}

// waitFor makes later work of device dev wait for what device other was given
// so far.
func waitFor(drv device.Driver, dev, other int) error {
	e, err := drv.NewEvent(other, false)
	if err != nil {
		return err
	}
	err = drv.RecordEvent(other, e, 0)
	if err == nil {
		err = drv.WaitEvent(dev, 0, other, e)
	}
	if gone := drv.DestroyEvent(other, e); err == nil {
		err = gone
	}
	return err
}

// CopyFrom writes src to dst, converting dtype and crossing devices as needed;
// src broadcasts to dst's shape (S12). It is differentiable; sumTo, which sums a
// tensor to a smaller shape, serves the gradient of a broadcast source.
func CopyFrom(dst, src *Tensor, o TransferOptions, sumTo func(*Tensor, []int) *Tensor) error {
	for _, t := range []*Tensor{dst, src} {
		if err := t.Err(); err != nil {
			return err
		}
	}
	given := src
	for _, step := range []func(*Tensor) *Tensor{
		func(x *Tensor) *Tensor { return To(x, dst.storage.dev, o) },
		func(x *Tensor) *Tensor { return castTo(x, dst.dtype) },
	} {
		next := step(src)
		if src != given && src != next {
			src.Release()
		}
		src = next
	}
	if src != given {
		defer src.Release()
	}
	return ElementwiseInPlace(Apply{Op: &assignOp, In: []*Tensor{dst, src}, Backward: func(g *Grad) {
		if g.Needs(0) {
			zero, err := zeros(g.node.out[0])
			if err != nil {
				zero = Fail(&assignOp, err)
			}
			g.Set(0, zero)
		}
		if g.Needs(1) {
			g.Set(1, sumTo(g.Dy(0), g.InShape(1)))
		}
	}})
}

// assignOp is the in-place copy: its first operand gives only the place.
var assignOp = ir.Op{
	Name: "copy", Doc: "copies src over dst.", Kind: ir.Elementwise, Switch: -1,
	In:  []ir.Operand{{Name: "dst"}, {Name: "src"}},
	Out: []ir.Result{{Name: "out"}}, DTypes: ir.ClassAll, Promote: ir.PromoteNone,
	Bodies: []ir.Body{{Expr: "src"}}, Tags: ir.TagPointwise | ir.TagHidden,
	CPU: ir.CPUKernels{Elementwise: []*[ir.NumDTypes]ir.Loop{secondLoops()}},
}

func secondLoops() *[ir.NumDTypes]ir.Loop {
	var loops [ir.NumDTypes]ir.Loop
	for d, loop := range copyOp.CPU.Elementwise[0] {
		if loop != nil {
			loops[d] = func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
				loop(n, []unsafe.Pointer{p[0], p[2]}, s, index)
			}
		}
	}
	return &loops
}

// Pin returns a copy of a host tensor in page-locked memory of the given kind of
// accelerator (S68); x itself when it is pinned.
func Pin(x *Tensor, kind device.Kind) *Tensor {
	if t := FirstError(x); t != nil || x == nil {
		if x == nil {
			return Absent()
		}
		return t
	}
	op := &ir.Op{Name: "pin_memory"}
	if x.storage.dev.Accelerator() {
		return Fail(op, fmt.Errorf("only host tensors can be pinned, this one is on %s", x.storage.dev))
	}
	if x.IsPinned() {
		return x
	}
	s, err := newPinned(kind, x.storage.drv, int64(x.NumElements()*x.dtype.Size()))
	if err != nil {
		return Fail(op, err)
	}
	out := newTensor(s, ir.ContiguousLayout(x.layout.Shape), x.dtype)
	if _, err := elementwise(&Apply{Op: &copyOp, In: []*Tensor{x}}, out); err != nil {
		out.Release()
		return Fail(op, err)
	}
	return out
}
