package wide

import (
	"cmp"
	"math/big"
)

// Neg returns -x.
func (x Float) Neg() Float { return x.copySign(!x.Signbit()) }

// Add returns x + y.
func (x Float) Add(y Float) Float {
	if x.nan || y.nan || x.IsInf() && y.IsInf() && x.Signbit() != y.Signbit() {
		return NaN()
	}
	switch {
	case x.inf:
		return x
	case y.inf:
		return y
	}
	return sum(x, y)
}

// Sub returns x - y.
func (x Float) Sub(y Float) Float {
	if x.nan || y.nan {
		return NaN()
	}
	return x.Add(y.Neg())
}

// Mul returns x * y.
func (x Float) Mul(y Float) Float {
	if x.nan || y.nan || x.IsInf() && y.IsZero() || x.IsZero() && y.IsInf() {
		return NaN()
	}
	if x.inf || y.inf {
		return Inf(x.neg != y.neg)
	}
	return product(x, y)
}

// Quo returns x / y. A finite number divided by zero is infinite.
func (x Float) Quo(y Float) Float {
	if x.nan || y.nan || x.IsInf() && y.IsInf() || x.IsZero() && y.IsZero() {
		return NaN()
	}
	switch {
	case x.inf || y.IsZero():
		return Inf(x.neg != y.neg)
	case y.inf || x.IsZero():
		return signedZero(x.neg != y.neg)
	}
	return quotient(x, y)
}

// Cmp returns -1, 0 or 1 as x is less than, equal to or greater than y. Zeros
// are equal. It is not ordered, and 0, when either is NaN.
func (x Float) Cmp(y Float) (order int, ordered bool) {
	if x.nan || y.nan {
		return 0, false
	}
	switch {
	case x.inf || y.inf:
		return cmp.Compare(x.ifInf(), y.ifInf()), true
	case x.neg != y.neg && (!x.IsZero() || !y.IsZero()):
		order = 1
	case x.neg != y.neg:
		return 0, true
	default:
		order = magnitudes(x, y)
	}
	if x.neg {
		order = -order
	}
	return order, true
}

// ifInf returns the sign of an infinity, 0 for a finite number.
func (x Float) ifInf() int {
	switch {
	case !x.inf:
		return 0
	case x.neg:
		return -1
	}
	return 1
}

// Less reports whether x < y; false when either is NaN.
func (x Float) Less(y Float) bool {
	c, ok := x.Cmp(y)
	return ok && c < 0
}

// LessEqual reports whether x <= y; false when either is NaN.
func (x Float) LessEqual(y Float) bool {
	c, ok := x.Cmp(y)
	return ok && c <= 0
}

// Equal reports whether x == y; false when either is NaN.
func (x Float) Equal(y Float) bool {
	c, ok := x.Cmp(y)
	return ok && c == 0
}

// Int returns x truncated toward zero, and whether x is a finite number that
// lies, truncated, within int64.
func (x Float) Int() (i int64, ok bool) {
	if !x.finite() {
		return 0, false
	}
	z, _ := x.big().Int(nil)
	return z.Int64(), z.IsInt64()
}

// FMA returns x*y + z rounded so that Float64 of it is the exact value rounded
// once.
func FMA(x, y, z Float) Float {
	if !x.finite() || !y.finite() || !z.finite() {
		return x.Mul(y).Add(z)
	}
	product := new(big.Float).SetPrec(2*Prec).Mul(x.big(), y.big())
	sum := new(big.Float).SetPrec(Prec).SetMode(big.ToZero).Add(product, z.big())
	if sum.Acc() == big.Exact {
		if sum.Sign() == 0 {
			return signedZero(product.Signbit() && z.Signbit())
		}
		return rounded(sum)
	}
	// Rounding to odd keeps what was cut off visible to the next rounding.
	exp := sum.MantExp(sum)
	digits, _ := sum.SetMantExp(sum, Prec).Int(nil)
	negative := digits.Sign() < 0
	digits.SetBit(digits.Abs(digits), 0, 1)
	sum.SetMantExp(sum.SetInt(digits), exp-Prec)
	return rounded(sum).copySign(negative)
}

func abs(x Float) Float { return x.copySign(false) }

func sign(x Float) Float {
	if x.nan || x.IsZero() {
		return x
	}
	return FromInt64(1).copySign(x.neg)
}

func copysign(x, y Float) Float { return x.copySign(y.Signbit()) }

// minimum and maximum return NaN when either operand is, and order -0 before +0.
func minimum(x, y Float) Float {
	switch {
	case x.nan || y.nan:
		return NaN()
	case y.Less(x) || y.IsZero() && x.IsZero() && y.Signbit():
		return y
	}
	return x
}

