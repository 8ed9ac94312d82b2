package num

import "math"

// double is an unevaluated sum of two float64, of about 106 bits: hi is the sum
// rounded. Products are converted explicitly, so that no compiler fuses them.
type double struct{ hi, lo float64 }

// twoSum returns a + b exactly.
func twoSum(a, b float64) double {
	s := a + b
	t := s - a
	return double{s, (a - (s - t)) + (b - t)}
}

// quickSum returns a + b exactly for |a| >= |b|.
func quickSum(a, b float64) double {
	s := a + b
	return double{s, b - (s - a)}
}

// twoMul returns a * b exactly.
func twoMul(a, b float64) double {
	p := float64(a * b)
	return double{p, math.FMA(a, b, -p)}
}

func (x double) add(y double) double {
	s := twoSum(x.hi, y.hi)
	return quickSum(s.hi, s.lo+(x.lo+y.lo))
}

func (x double) mul(y double) double {
	p := twoMul(x.hi, y.hi)
	return quickSum(p.hi, p.lo+(float64(x.hi*y.lo)+float64(x.lo*y.hi)))
}

// over returns x / y to about 100 bits.
func (x double) over(y double) double {
	q := x.hi / y.hi
	r := x.add(y.mul(double{hi: -q}))
	return quickSum(q, r.hi/y.hi)
}

var (
	ln2   = double{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}
	third = double{0x1.5555555555555p-2, 0x1.5555555555555p-56}
)

// logDouble returns log(x) for a positive finite x, to about 66 bits. With
// x = 2^k·m and s = (m-1)/(m+1) it is k·log 2 + 2(s + s³/3 + s⁵/5 ...).
func logDouble(x float64) double {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	above := twoSum(m, 1)
	s := double{hi: (m - 1) / above.hi}
	s.lo = (math.FMA(-s.hi, above.hi, m-1) - float64(s.hi*above.lo)) / above.hi
	z := s.mul(s)
	tail := 0.0 // z/5 + z²/7 + ...
	for n := 29.0; n >= 5; n -= 2 {
		tail = z.hi * (tail + 1/n)
	}
	t := z.mul(third.add(double{hi: tail}))
	l := s.mul(twoSum(1, t.hi).add(double{hi: t.lo}))
	l = double{2 * l.hi, 2 * l.lo}
	if k == 0 {
		return l
	}
	return double{float64(k), 0}.mul(ln2).add(l)
}

// pow returns a^b within about one unit in the last place, and to the bit where
// b is a small integer and the result exact. math.Pow errs by dozens.
func pow(a, b float64) float64 {
	whole := math.Trunc(b) == b
	switch {
	case a == 0, b == 0, math.Abs(b) == 0.5, a-a != 0, b-b != 0, a < 0 && !whole:
		return math.Pow(a, b)
	case whole && math.Abs(b) <= 64:
		r := powInt(a, int(math.Abs(b)))
		if r.hi == 0 || r.hi-r.hi != 0 {
			break
		}
		if b > 0 {
			return r.hi
		}
		q := 1 / r.hi
		if math.IsInf(q, 0) {
			return q
		}
		return q - q*(math.FMA(q, r.hi, -1)+float64(q*r.lo))
	}
	r := powPositive(math.Abs(a), b)
	if a < 0 && math.Mod(b, 2) != 0 {
		return -r
	}
	return r
}

// powInt returns a^n for n > 0, by squaring.
func powInt(a float64, n int) double {
	r := double{hi: 1}
	for bit := 64; bit > 0; bit >>= 1 {
		r = r.mul(r)
		if n&bit != 0 {
			r = r.mul(double{hi: a})
		}
	}
	return r
}

func powPositive(a, b float64) float64 {
	e := logDouble(a).mul(double{hi: b})
	if e.hi != e.hi || e.hi > 710 || e.hi < -746 { // out of range either way
		return math.Pow(a, b)
	}
	r := math.Exp(e.hi)
	if r-r != 0 {
		return r
	}
	return r + r*e.lo
}

// fma32 returns a*b + c rounded once to float32. The product is exact in float64;
// the sum is rounded to odd, so that rounding it again is right.
func fma32(a, b, c float32) float32 {
	s := twoSum(float64(a)*float64(b), float64(c))
	bits := math.Float64bits(s.hi)
	if s.lo != 0 && s.lo == s.lo && bits&1 == 0 {
		if (s.lo > 0) == (s.hi > 0) {
			bits++
		} else {
			bits--
		}
	}
	return float32(math.Float64frombits(bits))
}

// acos avoids the cancellation of pi/2 - asin(x) near 1.
func acos(x float64) float64 {
	if x > 0.5 {
		return 2 * math.Asin(math.Sqrt((1-x)/2))
	}
	return math.Acos(x)
}
