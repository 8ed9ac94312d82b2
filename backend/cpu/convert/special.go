package convert

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// limits returns the ends of D, and the least float above them.
func limits[D integer]() (lowest, highest D, end float64) {
	size := 8 * unsafe.Sizeof(D(0))
	highest = ^D(0)
	if highest < 0 { // signed
		lowest = 1 << (size - 1)
		highest = ^lowest
		size--
	}
	return lowest, highest, math.Ldexp(1, int(size))
}

// odd returns x as a float32 that rounds to a 16-bit float as x itself does:
// where x lies between two float32 values it is the one with an odd last bit,
// which is never half way between two 16-bit values.
func odd[S number](x S) float32 {
	f := float32(x)
	switch x := any(x).(type) {
	case float64:
		return oddOf(f, x)
	case int64:
		return oddInt(f, x)
	case int32:
		return oddOf(f, float64(x))
	}
	return f
}

// oddOf corrects f, which is x rounded to nearest, to x rounded to odd.
func oddOf(f float32, x float64) float32 {
	b := math.Float32bits(f)
	if float64(f) == x || f != f || b&1 != 0 {
		return f
	}
	if math.Abs(float64(f)) < math.Abs(x) {
		return math.Float32frombits(b + 1)
	}
	return math.Float32frombits(b - 1)
}

func oddInt(f float32, x int64) float32 {
	if -1<<53 <= x && x <= 1<<53 {
		return oddOf(f, float64(x))
	}
	// Above 2^53 the low bits only tell exact values from others.
	high := x &^ 0x7ff
	if x != high {
		high |= 0x400
	}
	return oddOf(float32(high), float64(high))
}

func narrow16(n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	for i := range n {
		*at[ir.Half](dst, i*dstStep) = ir.HalfFrom(*at[float32](src, i*srcStep))
	}
}

func narrowBF16(n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	for i := range n {
		*at[ir.BF16](dst, i*dstStep) = ir.BF16From(*at[float32](src, i*srcStep))
	}
}

func widen16(n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	for i := range n {
		f := at[ir.Half](src, i*srcStep).Float32()
		if f != f { // as the instruction does, NaN becomes quiet
			f = math.Float32frombits(math.Float32bits(f) | 1<<22)
		}
		*at[float32](dst, i*dstStep) = f
	}
}

func widenBF16(n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
	for i := range n {
		*at[float32](dst, i*dstStep) = at[ir.BF16](src, i*srcStep).Float32()
	}
}

// fromHalf fills in the conversions from a 16-bit float: those of its exact
// float32 value.
func fromHalf[H half](t *[ir.NumDTypes][ir.NumDTypes]Func, from ir.DType) {
	for to := ir.Bool; to < ir.NumDTypes; to++ {
		next := t[to][ir.Float32]
		if to == ir.Float16 {
			next = narrow16
		}
		if to == ir.BFloat16 {
			next = narrowBF16
		}
		t[to][from] = func(n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
			var f [1]float32
			size := to.Size() * dstStep
			for i := range n {
				f[0] = (*at[H](src, i*srcStep)).Float32()
				next(1, unsafe.Add(dst, i*size), 1, unsafe.Pointer(&f), 1)
			}
		}
	}
}

// fromBool fills in the conversions from bool: those of the numbers 0 and 1.
func fromBool(t *[ir.NumDTypes][ir.NumDTypes]Func) {
	for to := ir.Uint8; to < ir.NumDTypes; to++ {
		t[to][ir.Bool] = t[to][ir.Uint8]
	}
}

// fromComplex64 and fromComplex128 fill in the conversions from complex types:
// to real ones, those of the real parts, which are every other float.
func fromComplex64(t *[ir.NumDTypes][ir.NumDTypes]Func) {
	for to := ir.Uint8; to < ir.Complex64; to++ {
		t[to][ir.Complex64] = realParts(t[to][ir.Float32])
	}
	t[ir.Float32][ir.Complex64] = realParts(plain[uint32])
	t[ir.Float16][ir.Complex64] = realParts(t[ir.Float16][ir.Float32])
	t[ir.BFloat16][ir.Complex64] = realParts(t[ir.BFloat16][ir.Float32])
	t[ir.Bool][ir.Complex64] = convBool[complex64]
	t[ir.Complex128][ir.Complex64] = func(n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
		for i := range n {
			*at[complex128](dst, i*dstStep) = complex128(*at[complex64](src, i*srcStep))
		}
	}
}

func fromComplex128(t *[ir.NumDTypes][ir.NumDTypes]Func) {
	for to := ir.Uint8; to < ir.Complex64; to++ {
		t[to][ir.Complex128] = realParts(t[to][ir.Float64])
	}
	t[ir.Float64][ir.Complex128] = realParts(plain[uint64])
	t[ir.Bool][ir.Complex128] = convBool[complex128]
	t[ir.Complex64][ir.Complex128] = func(n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
		for i := range n {
			*at[complex64](dst, i*dstStep) = complex64(*at[complex128](src, i*srcStep))
		}
	}
}

func realParts(f Func) Func {
	return func(n int, dst unsafe.Pointer, dstStep int, src unsafe.Pointer, srcStep int) {
		f(n, dst, dstStep, src, 2*srcStep)
	}
}
