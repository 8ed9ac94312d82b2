package gemm

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
)

// mulVector sets y, of m elements ys apart, to a*x, or adds that to y.
func mulVector[T Number](m, k int, a Matrix, x unsafe.Pointer, xs int, y unsafe.Pointer, ys int, add bool) {
	col := Matrix{x, xs, 0}
	vec := make([]T, k)
	for p := range vec {
		vec[p] = *at[T](col, p, 0)
	}
	pool.For(m, max(1, parallelWork/k), func(lo, hi int) {
		sums := make([]T, hi-lo)
		part := Matrix{unsafe.Pointer(at[T](a, lo, 0)), a.Row, a.Col}
		if a.Row == 1 && a.Col != 1 {
			addColumns(sums, part, vec)
		} else {
			dotRows(sums, part, vec)
		}
		for i, s := range sums {
			to := at[T](Matrix{y, ys, 0}, lo+i, 0)
			if add {
				s += *to
			}
			*to = s
		}
	})
}

// dotRows adds up each row's products with x, in four sums.
func dotRows[T Number](sums []T, a Matrix, x []T) {
	for i := range sums {
		var s0, s1, s2, s3 T
		p := 0
		for ; p+4 <= len(x); p += 4 {
			s0 += *at[T](a, i, p) * x[p]
			s1 += *at[T](a, i, p+1) * x[p+1]
			s2 += *at[T](a, i, p+2) * x[p+2]
			s3 += *at[T](a, i, p+3) * x[p+3]
		}
		for ; p < len(x); p++ {
			s0 += *at[T](a, i, p) * x[p]
		}
		sums[i] = (s0 + s1) + (s2 + s3)
	}
}

// addColumns adds a's columns, which are contiguous, each times its element of x.
func addColumns[T Number](sums []T, a Matrix, x []T) {
	for p, v := range x {
		col := unsafe.Slice(at[T](a, 0, p), len(sums))
		for i := range sums {
			sums[i] += col[i] * v
		}
	}
}
