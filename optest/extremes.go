package optest

import (
	"errors"
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// A Miss is what an operator makes of special values in one dtype, where the reference
// makes something else of them.
type Miss struct {
	DType ir.DType
	Err   error
}

// extremeSlack is how far finite results may be from the reference's, relative to these:
// the sweep is after values that are lost on the way, and other tests after digits.
var extremeSlack = map[ir.DType]float64{ir.Float16: 0.02, ir.BFloat16: 0.1, ir.Float32: 1e-3, ir.Float64: 1e-6}

// Extremes applies an operator to NaN, infinities, both zeros, subnormal numbers, the
// largest ones and such as their squares are no numbers of the dtype, one of them beside
// ordinary numbers at a time and all together, in every dtype and for every sample, on
// the CPU and on the reference. It returns the first miss of each dtype. What names
// places, and what draws numbers, is left alone.
func Extremes(o *Operator) (misses []Miss) {
	installOracle()
	r := runner{o: o, dev: device.CPU}
	if len(o.Op.In) == 0 || o.Op.Tags&(ir.TagSeeded|ir.TagNondeterministic|ir.TagWrites) != 0 {
		return nil
	}
	for _, dt := range o.Op.DTypes.List() {
		if err := r.extremes(dt); err != nil {
			misses = append(misses, Miss{dt, err})
		}
	}
	return misses
}

func (r runner) extremes(dt ir.DType) error {
	for _, s := range r.samples() {
		if sampleSize(s) > 200 {
			continue
		}
		tr := trial{s, dt, contiguous}
		plain := r.draw(tr, false)
		for i := range s.Shapes {
			special := r.extremesOf(i, s, dt)
			for k := range len(special) + 1 {
				values := make([][]ir.Scalar, len(plain))
				for j := range plain {
					values[j] = append([]ir.Scalar(nil), plain[j]...)
				}
				for at := range values[i] {
					switch {
					case len(special) == 0:
					case k == len(special): // all
						values[i][at] = special[at%len(special)]
					case at%3 == 0:
						values[i][at] = special[k]
					}
				}
				if err := r.compareKinds(tr, values); err != nil && !errors.Is(err, errRefused) {
					what := "all together"
					if k < len(special) {
						what = special[k].String()
					}
					return fmt.Errorf("%v, operand %d with %s: %w", s.Shapes, i, what, err)
				}
			}
		}
	}
	return nil
}

// extremesOf returns the special values of operand i, none where it names places.
func (r runner) extremesOf(i int, s Sample, dt ir.DType) (out []ir.Scalar) {
	p := r.o.Op.In[min(i, len(r.o.Op.In)-1)]
	if p.Fixed != ir.Invalid || i < len(s.Values) && s.Values[i] != "" && s.Values[i][0] != 'd' {
		return nil
	}
	dt = r.operandDType(i, dt)
	switch dt.Category() {
	case ir.CategoryInt:
		least, most := dt.IntRange()
		if dt.Unsigned() {
			return ints(0, 1, most-1, most)
		}
		return ints(0, -1, most, -most, least)
	case ir.CategoryFloat:
		large := 300.0 // its square is too large for float16
		if dt != ir.Float16 {
			large = 1e30
		}
		list := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), tiny(dt) / 4, -tiny(dt) / 4, large, -large}
		if r.o.Op.Kind == ir.Elementwise && r.roundsOnce() { // others may overflow on the way
			list = append(list, largest(dt), -largest(dt))
		}
		for _, f := range list {
			out = append(out, ir.FloatScalar(f))
		}
	}
	return out
}

// compareKinds compares the operator on the CPU with the reference, by what kind of
// numbers the results are and roughly by their size.
func (r runner) compareKinds(tr trial, values [][]ir.Scalar) error {
	in, err := r.operands(tr, values, r.dev, false)
	if err != nil {
		return err
	}
	wide := r.wide()
	ref, err := r.operands(tr, values, oracle, wide)
	if err != nil {
		return err
	}
	got, want := r.o.Call(r.args(tr, in, r.dev)), r.o.Call(r.args(tr, ref, oracle))
	for i := range got {
		if (got[i].Err() != nil) != (want[i].Err() != nil) {
			return fmt.Errorf("result %d: %v, the reference %v", i, got[i].Err(), want[i].Err())
		}
		if got[i].Err() != nil {
			return errRefused
		}
		d := r.precision(i, got[i].DType(), tr.dtype)
		g, err := core.Scalars(got[i])
		if err != nil {
			return err
		}
		w, err := core.Scalars(core.Cast(want[i], got[i].DType()))
		if err != nil {
			return err
		}
		if len(g) != len(w) {
			return fmt.Errorf("result %d: %d elements, the reference has %d", i, len(g), len(w))
		}
		top := 1.0
		for _, v := range w {
			if f := math.Hypot(v.Float(), imag(v.Complex())); !math.IsInf(f, 0) && !math.IsNaN(f) {
				top = max(top, f)
			}
		}
		for k := range g {
			if !sameKind(g[k], w[k], d, top) {
				return fmt.Errorf("result %d: element %d is %v, the reference has %v", i, k, g[k], w[k])
			}
		}
	}
	return nil
}

// sameKind reports whether two numbers are the same to the eye of the sweep. Complex
// numbers count as one kind where a part is infinite or NaN. Top is the largest number of
// the result.
func sameKind(got, want ir.Scalar, d ir.DType, top float64) bool {
	if !d.Differentiable() {
		return got.Int() == want.Int() && got.Bool() == want.Bool()
	}
	g, w := got.Float(), want.Float()
	if d.IsComplex() {
		g, w = math.Hypot(g, imag(got.Complex())), math.Hypot(w, imag(want.Complex()))
	}
	switch {
	case math.IsNaN(g) || math.IsNaN(w):
		return math.IsNaN(g) == math.IsNaN(w)
	case g == w:
		return true
	case math.IsInf(g, 0) || math.IsInf(w, 0): // one rounding may cross the largest number
		return math.Signbit(g) == math.Signbit(w) && min(math.Abs(g), math.Abs(w)) >= largest(d)*(1-2*extremeSlack[d.Real()])
	}
	slack := extremeSlack[d.Real()]
	return math.Abs(g-w) <= slack*top
}
