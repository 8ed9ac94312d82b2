// Package rows computes functions of the rows of a matrix, or of its columns:
// softmax and its relatives, layer norms, positions of extremes. Elements are
// float32 or float64, and a row has no gaps. Vector code computes in the element
// type; the portable code, which other processors run, in float64. The package
// knows nothing of tensors, and starts no goroutines.
package rows

import (
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Float is what elements are.
type Float interface{ float32 | float64 }

// Funcs are the functions at one level for elements of type T.
type Funcs[T Float] struct{ vector[T] }

// vector is what there is in assembly; all of it, or, at level Portable, nothing.
// Strides are in bytes, other numbers in elements.
type vector[T Float] struct {
	softmax         func(rows, n int, out, x *T)
	softmaxPart     func(n int, top, f T, out, x, next, before, sum, largest *T)
	logSum          func(rows, n int, x, tops, sums *T)
	shift           func(rows, n int, out, x, a, b *T)
	top             func(n int, x, top *T)
	sumExp          func(n int, top T, x, sum *T)
	scale           func(n int, f T, out *T)
	expScale        func(n int, a, b, f T, out, x *T)
	columnTops      func(rows, n, stride int, x, tops *T)
	columnExp       func(rows, n, stride int, out, x, tops, sums *T)
	columnSumExp    func(rows, n, stride int, x, tops, sums *T)
	columnScale     func(rows, n, stride int, out, f *T)
	columnShift     func(rows, n, stride int, out, x, a, b *T)
	layerNorm       func(rows, n int, inverse, eps T, out, x, means, rstds *T)
	layerNormAffine func(rows, n int, inverse, eps T, out, x, weight, bias, means, rstds *T)
	rmsNorm         func(rows, n int, inverse, eps T, out, x, rstds *T)
	rmsNormAffine   func(rows, n int, inverse, eps T, out, x, weight, rstds *T)
	deviations      func(n int, pivot T, x, sum *T)
	squares         func(n int, a, b T, x, sum *T)
	normal          func(n int, a, b, f T, out, x *T)
	normalAffine    func(n int, a, b, f T, out, x, weight, bias *T)
	outerAdd        Outer[T]
	outerSub        Outer[T]
	outerSubFrom    Outer[T]
	outerMul        Outer[T]
	outerDiv        Outer[T]
	outerDivInto    Outer[T]
	argMax, argMin  func(rows, n int, x *T, index *int64)
	argMaxColumns   func(rows, n, stride, row int, x, best *T, index *T)
	argMinColumns   func(rows, n, stride, row int, x, best *T, index *T)
}

// At returns the functions at a level, which must be available.
func At[T Float](level simd.Level) *Funcs[T] {
	return &Funcs[T]{vectorAt[T](level)}
}

var (
	active32 = At[float32](simd.Active())
	active64 = At[float64](simd.Active())
)

// Active returns the functions that kernels use.
func Active[T Float]() *Funcs[T] {
	var z T
	if _, ok := any(z).(float32); ok {
		return any(active32).(*Funcs[T])
	}
	return any(active64).(*Funcs[T])
}

const (
	// call is how many elements one call of assembly takes at least before it is
	// ended: it cannot be preempted.
	call = 32 * 1024
	// exact is how many elements are summed in T before the sum goes on in float64.
	exact = 2048
)

// Blocks, chunks and down are not inlined, so that their f is called: that is where the
// scheduler stops a goroutine. A loop of nothing but calls of assembly has no such place.

// blocks calls f for consecutive groups of rows of n elements, of about call
// elements each.
//
//go:noinline
func blocks(rows, n int, f func(lo, rows int)) {
	step := max(1, call/max(n, 1))
	for lo := 0; lo < rows; lo += step {
		f(lo, min(step, rows-lo))
	}
}

// chunks calls f for consecutive pieces of n elements.
//
//go:noinline
func chunks(n, size int, f func(lo, n int)) {
	for lo := 0; lo < n; lo += size {
		f(lo, min(size, n-lo))
	}
}
