package optest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// magnitudes are what values drawn from the default domain are multiplied with for
// 16-bit floats: squares and sums of the large ones leave what float16 holds, those of
// the small ones what it holds as normal numbers.
var magnitudes = []float64{1, 100, 1.0 / 256}

// halves checks operators of 16-bit floats against the same operator of float64 on the
// reference, whose results are rounded once: what is made of parts must not round
// between them. How far float32, which 16-bit floats are accumulated in, is off is taken
// from the same operator of float32. Element-wise operators round once, as values sees;
// their gradients are checked here.
func (r runner) halves() (errs []error) {
	if r.o.Op.Tags&ir.TagSeeded != 0 || len(r.o.Op.In) == 0 || r.mayRefuse() {
		return nil
	}
	for _, dt := range []ir.DType{ir.Float16, ir.BFloat16} {
		if !r.o.Op.DTypes.Has(dt) {
			continue
		}
		for i, s := range r.halfSamples() {
			for k, m := range magnitudes {
				if r.quick && (i+k+int(dt)+len(r.o.Op.Name))%(4*len(magnitudes)) != 0 {
					continue
				}
				h := &half{runner: r, tr: trial{s, dt, contiguous}, magnitude: m}
				if err := h.run(); err != nil && !errors.Is(err, errRefused) {
					return []error{fmt.Errorf("%s, values times %.4g: %w", h.tr, m, err)}
				}
			}
		}
	}
	return nil
}

// halfSamples returns the samples of the schema, or a few shapes.
func (r runner) halfSamples() []Sample {
	samples := r.samples()
	if len(r.o.Samples) == 0 {
		samples = slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool {
			n := ir.NumElements(s.Shapes[0])
			return n < 5 || n > 300 || len(s.Shapes[0]) > 3
		})
	}
	most := 10_000
	if r.quick {
		most = 1000
	}
	return slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return sampleSize(s) > most })
}

// half is one application to 16-bit floats.
type half struct {
	runner
	tr        trial
	magnitude float64
	values    [][]ir.Scalar // that the 16-bit dtype holds
	weights   [][]ir.Scalar // by result: gradients that it holds, too
}

// outcome is what an application gave: results, and the gradients of operands that are
// computed by fused operators, and by such as can be differentiated.
type outcome struct{ results, fused, recorded []*core.Tensor }

func (h *half) run() error {
	h.draw()
	narrow, err := h.apply(h.tr.dtype, h.dev)
	if err != nil {
		return err
	}
	single, err := h.apply(ir.Float32, h.dev)
	if err != nil {
		return fmt.Errorf("of float32: %w", err)
	}
	double, err := h.apply(ir.Float64, oracle)
	if err != nil {
		return fmt.Errorf("the reference fails: %w", err)
	}
	if h.o.Op.Kind != ir.Elementwise {
		if err := h.each("result", narrow.results, single.results, double.results, false); err != nil {
			return err
		}
	}
	loose := h.o.Rounded
	if loose && overflow(narrow.results, double.results) {
		return nil
	}
	if err := h.each("gradient", narrow.fused, single.fused, double.fused, loose); err != nil {
		return err
	}
	return h.each("recorded gradient", narrow.recorded, single.recorded, double.recorded, loose)
}

// overflow reports whether results of 16 bits are infinite that are not in float64.
func overflow(narrow, double []*core.Tensor) bool {
	for i, t := range narrow {
		got, err1 := core.Scalars(t)
		want, err2 := core.Scalars(double[i])
		for k := range got {
			if err1 == nil && err2 == nil && math.IsInf(got[k].Float(), 0) != math.IsInf(want[k].Float(), 0) {
				return true
			}
		}
	}
	return false
}

// draw fills the operands.
func (h *half) draw() {
	h.values = h.runner.draw(h.tr, false)
	for i, list := range h.values {
		dt := h.operandDType(i, h.tr.dtype)
		lo, hi := h.o.operandDomain(i)
		scaled := lo < 0 && hi > 0 && (i >= len(h.tr.sample.Values) || h.tr.sample.Values[i] == "")
		for k := range list {
			if v := list[k].Float(); dt.IsFloat() {
				if scaled {
					v *= h.magnitude
				}
				list[k] = ir.FloatScalar(rounded(v, h.tr.dtype))
			}
		}
	}
}

// rounded returns v as dtype dt holds it.
func rounded(v float64, dt ir.DType) float64 {
	t := core.FromBytes(encode([]ir.Scalar{ir.FloatScalar(v)}, dt), dt, nil, core.Placement{})
	defer t.Release()
	list, err := core.Scalars(t)
	if err != nil {
		return v
	}
	return list[0].Float()
}

