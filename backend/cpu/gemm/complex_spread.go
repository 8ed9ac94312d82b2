package gemm

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// spread computes the product with B spread. C whose rows have gaps inside gets it
// from memory of its own.
func (p *complexProduct[R]) spread() {
	q := *p
	if p.n > 1 && p.c.Col != 1 {
		block := scratch.Get(p.m * p.n * int(unsafe.Sizeof([2]R{})))
		defer block.Put()
		q.c, q.add = Matrix{block.Ptr(), p.n, 1}, false
	}
	if q.bias != nil && q.biasRows {
		for i := range q.m {
			b := *number[R](Matrix{q.bias, 1, 1}, i, 0)
			for j := range q.n {
				*number[R](q.c, i, j) = b
			}
		}
		q.bias, q.add = nil, true
	}
	q.pieces()
	if q.c.Ptr == p.c.Ptr {
		return
	}
	for i := range p.m {
		for j := range p.n {
			to, v := number[R](p.c, i, j), *number[R](q.c, i, j)
			if p.add {
				v[0], v[1] = v[0]+to[0], v[1]+to[1]
			}
			*to = v
		}
	}
}

// pieces computes a product into rows without gaps inside: pieces of B one after the
// other, and of A where it is copied because its rows have gaps.
func (p *complexProduct[R]) pieces() {
	size := int(unsafe.Sizeof(*new(R)))
	terms := min(p.k, max(complexTerms, complexBytes/(4*size*p.n)))
	columns := min(p.n, max(complexColumns, complexBytes/(4*size*terms)))
	b := padded(columns, size)
	block := scratch.Get(2 * terms * b.Row * 2 * size)
	defer block.Put()
	b.Ptr = block.Ptr()
	rows, a := p.m, Matrix{}
	if p.a.Col != 1 && p.k > 1 {
		a = padded(terms, size)
		rows = min(p.m, max(1, complexBytes/(2*size*a.Row)))
		block := scratch.Get(rows * a.Row * 2 * size)
		defer block.Put()
		a.Ptr = block.Ptr()
	}
	for j := 0; j < p.n; j += columns {
		q := Product[R]{N: 2 * min(columns, p.n-j), Add: p.add, Serial: p.serial}
		if p.bias != nil {
			q.Bias = unsafe.Pointer(number[R](Matrix{p.bias, 1, 1}, 0, j))
		}
		for t := 0; t < p.k; t += terms {
			q.K = 2 * min(terms, p.k-t)
			q.B = p.spreadB(b, t, j, q.K/2, q.N/2)
			for i := 0; i < p.m; i += rows {
				q.M, q.C = min(rows, p.m-i), reals[R](p.c, i, j)
				if a.Ptr == nil {
					q.A = reals[R](p.a, i, t)
				} else {
					q.A = p.copyA(a, i, t, q.M, q.K/2)
				}
				runAt(p.level, &q)
			}
			q.Add, q.Bias = true, nil
		}
	}
}

// padded returns the strides of a matrix of so many columns of complex numbers, with
// parts of some size, whose rows do not fall on the same places of a cache.
func padded(columns, size int) Matrix {
	if columns == 1 {
		return Matrix{Row: 1, Col: 1}
	}
	return Matrix{Row: (roundUp(2*columns*size, 64) + gap) / (2 * size), Col: 1}
}

// beyond returns the part of a that begins at row i and column j.
func beyond[R part](a Matrix, i, j int) Matrix {
	return Matrix{unsafe.Pointer(number[R](a, i, j)), a.Row, a.Col}
}

// reals is beyond as a matrix of real numbers. The rows have no gaps inside.
func reals[R part](a Matrix, i, j int) Matrix {
	return Matrix{unsafe.Pointer(number[R](a, i, j)), 2 * a.Row, 1}
}

// spreadB spreads k rows and n columns of B from row t and column j on to a matrix of
// real numbers in the memory of to: of twice as many rows, or for one column two that
// have no gaps inside.
func (p *complexProduct[R]) spreadB(to Matrix, t, j, k, n int) Matrix {
	from := beyond[R](p.b, t, j)
	if n == 1 {
		all := unsafe.Slice((*[2]R)(to.Ptr), 2*k)
		re, im := all[:k], all[k:]
		for i := range re {
			v := *number[R](from, i, 0)
			re[i], im[i] = [2]R{v[0], -v[1]}, [2]R{v[1], v[0]}
		}
		return Matrix{to.Ptr, 1, 2 * k}
	}
	p.share(k, n, func(lo, hi int) {
		copyNumbers[R](p.level, Matrix{unsafe.Pointer(number[R](to, 2*lo, 0)), 2 * to.Row, 1}, beyond[R](from, lo, 0), hi-lo, n)
		for i := 2 * lo; i < 2*hi; i += 2 {
			row, next := unsafe.Slice(number[R](to, i, 0), n), unsafe.Slice(number[R](to, i+1, 0), n)
			for c, v := range row {
				next[c] = [2]R{-v[1], v[0]}
			}
		}
	})
	return reals[R](to, 0, 0)
}

// copyA copies m rows of A and k terms from row i and term t on.
func (p *complexProduct[R]) copyA(to Matrix, i, t, m, k int) Matrix {
	p.share(m, k, func(lo, hi int) {
		copyNumbers[R](p.level, beyond[R](to, lo, 0), beyond[R](p.a, i+lo, t), hi-lo, k)
	})
	return reals[R](to, 0, 0)
}

// turnSide is how many rows and columns of a block are transposed at once.
const turnSide = 32

// copyNumbers copies an m by n matrix of complex numbers to one whose rows have no
// gaps inside.
func copyNumbers[R part](level simd.Level, to, from Matrix, m, n int) {
	size := int(unsafe.Sizeof([2]R{}))
	switch {
	case from.Col == 1:
		for i := range m {
			copy(unsafe.Slice(number[R](to, i, 0), n), unsafe.Slice(number[R](from, i, 0), n))
		}
	case from.Row == 1:
		turn := move.Transpose(level, size)
		for i := 0; i < m; i += turnSide {
			for j := 0; j < n; j += turnSide {
				turn(unsafe.Pointer(number[R](to, i, j)), unsafe.Pointer(number[R](from, i, j)), to.Row*size, from.Col*size,
					min(turnSide, n-j), min(turnSide, m-i))
			}
		}
	default:
		for i := range m {
			row := unsafe.Slice(number[R](to, i, 0), n)
			for j := range row {
				row[j] = *number[R](from, i, j)
			}
		}
	}
}
