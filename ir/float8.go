package ir

import "math"

// A Float8 is a format of floats of 8 bits: a sign, exponent bits, and the rest for the
// fraction. They are for storage, as Half is.
type Float8 struct {
	Fraction, Bias int
	Top            int  // the code of the largest number
	NaN            int  // a code that is no number
	Infinite       bool // the code above the largest is infinity
	OneZero        bool // minus zero is NaN
}

// Float8s are the formats, in the order of the schema's enum: e4m3fn, e4m3fnuz, e5m2,
// e5m2fnuz.
var Float8s = [...]Float8{
	{Fraction: 3, Bias: 7, Top: 0x7e, NaN: 0x7f},
	{Fraction: 3, Bias: 8, Top: 0x7f, NaN: 0x80, OneZero: true},
	{Fraction: 2, Bias: 15, Top: 0x7b, NaN: 0x7f, Infinite: true},
	{Fraction: 2, Bias: 16, Top: 0x7f, NaN: 0x80, OneZero: true},
}

// Value returns the number of a code.
func (f Float8) Value(code uint8) float32 {
	magnitude, sign := int(code&0x7f), 1.0
	if code > 0x7f {
		sign = -1
	}
	switch exponent, fraction := magnitude>>f.Fraction, magnitude&(1<<f.Fraction-1); {
	case magnitude == f.Top+1 && f.Infinite:
		return float32(math.Inf(int(sign)))
	case magnitude > f.Top, f.OneZero && code == 0x80:
		return float32(math.NaN())
	case exponent == 0:
		return float32(math.Copysign(math.Ldexp(float64(fraction), 1-f.Bias-f.Fraction), sign))
	default:
		return float32(sign * math.Ldexp(float64(fraction|1<<f.Fraction), exponent-f.Bias-f.Fraction))
	}
}
