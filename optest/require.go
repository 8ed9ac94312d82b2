package optest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// requirements checks that every form of the operator refuses arguments that do not meet
// what its entry requires, with an error that names the operator and says what is
// accepted, and that nothing is written then.
func (r runner) requirements() (errs []error) {
	if len(r.o.Op.Require) == 0 || r.parallel() {
		return nil
	}
	samples := append(r.samples(), Sample{Attrs: r.o.Defaults}) // of a factory there is none
	for _, want := range r.o.Op.Require {
		attrs := breaking(r.o.Op, want, samples[0].Attrs)
		if attrs == nil {
			errs = append(errs, fmt.Errorf("%s: found no arguments that do not meet it", want.In(r.o.Op)))
			continue
		}
		bad := samples[0]
		bad.Attrs = attrs
		if err := r.unaccepted(trial{sample: bad, dtype: r.taken(samples[0])}, want.In(r.o.Op)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", want.In(r.o.Op), err))
		}
	}
	return errs
}

// taken returns a dtype that the operator takes s in.
func (r runner) taken(s Sample) ir.DType {
	dts := slices.DeleteFunc(ir.ClassAll.List(), func(dt ir.DType) bool { return !r.declares(dt, s) })
	if slices.Contains(dts, ir.Float32) || len(dts) == 0 {
		return ir.Float32
	}
	return dts[0]
}

// unaccepted calls every form of the operator with arguments that it must refuse for want.
func (r runner) unaccepted(tr trial, want string) error {
	says := func(form string, err error) error {
		switch {
		case err == nil:
			return fmt.Errorf("%s takes what does not meet it", form)
		case !strings.Contains(err.Error(), r.o.Op.Name+": ") || !strings.Contains(err.Error(), "want "+want):
			return fmt.Errorf("%s says %q, want the operator's name and %q", form, err, "want "+want)
		}
		return nil
	}
	values := r.draw(tr, false)
	in, err := r.operands(tr, values, r.dev, false)
	if err != nil {
		return err
	}
	for _, t := range r.o.Call(r.args(tr, in, r.dev)) {
		if err := says("the operator", t.Err()); err != nil {
			return err
		}
	}
	if r.o.Out != nil {
		dst := core.Empty([]int{3}, core.Placement{Device: r.dev, DType: tr.dtype})
		if err := says("the out form", r.o.Out(dst, r.args(tr, in, r.dev))); err != nil {
			return err
		}
	}
	if r.o.InPlace == nil {
		return nil
	}
	before, err := core.Bytes(in[0])
	if err != nil {
		return err
	}
	if err := says("the in-place form", r.o.InPlace(r.args(tr, in, r.dev))); err != nil {
		return err
	}
	_ = in[0].TakeErr()
	if after, err := core.Bytes(in[0]); err != nil || !slices.Equal(before, after) {
		return fmt.Errorf("the in-place form changed its operand, or lost it: %v", err)
	}
	return nil
}

// breaking returns attrs with others in the places that want reads, so that it is the first
// that op requires and does not have; nil where none is found.
func breaking(op *ir.Op, want ir.Requirement, attrs []ir.Value) []ir.Value {
	out := slices.Clone(attrs)
	var try func(places []int) bool
	try = func(places []int) bool {
		if len(places) == 0 {
			err := op.Accepts(out...)
			return err != nil && strings.HasSuffix(err.Error(), "want "+want.In(op))
		}
		for _, v := range others(&op.Attrs[places[0]], attrs[places[0]]) {
			if out[places[0]] = v; try(places[1:]) {
				return true
			}
		}
		return false
	}
	if !try(want.Attrs()) {
		return nil
	}
	return out
}

// others returns values that an attribute may have in place of v.
func others(at *ir.Attr, v ir.Value) (list []ir.Value) {
	switch at.Kind {
	case ir.AttrFloat, ir.AttrScalar:
		for _, f := range []float64{math.NaN(), -1, 0, 2, math.Inf(1), math.Inf(-1)} {
			list = append(list, ir.ScalarValue(ir.FloatScalar(f)))
		}
	case ir.AttrEnum:
		for i := range at.Enum {
			list = append(list, ir.IntValue(i))
		}
	case ir.AttrInts:
		for _, n := range []int{-2, -1, 0, 1} {
			if len(v.Ints) > 0 {
				ints := slices.Clone(v.Ints)
				ints[len(ints)-1] = n
				list = append(list, ir.IntsValue(ints))
			}
		}
	default:
		for _, n := range []int{-2, -1, 0, 1, 2} {
			list = append(list, ir.IntValue(n))
		}
	}
	return list
}