// apply applies the operator on dev to operands of dtype as, in place of the 16-bit one.
func (h *half) apply(as ir.DType, dev device.Device) (*outcome, error) {
	tr := h.tr
	tr.dtype = as
	in, err := h.operands(tr, h.values, dev, false)
	if err != nil {
		return nil, err
	}
	var wanted []*core.Tensor
	for i, t := range in {
		if t == nil || len(h.o.Grad) == 0 || !h.o.Grad[min(i, len(h.o.Grad)-1)] || !t.DType().IsFloat() {
			continue
		}
		if err := t.SetRequiresGrad(true); err != nil {
			return nil, err
		}
		wanted = append(wanted, t)
	}
	o := &outcome{results: h.o.Call(h.args(tr, in, dev))}
	var roots, weights []*core.Tensor
	for i, t := range o.results {
		if err := t.Err(); err != nil {
			return nil, fmt.Errorf("%w: %w", errRefused, err)
		}
		if t.RequiresGrad() && t.DType().IsFloat() {
			roots = append(roots, t)
			weights = append(weights, core.FromBytes(encode(h.weight(i, t), t.DType()), t.DType(), t.Shape(), core.Placement{Device: dev}))
		}
	}
	if len(roots) == 0 {
		return o, nil
	}
	if o.fused, err = core.Gradients(roots, weights, wanted, core.BackwardOptions{Retain: true, Ops: &engine}); err != nil {
		return nil, err
	}
	o.recorded, err = core.Gradients(roots, weights, wanted, core.BackwardOptions{CreateGraph: true, Ops: &engine})
	return o, err
}

// weight returns the gradient of result i, which the 16-bit dtype holds.
func (h *half) weight(i int, t *core.Tensor) []ir.Scalar {
	for len(h.weights) <= i {
		h.weights = append(h.weights, nil)
	}
	if h.weights[i] == nil {
		s := newSource("half", h.o.Op.Name, h.tr.sample.Shapes, i)
		for range t.NumElements() {
			h.weights[i] = append(h.weights[i], ir.FloatScalar(rounded(s.Float64()+0.5, h.tr.dtype)))
		}
	}
	return h.weights[i]
}

// each compares tensors of 16-bit floats with what the same is of float32 and float64.
func (h *half) each(what string, narrow, single, double []*core.Tensor, loose bool) error {
	for i, t := range narrow {
		if t != nil && t.DType() == ir.Float32 && what == "result" && h.keepsDType(i) {
			return fmt.Errorf("%s %d is of %s", what, i, t.DType())
		}
		if t == nil || t.DType() != h.tr.dtype {
			continue
		}
		if single[i] == nil || double[i] == nil {
			return fmt.Errorf("%s %d: of float32 or float64 there is none", what, i)
		}
		if err := compareHalf(t, single[i], double[i], loose); err != nil {
			return fmt.Errorf("%s %d: %w", what, i, err)
		}
	}
	return nil
}

// keepsDType reports whether result i has the dtype that real operands have, all of them.
func (h *half) keepsDType(i int) bool {
	out := h.o.Op.Out[min(i, len(h.o.Op.Out)-1)]
	for i := range h.values {
		if dt := h.operandDType(i, h.tr.dtype); dt.IsFloat() && dt != h.tr.dtype {
			return false
		}
	}
	return h.o.Op.Kind == ir.Composition && out.DType == ir.Invalid && !out.Acc
}

// compareHalf compares t with the float64 numbers in double. Loose says that values which
// were rounded to 16 bits may have gone into t: saved results.
func compareHalf(t, single, double *core.Tensor, loose bool) error {
	got, err := core.Scalars(t)
	if err != nil {
		return err
	}
	f, err := core.Scalars(single)
	if err != nil {
		return err
	}
	want, err := core.Scalars(double)
	if err != nil {
		return err
	}
	if len(got) != len(want) || len(f) != len(want) {
		return fmt.Errorf("%d elements, want %d", len(got), len(want))
	}
	b := halfBound(t.DType(), f, want, loose)
	for k := range want {
		w := want[k].Float()
		if single := f[k].Float(); !math.IsNaN(w) && (math.IsNaN(single) || math.IsInf(single, 0) && !math.IsInf(w, 0)) {
			continue // float32 does not hold what is on the way
		}
		if !b.near(got[k].Float(), w, math.Abs(w)) {
			return fmt.Errorf("element %d of %v: %v, want %v (of float32 %v; off by %.3g ulp, allowed %.3g)", k, t.Shape(), got[k], want[k], f[k],
				math.Abs(got[k].Float()-w)/b.unit(math.Abs(w)), b.ulp+b.abs/b.unit(math.Abs(w)))
		}
	}
	return nil
}
