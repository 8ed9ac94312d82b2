package wide

import (
	"cmp"
	"math/bits"
	"slices"
)

// digits are the binary digits of a sum, a product or a quotient before it is rounded: the
// fraction 0.d, the most significant word first.
type digits [6]uint64

// digits returns those of a finite x.
func (x Float) digits() digits { return digits{x.m[0], x.m[1], x.m[2]} }

// down returns d divided by 2^n. What falls out at the end is lost.
func (d digits) down(n int) (z digits) {
	words, n := n/64, n%64
	for i := words; i < len(d); i++ {
		z[i] = d[i-words] >> n
		if i > words {
			z[i] |= d[i-words-1] << (64 - n)
		}
	}
	return z
}

// up returns d times 2^n, for n below the number of zeros that d begins with.
func (d digits) up(n int) (z digits) {
	words, n := n/64, n%64
	for i := 0; i+words < len(d); i++ {
		z[i] = d[i+words] << n
		if i+words+1 < len(d) {
			z[i] |= d[i+words+1] >> (64 - n)
		}
	}
	return z
}

// zeros returns how many zeros d begins with.
func (d digits) zeros() int {
	for i, w := range d {
		if w != 0 {
			return 64*i + bits.LeadingZeros64(w)
		}
	}
	return 64 * len(d)
}

// plus returns d + e and whether the sum is 1 or more, the 1 left out.
func (d digits) plus(e digits) (digits, bool) {
	var carry uint64
	for i := len(d) - 1; i >= 0; i-- {
		d[i], carry = bits.Add64(d[i], e[i], carry)
	}
	return d, carry != 0
}

// minus returns d - e, for d >= e.
func (d digits) minus(e digits) digits {
	var borrow uint64
	for i := len(d) - 1; i >= 0; i-- {
		d[i], borrow = bits.Sub64(d[i], e[i], borrow)
	}
	return d
}

// single returns the digits of which number i, counted from 0, alone is set.
func single(i int) (d digits) {
	d[i/64] = 1 << (63 - i%64)
	return d
}

// first returns d with all but its first n digits cleared, and how those compare with a half of
// the last that is kept.
func (d digits) first(n int) (kept digits, half int) {
	rest := d
	for i := range d {
		mask := ^uint64(0) >> min(max(n-64*i, 0), 64) // of the digits that are not kept
		kept[i], rest[i] = d[i]&^mask, d[i]&mask
	}
	switch {
	case rest == single(n):
		return kept, 0
	case rest.zeros() == n:
		return kept, 1
	}
	return kept, -1
}

// pack returns 0.d * 2^exp, negative if negative, rounded to its first n significant digits, 160
// at most, ties to even: to a multiple of 2^exp for 0, and to zero for fewer. It is infinite or
// zero where its exponent is out of range.
func pack(negative bool, exp int, d digits, n int) Float {
	zeros := d.zeros()
	if zeros == 64*len(d) || n < 0 {
		return signedZero(negative)
	}
	d, exp = d.up(zeros), exp-zeros
	kept, half := d.first(n)
	if half > 0 || half == 0 && n > 0 && kept[(n-1)/64]>>(63-(n-1)%64)&1 != 0 {
		carry := n == 0
		if n > 0 {
			kept, carry = kept.plus(single(n - 1))
		}
		if carry {
			kept, exp = single(0), exp+1
		}
	}
	switch {
	case kept == digits{}, exp < -maxExp:
		return signedZero(negative)
	case exp > maxExp:
		return Inf(negative)
	}
	return Float{m: [3]uint64(kept[:3]), exp: int32(exp), neg: negative}
}

// magnitudes compares those of finite numbers: -1, 0 or 1.
func magnitudes(x, y Float) int {
	switch {
	case x.m[0] == 0 || y.m[0] == 0:
		return cmp.Compare(x.m[0], y.m[0])
	case x.exp != y.exp:
		return cmp.Compare(x.exp, y.exp)
	}
	return slices.Compare(x.m[:], y.m[:])
}

// sum returns x + y for finite numbers.
func sum(x, y Float) Float {
	if magnitudes(x, y) < 0 {
		x, y = y, x
	}
	if y.IsZero() {
		if x.IsZero() {
			return signedZero(x.neg && y.neg)
		}
		return x
	}
	// Where it is too small for its digits to have a place it is known only that it is not zero.
	const last = 64*len(digits{}) - 1
	small := single(last)
	if apart := int(x.exp) - int(y.exp); apart+Prec <= last {
		small = y.digits().down(apart + 1)
	}
	d := x.digits().down(1)
	if x.neg != y.neg {
		d = d.minus(small)
		if d == (digits{}) {
			return Float{}
		}
	} else {
		d, _ = d.plus(small)
	}
	return pack(x.neg, int(x.exp)+1, d, Prec)
}

// product returns x * y for finite numbers.
func product(x, y Float) Float {
	var d digits
	for i := len(x.m) - 1; i >= 0; i-- {
		var carry uint64
		for k := len(y.m) - 1; k >= 0; k-- {
			high, low := bits.Mul64(x.m[i], y.m[k])
			var c uint64
			low, c = bits.Add64(low, carry, 0)
			high += c
			d[i+k+1], c = bits.Add64(d[i+k+1], low, 0)
			carry = high + c
		}
		d[i] = carry
	}
	return pack(x.neg != y.neg, int(x.exp)+int(y.exp), d, Prec)
}

// quotient returns x / y for finite numbers that are not zero, by long division.
func quotient(x, y Float) Float {
	r, b := x.digits().down(1), y.digits().down(1)
	var d digits
	for i := range Prec + 3 { // one before the point, and two more than are kept
		z2, borrow := bits.Sub64(r[2], b[2], 0)
		z1, borrow := bits.Sub64(r[1], b[1], borrow)
		z0, borrow := bits.Sub64(r[0], b[0], borrow)
		if borrow == 0 {
			r[0], r[1], r[2] = z0, z1, z2
			d[i/64] |= 1 << (63 - i%64)
		}
		r[0], r[1], r[2] = r[0]<<1|r[1]>>63, r[1]<<1|r[2]>>63, r[2]<<1
	}
	if r != (digits{}) {
		d[len(d)-1] |= 1
	}
	return pack(x.neg != y.neg, int(x.exp)-int(y.exp)+1, d, Prec)
}
