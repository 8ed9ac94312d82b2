package composite

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// again sets the gradients of a node of op to those of what forward makes of its
// operands: the node's results, by operators that can be differentiated. They are
// recorded where the node's are to be. An operand may be computed of another one: what is
// wanted are the parts by each, so what is behind an operand is cut off, or where the
// gradients are recorded is behind a copy.
func again(g *core.Grad, op *ir.Op, ops *core.Operators, forward func(in []*core.Tensor) []*core.Tensor) {
	in, dys := make([]*core.Tensor, g.NumIn()), make([]*core.Tensor, len(op.Out))
	var wanted []*core.Tensor
	for i := range in {
		if in[i] = g.In(i); !g.Needs(i) {
			continue
		}
		switch {
		case in[i].IsLeaf():
		case g.Recording():
			core.EnableGrad(func() { in[i] = ops.Clone(in[i]) })
		default:
			in[i] = in[i].Detach()
			if err := in[i].SetRequiresGrad(true); err != nil {
				in[i] = core.Fail(op, err)
			}
		}
		wanted = append(wanted, in[i])
	}
	for i := range dys {
		dys[i] = g.Dy(i)
	}
	var grads []*core.Tensor
	var err error
	core.EnableGrad(func() {
		grads, err = core.Gradients(forward(in), dys, wanted, core.BackwardOptions{CreateGraph: g.Recording(), Ops: ops})
	})
	for i := range in {
		if !g.Needs(i) {
			continue
		}
		if err != nil {
			g.Set(i, core.Fail(op, err))
			continue
		}
		g.Set(i, grads[0])
		grads = grads[1:]
	}
}

// look returns x for a look at its shape, dtype or device. Every such look of this
// package goes through it: where x carries an error the composition ends with that.
func look(x *core.Tensor) *core.Tensor { return core.Look(x) }
