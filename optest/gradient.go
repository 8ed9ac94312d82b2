package optest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// gradients compares derivatives with central differences, in float64 and, for
// operators of complex numbers, in complex128; second derivatives too for
// element-wise operators. In each dtype at least one sample must have run. A quick run
// moves a few elements of each operand.
func (r runner) gradients() (errs []error) {
	if !slices.Contains(r.o.Grad, true) || r.mayRefuse() {
		return nil
	}
	most := 70 // elements to move, one by one
	if len(r.o.Samples) > 0 {
		most = 300
	}
	for _, dt := range []ir.DType{ir.Float64, ir.Complex128} {
		if !r.o.Op.DTypes.Has(dt) {
			continue
		}
		err := errRefused
		for i, s := range r.samples() {
			if n := sampleSize(s); n == 0 || n > most || len(r.o.Samples) == 0 && r.leftOut(i, 8*n, dt) {
				continue
			}
			g := gradientCheck{runner: r, tr: trial{s, dt, contiguous}}
			switch failed := g.run(); {
			case failed == nil && err == errRefused:
				err = nil
			case failed != nil && !errors.Is(failed, errRefused):
				err = fmt.Errorf("%s: %w", g.tr, failed)
			}
			if err != nil && err != errRefused {
				break
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", dt, err))
		}
	}
	return errs
}

func sampleSize(s Sample) int {
	n := 0
	for _, shape := range s.Shapes {
		n += ir.NumElements(shape)
	}
	return n
}

// gradientCheck differentiates L = Σ w·out for one trial.
type gradientCheck struct {
	runner
	tr      trial
	values  [][]ir.Scalar
	weights [][]ir.Scalar // by result; nil where it has no gradient
}

func (g *gradientCheck) run() error {
	g.values = g.draw(g.tr, false)
	g.avoidKinks()
	in, wanted, err := g.leaves(g.values)
	if err != nil {
		return err
	}
	outs := g.o.Call(g.args(g.tr, in, g.dev))
	roots, weights, err := g.weigh(outs)
	switch {
	case err != nil:
		return err
	case len(roots) == 0:
		return errRefused
	}
	grads, err := core.Gradients(roots, weights, wanted, core.BackwardOptions{Retain: true, Ops: &engine})
	if err != nil {
		return err
	}
	recorded, err := core.Gradients(roots, weights, wanted, core.BackwardOptions{CreateGraph: true, Ops: &engine})
	if err != nil {
		return fmt.Errorf("recorded: %w", err)
	}
	k := 0
	for i, t := range in {
		if t == nil || !t.RequiresGrad() {
			continue
		}
		if !g.noDifferences {
			if err := g.checkOperand(i, grads[k]); err != nil {
				return err
			}
		}
		if err := nearTensors(recorded[k], grads[k]); err != nil {
			return fmt.Errorf("operand %d: the differentiable gradient differs from the fused one: %w", i, err)
		}
		k++
	}
	if g.o.Op.Kind == ir.Elementwise && g.tr.dtype == ir.Float64 && !g.noDifferences {
		return g.second(recorded, wanted)
	}
	return nil
}

// leaves builds the operands, those with a gradient as leaves that require it.
func (g *gradientCheck) leaves(values [][]ir.Scalar) (in, wanted []*core.Tensor, err error) {
	in, err = g.operands(g.tr, values, g.dev, false)
	if err != nil {
		return nil, nil, err
	}
	for i, t := range in {
		if t == nil || !g.o.Grad[min(i, len(g.o.Grad)-1)] || !t.DType().Differentiable() {
			continue
		}
		if err := t.SetRequiresGrad(true); err != nil {
			return nil, nil, err
		}
		wanted = append(wanted, t)
	}
	return in, wanted, nil
}

// weigh returns the results that have a gradient, with random gradients.
func (g *gradientCheck) weigh(outs []*core.Tensor) (roots, weights []*core.Tensor, err error) {
	s := newSource("weights", g.o.Op.Name, g.tr.sample.Shapes)
	g.weights = make([][]ir.Scalar, len(outs))
	for i, t := range outs {
		if err := t.Err(); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", errRefused, err)
		}
		if !t.RequiresGrad() {
			continue
		}
		w := make([]ir.Scalar, t.NumElements())
		for k := range w {
			re, im := s.Float64()+0.5, s.Float64()-0.5
			w[k] = ir.FloatScalar(re)
			if t.DType().IsComplex() {
				w[k] = ir.ComplexScalar(complex(re, im))
			}
		}
		g.weights[i] = w
		roots = append(roots, t)
		weights = append(weights, core.FromBytes(encode(w, t.DType()), t.DType(), t.Shape(), core.Placement{Device: g.dev}))
	}
	return roots, weights, nil
}

