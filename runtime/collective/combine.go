package collective

import (
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// Combine writes the reduction of the elements that srcs have at each place to dst, in
// the order of srcs. All are n elements of dtype d in host memory; dst may be one of srcs.
// Floats of 16 bits are reduced as float32 and rounded once. Integers wrap.
func Combine(o Op, d ir.DType, n int, dst unsafe.Pointer, srcs []unsafe.Pointer) error {
	if !o.Has(d) {
		return fmt.Errorf("%w: %s is not an operation of %s", ErrCall, o, d)
	}
	if n == 0 {
		return nil
	}
	switch d {
	case ir.Bool:
		combine(n, dst, srcs, same[uint8], same[uint8], numbers[uint8](boolOp(o)))
	case ir.Uint8:
		combine(n, dst, srcs, same[uint8], same[uint8], numbers[uint8](o))
	case ir.Int8:
		combine(n, dst, srcs, same[int8], same[int8], numbers[int8](o))
	case ir.Int16:
		combine(n, dst, srcs, same[int16], same[int16], numbers[int16](o))
	case ir.Int32:
		combine(n, dst, srcs, same[int32], same[int32], numbers[int32](o))
	case ir.Int64:
		combine(n, dst, srcs, same[int64], same[int64], numbers[int64](o))
	case ir.Uint16:
		combine(n, dst, srcs, same[uint16], same[uint16], numbers[uint16](o))
	case ir.Uint32:
		combine(n, dst, srcs, same[uint32], same[uint32], numbers[uint32](o))
	case ir.Uint64:
		combine(n, dst, srcs, same[uint64], same[uint64], numbers[uint64](o))
	case ir.Float16:
		by := float32(share(o, srcs))
		combine(n, dst, srcs, ir.Half.Float32, func(x float32) ir.Half { return ir.HalfFrom(x / by) }, numbers[float32](o))
	case ir.BFloat16:
		by := float32(share(o, srcs))
		combine(n, dst, srcs, ir.BF16.Float32, func(x float32) ir.BF16 { return ir.BF16From(x / by) }, numbers[float32](o))
	case ir.Float32:
		by := float32(share(o, srcs))
		combine(n, dst, srcs, same[float32], func(x float32) float32 { return x / by }, numbers[float32](o))
	case ir.Float64:
		by := float64(share(o, srcs))
		combine(n, dst, srcs, same[float64], func(x float64) float64 { return x / by }, numbers[float64](o))
	case ir.Complex64:
		by := complex(float32(share(o, srcs)), 0)
		combine(n, dst, srcs, same[complex64], func(x complex64) complex64 { return x / by }, fields[complex64](o))
	case ir.Complex128:
		by := complex(float64(share(o, srcs)), 0)
		combine(n, dst, srcs, same[complex128], func(x complex128) complex128 { return x / by }, fields[complex128](o))
	}
	return nil
}

// Divide divides n elements of dtype d, floating or complex, in host memory by a number.
func Divide(d ir.DType, n int, elements unsafe.Pointer, by int) error {
	switch {
	case n == 0:
	case d == ir.Float32:
		divide(unsafe.Slice((*float32)(elements), n), float32(by))
	case d == ir.Float64:
		divide(unsafe.Slice((*float64)(elements), n), float64(by))
	case d == ir.Complex64:
		divide(unsafe.Slice((*complex64)(elements), n), complex(float32(by), 0))
	case d == ir.Complex128:
		divide(unsafe.Slice((*complex128)(elements), n), complex(float64(by), 0))
	default:
		return fmt.Errorf("%w: %s cannot be divided", ErrCall, d)
	}
	return nil
}

func divide[T float32 | float64 | complex64 | complex128](x []T, by T) {
	for i := range x {
		x[i] /= by
	}
}

// share returns what a result is divided by.
func share(o Op, srcs []unsafe.Pointer) int {
	if o == Average {
		return len(srcs)
	}
	return 1
}

// boolOp returns the operation of bytes 0 and 1 that is o of booleans.
func boolOp(o Op) Op {
	switch o {
	case Sum:
		return Max
	case Product:
		return Min
	}
	return o
}

func same[T any](x T) T { return x }

// combine folds elements of type E, loaded as C, with f.
func combine[E, C any](n int, dst unsafe.Pointer, srcs []unsafe.Pointer, load func(E) C, store func(C) E, f func(a, b C) C) {
	out := unsafe.Slice((*E)(dst), n)
	in := make([][]E, len(srcs))
	for r, p := range srcs {
		in[r] = unsafe.Slice((*E)(p), n)
	}
	for i := range out {
		v := load(in[0][i])
		for _, s := range in[1:] {
			v = f(v, load(s[i]))
		}
		out[i] = store(v)
	}
}

// numbers returns an operation of ordered numbers.
func numbers[T uint8 | int8 | int16 | int32 | int64 | uint16 | uint32 | uint64 | float32 | float64](o Op) func(a, b T) T {
	switch o {
	case Product:
		return func(a, b T) T { return a * b }
	case Min:
		return func(a, b T) T { return min(a, b) }
	case Max:
		return func(a, b T) T { return max(a, b) }
	}
	return func(a, b T) T { return a + b }
}

// fields returns an operation of complex numbers, which have no order.
func fields[T complex64 | complex128](o Op) func(a, b T) T {
	if o == Product {
		return func(a, b T) T { return a * b }
	}
	return func(a, b T) T { return a + b }
}
