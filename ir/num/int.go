package num

import "math/bits"

// IDiv returns a/b truncated toward zero; 0 where b is 0.
func IDiv[T Int](a, b T) T {
	if b == 0 {
		return 0
	}
	return a / b
}

// ITruncRem returns the remainder of a/b with a's sign; a where b is 0.
func ITruncRem[T Int](a, b T) T {
	if b == 0 {
		return a
	}
	return a % b
}

// IFMod is ITruncRem.
func IFMod[T Int](a, b T) T { return ITruncRem(a, b) }

// IRemainder returns the remainder of a/b with b's sign; a where b is 0.
func IRemainder[T Int](a, b T) T {
	r := ITruncRem(a, b)
	if b != 0 && r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// IFloorDiv returns a/b rounded down; 0 where b is 0.
func IFloorDiv[T Int](a, b T) T {
	q := IDiv(a, b)
	if b != 0 && q*b != a && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// ITruncDiv is IDiv.
func ITruncDiv[T Int](a, b T) T { return IDiv(a, b) }

// IAbs returns |x|; the least value stays.
func IAbs[T Int](x T) T {
	if x < 0 {
		return -x
	}
	return x
}

// ISign returns -1, 0 or 1.
func ISign[T Int](x T) T {
	switch {
	case x > 0:
		return 1
	case x < 0:
		var zero T
		return zero - 1
	}
	return 0
}

// IMin returns the smaller of a and b.
func IMin[T Int](a, b T) T { return min(a, b) }

// IMax returns the larger of a and b.
func IMax[T Int](a, b T) T { return max(a, b) }

// IFloor, ICeil, ITrunc and IRound return x.
func IFloor[T Int](x T) T { return x }

// ICeil returns x.
func ICeil[T Int](x T) T { return x }

// ITrunc returns x.
func ITrunc[T Int](x T) T { return x }

// IRound returns x.
func IRound[T Int](x T) T { return x }

// IPow returns a^b with wrapping; for b < 0 it is 1/a^-b truncated: 0 unless a
// is 1 or -1.
func IPow[T Int](a, b T) T {
	if b < 0 {
		switch {
		case a == 1:
			return 1
		case a+1 == 0:
			return Where(b&1 == 0, 1, a)
		}
		return 0
	}
	r := T(1)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			r *= a
		}
		a *= a
	}
	return r
}

// IShl returns a << n; a count that is negative or not less than the width
// shifts every bit out.
func IShl[T, N Int](a T, n N) T {
	if n < 0 {
		return 0
	}
	return a << uint64(n)
}

// IShr returns a >> n, arithmetic for signed types; a count that is negative or
// not less than the width shifts every bit out.
func IShr[T, N Int](a T, n N) T {
	if n < 0 {
		n = 127 // more than any width
	}
	return a >> uint64(n)
}

// ISignbit reports whether x is negative.
func ISignbit[T Int](x T) bool { return x < 0 }

// IIsNaN, IIsInf and IIsFinite classify integers: all are finite.
func IIsNaN[T Int](T) bool { return false }

// IIsInf returns false.
func IIsInf[T Int](T) bool { return false }

// IIsFinite returns true.
func IIsFinite[T Int](T) bool { return true }

// IImag is the imaginary part of an integer, 0.
func IImag[T Int](T) T { return 0 }

// IAngle is the argument of an integer truncated to its type: 0, or 3 where it
// is negative.
func IAngle[T Int](x T) T { return Where[T](x < 0, 3, 0) }

// block returns the four words of the counter that holds index and offset, with the
// seed for a key.
func block(seed, offset int64, index uint64) [4]uint32 {
	return PhiloxBlock([4]uint32{uint32(index), uint32(index >> 32), uint32(offset), uint32(uint64(offset) >> 32)},
		[2]uint32{uint32(seed), uint32(uint64(seed) >> 32)})
}

// PhiloxBlock is the Philox 4x32-10 bijection of Salmon et al., 2011.
func PhiloxBlock(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		hi0, lo0 := bits.Mul32(0xD2511F53, c[0])
		hi1, lo1 := bits.Mul32(0xCD9E8D57, c[2])
		c = [4]uint32{hi1 ^ c[1] ^ k[0], lo1, hi0 ^ c[3] ^ k[1], lo0}
		k[0] += 0x9E3779B9
		k[1] += 0xBB67AE85
	}
	return c
}

// Word returns a word of 32 random bits: an index and the next three have a block.
func Word(seed, offset, index int64) uint32 {
	return block(seed, offset, uint64(index)>>2)[index&3]
}

// Pair returns two words: an index and the next have a block.
func Pair(seed, offset, index int64) (w0, w1 uint32) {
	w := block(seed, offset, uint64(index)>>1)
	return w[2*(index&1)], w[2*(index&1)+1]
}

// RandomBits returns 64 random bits: the first word of Pair is the high half.
func RandomBits(seed, offset, index int64) int64 {
	w0, w1 := Pair(seed, offset, index)
	return int64(uint64(w0)<<32 | uint64(w1))
}
