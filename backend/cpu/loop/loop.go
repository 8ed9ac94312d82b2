// Package loop calls vector loops that generators write from lane programs, over lists of floats: it
// says which there are for a level of instructions, and how many elements are worth a call. It knows
// nothing of what they compute.
package loop

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Float is what elements are.
type Float interface{ float32 | float64 }

// Fewest is how many elements are worth a call of a loop.
const Fewest = 16

// Longest is how many elements a call should have at most: vector code cannot be preempted.
const Longest = 16 << 10

// A Func is a loop over n elements. p has where the results begin, then the operands; s is the bits
// of the first scalar, the others behind it. None of these loops reads index.
type Func func(n int, p []unsafe.Pointer, s *uint64, index int64)

// A Pair is a loop over float32 and the same over float64.
type Pair struct{ Single, Double Func }

// By is a loop by level; the zero value is one without vectors.
type By = simd.By[Pair]

// At returns the loop over a type at a level, nil where there is none.
func At[T Float](by By, level simd.Level) Func {
	pair := by.At(level)
	if unsafe.Sizeof(T(0)) == 4 {
		return pair.Single
	}
	return pair.Double
}

// Bits returns a number as loops read scalars.
func Bits[T Float](v T) uint64 {
	if unsafe.Sizeof(v) == 4 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(float64(v))
}

// A Caller calls loops, for one goroutine. What they are given is kept in it: on the stack it would be
// allocated anew for each call.
type Caller[T Float] struct {
	Scalars [2]uint64 // their Bits

	args [8]unsafe.Pointer
}

// Call runs f over at most 8 lists: the results, then the operands, each with at least as many elements as the
// first one. It reports whether it did: not where there is no f, or too few elements.
func (c *Caller[T]) Call(f Func, lists ...[]T) bool {
	n := len(lists[0])
	if f == nil || n < Fewest {
		return false
	}
	for i, v := range lists {
		c.args[i] = unsafe.Pointer(&v[:n][0])
	}
	f(n, c.args[:len(lists)], &c.Scalars[0], 0)
	return true
}