// loss computes L = Re Σ conj(w)·out at the given operand values.
func (g *gradientCheck) loss(values [][]ir.Scalar) (float64, error) {
	in, err := g.operands(g.tr, values, g.dev, false)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for i, t := range g.o.Call(g.args(g.tr, in, g.dev)) {
		if g.weights[i] == nil {
			continue
		}
		out, err := core.Scalars(t)
		if err != nil {
			return 0, err
		}
		for k, v := range out {
			w := g.weights[i][k].Complex()
			total += real(w)*v.Float() + imag(w)*imag(v.Complex())
		}
	}
	return total, nil
}

// checkOperand compares the gradient of operand i with central differences.
func (g *gradientCheck) checkOperand(i int, grad *core.Tensor) error {
	var got []ir.Scalar
	if grad != nil {
		var err error
		if got, err = core.Scalars(grad); err != nil {
			return err
		}
	}
	for k := 0; k < len(g.values[i]); k += g.stride(i) {
		parts := []complex128{1}
		if g.tr.dtype.IsComplex() {
			parts = []complex128{1, 1i}
		}
		for _, part := range parts {
			want, err := g.difference(i, k, part)
			if err != nil {
				return err
			}
			var have float64
			if got != nil {
				have = got[k].Float()
				if part == 1i {
					have = imag(got[k].Complex())
				}
			}
			if !(math.Abs(have-want) <= gradientAbs+gradientRel*math.Abs(want)) {
				return fmt.Errorf("gradient of operand %d at element %d is %g, central difference %g (operands %v)", i, k, have, want, g.values)
			}
		}
	}
	return nil
}

// quickMoved is how many elements of an operand a quick run moves.
const quickMoved = 2

// stride returns how far apart the elements of operand i are that are moved.
func (g *gradientCheck) stride(i int) int {
	if !g.quick {
		return 1
	}
	return 1 + len(g.values[i])/quickMoved
}

// difference returns the central difference of the loss for one element.
func (g *gradientCheck) difference(i, k int, part complex128) (float64, error) {
	moved := slices.Clone(g.values)
	at := func(sign float64) (float64, error) {
		moved[i] = slices.Clone(g.values[i])
		h := complex(sign*gradientStep, 0) * part
		if g.tr.dtype.IsComplex() {
			moved[i][k] = ir.ComplexScalar(moved[i][k].Complex() + h)
		} else {
			moved[i][k] = ir.FloatScalar(moved[i][k].Float() + real(h))
		}
		return g.loss(moved)
	}
	up, err := at(1)
	if err != nil {
		return 0, err
	}
	down, err := at(-1)
	return (up - down) / (2 * gradientStep), err
}

// avoidKinks moves values away from where the derivative jumps, and apart from
// each other, so that no order between operands changes within a step.
func (g *gradientCheck) avoidKinks() {
	const margin = 1e-3
	for i := range g.values {
		for k, v := range g.values[i] {
			f := v.Float()
			if g.tr.dtype.IsComplex() || !g.operandDType(i, g.tr.dtype).IsFloat() {
				continue
			}
			for _, a := range g.o.Avoid {
				if math.Abs(f-a) < margin {
					f = a + math.Copysign(2*margin, f-a)
				}
			}
			g.values[i][k] = ir.FloatScalar(f)
		}
	}
}

