package ir

import "math"

// Half is an IEEE 754 binary16 value; BF16 a bfloat16 one. Both are storage
// types: arithmetic on them is done in float32 and rounded once, to nearest even.
type (
	Half uint16
	BF16 uint16
)

// HalfFrom rounds f to the nearest Half, ties to even.
func HalfFrom(f float32) Half {
	b := math.Float32bits(f)
	sign := Half(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000: // NaN, kept quiet
		return sign | 0x7e00 | Half(b>>13)&0x3ff
	case b >= 0x477ff000: // rounds past 65504
		return sign | 0x7c00
	case b < 0x38800000: // subnormal half: let float addition round the bits
		f := math.Float32frombits(b) + math.Float32frombits(0x3f000000)
		return sign | Half(math.Float32bits(f)-0x3f000000)
	}
	b += 0xc8000fff + (b>>13)&1
	return sign | Half(b>>13)
}

// Float32 returns the exact value of h.
func (h Half) Float32() float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10)&0x1f, uint32(h&0x3ff)
	switch {
	case exp == 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	}
	v := float32(frac) * (1.0 / (1 << 24))
	return math.Float32frombits(sign | math.Float32bits(v))
}

// BF16From rounds f to the nearest BF16, ties to even.
func BF16From(f float32) BF16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return BF16(b>>16) | 0x40
	}
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}

// Float32 returns the exact value of h.
func (h BF16) Float32() float32 { return math.Float32frombits(uint32(h) << 16) }
