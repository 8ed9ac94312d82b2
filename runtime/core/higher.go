package core

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// gradient returns the gradient that g asks for as a function that is differentiated.
func (d *Differentiated) gradient(g *Grad) (*Differentiated, error) {
	args, key := slices.Clone(d.args), make([]byte, len(d.dys))
	for k, i := range d.dys {
		r := &g.node.out[i]
		a := argument{layout: ir.ContiguousLayout(r.layout.Shape), dev: r.dev, drv: g.node.drv, dtype: r.dtype, first: len(args)}
		a.bytes = int64(ir.NumElements(r.layout.Shape)) * int64(r.dtype.Size())
		if dy := g.dys[i]; dy != nil && dy.grad != nil {
			a.requires, key[k] = true, 1
		}
		args = append(args, a)
	}
	if n := d.higher.find(key); n != nil {
		return n, nil
	}
	turn := d.options.Turn
	if turn == nil {
		turn = func(record func() error) error { return record() }
	}
	var n *Differentiated
	err := turn(func() error {
		if n = d.higher.find(key); n != nil { // of a goroutine that was quicker
			return nil
		}
		n = &Differentiated{of: d, grads: d.grads, args: args}
		o := d.options
		o.Later, o.State = false, d.declared()
		if err := n.record(nil, o); err != nil {
			return err
		}
		d.higher.enter(key, n)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the gradient of a gradient: %w", err)
	}
	return n, nil
}

// declared returns the state that the function was recorded with.
func (d *Differentiated) declared() []Declared {
	list := slices.Clone(d.options.State)
	for _, t := range d.state {
		if !slices.ContainsFunc(list, func(s Declared) bool { return s.Tensor != nil && s.Tensor.storage == t.storage }) {
			list = append(list, Declared{Tensor: t})
		}
	}
	return list
}

func (h *gradientsOf) find(key []byte) *Differentiated {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[string(key)]
}

func (h *gradientsOf) enter(key []byte, d *Differentiated) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[string(key)] = d
	if h.closed {
		d.Close()
	}
}

// replay does the function in a recording: the one that was given, and each gradient up to
// this one's. It returns the function's arguments and its results.
func (d *Differentiated) replay(r *recorder, in []*Tensor) (args, outs []*Tensor, err error) {
	if d.of == nil {
		outs, err = d.f(in)
		return in, outs, err
	}
	if args, outs, err = d.of.replay(r, in); err != nil {
		return nil, nil, err
	}
	r.awaitAll()
	if bad := FirstError(outs...); bad != nil {
		return nil, nil, bad.Err()
	}
	if r.failed != nil {
		return nil, nil, r.failed
	}
	if err := d.of.same(r, outs); err != nil {
		return nil, nil, r.fail(err)
	}
	var roots, dys, inputs []*Tensor
	for _, i := range d.of.dys {
		dy := r.gradientOf(outs[i], len(args)+len(dys))
		if d.args[len(args)+len(dys)].requires {
			dy.grad = &gradState{}
		}
		roots, dys = append(roots, outs[i]), append(dys, dy)
	}
	for _, k := range d.of.wants {
		if k < len(args) {
			inputs = append(inputs, args[k])
		} else {
			inputs = append(inputs, d.of.state[k-len(args)])
		}
	}
	outs, err = d.grads(roots, dys, inputs, true)
	if err == nil && slices.Contains(outs, nil) {
		err = fmt.Errorf("%w: a gradient that there was is none now", ErrUnrecordable)
	}
	return slices.Concat(args, dys), outs, err
}

// same returns an error where a recording that ends with the function's steps is not the one
// that it was made of.
func (d *Differentiated) same(r *recorder, outs []*Tensor) error {
	differs := func(what string) error {
		return fmt.Errorf("%w: the function did something else than when it was called: %s", ErrUnrecordable, what)
	}
	own := d.own()
	from := len(r.program) - len(own)
	if from < 0 || d.of == nil && from > 0 || len(outs) != d.outs {
		return differs(fmt.Sprintf("%d steps and %d results, then %d and %d", len(r.program), len(outs), len(own), d.outs))
	}
	for i, was := range own {
		is := &r.program[from+i].Step
		if !alikeSteps(was, is) {
			return differs(fmt.Sprintf("step %d is %s, was %s, or has other operands or numbers", i, is.Name(), was.Name()))
		}
	}
	for i := range min(len(r.buffers), len(d.buffers)) {
		a, b := &d.buffers[i], &r.buffers[i]
		if a.Kind != program.Constant || b.Kind != program.Constant || a.storage == b.storage || a.storage == nil || b.storage == nil ||
			a.storage.block.Host == nil || b.storage.block.Host == nil {
			continue
		}
		if a.storage.bytes != b.storage.bytes || !bytes.Equal(a.storage.host(), b.storage.host()) {
			return differs("a number is another one")
		}
	}
	return nil
}

// own returns the function's steps as they were recorded, without those that are done again.
func (d *Differentiated) own() (list []*program.Step) {
	for i := range d.before.Steps {
		if s := &d.before.Steps[i]; !s.Again {
			list = append(list, s)
		}
	}
	return list
}

// alikeSteps reports whether two steps do the same.
func alikeSteps(a, b *program.Step) bool {
	c, e := &a.Call, &b.Call
	if a.Action != b.Action || a.Bytes != b.Bytes || (c.Kernel == nil) != (e.Kernel == nil) || !alikeRefs(a.In, b.In) || !alikeRefs(a.Out, b.Out) {
		return false
	}
	if c.Kernel == nil {
		return true
	}
	alikeViews := func(a, b []ir.View) bool {
		return slices.EqualFunc(a, b, func(v, w ir.View) bool {
			return v.DType == w.DType && equalInts(v.Shape, w.Shape) && equalInts(v.Strides, w.Strides)
		})
	}
	return c.Op.Name == e.Op.Name && c.Precision == e.Precision && alikeViews(c.In, e.In) && alikeViews(c.Out, e.Out) &&
		equalInts(c.Space, e.Space) && equalInts(c.Axes, e.Axes) && fmt.Sprint(c.Scalars, c.Attrs) == fmt.Sprint(e.Scalars, e.Attrs)
}

func alikeRefs(a, b []program.Ref) bool {
	return slices.EqualFunc(a, b, func(r, s program.Ref) bool { return r.Buffer == s.Buffer && r.Offset == s.Offset })
}

// usesOf returns which operands of d, of which the function is the gradient, it uses.
func (d *Differentiated) usesOf(of *Differentiated) []bool {
	var uses []bool
	for i := range of.args {
		if has(d.uses, i) {
			mark(&uses, i)
		}
	}
	for k, t := range d.state {
		i := of.stateOf(t)
		if i >= 0 && has(d.uses, len(d.args)+k) {
			mark(&uses, len(of.args)+i)
		}
	}
	return uses
}

// stateOf returns the index of a tensor among the state that counts as operands, below 0 for
// one that is none.
func (d *Differentiated) stateOf(t *Tensor) int {
	return slices.IndexFunc(d.state, func(o *Tensor) bool { return o.storage == t.storage })
}
