package core

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// Lend returns t's elements as kernels see them, for code that is no operator and works
// on stream s of t's device; op names that code in errors. t must be contiguous. Where
// the code writes, that counts as a change in place, and t must not require gradients
// while operators are recorded. The memory stays t's: t, or another handle on it, is held
// until the work on a host's tensor is done, and until it was given to the stream of an
// accelerator's. While the calling goroutine records the view is for RecordExchange.
func Lend(op *ir.Op, t *Tensor, s device.StreamID, write bool) (v ir.View, err error) {
	if t == nil {
		return v, at(fmt.Errorf("%s: %w", op.Name, ErrZeroTensor))
	}
	switch f := t.broken(); {
	case f != nil:
		return v, f.report()
	case !t.layout.IsContiguous():
		return v, at(fmt.Errorf("%s: a tensor of shape %v with strides %v is not contiguous; Contiguous or Clone make a copy that is",
			op.Name, t.layout.Shape, t.layout.Strides))
	case write && t.grad != nil && GradEnabled():
		return v, at(fmt.Errorf("%s: writes to a tensor that requires gradients, and does not take part in differentiation; use NoGrad", op.Name))
	}
	if write {
		if err := t.changeable(); err != nil {
			return v, at(fmt.Errorf("%s: %w", op.Name, err))
		}
	}
	switch r := recorderNow(); {
	case r == nil:
		err = foreign([]*Tensor{t})
	case !t.storage.virtual && t.storage.bytes > 0:
		if _, err = r.external(t); err != nil {
			err = r.fail(fmt.Errorf("%s: %w", op.Name, err))
		}
	}
	if err != nil {
		return v, err
	}
	if t.storage.held && !t.storage.virtual {
		t.storage.block.RecordStream(s)
	}
	if write {
		t.storage.version.Add(1)
	}
	return t.kernelView(), nil
}
