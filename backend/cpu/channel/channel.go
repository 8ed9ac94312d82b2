// Package channel normalizes a channel of images to mean 0 and variance 1, and
// computes the gradient of that. A channel is rows of as many elements, of float32 or
// float64, a stride apart. Vector code computes in the element type; the portable
// code, which other processors run, in float64. The package knows nothing of tensors,
// and starts no goroutines.
package channel

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Float is what elements are.
type Float interface{ float32 | float64 }

// Rows are where the elements of a channel are, in each of the operands of a call:
// Count rows of N elements, Stride elements apart.
type Rows struct{ Count, N, Stride int }

// Longest is how many elements a call should have at most: vector code cannot be
// preempted.
const Longest = 16 * 1024

// Funcs are the functions of a level. Pointers are to the first element of the first
// row.
type Funcs[T Float] struct{ vector vector[T] }

// vector is what there is in assembly; all of it, or, at level Portable, nothing.
// Strides are in bytes.
type vector[T Float] struct {
	moments func(rows, n, stride int, inverse T, x, mean, square *T)
	normal  func(rows, n, stride int, mean, factor, shift T, out, x *T)
	sums    func(rows, n, stride int, mean T, dy, x, sum, product *T)
	grad    func(rows, n, stride int, mean, middle, factor, slope T, dx, dy, x *T)
	folded  func(rows, n, stride int, mean, middle, factor, slope T, dx, dy, x, lanes *T)
}

// Of returns the functions of a level.
func Of[T Float](level simd.Level) Funcs[T] { return Funcs[T]{vectorAt[T](level)} }

// bytes returns the distance of rows.
func bytes[T Float](r Rows) int {
	var z T
	return r.Stride * int(unsafe.Sizeof(z))
}

// Moments sets to to the mean of the elements, of which there must be one, and the sum
// of the squares of their distances from it.
func (f Funcs[T]) Moments(r Rows, x *T, to *[2]T) {
	if f.vector.moments != nil {
		f.vector.moments(r.Count, r.N, bytes[T](r), 1/T(r.Count*r.N), x, &to[0], &to[1])
		return
	}
	n, sum, rest, squares := float64(r.Count*r.N), 0.0, 0.0, 0.0
	each(r, x, func(v *T) { sum += float64(*v) })
	about := sum / n // off by its rounding: distances from it have a sum
	each(r, x, func(v *T) {
		d := float64(*v) - about
		rest += d
		squares += float64(d * d)
	})
	*to = [2]T{T(about + rest/n), T(squares - rest*rest/n)}
}

// Normal computes out = (x - mean)*factor + shift.
func (f Funcs[T]) Normal(r Rows, mean, factor, shift T, out, x *T) {
	if f.vector.normal != nil {
		f.vector.normal(r.Count, r.N, bytes[T](r), mean, factor, shift, out, x)
		return
	}
	pairs(r, out, x, func(o, v *T) {
		*o = T(float64((float64(*v)-float64(mean))*float64(factor)) + float64(shift))
	})
}

// Sums sets to to the sums of dy and of dy*(x - mean).
func (f Funcs[T]) Sums(r Rows, mean T, dy, x *T, to *[2]T) {
	if f.vector.sums != nil {
		f.vector.sums(r.Count, r.N, bytes[T](r), mean, dy, x, &to[0], &to[1])
		return
	}
	all, products := 0.0, 0.0
	pairs(r, dy, x, func(g, v *T) {
		all += float64(*g)
		products += float64(*g) * (float64(*v) - float64(mean))
	})
	*to = [2]T{T(all), T(products)}
}

// Grad computes dx = (dy - middle)*factor + (x - mean)*slope.
func (f Funcs[T]) Grad(r Rows, mean, middle, factor, slope T, dx, dy, x *T) {
	if f.vector.grad != nil {
		f.vector.grad(r.Count, r.N, bytes[T](r), mean, middle, factor, slope, dx, dy, x)
		return
	}
	at := unsafe.Slice(dx, (r.Count-1)*r.Stride+r.N)
	i := 0
	pairs(r, dy, x, func(g, v *T) {
		d := float64((float64(*g)-float64(middle))*float64(factor)) + float64((float64(*v)-float64(mean))*float64(slope))
		at[i/r.N*r.Stride+i%r.N] = T(d)
		i++
	})
}

// LanesBytes is the size of the accumulators of GradSums.
const LanesBytes = 256

// FoldsGrad reports whether there is GradSums: vector code.
func (f Funcs[T]) FoldsGrad() bool { return f.vector.folded != nil }

// GradSums is Grad of rows of a multiple of LanesBytes. It adds dx to the accumulators at lanes,
// element i to accumulator i modulo their number.
func (f Funcs[T]) GradSums(r Rows, mean, middle, factor, slope T, dx, dy, x, lanes *T) {
	f.vector.folded(r.Count, r.N, bytes[T](r), mean, middle, factor, slope, dx, dy, x, lanes)
}

// each calls f for every element.
func each[T Float](r Rows, x *T, f func(v *T)) { pairs(r, x, x, func(v, _ *T) { f(v) }) }

// pairs calls f for every element of two operands.
func pairs[T Float](r Rows, a, b *T, f func(a, b *T)) {
	end := (r.Count-1)*r.Stride + r.N
	as, bs := unsafe.Slice(a, end), unsafe.Slice(b, end)
	for lo := 0; lo < end; lo += r.Stride {
		for i := lo; i < lo+r.N; i++ {
			f(&as[i], &bs[i])
		}
	}
}
