// Package convert copies numbers between element types and strides. It knows
// nothing of shapes.
//
// A conversion means what one of ir.Scalar to the destination means: to bool is
// "not zero"; float to integer truncates toward zero and saturates, NaN gives 0;
// integer to integer keeps the low bits; complex to real drops the imaginary
// part; to a floating type rounds once, to nearest even, also where float32 lies
// on the way to a 16-bit type.
package convert

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// A Func converts n elements of one dtype at src to another at dst. The steps
// are the distances between elements, counted in elements of either side; a
// source step of 0 repeats one element. The two sides must not overlap, unless
// they are the same elements of the same dtype.
type Func func(n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int)

// Between returns the conversion from one dtype to another. Both must be valid.
func Between(to, from ir.DType) Func { return funcs[to][from] }

type integer interface {
	uint8 | int8 | int16 | int32 | int64
}

type float interface{ float32 | float64 }

type number interface{ integer | float }

type half interface {
	ir.Half | ir.BF16
	Float32() float32
}

// funcs is indexed by destination, then source.
var funcs = table(simd.Active())

// table returns the conversions of a level.
func table(level simd.Level) *[ir.NumDTypes][ir.NumDTypes]Func {
	var t [ir.NumDTypes][ir.NumDTypes]Func
	fromReal[uint8](&t, ir.Uint8)
	fromReal[int8](&t, ir.Int8)
	fromReal[int16](&t, ir.Int16)
	fromReal[int32](&t, ir.Int32)
	fromReal[int64](&t, ir.Int64)
	fromReal[float32](&t, ir.Float32)
	fromReal[float64](&t, ir.Float64)

	floatToInts[float32](&t, ir.Float32)
	floatToInts[float64](&t, ir.Float64)
	fromHalf[ir.Half](&t, ir.Float16)
	fromHalf[ir.BF16](&t, ir.BFloat16)
	fromBool(&t)
	t[ir.Float16][ir.Float32] = narrow16
	t[ir.BFloat16][ir.Float32] = narrowBF16
	t[ir.Float32][ir.Float16] = widen16
	t[ir.Float32][ir.BFloat16] = widenBF16
	useVectors(&t, level)
	fromComplex64(&t)
	fromComplex128(&t)
	for d := ir.Bool; d < ir.NumDTypes; d++ {
		t[d][d] = Copy(d.Size())
	}
	return &t
}

// loops below are written out once a kind of conversion: a conversion passed as
// a function would cost a call an element.

func convReal[D, S number](n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	for i := range n {
		*at[D](dst, i*dstStep) = D(*at[S](src, i*srcStep))
	}
}

func convInt[D integer, S float](n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	lowest, highest, end := limits[D]()
	for i := range n {
		f, d := float64(*at[S](src, i*srcStep)), at[D](dst, i*dstStep)
		switch {
		case f >= end:
			*d = highest
		case f > float64(lowest):
			*d = D(f)
		case f == f:
			*d = lowest
		default:
			*d = 0
		}
	}
}

func convBool[S comparable](n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	var zero S
	for i := range n {
		*at[bool](dst, i*dstStep) = *at[S](src, i*srcStep) != zero
	}
}

func convHalf[S number](n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	for i := range n {
		*at[ir.Half](dst, i*dstStep) = ir.HalfFrom(odd(*at[S](src, i*srcStep)))
	}
}

func convBF16[S number](n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	for i := range n {
		*at[ir.BF16](dst, i*dstStep) = ir.BF16From(odd(*at[S](src, i*srcStep)))
	}
}

func convComplex64[S number](n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	for i := range n {
		*at[complex64](dst, i*dstStep) = complex(float32(*at[S](src, i*srcStep)), 0)
	}
}

func convComplex128[S number](n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	for i := range n {
		*at[complex128](dst, i*dstStep) = complex(float64(*at[S](src, i*srcStep)), 0)
	}
}

// fromReal fills in what is the same for every real source type. Integers from
// floats are overwritten by floatToInts.
func fromReal[S number](t *[ir.NumDTypes][ir.NumDTypes]Func, from ir.DType) {
	t[ir.Bool][from] = convBool[S]
	t[ir.Uint8][from] = convReal[uint8, S]
	t[ir.Int8][from] = convReal[int8, S]
	t[ir.Int16][from] = convReal[int16, S]
	t[ir.Int32][from] = convReal[int32, S]
	t[ir.Int64][from] = convReal[int64, S]
	t[ir.Float16][from] = convHalf[S]
	t[ir.BFloat16][from] = convBF16[S]
	t[ir.Float32][from] = convReal[float32, S]
	t[ir.Float64][from] = convReal[float64, S]
	t[ir.Complex64][from] = convComplex64[S]
	t[ir.Complex128][from] = convComplex128[S]
}

func floatToInts[S float](t *[ir.NumDTypes][ir.NumDTypes]Func, from ir.DType) {
	t[ir.Uint8][from] = convInt[uint8, S]
	t[ir.Int8][from] = convInt[int8, S]
	t[ir.Int16][from] = convInt[int16, S]
	t[ir.Int32][from] = convInt[int32, S]
	t[ir.Int64][from] = convInt[int64, S]
}
