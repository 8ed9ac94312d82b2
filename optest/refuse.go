package optest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// refusals checks that the operator accepts operands of each dtype that it declares, and
// answers those of each other one with an error about dtypes. What accepts is the same for
// all devices, and the operands are zeros, of which an accelerator may complain later, to
// whoever waits for it then: so accelerators are left out.
func (r runner) refusals() (errs []error) {
	samples := slices.DeleteFunc(slices.Clone(r.samples()), r.converts)
	if len(samples) == 0 || len(r.o.Op.In) == 0 || r.parallel() || r.dev.Accelerator() {
		return nil
	}
	samples = samples[:min(len(samples), 6)]
	for _, dt := range ir.ClassAll.List() {
		declared := r.declares(dt, samples[0])
		var refused error
		for _, s := range samples {
			if refused = r.tryDType(s, dt); !errors.Is(refused, core.ErrDType) && declared || refused == nil {
				break
			}
		}
		switch wrong := errors.Is(refused, core.ErrDType); {
		case declared && wrong:
			errs = append(errs, fmt.Errorf("%s is declared and refused: %w", dt, refused))
		case !declared && refused == nil:
			errs = append(errs, fmt.Errorf("%s is not declared (have %v) and accepted", dt, r.o.Op.DTypes.List()))
		case !declared && !wrong:
			errs = append(errs, fmt.Errorf("%s is not declared and refused for another reason: %w", dt, refused))
		}
	}
	return errs
}

// converts reports whether a sample asks for a dtype, which operands of any other
// then become.
func (r runner) converts(s Sample) bool {
	for i, a := range r.o.Op.Attrs {
		if a.Kind == ir.AttrDType && i < len(s.Attrs) && s.Attrs[i].Int != 0 {
			return true
		}
	}
	return false
}

// tryDType applies the operator to zeros of dtype dt, but for operands whose dtype the
// entry fixes, and returns its error.
func (r runner) tryDType(s Sample, dt ir.DType) error {
	in := make([]*core.Tensor, max(len(s.Shapes), len(r.o.Op.In)))
	for i, shape := range s.Shapes {
		of := dt
		if o := r.o.Op.In[min(i, len(r.o.Op.In)-1)]; o.Fixed != ir.Invalid {
			of = o.Fixed
		}
		values := slices.Repeat([]ir.Scalar{ir.IntScalar(0)}, ir.NumElements(shape))
		in[i] = core.FromBytes(encode(values, of), of, shape, core.Placement{Device: r.dev})
	}
	return errors.Join(errorsOf(r.o.Call(r.args(trial{s, dt, contiguous}, in, r.dev)))...)
}

func errorsOf(ts []*core.Tensor) (errs []error) {
	for _, t := range ts {
		errs = append(errs, t.Err())
	}
	return errs
}

// declares reports whether the operator's entry says that it takes operands of dt.
func (r runner) declares(dt ir.DType, s Sample) bool {
	op := r.o.Op
	free := false // an operand that takes part in promotion
	for i := range s.Shapes {
		o := op.In[min(i, len(op.In)-1)]
		if o.Fixed != ir.Invalid {
			continue
		}
		free = true
		if o.DTypes != 0 && !o.DTypes.Has(dt) {
			return false
		}
	}
	if !free || op.Promote == ir.PromoteFixed {
		return true
	}
	exact := dt.Category() <= ir.CategoryInt
	switch {
	case op.Promote == ir.PromoteArithFloat && exact:
		dt = core.DefaultFloat()
	case op.Promote == ir.PromoteSumAcc && exact:
		dt = ir.Int64
	}
	return op.DTypes.Has(dt)
}

// parallel reports whether the operator writes over lists of tensors, which has no case.
func (r runner) parallel() bool { return r.o.Call == nil }
