package gemm

import "unsafe"

// unroll is how many terms one round of kernel adds; panels are padded with
// zeros to a multiple of it.
const unroll = 4

// kernel sets tile to the product of a packed panel of A, k by 2, and one of B,
// k by 4. k is a multiple of unroll. The eight sums and their factors are what
// 16 registers hold; the loop is unrolled because Go moves loop variables to
// other registers in each round.
func kernel[T Number](k int, a, b unsafe.Pointer, tile *[kernelRows * kernelCols]T) {
	var c00, c01, c02, c03, c10, c11, c12, c13 T
	const aStep, bStep = unroll * kernelRows, unroll * kernelCols
	for p := range k / unroll {
		x := (*[aStep]T)(unsafe.Add(a, p*int(unsafe.Sizeof([aStep]T{}))))
		y := (*[bStep]T)(unsafe.Add(b, p*int(unsafe.Sizeof([bStep]T{}))))
		a0, a1 := x[0], x[1]
		v := y[0]
		c00, c10 = c00+a0*v, c10+a1*v
		v = y[1]
		c01, c11 = c01+a0*v, c11+a1*v
		v = y[2]
		c02, c12 = c02+a0*v, c12+a1*v
		v = y[3]
		c03, c13 = c03+a0*v, c13+a1*v
		a0, a1 = x[2], x[3]
		v = y[4]
		c00, c10 = c00+a0*v, c10+a1*v
		v = y[5]
		c01, c11 = c01+a0*v, c11+a1*v
		v = y[6]
		c02, c12 = c02+a0*v, c12+a1*v
		v = y[7]
		c03, c13 = c03+a0*v, c13+a1*v
		a0, a1 = x[4], x[5]
		v = y[8]
		c00, c10 = c00+a0*v, c10+a1*v
		v = y[9]
		c01, c11 = c01+a0*v, c11+a1*v
		v = y[10]
		c02, c12 = c02+a0*v, c12+a1*v
		v = y[11]
		c03, c13 = c03+a0*v, c13+a1*v
		a0, a1 = x[6], x[7]
		v = y[12]
		c00, c10 = c00+a0*v, c10+a1*v
		v = y[13]
		c01, c11 = c01+a0*v, c11+a1*v
		v = y[14]
		c02, c12 = c02+a0*v, c12+a1*v
		v = y[15]
		c03, c13 = c03+a0*v, c13+a1*v
	}
	*tile = [kernelRows * kernelCols]T{c00, c01, c02, c03, c10, c11, c12, c13}
}
