// Package float8 makes codes of 8 bits of floats, by the bits of these. It knows nothing
// of layouts.
package float8

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/loop"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A Format says what codes stand for: numbers from 0 on, of which the smallest normal one
// is 1/Unit and Steps lie from a power of two to the next. What is above the code Top
// becomes Over, and what is no number NaN; codes from Least on have a sign. Unit and
// Steps are powers of two, Unit at least 1 and Steps at least 2.
type Format struct{ Unit, Steps, Top, Over, NaN, Least int }

// An Encoder encodes floats of one size in a format.
type Encoder struct {
	words [8]uint64 // as the loops read them
	loop  loop.Func
	size  int
}

// The places of words.
const (
	shift  = iota // bits of the fraction that a code has no room for
	round         // what is added before: a little less than half of the last bit, less the exponents that codes lack
	magic         // a number whose last bit is the smallest number of the format
	normal        // the smallest normal number
	top
	over
	least
	nan
)

// New returns the encoder of floats of 4 or 8 bytes at a level.
func New(f Format, size int, level simd.Level) *Encoder {
	fraction, bias := 23, 127
	if size == 8 {
		fraction, bias = 52, 1023
	}
	steps, unit := bits.TrailingZeros(uint(f.Steps)), bits.TrailingZeros(uint(f.Unit))
	lost := fraction - steps
	e := &Encoder{size: size, loop: loop.At[float32](encoders, level)}
	e.words = [8]uint64{
		shift: uint64(lost), round: 1<<(lost-1) - 1 - uint64(bias-1-unit)<<fraction,
		magic:  uint64(bias+lost-unit) << fraction,
		normal: uint64(bias-unit) << fraction,
		top:    uint64(f.Top), over: uint64(f.Over), least: uint64(f.Least), nan: uint64(f.NaN),
	}
	plain := encode32
	if size == 8 {
		e.loop, plain = loop.At[float64](encoders, level), encode64
	}
	if e.loop == nil {
		e.loop = plain
	}
	return e
}

// Encode sets n codes to those of n floats.
func (e *Encoder) Encode(n int, codes, x unsafe.Pointer) {
	for at := 0; at < n; at += loop.Longest {
		p := [2]unsafe.Pointer{unsafe.Add(codes, at), unsafe.Add(x, at*e.size)}
		e.loop(min(n-at, loop.Longest), p[:], &e.words[0], 0)
	}
}

func encode32(n int, p []unsafe.Pointer, words *uint64, _ int64) {
	s := (*[8]uint64)(unsafe.Pointer(words))
	codes := unsafe.Slice((*uint8)(p[0]), n)
	for i, v := range unsafe.Slice((*float32)(p[1]), n) {
		word := math.Float32bits(v)
		size := word &^ (1 << 31)
		code := (size + uint32(s[round]) + size>>s[shift]&1) >> s[shift]
		if size < uint32(s[normal]) {
			code = math.Float32bits(math.Float32frombits(size)+math.Float32frombits(uint32(s[magic]))) - uint32(s[magic])
		}
		codes[i] = finish(uint64(code), uint64(word>>31), v != v, s)
	}
}

func encode64(n int, p []unsafe.Pointer, words *uint64, _ int64) {
	s := (*[8]uint64)(unsafe.Pointer(words))
	codes := unsafe.Slice((*uint8)(p[0]), n)
	for i, v := range unsafe.Slice((*float64)(p[1]), n) {
		word := math.Float64bits(v)
		size := word &^ (1 << 63)
		code := (size + s[round] + size>>s[shift]&1) >> s[shift]
		if size < s[normal] {
			code = math.Float64bits(math.Float64frombits(size)+math.Float64frombits(s[magic])) - s[magic]
		}
		codes[i] = finish(code, word>>63, v != v, s)
	}
}

// finish returns the code of a number from that of its size and its sign, 0 or 1.
func finish(code, sign uint64, none bool, s *[8]uint64) uint8 {
	if code > s[top] {
		code = s[over]
	}
	if code >= s[least] {
		code |= sign << 7
	}
	if none {
		code = s[nan]
	}
	return uint8(code)
}
