package core

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Devices have no code for uint16, uint32 and uint64 (ir.DType.Carried). An application
// of an operator to tensors of them becomes one to signed integers, which carry them, and
// its results become unsigned again. There are three ways, by what the descriptor says:
//
//   - where the sign of integers is no matter (ir.TagSignless) the operator is given the
//     same elements as signed integers of the same size. Nothing is copied;
//   - others are given the values in signed integers of twice the size, which hold them,
//     and what they return is cut to its size;
//   - uint64 has no such integers. Operators that only compare (ir.TagOrders) are given
//     the elements with their highest bit turned over: these are in the same order. A
//     few have a composition (unsignedParts). Others refuse it.

// carries reports whether an operand or the dtype asked for is carried.
func (a *Apply) carries(in []*Tensor) bool {
	for _, t := range in {
		if t != nil && t.dtype.Carried() {
			return true
		}
	}
	return a.DType.Carried() || a.Place != nil && a.option().Carried()
}

// A carrying is how operands that promote to a carried dtype are given to an operator.
type carrying uint8

const (
	plainly carrying = iota // what they promote to is not carried
	asBits
	asValues
	turned  // with their highest bit turned over
	inParts // by a composition
)

// wayOf returns how op is given operands that promote to dt.
func wayOf(op *ir.Op, dt ir.DType) carrying {
	switch {
	case !dt.Carried():
		return plainly
	case op.Tags&ir.TagSignless != 0:
		return asBits
	case dt != ir.Uint64:
		return asValues
	case op.Tags&ir.TagOrders != 0:
		return turned
	}
	return inParts
}

// A carriage is an application on its way to signed integers and back.
type carriage struct {
	a      Apply
	way    carrying
	dt     ir.DType   // what the operands promote to
	result []ir.DType // of each result
}

// carriageOf returns a, which is of carried dtypes, as an application of what devices have
// code for. What it makes on the way belongs to the scope.
func carriageOf(a Apply, in []*Tensor) (*carriage, error) {
	c := &carriage{a: a}
	c.a.In = in
	if err := c.a.checkVariant(); err != nil {
		return nil, err
	}
	if err := c.a.checkOperands(); err != nil {
		return nil, err
	}
	if err := checkEpochs(a.Op, in); err != nil {
		return nil, err
	}
	p := application{a: c.a, wrapped: allWrapped(in)}
	if err := p.types(); err != nil {
		return nil, err
	}
	if err := p.checkNumbers(); err != nil {
		return nil, err
	}
	c.dt, c.way = p.compute, wayOf(a.Op, p.compute)
	for i := range a.Op.Out {
		c.result = append(c.result, p.resultDType(i))
	}
	if c.way == inParts {
		if unsignedParts(a.Op.Name) == nil {
			return nil, fmt.Errorf("%w: not implemented for %s, whose values no signed integers hold; convert to int64 or float64 with ToType", ErrDType, c.dt)
		}
		return c, nil
	}
	c.a.In = slices.Clone(in)
	for i, t := range in {
		if t == nil || operandOf(a.Op, i).Fixed != ir.Invalid || c.way == plainly && !t.dtype.Carried() {
			continue
		}
		c.a.In[i] = c.operand(t)
		if f := c.a.In[i].broken(); f != nil {
			return nil, f.report()
		}
	}
	if c.a.DType.Carried() {
		c.a.DType = c.carrier()
	}
	if c.a.Place != nil {
		place := *c.a.Place
		place.DType = c.carrier()
		c.a.Place = &place
	}
	if c.way == plainly {
		return c, nil
	}
	c.a.Backward = nil
	c.a.Attrs = slices.Clone(a.Attrs)
	for i := range c.a.Attrs {
		if a.Op.Attrs[i].Kind == ir.AttrScalar {
			c.a.Attrs[i].Scalar = c.number(a.Attrs[i].Scalar)
		}
	}
	return c, nil
}

// carrier returns the dtype that the operator is given.
func (c *carriage) carrier() ir.DType {
	switch c.way {
	case plainly:
		return c.dt
	case asValues:
		return c.dt.Holder()
	}
	return c.dt.Bits()
}

// operand returns an operand that takes part in promotion as the operator is given it.
func (c *carriage) operand(t *Tensor) *Tensor {
	if t.wrapped {
		s := c.number(decode(t.storage.host(), t.dtype))
		return ScalarTensor(s)
	}
	switch c.way {
	case plainly:
		return castTo(t, c.dt)
	case asValues:
		return holder(castTo(t, c.dt))
	case turned:
		return turn(castTo(t, c.dt).as(c.dt.Bits()))
	}
	return castTo(t, c.dt).as(c.dt.Bits())
}

