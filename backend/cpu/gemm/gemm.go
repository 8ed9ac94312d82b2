// Package gemm multiplies matrices in plain Go: operands are packed into panels
// that the caches hold, and a kernel keeps a tile of the result in registers.
// It knows nothing of tensors.
//
// Every sum runs over k in one order, in stretches of depth added up one after
// the other; how many processors take part does not change it.
package gemm

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
)

// A Number is an element type. Integers wrap.
type Number interface {
	uint8 | int8 | int16 | int32 | int64 | float32 | float64 | complex64 | complex128
}

// A Matrix is strided memory. The strides are counted in elements and may be 0.
type Matrix struct {
	Ptr      unsafe.Pointer
	Row, Col int // distance from one row, or column, to the next
}

// T returns the transposed matrix.
func (a Matrix) T() Matrix { return Matrix{a.Ptr, a.Col, a.Row} }

func at[T Number](a Matrix, i, j int) *T {
	return (*T)(unsafe.Add(a.Ptr, (i*a.Row+j*a.Col)*int(unsafe.Sizeof(*new(T)))))
}

// Sizes of the pieces, in elements: a panel of B is depth by kernelCols, and a
// block's panels of A stay in the second cache while B's pass by.
const (
	kernelRows = 2
	kernelCols = 4
	depth      = 256
	blockRows  = 64
	blockCols  = 128
	sliceRows  = 1024 // rows packed at once
	sliceCols  = 1024 // columns packed at once
)

// Mul sets the m by n matrix c to a*b, where a is m by k and b is k by n; with
// add it adds the product to c. c must not overlap the others.
func Mul[T Number](m, n, k int, a, b, c Matrix, add bool) {
	switch {
	case m == 0 || n == 0:
	case k == 0:
		if !add {
			clearMatrix[T](m, n, c)
		}
	case n == 1:
		mulVector[T](m, k, a, b.Ptr, b.Row, c.Ptr, c.Row, add)
	case m == 1:
		mulVector[T](n, k, b.T(), a.Ptr, a.Col, c.Ptr, c.Col, add)
	case m*n*k <= 1024:
		mulSmall[T](m, n, k, a, b, c, add)
	default:
		mulBlocked[T](m, n, k, a, b, c, add)
	}
}

func clearMatrix[T Number](m, n int, c Matrix) {
	for i := range m {
		for j := range n {
			*at[T](c, i, j) = 0
		}
	}
}

func mulSmall[T Number](m, n, k int, a, b, c Matrix, add bool) {
	for i := range m {
		for j := range n {
			var sum T
			for p := range k {
				sum += *at[T](a, i, p) * *at[T](b, p, j)
			}
			if add {
				sum += *at[T](c, i, j)
			}
			*at[T](c, i, j) = sum
		}
	}
}

// A slice is the part of a product that is packed at once.
type slice struct {
	m, n, k int // rows, columns and terms
	a, b, c Matrix
	pa, pb  unsafe.Pointer // packed panels
	add     bool           // to c
}

func mulBlocked[T Number](m, n, k int, a, b, c Matrix, add bool) {
	size := int(unsafe.Sizeof(*new(T)))
	rows, cols, deep := min(m, sliceRows), min(n, sliceCols), roundUp(min(k, depth), unroll)
	aBytes := roundUp(rows, kernelRows) * deep * size
	buf := scratch.Get(aBytes + roundUp(cols, kernelCols)*deep*size)
	defer buf.Put()
	s := slice{pa: buf.Ptr(), pb: unsafe.Add(buf.Ptr(), aBytes)}
	for j := 0; j < n; j += sliceCols {
		s.n = min(sliceCols, n-j)
		for p := 0; p < k; p += depth {
			s.k = min(depth, k-p)
			s.add = add || p > 0
			s.b = Matrix{unsafe.Pointer(at[T](b, p, j)), b.Row, b.Col}
			pack[T](s.pb, s.b.T(), s.n, s.k, kernelCols)
			for i := 0; i < m; i += sliceRows {
				s.m = min(sliceRows, m-i)
				s.a = Matrix{unsafe.Pointer(at[T](a, i, p)), a.Row, a.Col}
				s.c = Matrix{unsafe.Pointer(at[T](c, i, j)), c.Row, c.Col}
				pack[T](s.pa, s.a, s.m, s.k, kernelRows)
				mulSlice[T](&s)
			}
		}
	}
}

// mulSlice multiplies packed panels, blocks of the result in parallel.
func mulSlice[T Number](s *slice) {
	across := (s.n + blockCols - 1) / blockCols
	down := (s.m + blockRows - 1) / blockRows
	work := min(s.m, blockRows) * min(s.n, blockCols) * s.k
	pool.For(across*down, max(1, parallelWork/work), func(lo, hi int) {
		for ; lo < hi; lo++ {
			i, j := lo%down*blockRows, lo/down*blockCols
			mulBlock[T](s, i, min(i+blockRows, s.m), j, min(j+blockCols, s.n))
		}
	})
}

// parallelWork is how many products are worth another processor.
const parallelWork = 64 * 1024

// mulBlock computes rows [i0, i1) and columns [j0, j1) of a slice.
func mulBlock[T Number](s *slice, i0, i1, j0, j1 int) {
	size := int(unsafe.Sizeof(*new(T)))
	deep := roundUp(s.k, unroll)
	var tile [kernelRows * kernelCols]T
	for j := j0; j < j1; j += kernelCols {
		pb := unsafe.Add(s.pb, j*deep*size)
		for i := i0; i < i1; i += kernelRows {
			kernel(deep, unsafe.Add(s.pa, i*deep*size), pb, &tile)
			if i+kernelRows <= i1 && j+kernelCols <= j1 && s.c.Col == 1 {
				row0 := (*[kernelCols]T)(unsafe.Pointer(at[T](s.c, i, j)))
				row1 := (*[kernelCols]T)(unsafe.Pointer(at[T](s.c, i+1, j)))
				storeRows(row0, row1, &tile, s.add)
				continue
			}
			for r := range min(kernelRows, i1-i) {
				for c := range min(kernelCols, j1-j) {
					to := at[T](s.c, i+r, j+c)
					if s.add {
						*to += tile[r*kernelCols+c]
					} else {
						*to = tile[r*kernelCols+c]
					}
				}
			}
		}
	}
}

func storeRows[T Number](row0, row1 *[kernelCols]T, tile *[kernelRows * kernelCols]T, add bool) {
	if !add {
		*row0, *row1 = [kernelCols]T(tile[:kernelCols]), [kernelCols]T(tile[kernelCols:])
		return
	}
	for i := range row0 {
		row0[i] += tile[i]
		row1[i] += tile[kernelCols+i]
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
