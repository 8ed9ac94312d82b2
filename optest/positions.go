package optest

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// positions checks that operands which name places may have every dtype that the
// descriptor says: what each gives, gradients included, is what the dtype gives that
// they are loaded as.
func (r runner) positions() (errs []error) {
	others := ir.DTypeSet(0)
	for _, p := range r.o.Op.In {
		if p.Fixed != ir.Invalid {
			others |= p.DTypes &^ ir.SetOf(p.Fixed)
		}
	}
	for _, dt := range others.List() {
		for _, s := range r.o.Samples {
			if err := r.otherPositions(trial{s, r.gradedDType(), contiguous}, dt); err != nil {
				errs = append(errs, fmt.Errorf("%v as %s: %w", s.Shapes, dt, err))
			}
		}
	}
	return errs
}

// gradedDType returns a compute dtype, one that has gradients if there is one.
func (r runner) gradedDType() ir.DType {
	if r.o.Op.DTypes.Has(ir.Float64) {
		return ir.Float64
	}
	return r.o.Op.DTypes.List()[0]
}

// otherPositions compares a trial with one whose positions have dtype dt.
func (r runner) otherPositions(tr trial, dt ir.DType) error {
	values := r.draw(tr, false)
	for i, p := range r.o.Op.In[:min(len(r.o.Op.In), len(values))] {
		if p.DTypes.Has(dt) && !holds(dt, values[i]) {
			return nil
		}
	}
	want, wantGrads, err := r.withGradients(tr, values)
	if err != nil {
		return err
	}
	r.position = dt
	got, gotGrads, err := r.withGradients(tr, values)
	if err != nil {
		return err
	}
	for i := range want {
		if err := r.sameTensor(got[i], want[i], want[i].DType(), false); err != nil && err != errRefused {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	for i := range wantGrads {
		if err := nearTensors(gotGrads[i], wantGrads[i]); err != nil {
			return fmt.Errorf("gradient %d: %w", i, err)
		}
	}
	return nil
}

// withGradients applies the operator and returns its results and the gradients of
// the operands that have one.
func (r runner) withGradients(tr trial, values [][]ir.Scalar) (outs, grads []*core.Tensor, err error) {
	g := gradientCheck{runner: r, tr: tr, values: values}
	in, wanted, err := g.leaves(values)
	if err != nil {
		return nil, nil, err
	}
	outs = r.o.Call(r.args(tr, in, r.dev))
	for _, t := range outs {
		if err := t.Err(); err != nil {
			return nil, nil, err
		}
	}
	if len(wanted) == 0 {
		return outs, nil, nil
	}
	roots, weights, err := g.weigh(outs)
	if err != nil || len(roots) == 0 {
		return outs, nil, err
	}
	grads, err = core.Gradients(roots, weights, wanted, core.BackwardOptions{Ops: &engine})
	return outs, grads, err
}

// holds reports whether an integer dtype has all of the values.
func holds(dt ir.DType, values []ir.Scalar) bool {
	for _, v := range values {
		if dt == ir.Uint8 && (v.Int() < 0 || v.Int() > 255) {
			return false
		}
	}
	return true
}
