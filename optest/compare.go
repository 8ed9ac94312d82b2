package optest

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// operandDType returns the dtype of operand i in a trial.
func (r runner) operandDType(i int, dt ir.DType) ir.DType {
	in := r.o.Op.In
	p := in[min(i, len(in)-1)]
	switch {
	case p.Fixed != ir.Invalid && p.DTypes.Has(r.position):
		return r.position
	case p.Fixed != ir.Invalid:
		return p.Fixed
	case r.o.Op.Promote == ir.PromoteFixed && p.DTypes != 0:
		return p.DTypes.List()[0]
	case p.DTypes != 0 && !p.DTypes.Has(dt):
		return p.DTypes.List()[0]
	}
	return dt
}

// draw returns the operands' values for a trial.
func (r runner) draw(tr trial, special bool) [][]ir.Scalar {
	s := newSource(r.o.Op.Name, tr.dtype, tr.sample.Shapes)
	out := make([][]ir.Scalar, len(tr.sample.Shapes))
	for i, shape := range tr.sample.Shapes {
		dt := r.operandDType(i, tr.dtype)
		switch {
		case special && len(r.specials(i, tr.dtype)) > 0:
			out[i] = r.specials(i, tr.dtype)
		default:
			out[i] = s.fill(r.o, i, tr.sample, dt)
		}
		if tr.layout == expanded && len(shape) > 0 && ir.NumElements(shape) > 0 {
			inner := ir.NumElements(shape[1:])
			for k := range out[i] {
				out[i][k] = out[i][k%inner]
			}
		}
	}
	return out
}

// operands builds the operands of a trial on a device.
func (r runner) operands(tr trial, values [][]ir.Scalar, dev device.Device, wide bool) ([]*core.Tensor, error) {
	in := make([]*core.Tensor, max(len(values), len(r.o.Op.In))) // operands without a shape are absent
	for i, v := range values {
		dt := r.operandDType(i, tr.dtype)
		t, err := build(v, tr.sample.Shapes[i], dt, tr.layout, dev)
		if err != nil {
			return nil, err
		}
		if wide && t.DType() != widen(dt) { // the values that dt holds, in the same layout
			if v, err = core.Scalars(t); err != nil {
				return nil, err
			}
			if t, err = build(v, tr.sample.Shapes[i], widen(dt), tr.layout, dev); err != nil {
				return nil, err
			}
		}
		in[i] = t
	}
	return in, nil
}

// wide reports whether the reference computes the operator in the widest dtype.
// A composition is several launches, each of which rounds. One that returns
// positions decides by rounded numbers and is checked in its own dtype, as is one
// that draws random numbers, which are others in another dtype.
func (r runner) wide() bool {
	return r.o.Op.Kind == ir.Composition && r.o.Op.Tags&ir.TagSeeded == 0 &&
		!slices.ContainsFunc(r.o.Op.Out, func(p ir.Result) bool { return p.DType != ir.Invalid })
}

// widen returns the dtype that compositions are checked in.
func widen(dt ir.DType) ir.DType {
	switch {
	case dt.IsFloat():
		return ir.Float64
	case dt.IsComplex():
		return ir.Complex128
	}
	return dt
}

// compare applies the operator on the device under test and on the oracle.
func (r runner) compare(tr trial, special bool) error {
	if r.o.Op.Tags&ir.TagNondeterministic != 0 && tr.dtype == ir.Invalid {
		return nil
	}
	values := r.draw(tr, special)
	in, err := r.operands(tr, values, r.dev, false)
	if err != nil {
		return err
	}
	got := r.o.Call(r.args(tr, in, r.dev))
	if r.noReference {
		if core.FirstError(got...) != nil {
			return errRefused
		}
		return nil
	}
	wide := r.wide()
	ref, err := r.operands(tr, values, oracle, wide)
	if err != nil {
		return err
	}
	want := r.o.Call(r.args(tr, ref, oracle))
	if len(got) != len(want) {
		return fmt.Errorf("%d results, the reference has %d", len(got), len(want))
	}
	for i := range got {
		if err := r.sameTensor(got[i], want[i], r.precision(i, got[i].DType(), tr.dtype), wide); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	if special || len(got) != 1 || wide {
		return nil
	}
	return r.otherForms(tr, values, got[0])
}

func (r runner) args(tr trial, in []*core.Tensor, dev device.Device) Args {
	return Args{In: in, Attrs: tr.sample.Attrs, Place: &core.Placement{Device: dev, DType: tr.dtype}}
}

// precision returns the dtype whose precision result i, of dtype d, is held to: a
// statistic that the schema stores wider than operands of dtype dt are computed in
// is as good as the computation.
func (r runner) precision(i int, d, dt ir.DType) ir.DType {
	fixed := r.o.Op.Out[min(i, len(r.o.Op.Out)-1)].DType != ir.Invalid
	if c := dt.Compute(); fixed && d.IsFloat() && c.IsFloat() && c.Size() < d.Size() {
		return c
	}
	return d
}

// sameTensor compares a result with the reference's, which is held to a dtype's
// precision.
func (r runner) sameTensor(got, want *core.Tensor, precision ir.DType, wide bool) error {
	if err := got.Err(); err != nil {
		if want.Err() != nil {
			return errRefused
		}
		return err
	}
	if err := want.Err(); err != nil {
		return fmt.Errorf("the reference fails: %w", err)
	}
	if !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Errorf("shape %v, want %v", got.Shape(), want.Shape())
	}
	if !wide && got.DType() != want.DType() {
		return fmt.Errorf("dtype %s, want %s", got.DType(), want.DType())
	}
	g, err := core.Scalars(got)
	if err != nil {
		return err
	}
	w, err := core.Scalars(want)
	if err != nil {
		return err
	}
	scale := 0.0
	for _, v := range w {
		if f := math.Abs(v.Float()); !math.IsInf(f, 0) && !math.IsNaN(f) {
			scale = max(scale, f)
		}
	}
	b := boundOf(r.o, precision, scale)
	for i := range g {
		if err := b.differ(g[i], w[i]); err != nil {
			return fmt.Errorf("element %d of %v: %w", i, got.Shape(), err)
		}
	}
	return nil
}

