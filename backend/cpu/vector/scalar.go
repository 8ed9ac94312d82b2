package vector

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// Assembly reads its scalar arguments as 64 bits each, of which it takes the low
// ones that its type has.

// Float32 is the bits of s as a float32.
func Float32(s ir.Scalar) uint64 { return uint64(math.Float32bits(float32(s.Float()))) }

// Float64 is the bits of s as a float64.
func Float64(s ir.Scalar) uint64 { return math.Float64bits(s.Float()) }

// Complex64 is the bits of s as a complex64, the real part in the low half.
func Complex64(s ir.Scalar) uint64 {
	c := s.Complex()
	return uint64(math.Float32bits(float32(real(c)))) | uint64(math.Float32bits(float32(imag(c))))<<32
}

// Int is the bits of s as an integer of any width.
func Int(s ir.Scalar) uint64 { return uint64(s.Int()) }

// Bool is 1 if s is not zero, and else 0.
func Bool(s ir.Scalar) uint64 {
	if s.Bool() {
		return 1
	}
	return 0
}

// Element4 is the bits of the element of 4 bytes at p.
func Element4(p unsafe.Pointer) uint64 { return uint64(*(*uint32)(p)) }

// Element8 is the bits of the element of 8 bytes at p.
func Element8(p unsafe.Pointer) uint64 { return *(*uint64)(p) }
