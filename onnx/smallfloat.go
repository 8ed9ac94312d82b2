package onnx

import (
	"math"

	"github.com/sinter-go/sinter/onnx/internal/format"
)

// A smallFloat is a type of floats that take at most a byte: a sign, exponent bits, and
// the rest for the fraction.
type smallFloat struct {
	bits, fraction int
	bias           int
	unsigned       bool // no sign and no zero: a power of two (e8m0)
	infinite       bool // the largest exponent is infinity and NaN, as IEEE 754 has it
	onlyNaN        bool // all ones is NaN, and there is no infinity
	negativeZero   bool // minus zero is the NaN (uz)
}

var smallFloats = map[format.Elem]smallFloat{
	format.Float8E4M3FN:   {bits: 8, fraction: 3, bias: 7, onlyNaN: true},
	format.Float8E4M3FNUZ: {bits: 8, fraction: 3, bias: 8, negativeZero: true},
	format.Float8E5M2:     {bits: 8, fraction: 2, bias: 15, infinite: true},
	format.Float8E5M2FNUZ: {bits: 8, fraction: 2, bias: 16, negativeZero: true},
	format.Float4E2M1:     {bits: 4, fraction: 1, bias: 1},
	format.Float8E8M0:     {bits: 8, bias: 127, unsigned: true, onlyNaN: true},
}

// value returns the number that a code stands for.
func (s smallFloat) value(code uint32) float32 {
	if s.unsigned {
		if code == 255 {
			return float32(math.NaN())
		}
		return float32(math.Ldexp(1, int(code)-s.bias))
	}
	sign, magnitude := code>>(s.bits-1), code&(1<<(s.bits-1)-1)
	exponent, fraction := int(magnitude>>s.fraction), magnitude&(1<<s.fraction-1)
	largest := 1<<(s.bits-1-s.fraction) - 1
	var v float64
	switch {
	case s.negativeZero && sign == 1 && magnitude == 0, s.onlyNaN && magnitude == 1<<(s.bits-1)-1,
		s.infinite && exponent == largest && fraction != 0:
		return float32(math.NaN())
	case s.infinite && exponent == largest:
		v = math.Inf(1)
	case exponent == 0:
		v = math.Ldexp(float64(fraction), 1-s.bias-s.fraction)
	default:
		v = math.Ldexp(float64(fraction)+float64(uint32(1)<<s.fraction), exponent-s.bias-s.fraction)
	}
	if sign == 1 {
		v = -v
	}
	return float32(v)
}
