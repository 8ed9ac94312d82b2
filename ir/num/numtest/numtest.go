// Package numtest is what tests of mathematical functions compare with. It knows
// nothing of how they are computed in registers.
package numtest

import (
	"math"

	"github.com/sinter-go/sinter/ir/num"
)

// Exact1 and Exact2 compute in float64, with errors that are negligible beside those
// of float32.
var Exact1 = map[string]func(float64) float64{
	"exp": num.Exp[float64], "expneg": num.Exp[float64], "exp2": num.Exp2[float64], "expm1": num.Expm1[float64],
	"sigmoid": num.Sigmoid[float64],
	"log":     num.Log[float64], "log1p": num.Log1p[float64], "log2": num.Log2[float64], "log10": num.Log10[float64],
	"sin": num.Sin[float64], "cos": num.Cos[float64], "tan": num.Tan[float64],
	"asin": num.Asin[float64], "acos": num.Acos[float64], "atan": num.Atan[float64],
	"sinh": num.Sinh[float64], "cosh": num.Cosh[float64], "tanh": num.Tanh[float64],
	"asinh": num.Asinh[float64], "acosh": num.Acosh[float64], "atanh": num.Atanh[float64],
	"erf": num.Erf[float64], "erfc": num.Erfc[float64], "erfinv": num.Erfinv[float64],
	"lgamma": num.Lgamma[float64], "digamma": num.Digamma[float64],
	"cbrt": num.Cbrt[float64], "rsqrt": num.Rsqrt[float64],
	"gelu": func(x float64) float64 { return 0.5 * x * math.Erfc(-x*math.Sqrt2/2) },
}

// Exact2 are the functions of two arguments.
var Exact2 = map[string]func(a, b float64) float64{
	"pow": num.Pow[float64], "atan2": num.Atan2[float64], "hypot": num.Hypot[float64],
	"fmod": num.FMod[float64], "remainder": num.Remainder[float64],
}

// ULPs is the distance of got from want, in units of the last place that a float of
// bits of significand and the least exponent has at want: 24 and -149, or 53 and
// -1074. An infinite got is right where want rounds to it. It is infinite where one is
// NaN and the other not, or zeros differ in sign.
func ULPs(got, want float64, bits, least int) float64 {
	_, e := math.Frexp(want)
	unit := math.Ldexp(1, max(e-bits, least))
	limit := math.Ldexp(1, 3-least-bits) // 2^128 or, as float64, infinite
	alike := math.Signbit(got) == math.Signbit(want)
	switch {
	case got != got && want != want:
		return 0
	case got != got || want != want || got == 0 && want == 0 && !alike:
		return math.Inf(1)
	case got == want, math.IsInf(got, 0) && alike && math.Abs(want) >= limit-unit/2:
		return 0
	}
	return math.Abs(got-want) / unit
}
