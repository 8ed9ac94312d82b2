package core

import (
	"fmt"
	goruntime "runtime"

	"github.com/sinter-go/sinter/ir"
)

// Kernel applies an operator with hand-written kernels. The results are as many
// as Op.Out; when there is an error, every one of them carries it.
func Kernel(a Apply) []*Tensor {
	if t := FirstError(a.In...); t != nil {
		return repeat(t, len(a.Op.Out))
	}
	outs, err := kernel(&a, nil)
	if err != nil {
		return repeat(Fail(a.Op, err), len(a.Op.Out))
	}
	return outs
}

func repeat(t *Tensor, n int) []*Tensor {
	out := make([]*Tensor, n)
	for i := range out {
		out[i] = t
	}
	return out
}

func kernel(a *Apply, dst *Tensor) ([]*Tensor, error) {
	p, err := a.check(false)
	if err != nil {
		return nil, err
	}
	shapes, err := a.Shapes()
	if err != nil {
		return nil, err
	}
	if len(shapes) != len(a.Op.Out) {
		return nil, fmt.Errorf("internal error: %d shapes for %d results", len(shapes), len(a.Op.Out))
	}
	outs := make([]*Tensor, len(shapes))
	for i, shape := range shapes {
		if dst != nil {
			outs[i], err = dst, p.checkDst(dst, shape)
		} else {
			outs[i], err = p.allocate(shape, p.resultDType(i))
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = p.launchKernel(outs)
	}
	if err != nil {
		if dst == nil {
			releaseAll(outs)
		}
		return nil, err
	}
	if dst == nil {
		record(a, &p, outs)
	}
	return outs, nil
}

// launchKernel writes the results of p's operator to outs.
func (p *plan) launchKernel(outs []*Tensor) error {
	c := p.call()
	for _, t := range outs {
		c.Out = append(c.Out, t.kernelView())
	}
	in, err := p.converted()
	defer func() { // the operands live until the launch has returned
		for i, t := range in {
			if t != p.a.In[i] {
				t.Release()
			}
		}
		keepAlive(in)
	}()
	if err != nil {
		return err
	}
	for _, t := range in {
		if t == nil {
			c.In = append(c.In, ir.View{})
			continue
		}
		c.In = append(c.In, t.kernelView())
	}
	return p.launch(c)
}

// converted returns the operands of a kernel on the kernel's device: those that
// take part in promotion in the dtype they were promoted to, fixed ones in theirs.
// Those it made are the caller's to release, also where there is an error.
func (p *plan) converted() ([]*Tensor, error) {
	in := append([]*Tensor(nil), p.a.In...)
	for i, t := range in {
		want := operandOf(p.a.Op, i).Fixed
		if want == ir.Invalid {
			want = p.compute
		}
		if t == nil || t.dtype == want && t.storage.dev == p.dev {
			continue
		}
		NoGrad(func() {
			cast := castTo(t, want)
			if in[i] = To(cast, p.dev, TransferOptions{}); cast != t && cast != in[i] {
				cast.Release()
			}
		})
		if f := in[i].broken(); f != nil {
			return in, f.report()
		}
	}
	return in, nil
}

func releaseAll(ts []*Tensor) {
	for _, t := range ts {
		t.Release()
	}
}

// keepAlive keeps operands' storages reachable until the launch has returned.
func keepAlive(in []*Tensor) {
	for _, t := range in {
		goruntime.KeepAlive(t)
	}
}

// View applies a view operator: the result shares the storage of a.In[0] and
// has the given layout, which the caller computed from that operand's. layout
// is ignored when the operand carries an error.
func View(a Apply, layout ir.Layout, err error) *Tensor {
	if t := FirstError(a.In...); t != nil {
		return t
	}
	x := a.In[0]
	if x == nil {
		return Fail(a.Op, ErrZeroTensor)
	}
	if err == nil {
		err = checkEpochs(a.Op, a.In)
	}
	if err == nil {
		err = layout.Within(x.StorageElements())
	}
	if err != nil {
		return Fail(a.Op, err)
	}
	x.storage.shared.Store(true)
	out := newTensor(x.storage, layout, x.dtype)
	out.view, out.epoch = true, x.epoch
	if x.detached && x.grad == nil { // what happened to the storage before is no matter
		out.epoch = x.storage.epoch.Load()
	}
	p := plan{a: &a, dev: x.storage.dev, drv: x.storage.drv, result: x.dtype}
	record(&a, &p, []*Tensor{out})
	return out
}

// Custom applies a composition that has a gradient of its own: forward runs
// without being recorded, and its results become the results of one node.
func Custom(a Apply, forward func() []*Tensor) []*Tensor {
	if t := FirstError(a.In...); t != nil {
		return repeat(t, len(a.Op.Out))
	}
	if !recording(&a) {
		outs := forward()
		Composed(a.Op, a.In, outs...)
		return outs
	}
	var outs []*Tensor
	NoGrad(func() { outs = forward() })
	Composed(a.Op, a.In, outs...)
	if FirstError(outs...) != nil {
		return outs
	}
	for i, t := range outs { // a forward may return an operand itself: give the node a handle of its own
		for _, x := range a.In {
			if t == x {
				fresh := newTensor(t.storage, t.layout, t.dtype)
				t.storage.shared.Store(true)
				fresh.view = true
				outs[i] = fresh
				break
			}
		}
	}
	p := plan{a: &a, dev: outs[0].storage.dev, drv: outs[0].storage.drv, result: outs[0].dtype}
	record(&a, &p, outs)
	return outs
}
