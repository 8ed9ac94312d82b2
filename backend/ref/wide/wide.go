// Package wide is real arithmetic wider than float64: the intrinsics of the
// scalar language on numbers of 160 bits. It is slow and obvious, and shares no
// code with package math, so that what it says about a float64 kernel is an
// independent opinion. It knows nothing of expressions, dtypes or tensors.
//
// Results are within a few units of the last of their 160 bits. They are rounded
// to a machine format once, by Float64, Float32 or Rounded. Special values are
// those of IEEE 754 and C99, and PyTorch's where these are silent. The exponent
// has room: exp(1000) is finite here, and what depends on a float64 overflow in
// the middle of an expression is not reproduced.
package wide

import (
	"math"
	"math/big"
)

const (
	// Prec is the number of significant bits of a Float.
	Prec = 160
	// work is the precision of intermediate results.
	work = 256
	// maxExp bounds the binary exponents of a Float: beyond it lie infinity and
	// zero. It leaves big.Float's own range far away from intermediate results.
	maxExp = 1 << 20
)

// A Float is a real number of 160 bits, a signed zero, an infinity or NaN. The
// zero value is +0. Floats are never changed; copies share their digits.
type Float struct {
	v   *big.Float // nil: +0
	nan bool
}

var zero = new(big.Float).SetPrec(Prec)

// NaN returns the value that is not a number. It has no sign.
func NaN() Float { return Float{nan: true} }

// Inf returns an infinity, the negative one if negative.
func Inf(negative bool) Float { return Float{v: new(big.Float).SetInf(negative)} }

// FromFloat64 returns the exact value of f.
func FromFloat64(f float64) Float {
	if f != f {
		return NaN()
	}
	return Float{v: new(big.Float).SetPrec(Prec).SetFloat64(f)}
}

// FromInt64 returns the exact value of i.
func FromInt64(i int64) Float { return Float{v: new(big.Float).SetPrec(Prec).SetInt64(i)} }

// Big returns the value of x, which must not be NaN, as a new big.Float.
func (x Float) Big() *big.Float { return new(big.Float).Copy(x.big()) }

// Float64 returns the float64 nearest to x, ties to even. Subnormal results are
// rounded once as well.
func (x Float) Float64() float64 {
	if x.nan {
		return math.NaN()
	}
	f, _ := x.big().Float64()
	return f
}

// Float32 returns the float32 nearest to x, ties to even.
func (x Float) Float32() float32 {
	if x.nan {
		return float32(math.NaN())
	}
	f, _ := x.big().Float32()
	return f
}

// Rounded returns the value nearest to x, ties to even, of the binary format
// with prec significant bits whose smallest normal number is 2^minExp and whose
// largest binade starts at 2^maxExp: (11, -14, 15) is float16 and (8, -126, 127)
// is bfloat16. Too large becomes infinite.
func (x Float) Rounded(prec, minExp, maxExp int) Float {
	if !x.finite() || x.IsZero() {
		return x
	}
	v := x.big()
	quantum := max(v.MantExp(nil)-prec, minExp+1-prec) // exponent of the last bit that is kept
	n := round(Float{v: new(big.Float).SetMantExp(v, -quantum)})
	z := new(big.Float).SetMantExp(n.big(), quantum)
	if z.MantExp(nil) > maxExp+1 {
		return Inf(x.Signbit())
	}
	return Float{v: z}
}

// IsNaN reports whether x is not a number.
func (x Float) IsNaN() bool { return x.nan }

// IsInf reports whether x is an infinity.
func (x Float) IsInf() bool { return !x.nan && x.big().IsInf() }

// IsZero reports whether x is +0 or -0.
func (x Float) IsZero() bool { return !x.nan && x.big().Sign() == 0 }

// Signbit reports whether x is negative or -0; NaN is neither.
func (x Float) Signbit() bool { return !x.nan && x.big().Signbit() }

// String formats x with 40 digits.
func (x Float) String() string {
	if x.nan {
		return "NaN"
	}
	return x.big().Text('g', 40)
}

func (x Float) finite() bool { return !x.nan && !x.big().IsInf() }

// big returns the value of x, which must not be NaN. The result is not changed.
func (x Float) big() *big.Float {
	if x.v == nil {
		return zero
	}
	return x.v
}

// rounded returns v as a Float: rounded to 160 bits, and infinite or zero where
// its exponent is out of range.
func rounded(v *big.Float) Float {
	switch exp := v.MantExp(nil); {
	case exp > maxExp:
		return Inf(v.Signbit())
	case exp < -maxExp:
		return signedZero(v.Signbit())
	}
	return Float{v: new(big.Float).SetPrec(Prec).Set(v)}
}

func signedZero(negative bool) Float {
	if negative {
		return Float{v: new(big.Float).SetPrec(Prec).Neg(zero)}
	}
	return Float{}
}

// copySign returns the magnitude of x, negative if negative.
func (x Float) copySign(negative bool) Float {
	if x.nan || x.Signbit() == negative {
		return x
	}
	return Float{v: new(big.Float).Neg(x.big())}
}