// number returns a host number as the operator is given it. Numbers stand for their value
// modulo two to the width.
func (c *carriage) number(s ir.Scalar) ir.Scalar {
	if c.way == plainly {
		if c.dt.IsInt() {
			return ir.IntScalar(s.Int())
		}
		return ir.FloatScalar(s.Float())
	}
	if s.Category() == ir.CategoryBool && c.way != turned {
		return s
	}
	u := uint64(s.Int())
	if s.Category() >= ir.CategoryFloat {
		u = floatBits(s.Float())
	}
	free := 64 - 8*c.dt.Size()
	switch c.way {
	case asValues:
		return ir.IntScalar(int64(u << free >> free))
	case turned:
		return ir.IntScalar(int64(u ^ 1<<63))
	}
	return ir.IntScalar(int64(u) << free >> free)
}

// floatBits truncates f, and limits it to what uint64 holds.
func floatBits(f float64) uint64 {
	switch {
	case f >= 0x1p64:
		return 1<<64 - 1
	case f >= 0x1p63:
		return uint64(f-0x1p63) | 1<<63
	}
	return uint64(max(ir.FloatToInt(f), 0))
}

// back returns result i of the operator in the dtype that it is to have.
func (c *carriage) back(r *Tensor, i int) *Tensor {
	if r.fail.Load() != nil || !c.result[i].Carried() || r.dtype != c.carrier() {
		return r
	}
	switch c.way {
	case asValues:
		return castTo(r, c.result[i])
	case turned:
		return turn(r).as(c.result[i])
	}
	return r.as(c.result[i])
}

// as returns t's elements as those of a dtype of the same size: another handle on them.
func (t *Tensor) as(dt ir.DType) *Tensor {
	if t.fail.Load() != nil || t.dtype == dt {
		return t
	}
	out := t.again(t.layout)
	out.dtype = dt
	return out
}

// conveyed applies a to in, some of which devices have no code for, by run.
func conveyed(a Apply, in []*Tensor, run func(a Apply) []*Tensor) []*Tensor {
	return ComposingAll(func() []*Tensor {
		c, err := carriageOf(a, in)
		if err != nil {
			return repeat(Fail(a.Op, err), len(a.Op.Out))
		}
		if c.way == inParts {
			return []*Tensor{unsignedOf(a.Op, castAll(in, c.dt))}
		}
		outs := run(c.a)
		for i := range outs {
			outs[i] = c.back(outs[i], i)
		}
		return outs
	})
}

// conveyedOne is conveyed for an operator with one result.
func conveyedOne(a Apply, in []*Tensor, run func(a Apply) *Tensor) *Tensor {
	if a.Op.Promote == ir.PromoteOption {
		return castTo(in[0], a.DType)
	}
	return conveyed(a, in, func(a Apply) []*Tensor { return []*Tensor{run(a)} })[0]
}

// castAll returns in as dt; numbers of the host become tensors.
func castAll(in []*Tensor, dt ir.DType) []*Tensor {
	out := make([]*Tensor, len(in))
	for i, t := range in {
		out[i] = castTo(t, dt)
	}
	return out
}

// writeCarried writes the result of a, or where dst alone is carried that of its plain
// form, to dst.
func (a *Apply) writeCarried(dst *Tensor) error {
	plain := *a
	plain.Backward = nil
	var err error
	InScope(func(*Scope) {
		var out *Tensor
		NoGrad(func() { out = plain.one() })
		if f := out.broken(); f != nil {
			f.seen.Store(true)
			err = f.bare
			return
		}
		p := application{a: plain, dev: out.dev, result: out.dtype}
		if a.Op.Kind == ir.Opaque {
			err = p.checkKernelDst(dst, out.layout.Shape, 0)
		} else {
			err = p.checkDst(dst, out.layout.Shape)
		}
		if err == nil {
			err = assign(dst, castTo(out, dst.dtype))
		}
	})
	return err
}

// carriedInPlace writes the result of a over dst, its first operand, which is carried.
func carriedInPlace(a *Apply, dst *Tensor) error {
	if err := checkOverlap(a.Op, dst, a.In, true); err != nil {
		return err
	}
	if err := a.writeCarried(dst); err != nil {
		return err
	}
	dst.storage.version.Add(1)
	return nil
}

// inPlaceOfCarried writes the result of a, which has carried operands, over its first one,
// which is not: in what they promote to, so that gradients are those of other operands.
func inPlaceOfCarried(a *Apply) (err error) {
	InScope(func(*Scope) {
		var c *carriage
		if c, err = carriageOf(*a, a.In); err != nil {
			return
		}
		if c.way != plainly { // of no floats
			err = carriedInPlace(a, a.In[0])
			return
		}
		err = elementwiseInPlace(&c.a)
	})
	return err
}

// one applies a, which has one result.
func (a *Apply) one() *Tensor {
	switch a.Op.Kind {
	case ir.Reduction:
		return Reduce(*a)
	case ir.Scan:
		return Scan(*a)
	case ir.Opaque:
		return KernelOne(*a)
	}
	return Elementwise(*a)
}

// assign copies x over dst, which has its shape, dtype and device.
func assign(dst, x *Tensor) error {
	if f := x.broken(); f != nil {
		return f.report()
	}
	bits := dst.dtype.Bits()
	_, err := apply(&Apply{Op: copyOp, In: []*Tensor{x.as(bits)}}, dst.as(bits), (*application).elementwise)
	return err
}