// otherForms checks that the out and in-place forms give the plain form's bits.
func (r runner) otherForms(tr trial, values [][]ir.Scalar, plain *core.Tensor) error {
	if plain.Err() != nil {
		return nil
	}
	if r.o.Out != nil {
		in, err := r.operands(tr, values, r.dev, false)
		if err != nil {
			return err
		}
		dst := core.Empty(plain.Shape(), core.Placement{Device: r.dev, DType: plain.DType()})
		if err := r.o.Out(dst, r.args(tr, in, r.dev)); err != nil {
			return fmt.Errorf("out form: %w", err)
		}
		if err := sameBits(dst, plain); err != nil {
			return fmt.Errorf("out form: %w", err)
		}
	}
	if r.o.InPlace == nil || tr.layout == expanded || tr.layout == unaligned || !slices.Equal(plain.Shape(), tr.sample.Shapes[0]) || plain.DType() != r.operandDType(0, tr.dtype) {
		return nil
	}
	in, err := r.operands(tr, values, r.dev, false)
	if err != nil {
		return err
	}
	before := in[0].Version()
	if err := r.o.InPlace(r.args(tr, in, r.dev)); err != nil {
		return fmt.Errorf("in-place form: %w", err)
	}
	if in[0].Version() != before+1 {
		return fmt.Errorf("in-place form: version went from %d to %d", before, in[0].Version())
	}
	if err := sameBits(in[0], plain); err != nil {
		return fmt.Errorf("in-place form: %w", err)
	}
	return nil
}

// sameBits compares all of the elements, but for what NaNs carry: of two that meet, a processor
// hands on either.
func sameBits(got, want *core.Tensor) error {
	g, err := core.Bytes(got)
	if err != nil {
		return err
	}
	w, err := core.Bytes(want)
	if err != nil {
		return err
	}
	if !slices.Equal(g, w) && (len(g) != len(w) || got.DType() != want.DType() || !sameButNaNs(got, want)) {
		return fmt.Errorf("differs from the plain form")
	}
	return nil
}

func sameButNaNs(got, want *core.Tensor) bool {
	if d := got.DType(); !d.IsFloat() && !d.IsComplex() {
		return false
	}
	g, err := core.Scalars(got)
	if err != nil {
		return false
	}
	w, err := core.Scalars(want)
	alike := func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
	}
	return err == nil && slices.EqualFunc(g, w, func(x, y ir.Scalar) bool {
		return alike(x.Float(), y.Float()) && alike(imag(x.Complex()), imag(y.Complex()))
	})
}

// caseDTypes are the dtypes that the schema's literal cases hold for: the floating
// ones, or else of operators of integers or bools those.
func (r runner) caseDTypes() []ir.DType {
	for _, of := range [][]ir.DType{{ir.Float64, ir.Float32}, {ir.Complex128, ir.Complex64}, {ir.Int64}, {ir.Bool}} {
		if r.o.Op.DTypes.Has(of[0]) {
			return of
		}
	}
	return nil
}

// cases compares the operator with the schema's literal results.
func (r runner) cases() (errs []error) {
	for _, dt := range r.caseDTypes() {
		for _, c := range r.o.Cases {
			if err := r.literal(dt, c); err != nil {
				errs = append(errs, fmt.Errorf("%s%v: %w", dt, c.In, err))
			}
		}
	}
	return errs
}

func (r runner) literal(dt ir.DType, c Case) error {
	in := make([]*core.Tensor, len(c.In))
	for i, v := range c.In {
		d := r.operandDType(i, dt)
		in[i] = core.FromBytes(encode([]ir.Scalar{v}, d), d, nil, core.Placement{Device: r.dev})
	}
	out := r.o.Call(Args{In: in, Attrs: c.Attrs, Place: &core.Placement{Device: r.dev, DType: dt}})
	for i, want := range c.Want {
		got, err := core.Item(out[i])
		if err != nil {
			return err
		}
		b := bound{dtype: out[i].DType(), ulp: r.o.ULP + 1, scale: 1e-3}
		if err := b.differ(got, want); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	return nil
}