func maximum(x, y Float) Float { return minimum(x.Neg(), y.Neg()).Neg() }

// fmin and fmax return the other operand when one is NaN.
func fmin(x, y Float) Float {
	if x.nan {
		return y
	}
	if y.nan {
		return x
	}
	return minimum(x, y)
}

func fmax(x, y Float) Float { return fmin(x.Neg(), y.Neg()).Neg() }

// integral returns the integer that pick chooses from x truncated toward zero
// and the fraction cut off, with the sign of x where that is zero.
func integral(x Float, pick func(whole *big.Int, fraction *big.Float)) Float {
	if !x.finite() || x.big().IsInt() {
		return x
	}
	whole, _ := x.big().Int(nil)
	fraction := new(big.Float).Sub(x.big(), new(big.Float).SetInt(whole))
	pick(whole, fraction)
	return rounded(new(big.Float).SetPrec(Prec).SetInt(whole)).copySign(x.Signbit())
}

var one = big.NewInt(1)

func trunc(x Float) Float { return integral(x, func(*big.Int, *big.Float) {}) }

func floor(x Float) Float {
	return integral(x, func(whole *big.Int, fraction *big.Float) {
		if fraction.Sign() < 0 {
			whole.Sub(whole, one)
		}
	})
}

func ceil(x Float) Float { return floor(x.Neg()).Neg() }

// round returns the nearest integer, ties to even.
func round(x Float) Float {
	return integral(x, func(whole *big.Int, fraction *big.Float) {
		away := big.NewInt(int64(fraction.Sign()))
		half := fraction.Abs(fraction).Cmp(big.NewFloat(0.5))
		if half > 0 || half == 0 && whole.Bit(0) == 1 {
			whole.Add(whole, away)
		}
	})
}

// mantissa returns finite x as an integer times a power of two.
func mantissa(x *big.Float) (digits *big.Int, exp int) {
	m := new(big.Float)
	exp = x.MantExp(m)
	bits := int(x.MinPrec())
	digits, _ = m.SetMantExp(m, bits).Int(nil)
	return digits, exp - bits
}

// fmod returns x - y*trunc(x/y), exactly; it has the sign of x.
func fmod(x, y Float) Float {
	switch {
	case x.nan || y.nan || x.IsInf() || y.IsZero():
		return NaN()
	case x.IsZero() || y.IsInf() || abs(x).Less(abs(y)):
		return x
	}
	a, ea := mantissa(x.big())
	b, eb := mantissa(y.big())
	b.Abs(b)
	exp := min(ea, eb)
	if ea >= eb { // a * 2^(ea-eb) mod b, whatever the difference
		shift := new(big.Int).Exp(big.NewInt(2), big.NewInt(int64(ea-eb)), b)
		a.Rem(a.Mul(a, shift), b)
	} else { // |x| >= |y|: the shift is no longer than a
		a.Rem(a, b.Lsh(b, uint(eb-ea)))
	}
	r := new(big.Float).SetPrec(Prec).SetInt(a)
	return rounded(r.SetMantExp(r, exp)).copySign(x.Signbit())
}

// remainder returns x - y*floor(x/y), which has the sign of y. A zero keeps the
// sign of x.
func remainder(x, y Float) Float {
	r := fmod(x, y)
	if !r.nan && !r.IsZero() && r.Signbit() != y.Signbit() {
		return r.Add(y)
	}
	return r
}

// floordiv returns the floor of the exact quotient. A zero y gives x/y. Otherwise
// an infinite x gives NaN, as x - fmod(x, y) does.
func floordiv(x, y Float) Float {
	if y.IsZero() {
		return x.Quo(y)
	}
	if x.IsInf() {
		return NaN()
	}
	q := truncdiv(x, y)
	r := fmod(x, y)
	if !r.nan && !r.IsZero() && r.Signbit() != y.Signbit() {
		if q.IsZero() {
			return FromInt64(-1)
		}
		return q.Sub(FromInt64(1))
	}
	return q
}

// truncdiv returns the exact quotient truncated toward zero.
func truncdiv(x, y Float) Float {
	q := x.Quo(y)
	if !q.finite() || q.IsZero() {
		return q
	}
	if q.big().MantExp(nil) > 2*Prec { // the quotient has no fraction to speak of
		return trunc(q)
	}
	a, ea := mantissa(x.big())
	b, eb := mantissa(y.big())
	if ea > eb {
		a.Lsh(a, uint(ea-eb))
	} else if eb-ea <= 4*Prec {
		b.Lsh(b, uint(eb-ea))
	} else { // |x| < |y|
		a.SetInt64(0)
	}
	z := new(big.Float).SetPrec(work).SetInt(a.Quo(a, b))
	return rounded(z).copySign(q.Signbit())
}
