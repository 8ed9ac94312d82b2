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
	endian "encoding/binary"
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
// zero value is +0. Two are the same value where == says so, but for NaN.
type Float struct {
	// A finite number is 0.m * 2^exp. The first bit of m, whose words have the most
	// significant first, is set, and those behind the 160th are not. m is zero otherwise.
	m             [3]uint64
	exp           int32
	neg, inf, nan bool
}

// NaN returns the value that is not a number. It has no sign.
func NaN() Float { return Float{nan: true} }

// Inf returns an infinity, the negative one if negative.
func Inf(negative bool) Float { return Float{inf: true, neg: negative} }

// FromFloat64 returns the exact value of f.
func FromFloat64(f float64) Float {
	bits := math.Float64bits(f)
	negative, exp, m := bits>>63 != 0, int(bits>>52&0x7FF), bits<<12>>1
	switch {
	case exp == 0x7FF && m != 0:
		return NaN()
	case exp == 0x7FF:
		return Inf(negative)
	case exp == 0: // a multiple of 2^-1074, the last bit of m
		return pack(negative, -1074+53, digits{m}, Prec)
	}
	return Float{m: [3]uint64{m | 1<<63}, exp: int32(exp - 1022), neg: negative}
}

// FromInt64 returns the exact value of i.
func FromInt64(i int64) Float {
	m := uint64(i)
	if i < 0 {
		m = -m
	}
	return pack(i < 0, 64, digits{m}, Prec)
}

// Big returns the value of x, which must not be NaN, as a new big.Float.
func (x Float) Big() *big.Float { return x.big() }

// Float64 returns the float64 nearest to x, ties to even. Subnormal results are
// rounded once as well.
func (x Float) Float64() float64 {
	var bits uint64
	z := x
	if x.m[0]<<53|x.m[1]|x.m[2] != 0 || x.exp < -1021 || x.exp > 1024 { // no float64 as it is
		z = x.Rounded(53, -1022, 1023)
	}
	switch {
	case z.nan:
		return math.NaN()
	case z.inf:
		bits = 0x7FF << 52
	case z.IsZero():
	case z.exp < -1021: // a multiple of 2^-1074
		bits = z.m[0] >> (64 - (z.exp + 1074))
	default:
		bits = uint64(z.exp+1022)<<52 | z.m[0]<<1>>12
	}
	if z.neg {
		bits |= 1 << 63
	}
	return math.Float64frombits(bits)
}

// Float32 returns the float32 nearest to x, ties to even.
func (x Float) Float32() float32 { return float32(x.Rounded(24, -126, 127).Float64()) }

// Rounded returns the value nearest to x, ties to even, of the binary format
// with prec significant bits whose smallest normal number is 2^minExp and whose
// largest binade starts at 2^maxExp: (11, -14, 15) is float16 and (8, -126, 127)
// is bfloat16. Too large becomes infinite.
func (x Float) Rounded(prec, minExp, maxExp int) Float {
	if !x.finite() || x.IsZero() {
		return x
	}
	exp := int(x.exp)
	quantum := max(exp-prec, minExp+1-prec) // exponent of the last bit that is kept
	z := pack(x.neg, exp, x.digits(), exp-quantum)
	if int(z.exp) > maxExp+1 {
		return Inf(x.neg)
	}
	return z
}

// IsNaN reports whether x is not a number.
func (x Float) IsNaN() bool { return x.nan }

// IsInf reports whether x is an infinity.
func (x Float) IsInf() bool { return x.inf }

// IsZero reports whether x is +0 or -0.
func (x Float) IsZero() bool { return x.m[0] == 0 && !x.inf && !x.nan }

// Signbit reports whether x is negative or -0; NaN is neither.
func (x Float) Signbit() bool { return x.neg }

// String formats x with 40 digits.
func (x Float) String() string {
	if x.nan {
		return "NaN"
	}
	return x.big().Text('g', 40)
}

func (x Float) finite() bool { return !x.nan && !x.inf }

// big returns the value of x, which must not be NaN.
func (x Float) big() *big.Float {
	z := new(big.Float).SetPrec(Prec)
	switch {
	case x.inf:
		return z.SetInf(x.neg)
	case !x.IsZero():
		var text [24]byte
		for i, w := range x.m {
			endian.BigEndian.PutUint64(text[8*i:], w)
		}
		z.SetInt(new(big.Int).SetBytes(text[:]))
		z.SetMantExp(z, int(x.exp)-8*len(text))
	}
	if x.neg {
		z.Neg(z)
	}
	return z
}

// rounded returns v, of no more bits than digits has, as a Float: rounded to 160 bits, and
// infinite or zero where its exponent is out of range.
func rounded(v *big.Float) Float {
	if v.IsInf() {
		return Inf(v.Signbit())
	}
	var d digits
	var text [8 * len(d)]byte
	m := new(big.Float)
	exp := v.MantExp(m)
	whole, _ := m.SetMantExp(m, 8*len(text)).Int(nil)
	whole.FillBytes(text[:])
	for i := range d {
		d[i] = endian.BigEndian.Uint64(text[8*i:])
	}
	return pack(v.Signbit(), exp, d, Prec)
}

func signedZero(negative bool) Float { return Float{neg: negative} }

// copySign returns the magnitude of x, negative if negative.
func (x Float) copySign(negative bool) Float {
	x.neg = negative && !x.nan
	return x
}