// nearTensors compares two gradients that were computed in different ways.
func nearTensors(a, b *core.Tensor) error {
	if (a == nil) != (b == nil) {
		return fmt.Errorf("only one of them exists")
	}
	if a == nil {
		return nil
	}
	x, err := core.Scalars(a)
	if err != nil {
		return err
	}
	y, err := core.Scalars(b)
	if err != nil {
		return err
	}
	for i := range x {
		for _, p := range [2][2]float64{{x[i].Float(), y[i].Float()}, {imag(x[i].Complex()), imag(y[i].Complex())}} {
			if !(math.Abs(p[0]-p[1]) <= 1e-9*(1+math.Abs(p[1]))) {
				return fmt.Errorf("element %d: %v and %v", i, x[i], y[i])
			}
		}
	}
	return nil
}

// second compares the derivative of each first derivative with central
// differences of the fused gradient.
func (g *gradientCheck) second(first, wanted []*core.Tensor) error {
	for a, dx := range first {
		if dx == nil || !dx.RequiresGrad() {
			continue // the first derivative is constant
		}
		ones := core.FromBytes(encode(slices.Repeat([]ir.Scalar{ir.FloatScalar(1)}, dx.NumElements()), ir.Float64), ir.Float64, dx.Shape(), core.Placement{Device: g.dev})
		got, err := core.Gradients([]*core.Tensor{dx}, []*core.Tensor{ones}, wanted, core.BackwardOptions{Retain: true, Ops: &engine})
		if err != nil {
			return fmt.Errorf("second derivative: %w", err)
		}
		for b := range wanted {
			if err := g.checkSecond(a, b, got[b]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSecond compares d(Σ dL/d operand a)/d operand b, both counted among those
// with gradients.
func (g *gradientCheck) checkSecond(a, b int, got *core.Tensor) error {
	operand := g.wantedIndex(b)
	var have []ir.Scalar
	if got != nil {
		var err error
		if have, err = core.Scalars(got); err != nil {
			return err
		}
	}
	for k := 0; k < len(g.values[operand]); k += g.stride(operand) {
		var sums [2]float64
		for side, sign := range []float64{1, -1} {
			moved := slices.Clone(g.values)
			moved[operand] = slices.Clone(moved[operand])
			moved[operand][k] = ir.FloatScalar(moved[operand][k].Float() + sign*gradientStep)
			s, err := g.gradientSum(moved, a)
			if err != nil {
				return err
			}
			sums[side] = s
		}
		want := (sums[0] - sums[1]) / (2 * gradientStep)
		var v float64
		if have != nil {
			v = have[k].Float()
		}
		if !(math.Abs(v-want) <= secondAbs+secondRel*math.Abs(want)) {
			return fmt.Errorf("second derivative %d,%d at element %d is %g, central difference %g (operands %v)", a, b, k, v, want, g.values)
		}
	}
	return nil
}

func (g *gradientCheck) wantedIndex(k int) int {
	for i := range g.values {
		if g.o.Grad[min(i, len(g.o.Grad)-1)] && g.operandDType(i, g.tr.dtype).Differentiable() {
			if k == 0 {
				return i
			}
			k--
		}
	}
	return 0
}

// gradientSum returns Σ dL/d operand a at the given values.
func (g *gradientCheck) gradientSum(values [][]ir.Scalar, a int) (float64, error) {
	in, wanted, err := g.leaves(values)
	if err != nil {
		return 0, err
	}
	roots, weights, err := g.weigh(g.o.Call(g.args(g.tr, in, g.dev)))
	if err != nil {
		return 0, err
	}
	grads, err := core.Gradients(roots, weights, wanted[a:a+1], core.BackwardOptions{Ops: &engine})
	if err != nil || grads[0] == nil {
		return 0, err
	}
	dx, err := core.Scalars(grads[0])
	sum := 0.0
	for _, v := range dx {
		sum += v.Float()
	}
	return sum, err
}
