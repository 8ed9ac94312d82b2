package fold

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// Scans returns the loops that keep every prefix of a sum or a product of elements of
// dtype x; nil for other kinds and where there are none.
//
// They go from element to element in order, so that they are the same at every level
// and for any number of threads, and carry more digits than they write: float32 in
// float64, float64 in two numbers, of which the second is what rounding took from the
// first. The error of a result is then its own rounding, however long the line.
// Integers wrap, so that theirs has none.
func Scans(kind Kind, x ir.DType) *vector.FoldFuncs {
	return given(kind, scansAt(simd.Active(), kind, x))
}

func scansAt(level simd.Level, kind Kind, x ir.DType) *vector.FoldFuncs {
	if kind != Sum && kind != Prod {
		return nil
	}
	switch sum := kind == Sum; x {
	case ir.Float32:
		if sum {
			return scanner[float32, float64]{0, func(a float64, x float32) float64 { return a + float64(x) }, narrow, sumLine(level), wideNext(level, kind)}.loops(x, ir.Float64)
		}
		return scanner[float32, float64]{1, func(a float64, x float32) float64 { return a * float64(x) }, narrow, prodWide, wideNext(level, kind)}.loops(x, ir.Float64)
	case ir.Float64:
		if sum {
			return scanner[float64, pair]{pair{}, pair.plus, pair.value, nil, nil}.loops(x, ir.Complex128)
		}
		return scanner[float64, pair]{pair{1, 0}, pair.times, pair.value, nil, nil}.loops(x, ir.Complex128)
	case ir.Complex64:
		to := func(a complex128) complex64 { return complex64(a) }
		if sum {
			return scanner[complex64, complex128]{0, func(a complex128, x complex64) complex128 { return a + complex128(x) }, to, nil, nil}.loops(x, ir.Complex128)
		}
		return scanner[complex64, complex128]{1, func(a complex128, x complex64) complex128 { return a * complex128(x) }, to, nil, nil}.loops(x, ir.Complex128)
	case ir.Complex128:
		if sum {
			return scanner[complex128, [2]pair]{[2]pair{}, plusComplex, complexValue, nil, nil}.loops(x, ir.Complex128)
		}
	}
	return At(level, kind, x)
}

func narrow(a float64) float32 { return float32(a) }

// A pair is a number and what rounding took from it.
type pair struct{ high, low float64 }

// value returns the number; where it is no finite one, the rest means nothing.
func (p pair) value() float64 {
	if v := p.high + p.low; v == v {
		return v
	}
	return p.high
}

// plus adds x. The error of a sum of two numbers is a number (Knuth's two-sum).
func (p pair) plus(x float64) pair {
	s := p.high + x
	b := s - p.high
	return pair{s, p.low + ((p.high - (s - b)) + (x - b))}
}

// times multiplies by x. The error of a product of two numbers is a number, as a
// fused multiplication and addition finds it.
func (p pair) times(x float64) pair {
	s := float64(p.high * x)
	return pair{s, float64(p.low*x) + math.FMA(p.high, x, -s)}
}

func plusComplex(a [2]pair, x complex128) [2]pair {
	return [2]pair{a[0].plus(real(x)), a[1].plus(imag(x))}
}

func complexValue(a [2]pair) complex128 { return complex(a[0].value(), a[1].value()) }

// sumWide is four elements at a time, of which one waits for the four before.
func sumWide(out, x []float32, acc *float64) {
	a := *acc
	for len(x) >= 4 {
		x0, x1, x2, x3 := float64(x[0]), float64(x[1]), float64(x[2]), float64(x[3])
		p1, t := x0+x1, x2+x3
		p2, p3 := p1+x2, p1+t
		out = out[:len(x)]
		out[0], out[1], out[2], out[3] = float32(a+x0), float32(a+p1), float32(a+p2), float32(a+p3)
		a += p3
		out, x = out[4:], x[4:]
	}
	for i, v := range x {
		a += float64(v)
		out[i] = float32(a)
	}
	*acc = a
}

// prodWide is one element at a time: of products in other orders one could be infinite
// and another zero.
func prodWide(out, x []float32, acc *float64) {
	a := *acc
	out = out[:len(x)]
	for i, v := range x {
		a *= float64(v)
		out[i] = float32(a)
	}
	*acc = a
}

// A scanner is the functions of one kind of scan of elements T, from which its loops
// are made. A is an accumulator.
type scanner[T, A any] struct {
	identity A
	add      func(a A, x T) A
	value    func(a A) T
	line     func(out, x []T, a *A) // many elements of a line at once, or nil
	next     columns                // rows of many columns at once, or nil
}

// columns is Next for as many of n columns as vectors take, the first ones, and returns how
// many these are.
type columns func(rows, n, outStride, stride int, out, acc, x unsafe.Pointer) int

// loops returns the loops of a scanner; acc has the size of an accumulator at least.
func (f scanner[T, A]) loops(x, acc ir.DType) *vector.FoldFuncs {
	l := &vector.FoldFuncs{Acc: acc, Out: x}
	l.Init = func(n int, acc unsafe.Pointer, _ []ir.Scalar) {
		for i, a := 0, elements[A](n, acc); i < len(a); i++ {
			a[i] = f.identity
		}
	}
	l.Rows = func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) {
		a, xs := elements[A](n, acc), elements[T](n, x)
		for i := range a {
			a[i] = f.add(a[i], xs[i])
		}
	}
	l.Finish = func(n int, out, acc unsafe.Pointer, _ []ir.Scalar, _ int64) {
		o, a := elements[T](n, out), elements[A](n, acc)
		for i := range o {
			o[i] = f.value(a[i])
		}
	}
	l.Prefix = func(n int, out, acc, x unsafe.Pointer, _ []ir.Scalar) {
		a, o, xs := (*A)(acc), elements[T](n, out), elements[T](n, x)
		if f.line != nil {
			f.line(o, xs, a)
			return
		}
		sum := *a
		for i := range o {
			sum = f.add(sum, xs[i])
			o[i] = f.value(sum)
		}
		*a = sum
	}
	l.Next = func(rows, n, outStride, stride int, out, acc, x unsafe.Pointer, _ []ir.Scalar) {
		done := 0
		if f.next != nil {
			done = f.next(rows, n, outStride, stride, out, acc, x)
		}
		a := elements[A](n, acc)[done:]
		for r := 0; r < rows && len(a) > 0; r++ {
			o, xs := elements[T](n, unsafe.Add(out, r*outStride))[done:], elements[T](n, unsafe.Add(x, r*stride))[done:]
			for i := range o {
				a[i] = f.add(a[i], xs[i])
				o[i] = f.value(a[i])
			}
		}
	}
	return l
}
