package core

import (
	"context"
	"fmt"
	goruntime "runtime"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

var toOp = ir.Op{Name: "to", In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, Switch: -1}

// TransferOptions adjusts a copy between devices.
type TransferOptions struct {
	// NonBlocking: do not wait for the copy where the memory allows it. From
	// pinned host memory the call returns at once, to the host it gives a
	// pinned tensor that is complete when the device's current stream has passed the
	// copy. Host memory that is not pinned is read before the call returns.
	NonBlocking bool
}

// To returns x on device dev; x itself when it is there. The copy is
// differentiable. Between two accelerators of one kind it runs on the source's
// current stream and neither waits on the host; between host and
// accelerator the call waits for the copy, unless it is not to.
func To(x *Tensor, dev device.Device, o TransferOptions) *Tensor {
	if t := FirstError(x); t != nil {
		return t
	}
	if x == nil {
		return Absent()
	}
	if x.dev == dev {
		return x
	}
	dev, drv, err := device.Find(dev)
	if err != nil {
		return Fail(&toOp, err)
	}
	if x.dev == dev {
		return x
	}
	a := Apply{Op: &toOp, In: []*Tensor{x}, Backward: toBackward}
	if err := checkEpochs(a.Op, a.In); err != nil {
		return Fail(&toOp, err)
	}
	out, err := transfer(dev, drv, x, o)
	if err != nil {
		return Fail(&toOp, err)
	}
	recordOn(&a, drv, out)
	return out
}

func toBackward(g *Grad) { g.Set(0, To(g.Dy(0), g.node.in[0].dev, TransferOptions{})) }

// transfer copies x to another device.
func transfer(dev device.Device, drv device.Driver, x *Tensor, o TransferOptions) (*Tensor, error) {
	p := application{dev: dev, drv: drv, stream: current(dev)}
	if o.NonBlocking && !dev.Accelerator() && x.dev.Accelerator() {
		p.pin = x.dev.Kind
	}
	out, err := p.allocate(x.layout.Shape, x.dtype)
	if err != nil {
		return nil, err
	}
	if err := move(out, x, o); err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// move writes the elements of src to dst, which is dense, of the same shape and on
// another device. They travel without gaps: a strided source, or one of another
// dtype, is copied to a dense one on its own device first, unless a kernel can write
// to dst's memory from there.
func move(dst, src *Tensor, o TransferOptions) error {
	if !src.dtype.Carried() && !dst.dtype.Carried() && src.reaches(dst.dev, src.dtype != dst.dtype) {
		return writePeer(dst, src)
	}
	dense, err := denseAs(src, dst.dtype)
	if err != nil {
		return err
	}
	if dense != src {
		defer dense.Release()
	}
	return moveBytes(dst, dense, o)
}

// denseAs returns x without gaps and in dtype dt, on its own device and outside
// any graph; x itself where it is so.
func denseAs(x *Tensor, dt ir.DType) (*Tensor, error) {
	var out *Tensor
	switch {
	case x.dtype != dt:
		NoGrad(func() { out = castTo(x, dt) })
	case x.IsContiguous():
		return x, nil
	default:
		NoGrad(func() { out = Copy(x) })
	}
	if f := out.broken(); f != nil {
		return nil, f.report()
	}
	return out, nil
}

// moveBytes copies the elements of src to dst, both dense and of one dtype, on
// different devices or both in host memory.
func moveBytes(dst, src *Tensor, o TransferOptions) error {
	n := int64(src.NumElements() * src.dtype.Size())
	from, to := src.dev, dst.dev
	switch {
	case n == 0:
		return nil
	case recorders.Held() && (Recording() || foreign([]*Tensor{dst, src}) != nil):
		return recordMove(dst, src, n, o)
	case !from.Accelerator() && !to.Accelerator():
		copy(hostBytes(dst, n), hostBytes(src, n))
		return nil
	case !from.Accelerator():
		return upload(dst, src, n, o.NonBlocking)
	case !to.Accelerator():
		return download(dst, src, n, o.NonBlocking)
	case from.Kind != to.Kind:
		return relay(dst, src, n)
	}
	return copyPeer(dst, src, n)
}

// recordMove takes a copy down, or reports an operand of another goroutine's recording.
func recordMove(dst, src *Tensor, n int64, o TransferOptions) error {
	if r := recorderNow(); r != nil {
		return r.move(dst, src, n, o.NonBlocking)
	}
	return foreign([]*Tensor{dst, src})
}

// hostBytes returns the n bytes of a dense tensor in host memory.
func hostBytes(t *Tensor, n int64) []byte {
	return unsafe.Slice((*byte)(t.kernelView().Ptr), n)
}

// stageLimit is the most bytes that a copy which is not to block takes from memory
// that is not pinned by way of a pinned block. A larger one waits for the device:
// copying it twice would take longer.
const stageLimit = 1 << 20

// upload copies n bytes from the host to an accelerator on its current stream.
func upload(dst, src *Tensor, n int64, nonBlocking bool) error {
	drv, dev, q := dst.storage.drv, dst.dev, current(dst.dev)
	to, from := dst.kernelView().Addr, src.kernelView().Ptr
	pinned := src.storage.pin == dev.Kind
	if err := recordable(drv, dev, q, src.storage, nonBlocking); err != nil {
		return err
	}
	if nonBlocking && !pinned && n <= stageLimit {
		if b, err := memory.AllocPinnedFor(dev, drv, n); err == nil {
			copy(unsafe.Slice((*byte)(b.Host), n), hostBytes(src, n))
			return stagedUpload(b, drv, dev, q, to, n)
		}
	}
	waits := !nonBlocking || !pinned
	if waits {
		if err := synchronizing(dev, "a copy from the host"); err != nil {
			return err
		}
		if err := settleTied(drv, dev, q, pinned); err != nil {
			return err
		}
	}
	err := copied("copy from host", drv, dev, q, n, func() error { return drv.CopyFromHost(dev.Index, q, to, from, n) })
	if err == nil {
		err = finish(drv, dev, q, waits, &src.storage.block)
	}
	goruntime.KeepAlive(src)
	return err
}

// settleTied waits for the stream of a copy where the driver would, unless the host's memory is pinned, and hold up
// ranks that the device waits for.
func settleTied(drv device.Driver, dev device.Device, q device.StreamID, pinned bool) error {
	if pinned {
		return nil
	}
	return stream.SettleTied(context.Background(), drv, dev, q)
}

// finish ends a copy between a block of host memory and an accelerator, given to its
// stream q: it waits, or notes that the copy uses the block.
func finish(drv device.Driver, dev device.Device, q device.StreamID, waits bool, host *memory.Block) error {
	if waits {
		return stream.Settle(context.Background(), drv, dev, q)
	}
	host.RecordUse(dev, q)
	return blocked(drv, dev, q)
}

// stagedUpload copies n bytes from a pinned block, which it gives back.
func stagedUpload(b memory.Block, drv device.Driver, dev device.Device, q device.StreamID, to uint64, n int64) error {
	err := copied("copy from pinned host", drv, dev, q, n, func() error { return drv.CopyFromHost(dev.Index, q, to, b.Host, n) })
	if err == nil {
		err = finish(drv, dev, q, false, &b)
	}
	if gone := b.Free(); err == nil {
		err = gone
	}
	return err
}

// download copies n bytes from an accelerator to the host on the accelerator's
// current stream.
func download(dst, src *Tensor, n int64, nonBlocking bool) error {
	drv, dev, q := src.storage.drv, src.dev, current(src.dev)
	if err := recordable(drv, dev, q, dst.storage, nonBlocking); err != nil {
		return err
	}
	pinned := dst.storage.pin == dev.Kind
	waits := !nonBlocking || !pinned
	if waits {
		if err := synchronizing(dev, "a copy to the host"); err != nil {
			return err
		}
		if err := settleTied(drv, dev, q, pinned); err != nil {
			return err
		}
	}
	err := copied("copy to host", drv, dev, q, n, func() error {
		return drv.CopyToHost(dev.Index, q, dst.kernelView().Ptr, src.kernelView().Addr, n)
	})
	if err == nil {
		err = finish(drv, dev, q, waits, &dst.storage.block)
	}
	goruntime.KeepAlive(src)
	goruntime.KeepAlive(dst)
	return err
}

// relay copies n bytes between accelerators of two kinds by way of the host.
func relay(dst, src *Tensor, n int64) error {
	host, err := device.DriverOf(device.KindCPU)
	if err != nil {
		return err
	}
	p := application{drv: host}
	staging, err := p.allocate([]int{int(n)}, ir.Uint8)
	if err != nil {
		return err
	}
	defer staging.Release()
	if err := download(staging, src, n, false); err != nil {
		return err
	}
	return upload(dst, staging, n, false)
}

// CopyFrom writes src to dst, converting dtype and crossing devices as needed;
// src broadcasts to dst's shape. It is differentiable; sumTo, which sums a
// tensor to a smaller shape, serves the gradient of a broadcast source.
func CopyFrom(dst, src *Tensor, o TransferOptions, sumTo func(*Tensor, []int) *Tensor) error {
	return NotWritten(dst, copyFrom(dst, src, o, sumTo))
}

func copyFrom(dst, src *Tensor, o TransferOptions, sumTo func(*Tensor, []int) *Tensor) error {
	if err := dst.Err(); err != nil {
		return err
	}
	if err := src.Err(); err != nil {
		return err
	}
	if dst.dev != src.dev && dst.direct(src, o) {
		if err := moveInto(dst, src, o); err != nil {
			return at(fmt.Errorf("%s: %w", assignOp.Name, err))
		}
		return nil
	}
	if dst.casts(src) {
		return ElementwiseOut(dst, Apply{Op: assignedOp, In: []*Tensor{src}})
	}
	if !dst.dev.Accelerator() {
		o.NonBlocking = false // what follows reads the copy on the host
	}
	given := src
	for _, step := range []func(*Tensor) *Tensor{
		func(x *Tensor) *Tensor { return To(x, dst.dev, o) },
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
			zero, err := g.node.zeros(0)
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

// casts reports whether src can be converted to where dst is, without a copy of it in between.
func (dst *Tensor) casts(src *Tensor) bool {
	recorded := (dst.grad != nil || src.grad != nil) && GradEnabled() || Recording()
	return !recorded && dst.dev == src.dev && dst.dtype != src.dtype && dst.storage != src.storage && dst.NumElements() > 0 &&
		ir.CanCast(src.dtype, dst.dtype) && equalInts(dst.layout.Shape, src.layout.Shape) && !dst.layout.SelfOverlaps()
}

// direct reports whether src's bytes, made dense and converted where src is, can be
// moved to dst's place. Conversion is done on the accelerator when the copy is not
// to block, otherwise on the host, and between accelerators on the source.
func (dst *Tensor) direct(src *Tensor, o TransferOptions) bool {
	if (dst.grad != nil || src.grad != nil) && GradEnabled() {
		return false // to be recorded, or refused
	}
	if !dst.IsContiguous() || !equalInts(dst.layout.Shape, src.layout.Shape) {
		return false
	}
	atSource := dst.dev.Accelerator() == src.dev.Accelerator() || src.dev.Accelerator() == o.NonBlocking
	return dst.dtype == src.dtype || atSource
}

func moveInto(dst, src *Tensor, o TransferOptions) error {
	if err := checkEpochs(&assignOp, []*Tensor{dst, src}); err != nil {
		return err
	}
	if err := dst.changeable(); err != nil {
		return err
	}
	if err := move(dst, src, o); err != nil {
		return err
	}
	dst.storage.version.Add(1)
	return nil
}

// Pin returns a copy of a host tensor in page-locked memory of the given kind of
// accelerator; x itself when it is in such.
func Pin(x *Tensor, kind device.Kind) *Tensor {
	if t := FirstError(x); t != nil || x == nil {
		if x == nil {
			return Absent()
		}
		return t
	}
	op := &ir.Op{Name: "pin_memory"}
	if x.dev.Accelerator() {
		return Fail(op, fmt.Errorf("only host tensors can be pinned, this one is on %s", x.dev))
	}
	if x.storage.pin == kind {
		return x
	}
	p := application{drv: x.storage.drv, pin: kind}
	out, err := p.allocate(x.layout.Shape, x.dtype)
	if err != nil {
		return Fail(op, err)
	}
	if _, err := apply(&Apply{Op: copyOp, In: []*Tensor{x}}, out, (*application).elementwise); err != nil {
		out.Release()
		return Fail(op, err)
	}
	return out
}

// RecordStream notes that work given to s uses t's memory: once t is released, the
// memory is not given to others before that work is done. For the
// stream that t was made on, and for host memory that is not pinned, there is
// nothing to note. An error says that s is of another device than t, or carries
// the one of t or s.
func (t *Tensor) RecordStream(s stream.Stream) error {
	if err := t.Err(); err != nil {
		return err
	}
	if err := s.Err(); err != nil {
		return at(fmt.Errorf("record_stream: %w", err))
	}
	switch dev := s.Device(); {
	case !t.storage.held || !t.dev.Accelerator() && t.storage.pin == device.KindCPU:
	case t.dev == dev:
		t.storage.block.RecordStream(s.ID())
	case !t.dev.Accelerator() && t.storage.pin == dev.Kind:
		t.storage.block.RecordUse(dev, s.ID())
	default:
		return at(fmt.Errorf("record_stream: %w: the tensor is on %s, the stream on %s", device.ErrMismatch, t.dev, dev))
	}
	return nil
}

// Waited takes RecordStream of s back: the current stream was given to wait for all that s
// uses t's memory for.
func (t *Tensor) Waited(s stream.Stream) {
	if t.Err() == nil && t.storage.held && t.dev == s.Device() {
		t.storage.block.Waited(current(t.dev), s.ID())
	}
}
