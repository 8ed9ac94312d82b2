package core

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// Kernel applies an operator with hand-written kernels. The results are as many
// as Op.Out; when there is an error, every one of them carries it.
func Kernel(a Apply) []*Tensor {
	if t := badOperand(a.Op, a.In...); t != nil {
		return repeat(t, len(a.Op.Out))
	}
	if a.carries(a.In) {
		return conveyed(a, a.In, Kernel)
	}
	outs := make([]*Tensor, len(a.Op.Out))
	p := newApplication(&a)
	err := p.kernel(outs)
	p.free()
	if err != nil {
		return repeat(Fail(a.Op, err), len(outs))
	}
	return outs
}

// KernelOne is Kernel for an operator with one result.
func KernelOne(a Apply) *Tensor {
	if t := badOperand(a.Op, a.In...); t != nil {
		return t
	}
	if a.carries(a.In) {
		return conveyedOne(a, a.In, KernelOne)
	}
	out, err := apply(&a, nil, (*application).kernelOne)
	if err != nil {
		return Fail(a.Op, err)
	}
	return out
}

func (p *application) kernelOne(dst *Tensor) (*Tensor, error) {
	outs := [1]*Tensor{dst}
	err := p.kernel(outs[:])
	return outs[0], err
}

// Shaped reports whether a kernel's rule of shapes takes its operands.
func Shaped(rule func() ([][]int, error)) bool {
	_, err := rule()
	return err == nil
}

// InParts reports whether op is left to the operator that stands for it: where the device
// that the operands are on, or that a factory is to create on, has no code of op. Every
// operator that has such a stand-in asks here, so that no composition looks at devices.
func InParts(op *ir.Op, place *Placement, in ...*Tensor) bool {
	dev, known := device.Device{}, place != nil
	if known {
		dev = place.Device
	}
	for _, t := range in {
		if t == nil {
			continue
		}
		if t.fail.Load() != nil { // the operator says so, by its own name
			return false
		}
		if !known || dev.Kind == device.KindCPU { // a number in host memory joins others
			dev, known = t.dev, true
		}
	}
	if !known || op.Runs(dev.Kind.String()) {
		return false
	}
	// What operands go together does not depend on devices: op refuses those that its parts would take.
	types, _ := typesOf(op, in)
	if len(types) == 0 {
		return true
	}
	_, _, err := op.Types(types, ir.Invalid, DefaultFloat())
	return err == nil
}

func repeat(t *Tensor, n int) []*Tensor {
	out := make([]*Tensor, n)
	for i := range out {
		out[i] = t
	}
	return out
}

