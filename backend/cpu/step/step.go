// Package step has the loops of a step of a layer whose outputs are quantized to bytes
// before they are multiplied: what lies between two products. Vectors are of float32; other
// elements, and processors without kernels, take plain loops. The package knows nothing of
// tensors, and starts no goroutines.
package step

import (
	"math"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Float is what elements are.
type Float interface{ float32 | float64 }

// Funcs are the functions of a level.
type Funcs[T Float] struct{ vector vector[T] }

// vector is what there is in assembly; all of it, or nothing.
type vector[T Float] struct {
	lanes    int
	extent   func(n int, x, low, high, rest *T)
	quantize func(n int, x *T, to *byte, scale T, zero int32)
	gates    func(n int, z, x, scale *T, sums, columns *int32, by T, least int32)
	cell     func(n int, to, copied, forget, before, in, fresh *T)
	product  func(n int, to, a, b *T)
}

// Of returns the functions of a level.
func Of[T Float](level simd.Level) Funcs[T] { return Funcs[T]{vectorAt[T](level)} }

// Span returns the smallest element of x, or 0 if that is smaller, and the scale of the
// bytes that reach from it to the largest one, or 0: 1 where both are 0, and no finite number
// where an element is none.
func (f Funcs[T]) Span(x []T) (least, scale float32) {
	var low, high, rest T
	if f.vector.extent != nil && len(x) > 0 {
		f.vector.extent(len(x), &x[0], &low, &high, &rest)
	} else {
		for _, v := range x {
			low, high = min(low, v), max(high, v)
			rest += v * 0
		}
	}
	if rest != rest {
		return 0, float32(math.NaN())
	}
	if scale = (float32(high) - float32(low)) / 255; scale == 0 {
		scale = 1
	}
	return float32(low), scale
}

// Quantize sets to to the integers nearest to x/scale, the even ones of two, plus zero, as
// bytes: 0 and 255 stand for all beyond them. Their sizes without zero are below 2^22.
func (f Funcs[T]) Quantize(to []uint8, x []T, scale float32, zero int32) {
	to = to[:len(x)]
	if v := &f.vector; v.quantize != nil {
		if n := len(x) &^ (v.lanes - 1); n > 0 {
			v.quantize(n, &x[0], &to[0], T(scale), zero)
			to, x = to[n:], x[n:]
		}
	}
	for i, v := range x {
		to[i] = uint8(min(255, max(0, Nearest(float32(v)/scale)+zero)))
	}
}

// Nearest returns the integer nearest to x, the even one of two, which is smaller than 2^22:
// a number so large that it has no fraction takes it away.
func Nearest(x float32) int32 {
	const large = 3 << 22
	return int32(math.Float32bits(x+large)) - int32(math.Float32bits(large))
}

// Gates sets z to x + (sums - least*columns)*(scale*by), all of as many elements.
func (f Funcs[T]) Gates(z, x, scale []T, by T, sums, columns []int32, least int32) {
	n := len(z)
	x, scale, sums, columns = x[:n], scale[:n], sums[:n], columns[:n]
	if f.vector.gates != nil && n > 0 {
		f.vector.gates(n, &z[0], &x[0], &scale[0], &sums[0], &columns[0], by, least)
		return
	}
	for i, s := range sums {
		z[i] = x[i] + T(T(s-least*columns[i])*T(scale[i]*by)) // each rounds: not fused
	}
}

// Cell sets to and copied to forget*before + in*fresh, all of as many elements.
func (f Funcs[T]) Cell(to, copied, forget, before, in, fresh []T) {
	n := len(to)
	copied, forget, before, in, fresh = copied[:n], forget[:n], before[:n], in[:n], fresh[:n]
	if f.vector.cell != nil && n > 0 {
		f.vector.cell(n, &to[0], &copied[0], &forget[0], &before[0], &in[0], &fresh[0])
		return
	}
	for i := range to {
		to[i] = T(forget[i]*before[i]) + T(in[i]*fresh[i]) // each rounds: not fused
	}
	copy(copied, to)
}

// Product sets to to a*b, all of as many elements.
func (f Funcs[T]) Product(to, a, b []T) {
	n := len(to)
	a, b = a[:n], b[:n]
	if f.vector.product != nil && n > 0 {
		f.vector.product(n, &to[0], &a[0], &b[0])
		return
	}
	for i := range to {
		to[i] = a[i] * b[i]
	}
}
