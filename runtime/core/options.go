package core

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/option"
)

// CreationOptions are the options that ReadPlacement asks for.
const CreationOptions = "On, OfType, RequireGrad, Pinned"

// ReadPlacement returns where and how the options have a factory create: like another
// tensor, or where like is nil as the defaults say, but for what they name.
func ReadPlacement(r *option.Reader, like *Tensor) *Placement {
	var p *Placement
	if like != nil {
		p = PlacementLike(like)
	} else {
		p = DefaultPlacement()
	}
	p.Device = option.Get(r, "On", p.Device)
	p.DType = ir.DType(r.Int("OfType", int(p.DType)))
	p.RequireGrad = r.Flag("RequireGrad", false)
	p.Pin = option.Get(r, "Pinned", device.KindCPU)
	return p
}

// PlacementOf is ReadPlacement for operators that take no other options.
func PlacementOf(opts []option.Option, like *Tensor) (*Placement, error) {
	r := option.Read(opts)
	p := ReadPlacement(&r, like)
	return p, r.Err(CreationOptions)
}

// ReadScalar returns the number that the option called name is, or missing.
func ReadScalar(r *option.Reader, name string, missing ir.Scalar) ir.Scalar {
	v, given := r.Number(name)
	if !given {
		return missing
	}
	s, err := ir.ScalarOf(v)
	if err != nil {
		r.Refuse(name)
	}
	return s
}

// TransferOf returns what the options of a copy say, in the function called name.
func TransferOf(name string, opts []option.Option) (TransferOptions, error) {
	r := option.Read(opts)
	return TransferOptions{NonBlocking: r.Flag("NonBlocking", false)}, of(name, r.Err("NonBlocking"))
}

// of returns the error of the function called name with the caller's line.
func of(name string, err error) error {
	if err == nil {
		return nil
	}
	return at(fmt.Errorf("%s: %w", name, err))
}

// BackwardOf returns what the options of a backward pass say, and the gradients that it
// starts from, nil where none are given.
func BackwardOf(opts []option.Option, operators *Operators) (BackwardOptions, []*Tensor, error) {
	r := option.Read(opts)
	o := BackwardOptions{Retain: r.Flag("Retain", false), CreateGraph: r.Flag("CreateGraph", false), Ops: operators}
	grads := option.Get[[]*Tensor](&r, "WithGradient", nil)
	return o, grads, of("backward", r.Err("Retain, CreateGraph, WithGradient"))
}

// Refuse returns the first of the operands that carries an error, as a tensor, or else
// one that carries err, a mistake in the options of op.
func Refuse(op *ir.Op, err error, in ...*Tensor) *Tensor {
	if bad := FirstError(in...); bad != nil {
		return bad
	}
	return Fail(op, err)
}

// Recast returns t, which is of the one dtype that its factory makes, with the dtype that
// place names. It takes t over.
func Recast(t *Tensor, place *Placement) *Tensor {
	if place.DType == ir.Invalid || t.Err() != nil || place.DType == t.DType() {
		return t
	}
	defer t.Release()
	out := Cast(t, place.DType)
	if place.Pin == device.KindCPU {
		return out
	}
	defer out.Release()
	return Pin(out, place.Pin)
}