// kernel computes the results into outs: those that are there are written, those
// that are nil allocated. Where there is an error the latter are nil again.
func (p *application) kernel(outs []*Tensor) error {
	if err := p.check(false); err != nil {
		return err
	}
	shapes, err := p.a.Shapes()
	if err != nil {
		return err
	}
	if len(shapes) != len(outs) {
		return fmt.Errorf("internal error: %d shapes for %d results", len(shapes), len(outs))
	}
	given := outs[0] != nil
	for i, shape := range shapes {
		if given {
			err = p.checkKernelDst(outs[i], shape, i)
		} else {
			outs[i], err = p.allocateLike(shape, p.resultDType(i))
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = p.launchKernel(outs)
	}
	switch {
	case err != nil && !given:
		releaseAll(outs)
		clear(outs)
	case err == nil && !given:
		p.record(outs...)
	}
	return err
}

// checkKernelDst validates a tensor that result i is written to. Kernels write
// their result's dtype, so it must have exactly that.
func (p *application) checkKernelDst(dst *Tensor, shape []int, i int) error {
	if want := p.resultDType(i); dst.dtype != want {
		return fmt.Errorf("%w: the result is %s, the tensor to write %s", ErrDType, want, dst.dtype)
	}
	return p.checkDst(dst, shape)
}

// launchKernel writes the results of p's operator to outs.
func (p *application) launchKernel(outs []*Tensor) error {
	in, err := p.converted()
	if err == nil {
		c := p.prepare(len(outs), len(in))
		for i, t := range outs {
			t.storage.view(&c.Out[i], &t.layout, t.dtype)
		}
		for i, t := range in {
			if t != nil {
				t.storage.view(&c.In[i], &t.layout, t.dtype)
			}
		}
		err = p.launch()
	}
	for i, t := range in { // these live until the launch has returned
		if t != p.a.In[i] {
			t.Release()
		}
	}
	return err
}

// converted returns the operands of a kernel on the kernel's device: those that
// take part in promotion in the dtype they were promoted to, fixed ones in theirs.
// Those it made are the caller's to release, also where there is an error.
func (p *application) converted() ([]*Tensor, error) {
	in := p.a.In
	for i, t := range p.a.In {
		want := operandOf(p.a.Op, i).Fixed
		if want == ir.Invalid {
			want = p.compute
		}
		if t == nil || t.dtype == want && t.dev == p.dev {
			continue
		}
		if &in[0] == &p.a.In[0] {
			in = append([]*Tensor(nil), p.a.In...)
		}
		in[i] = p.convert(t, want)
		if f := in[i].broken(); f != nil {
			return in, f.report()
		}
	}
	return in, nil
}

// convert returns t in dtype dt on the application's device, outside any graph.
func (p *application) convert(t *Tensor, dt ir.DType) (out *Tensor) {
	NoGrad(func() {
		cast := castTo(t, dt)
		if out = To(cast, p.dev, TransferOptions{}); cast != t && cast != out {
			cast.Release()
		}
	})
	return out
}

func releaseAll(ts []*Tensor) {
	for _, t := range ts {
		t.Release()
	}
}

// restride is the one view that names positions in a storage; all others name elements.
const restride = "as_strided"

// View applies a view operator: the result shares the storage of a.In[0] and
// has the given layout, which the caller computed from that operand's. layout
// is ignored when the operand carries an error.
func View(a Apply, layout ir.Layout, err error) *Tensor {
	if t := badOperand(a.Op, a.In...); t != nil {
		return t
	}
	x := a.In[0]
	if x == nil {
		return Fail(a.Op, ErrZeroTensor)
	}
	if bad := a.Op.Accepts(a.Attrs...); bad != nil {
		err = bad
	}
	if err == nil {
		err = checkEpochs(a.Op, a.In)
	}
	if err == nil && a.Op.Name == restride {
		err = WholeStorage(x)
	}
	if err == nil {
		err = layout.Within(x.StorageElements())
	}
	if err != nil {
		return Fail(a.Op, err)
	}
	out := x.again(layout)
	out.view, out.epoch = true, x.epoch
	if x.detached && x.grad == nil { // what happened to the storage before is no matter
		out.epoch = x.storage.epoch.Load()
	}
	recordOn(&a, x.storage.drv, out)
	return out
}

// unshare has t, where it is the only handle left of its storage, be no view: such a
// one can be changed in place while operators are recorded. The result of a composition
// may be a view of what it made, and released.
func unshare(t *Tensor) {
	if t != nil && t.storage != nil && t.storage.refs.Load() == 1 {
		t.view = false
	}
}

// Custom applies a composition that has a gradient of its own: forward runs
// without being recorded, and its results become the results of one node.
func Custom(a Apply, forward func() []*Tensor) []*Tensor {
	if t := badOperand(a.Op, a.In...); t != nil {
		return repeat(t, len(a.Op.Out))
	}
	if err := checkEpochs(a.Op, a.In); err != nil { // forward does not see it where nothing is recorded
		return repeat(Fail(a.Op, err), len(a.Op.Out))
	}
	var outs []*Tensor
	run := func() { outs = forward() }
	recorded := recording(&a)
	if recorded {
		plain := run
		run = func() { NoGrad(plain) }
	}
	if end := attempt(run); end != nil {
		outs = repeat(failed(end), len(a.Op.Out))
	}
	Composed(a.Op, a.In, outs...)
	if !recorded {
		return outs
	}
	if FirstError(outs...) != nil {
		return outs
	}
	for i, t := range outs { // a forward may return an operand itself: give the node a handle of its own
		for _, x := range a.In {
			if t == x {
				fresh := t.again(t.layout)
				fresh.view = true
				outs[i] = fresh
				break
			}
		}
	}
	recordOn(&a, outs[0].storage.drv, outs...)
	return outs
}
