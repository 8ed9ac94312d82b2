package gemm

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// integerEngines are the engines of int32 and int64.
var integerEngines = [simd.AVX512 + 1][2]engine{
	simd.Portable: {vectorless(4), vectorless(8)},
	simd.AVX2:     {integers(avx2(i32AVX2, 4, 8)), integers(avx2(i64AVX2, 8, 4))},
	simd.AVX512:   {integers(avx512(i32AVX512, 4, 16)), integers(avx512(i64AVX512, 8, 8))},
}

// integers returns the engine with the rows that kernels of integers have, which take
// up to four times as long for a product.
func integers(e engine) engine {
	e.rows = [classes]int{4, 4, 4, 4}
	e.once /= 4
	return e
}

// integer reports whether there are kernels for tiles only.
func (e *engine) integer() bool { return e.family >= i32AVX2 }

// Integers reports whether there are kernels for int32 and int64.
func Integers() bool { return engineOf[int32](simd.Active()).integer() }

// runColumn computes a product of one contiguous column as one of a row, whose B is
// packed, and reports true, or does nothing: kernels would use one lane.
func runColumn[T Number](e *engine, p *Product[T]) bool {
	if p.N > 1 || p.M == 1 || p.A.Col != 1 || p.C.Row != 1 {
		return false
	}
	q := p.turned()
	run(e, &q)
	return true
}

// addMatrix adds an m by n matrix to another, both of rows without gaps inside.
func addMatrix[T Number](to, from Matrix, m, n int) {
	for i := range m {
		row := unsafe.Slice(at[T](to, i, 0), n)
		for j, v := range unsafe.Slice(at[T](from, i, 0), n) {
			row[j] += v
		}
	}
}
