package compile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/option"
)

// Pad has one program serve arguments of many lengths: their elements along axis are
// followed by zeros up to the next multiple, and results that are as long along axis are cut
// back, as views. Without a list of arguments all that have the axis are padded; they are
// equally long.
//
// The zeros are there for the function: it must give the wanted elements whatever comes
// behind them, as what works row by row does, or mask them by a length that it is given. It
// must not change a padded argument, nor leave a gradient in one.
func Pad(axis, multiple int, arguments ...int) Option {
	return option.Value("Pad", &padding{axis: axis, multiple: multiple, args: slices.Clone(arguments)})
}

// A padding is what Pad asks for.
type padding struct {
	axis, multiple int
	args           []int // nil: all
}

// check reports a padding that cannot be.
func (p *padding) check() error {
	switch {
	case p == nil:
		return nil
	case p.axis < 0:
		return fmt.Errorf("padding of axis %d, want 0 or more", p.axis)
	case p.multiple < 1:
		return fmt.Errorf("padding to a multiple of %d, want 1 or more", p.multiple)
	case slices.ContainsFunc(p.args, func(i int) bool { return i < 0 }):
		return fmt.Errorf("padding of arguments %v, want 0 or more", p.args)
	}
	return nil
}

// has reports whether argument i of args is padded.
func (p *padding) has(args []*core.Tensor, i int) bool {
	return p != nil && len(args[i].Shape()) > p.axis && (len(p.args) == 0 || slices.Contains(p.args, i))
}

// A cut is what padding added in a call, and is taken off its results.
type cut struct {
	axis, from, to int
	made           []*core.Tensor // padded copies
}

// widen puts padded copies in the place of arguments. Where gradients flow, they flow
// through the copies.
func (p *padding) widen(args []*core.Tensor, grads bool) (*cut, error) {
	if p == nil {
		return nil, nil
	}
	c := &cut{axis: p.axis, from: -1}
	if i := slices.IndexFunc(p.args, func(i int) bool { return i >= len(args) || len(args[i].Shape()) <= p.axis }); i >= 0 {
		return nil, core.At(fmt.Errorf("padding of axis %d: %w: there is no argument %d that has it", p.axis, tensor.ErrShape, p.args[i]))
	}
	for i, a := range args {
		if !p.has(args, i) {
			continue
		}
		n := a.Shape()[p.axis]
		if c.from < 0 {
			c.from, c.to = n, (n+p.multiple-1)/p.multiple*p.multiple
		}
		switch {
		case n != c.from:
			return nil, core.At(fmt.Errorf("padding of axis %d: %w: argument %d has %d elements along it, others %d; name the arguments to pad", p.axis, tensor.ErrShape, i, n, c.from))
		case !grads && a.RequiresGrad() && core.GradEnabled():
			return nil, core.At(fmt.Errorf("argument %d: %w: it is padded and requires gradients, which a step would leave in the padded copy", i, ErrUnrecordable))
		}
	}
	if c.from == c.to || c.from < 0 {
		return nil, nil
	}
	var err error
	core.OutsideScope(func() {
		for i, a := range args {
			if !p.has(args, i) {
				continue
			}
			around := make([]int, 2*(len(a.Shape())-p.axis))
			around[len(around)-1] = c.to - c.from
			t := tensor.Wrap(a).Pad(around).Handle()
			err = errors.Join(err, t.Err())
			c.made, args[i] = append(c.made, t), t
		}
	})
	if err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

// kept returns an error where a program changes an argument that is padded, so that the
// caller would not see it.
func (p *padding) kept(args []*core.Tensor, rec *core.Recorded) error {
	for i := range args {
		if p.has(args, i) && rec.Writes(args, i) {
			return core.At(fmt.Errorf("%w: the function changes argument %d, which is padded", ErrUnrecordable, i))
		}
	}
	return nil
}

// narrow takes off results what padding added.
func (c *cut) narrow(outs []*core.Tensor) []*core.Tensor {
	if c == nil {
		return outs
	}
	for i, t := range outs {
		if shape := t.Shape(); len(shape) > c.axis && shape[c.axis] == c.to {
			outs[i] = tensor.Wrap(t).Narrow(c.axis, 0, c.from).Handle()
			t.Release()
		}
	}
	return outs
}

// release gives back the padded copies.
func (c *cut) release() {
	if c == nil {
		return
	}
	for _, t := range c.made {
		t.Release()
	}
}
