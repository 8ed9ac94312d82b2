package optest

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
)

// defaultULP bounds operators whose entry states no bound and whose results are
// not one function of one element: sums of products in any order.
const defaultULP = 32

// Gradients are compared with central differences of step h, whose own error is
// of the order of h², relative to the values involved.
const (
	gradientStep = 1e-5
	gradientRel  = 2e-5
	gradientAbs  = 2e-6
	secondRel    = 1e-3
	secondAbs    = 1e-4
)

// Epsilon returns the distance from 1 to the next number of dtype d.
func Epsilon(d ir.DType) float64 {
	switch d.Real() {
	case ir.Float16:
		return 0x1p-10
	case ir.BFloat16:
		return 0x1p-7
	case ir.Float32:
		return 0x1p-23
	case ir.Float64:
		return 0x1p-52
	}
	return 0
}

// tiny returns the smallest normal number of dtype d.
func tiny(d ir.DType) float64 {
	switch d.Real() {
	case ir.Float16:
		return 0x1p-14
	case ir.Float64:
		return 0x1p-1022
	}
	return 0x1p-126
}

// largest returns the largest finite number of dtype d.
func largest(d ir.DType) float64 {
	switch d.Real() {
	case ir.Float16:
		return 65504
	case ir.BFloat16:
		return 0x1.fep127
	case ir.Float32:
		return math.MaxFloat32
	}
	return math.MaxFloat64
}

// A bound decides whether a result is near enough to the expected one.
type bound struct {
	dtype ir.DType
	ulp   float64 // allowed distance in units of the last place
	scale float64 // the units are those of numbers of at least this size
	abs   float64 // allowed besides
}

// boundOf returns the bound for results of op in dtype d, whose largest expected
// magnitude is scale. Element-wise results are held to their own last place,
// others to that of the largest result.
func boundOf(o *Operator, d ir.DType, scale float64) bound {
	b := bound{dtype: d, ulp: o.ULP}
	if o.Op.Kind != ir.Elementwise {
		b.ulp, b.scale = max(o.ULP, defaultULP), max(scale, 1)
	}
	switch {
	case d == ir.Float16 || d == ir.BFloat16:
		b.ulp = b.ulp/64 + 1 // computed in float32 and rounded once
	case d.IsComplex():
		b.ulp, b.scale = max(b.ulp, 16), max(scale, b.scale)
	}
	return b
}

// differ reports how got misses want, or nil. NaN equals NaN, infinities must
// agree, integers and bools are exact.
func (b bound) differ(got, want ir.Scalar) error {
	switch {
	case !b.dtype.Differentiable():
		if got.Int() != want.Int() || got.Bool() != want.Bool() {
			return fmt.Errorf("%s, want %s", got, want)
		}
		return nil
	case b.dtype.IsComplex():
		size := math.Hypot(want.Float(), imag(want.Complex()))
		for _, pair := range [2][2]float64{{got.Float(), want.Float()}, {imag(got.Complex()), imag(want.Complex())}} {
			if !b.near(pair[0], pair[1], size) {
				return fmt.Errorf("%v, want %v", got, want)
			}
		}
		return nil
	}
	if !b.near(got.Float(), want.Float(), math.Abs(want.Float())) {
		return fmt.Errorf("%v, want %v (off by %.3g ulp, allowed %g: ulp in the entry's test)", got, want,
			math.Abs(got.Float()-want.Float())/b.unit(math.Abs(want.Float())), b.ulp)
	}
	return nil
}

// unit returns the unit of the last place of numbers of the given size.
func (b bound) unit(size float64) float64 {
	size = max(size, b.scale, tiny(b.dtype))
	if math.IsInf(size, 0) || math.IsNaN(size) {
		return Epsilon(b.dtype)
	}
	_, exp := math.Frexp(size)
	return Epsilon(b.dtype) * math.Ldexp(1, exp-1)
}

func (b bound) near(got, want, size float64) bool {
	switch {
	case math.IsNaN(got) || math.IsNaN(want):
		return math.IsNaN(got) == math.IsNaN(want)
	case got == want:
		return true
	case math.IsInf(want, 0) || math.IsInf(got, 0): // one rounding may cross the largest number
		finite := got
		if math.IsInf(got, 0) {
			finite = want
		}
		return math.Abs(finite) >= largest(b.dtype)*(1-Epsilon(b.dtype)*(b.ulp+1)) && math.Signbit(got) == math.Signbit(want)
	}
	return math.Abs(got-want) <= (b.ulp+0.5)*b.unit(size)+b.abs
}

const (
	// halfULP bounds what is rounded once, beyond what float32 explains: half a unit for
	// the rounding, and as much for sums in another order.
	halfULP = 0.5
	// savedULP bounds gradients that are made of results as the operator gave them, which
	// were rounded before, in units of the largest element, or of the result's gradient.
	savedULP = 8
	// singleErrors is how many times as far off as float32 in one order of computing it may
	// be in another.
	singleErrors = 4
)

// halfBound returns the bound for what was computed in float32 and rounded once to dtype
// d. It is want in float64, single in float32. Loose says that values which were rounded
// to d before may have gone into it.
func halfBound(d ir.DType, single, want []ir.Scalar, loose bool) bound {
	b := bound{dtype: d, ulp: halfULP}
	for i := range want {
		w, off := math.Abs(want[i].Float()), math.Abs(single[i].Float()-want[i].Float())
		if off < math.Inf(1) {
			b.abs = max(b.abs, singleErrors*off)
		}
		if loose && w < math.Inf(1) {
			b.ulp, b.scale = savedULP, max(b.scale, w, 1)
		}
	}
	return b
}
