package core

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/device"
)

// An argument is what a recording knows of one: all but its elements.
type argument struct {
	layout   ir.Layout // in its buffer
	bytes    int64     // of the buffer
	dev      device.Device
	drv      device.Driver
	dtype    ir.DType
	fixed    any // that of the storage
	first    int // the first argument that it shares memory with, or itself; -1 for none that is given
	part     bool
	wrapped  bool
	requires bool // gradients
}

// describe returns what a recording knows of args.
func describe(args []*Tensor) []argument {
	list := make([]argument, len(args))
	for i, a := range args {
		d := &list[i]
		if d.first = -1; a == nil {
			continue
		}
		d.layout, _, d.bytes = argSpan(args, i)
		d.dev, d.drv, d.dtype, d.fixed = a.dev, a.storage.drv, a.dtype, a.storage.fixed
		d.first = slices.IndexFunc(args[:i+1], func(b *Tensor) bool { return b == a || b.SharesStorage(a) })
		d.part, d.wrapped, d.requires = d.bytes != a.storage.bytes, a.wrapped, a.grad != nil
	}
	return list
}

// standIns returns virtual tensors for arguments. Those that share memory go on sharing it.
func (r *recorder) standIns(args []argument) []*Tensor {
	out := make([]*Tensor, len(args))
	for i := range args {
		a := &args[i]
		switch {
		case a.first < 0:
			continue
		case a.first < i:
			out[i] = out[a.first].again(a.layout)
			out[i].dtype = a.dtype
		default:
			b := recordedBuffer{dev: a.dev, drv: a.drv, arg: i, part: a.part}
			b.Kind, b.Name, b.Device, b.Bytes = program.Argument, fmt.Sprint(i), a.dev.String(), a.bytes
			s := empty(a.drv)
			if s.void = a.bytes == 0; !s.void {
				s = r.virtual(b)
				s.fixed = a.fixed
			}
			out[i] = newTensor(s, a.dev, a.layout, a.dtype)
		}
		out[i].wrapped = a.wrapped
	}
	return out
}

// argSpan returns the layout of argument i in its buffer, and where in the storage the
// buffer begins and how many bytes it has: those of the elements, or all of a storage that
// another argument shares.
func argSpan(args []*Tensor, i int) (l ir.Layout, from, bytes int64) {
	a := args[i]
	for j, b := range args {
		if j != i && a.SharesStorage(b) {
			return a.layout, 0, a.storage.bytes
		}
	}
	if a.NumElements() == 0 {
		return ir.Layout{Shape: a.layout.Shape, Strides: a.layout.Strides}, 0, 0
	}
	low, high := 0, 0
	for k, d := range a.layout.Shape {
		reach := (d - 1) * a.layout.Strides[k]
		low, high = low+min(reach, 0), high+max(reach, 0)
	}
	size := int64(a.dtype.Size())
	return ir.Layout{Shape: a.layout.Shape, Strides: a.layout.Strides, Offset: -low},
		int64(a.layout.Offset+low) * size, int64(high-low+1) * size
}

// WholeStorage returns an error where a recording knows only the part of x's storage that
// an argument spans, so that positions in the storage mean nothing.
func WholeStorage(x *Tensor) error {
	r := recorderNow()
	if r == nil || !x.storage.virtual {
		return nil
	}
	b := &r.buffers[(x.storage.block.Addr&^virtualBase)>>virtualBits]
	if !b.part {
		return nil
	}
	return r.fail(fmt.Errorf("%w: positions in the storage of argument %d, which is a part of a larger one; pass a copy", ErrUnrecordable, b.arg))
}

// AppendSignature appends what a recording depends on of its arguments to key: dtypes,
// devices, shapes, strides, parts in differentiation, and what memory they share.
func AppendSignature(key []byte, args []*Tensor) []byte {
	num := func(n int) { key = binary.AppendVarint(key, int64(n)) }
	for i, a := range args {
		num(int(a.dtype))
		num(int(a.dev.Kind))
		num(a.dev.Index)
		num(len(a.layout.Shape))
		for k, d := range a.layout.Shape {
			num(d)
			num(a.layout.Strides[k])
		}
		flags := 0
		if a.grad != nil {
			flags |= 1
		}
		if a.wrapped {
			flags |= 2
		}
		if _, _, bytes := argSpan(args, i); bytes != a.storage.bytes {
			flags |= 4
		}
		if a.storage.fixed != nil { // which a recording that writes to it refuses
			flags |= 8
		}
		num(flags)
		for j, b := range args {
			if j != i && a.SharesStorage(b) {
				num(j + 1)
				num(a.layout.Offset)
				break
			}
		}
		num(0)
	}
	return key
}
