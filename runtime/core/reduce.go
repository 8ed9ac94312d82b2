package core

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// Reduce applies a reduction over a.Dims.
func Reduce(a Apply) *Tensor {
	if t := badOperand(a.Op, a.In...); t != nil {
		return t
	}
	if a.carries(a.In) {
		return conveyedOne(a, a.In, Reduce)
	}
	out, err := apply(&a, nil, (*application).reduce)
	if err != nil {
		return Fail(a.Op, err)
	}
	return out
}

// ReduceAll applies a reduction with several results over a.Dims. Where there is an
// error, every one of them carries it.
func ReduceAll(a Apply) []*Tensor {
	if a.carries(a.In) && FirstError(a.In...) == nil {
		return conveyed(a, a.In, ReduceAll)
	}
	return all(&a, a.In, (*application).reduceAll)
}

func (p *application) reduce(dst *Tensor) (*Tensor, error) {
	outs := [1]*Tensor{dst}
	err := p.reduceAll(outs[:])
	if err != nil && dst == nil && outs[0] != nil {
		outs[0].Release()
	}
	return outs[0], err
}

// reduceAll computes the results into outs: those that are there are written, those that
// are nil allocated, which are the caller's to release where there is an error. The
// operands broadcast.
func (p *application) reduceAll(outs []*Tensor) error {
	if err := p.check(false); err != nil {
		return err
	}
	a := &p.a
	shape, err := a.space()
	if err != nil {
		return err
	}
	axes, err := p.axes(a.Dims, len(shape))
	if err != nil {
		return err
	}
	kept, final := p.reducedShapes(shape, axes, a.KeepDim)
	if a.Op.EmptyFail && ir.NumElements(shape) == 0 && ir.NumElements(kept) > 0 {
		return fmt.Errorf("%w: no elements to reduce along dims %v of shape %v, and the operation has no identity", ir.ErrShape, axes, shape)
	}
	given := outs[0] != nil
	for i := range outs {
		if given {
			err = p.checkDst(outs[i], final)
		} else {
			outs[i], err = p.allocate(append(make([]int, 0, len(final)), final...), p.resultDType(i))
		}
		if err != nil {
			return err
		}
	}
	c := p.prepare(len(outs), len(a.In))
	c.Space, c.Axes = shape, axes
	for i, x := range a.In {
		p.expand(&c.In[i], x, shape)
	}
	for i, out := range outs {
		c.Out[i] = out.kernelView()
		c.Out[i].Strides = p.reducedStrides(c.Out[i].Strides, axes, len(shape), a.KeepDim)
		c.Out[i].Shape = kept
	}
	if ir.NumElements(kept) > 0 {
		if err := p.launch(); err != nil {
			return err
		}
	}
	if !given && recording(a) {
		a.Dims = append(make([]int, 0, len(axes)), axes...)
		p.record(outs...)
	}
	return nil
}

// axes returns the axes that dims name, ascending; nil and empty mean all.
func (p *application) axes(dims []int, rank int) ([]int, error) {
	if len(dims) > 1 {
		return ir.Axes(dims, rank)
	}
	if len(dims) == 0 {
		all := p.room(rank)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	axis, err := ir.Axis(dims[0], rank)
	if err != nil || rank == 0 {
		return nil, err
	}
	one := p.room(1)
	one[0] = axis
	return one, nil
}

// reducedShapes returns the shape with reduced axes kept as 1, and the result's.
// Both last as long as the application.
func (p *application) reducedShapes(shape, axes []int, keep bool) (kept, final []int) {
	kept = p.room(len(shape))
	copy(kept, shape)
	for _, a := range axes {
		kept[a] = 1
	}
	if keep {
		return kept, kept
	}
	final = p.room(len(shape) - len(axes))[:0]
	k := 0
	for i, d := range shape {
		if k < len(axes) && axes[k] == i {
			k++
			continue
		}
		final = append(final, d)
	}
	return kept, final
}

// reducedStrides expands a result's strides to the operand's rank, 0 along the
// reduced axes.
func (p *application) reducedStrides(strides, axes []int, rank int, keep bool) []int {
	out := p.room(rank)
	k, j := 0, 0
	for i := range out {
		reduced := k < len(axes) && axes[k] == i
		if reduced {
			k++
		}
		switch {
		case !reduced:
			out[i] = strides[j]
			j++
		case keep:
			j++
		}
	}
	return out
}

// Scan applies a scan along the one axis in a.Dims.
func Scan(a Apply) *Tensor {
	if t := badOperand(a.Op, a.In...); t != nil {
		return t
	}
	if a.carries(a.In) {
		return conveyedOne(a, a.In, Scan)
	}
	out, err := apply(&a, nil, (*application).scan)
	if err != nil {
		return Fail(a.Op, err)
	}
	return out
}

// one is the shape and the strides of a scalar that is scanned as a vector of one.
var one = []int{1}

func (p *application) scan(dst *Tensor) (*Tensor, error) {
	if err := p.check(false); err != nil {
		return nil, err
	}
	a, x := &p.a, p.a.In[0]
	shape := x.layout.Shape
	axis, err := ir.Axis(a.Dims[0], len(shape))
	if err != nil {
		return nil, err
	}
	out := dst
	if dst == nil {
		if out, err = p.allocateLike(shape, p.resultDType(0)); err != nil {
			return nil, err
		}
	} else if err := p.checkDst(dst, shape); err != nil {
		return nil, err
	}
	c := p.prepare(1, 1)
	c.In[0], c.Out[0] = x.kernelView(), out.kernelView()
	c.Space, c.Axes = shape, p.room(1)
	c.Axes[0] = axis
	if len(shape) == 0 {
		c.Space = one
		c.In[0].Shape, c.In[0].Strides = one, one
		c.Out[0].Shape, c.Out[0].Strides = one, one
	}
	if ir.NumElements(shape) > 0 {
		if err := p.launch(); err != nil {
			discard(out, dst)
			return nil, err
		}
	}
	if dst == nil && recording(a) {
		a.Dims = []int{axis}
		p.record(out)
	}
	return out, nil
}
