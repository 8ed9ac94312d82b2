package gemm

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

const (
	// complexLeast and complexPlainLeast are how many complex products are worth kernels
	// of real ones, those of a level of instructions and plain ones.
	complexLeast, complexPlainLeast = 64, 16 << 10
	// complexFew is how many rows of A are taken apart rather than B spread, at most, and
	// complexFewTerms how many terms there are for each of them, at least.
	complexFew, complexFewTerms = 16, 8
	// complexBytes is how much memory what is spread, copied or put together takes,
	// unless the rows of a piece take more.
	complexBytes = 4 << 20
	// complexTerms and complexColumns are how many terms and columns of B are spread at
	// once, if there are so many; more of one where there are less of the other.
	complexTerms, complexColumns = 512, 128
	// complexShare is how many numbers to copy are worth another processor.
	complexShare = 16 << 10
)

// realPays reports whether complex products are better computed by kernels of real
// numbers.
func realPays[T Number](level simd.Level, p *Product[T]) bool {
	work := p.M * p.N * p.K
	if engineOf[float32](level).family == portable {
		return min(p.M, p.N) > thinRows && work >= complexPlainLeast
	}
	return work >= complexLeast
}

// runComplex computes a product of complex numbers by kernels of real ones and
// reports true, or does nothing where it is of other numbers or too small.
//
// (a+bi)*(c+di) is ac-bd + (ad+bc)i whatever the numbers are: an infinite one may
// make both parts of the result NaN.
func runComplex[T Number](level simd.Level, p *Product[T]) bool {
	_, single := any(*new(T)).(complex64)
	_, double := any(*new(T)).(complex128)
	switch {
	case !single && !double || !realPays(level, p):
		return false
	case single:
		complexOf[float32](level, p).run()
	default:
		complexOf[float64](level, p).run()
	}
	if p.Done != nil {
		p.Done(0, p.M, 0, p.N)
	}
	return true
}

// A part is the type of a complex number's parts.
type part interface{ float32 | float64 }

// A complexProduct is a Product of complex numbers, by which its strides are counted.
type complexProduct[R part] struct {
	level    simd.Level
	m, n, k  int
	a, b, c  Matrix
	add      bool
	bias     unsafe.Pointer
	biasRows bool
	serial   bool
}

func complexOf[R part, T Number](level simd.Level, p *Product[T]) *complexProduct[R] {
	q := &complexProduct[R]{level: level, m: p.M, n: p.N, k: p.K, a: p.A, b: p.B, c: p.C, add: p.Add, serial: p.Serial}
	if !p.Add {
		q.bias, q.biasRows = p.Bias, p.BiasRows
	}
	return q
}

// run chooses between two ways. Rows of A without gaps inside are rows of twice as
// many real numbers. They are multiplied with a B that is spread to two rows for each
// of its own: c+di to (c, d) and to (-d, c), which makes rows of C as they lie. Or the
// real and the imaginary parts of A's rows are multiplied with rows of B as these
// lie, and the products are put together.
func (p *complexProduct[R]) run() {
	switch {
	case p.n == 1 && p.a.Col == 1:
		p.spread()
	case p.m == 1 && p.b.Row == 1:
		p.turned().spread()
	case p.b.Col == 1 && few(p.m, p.k):
		p.apart()
	case p.a.Row == 1 && few(p.n, p.k):
		p.turned().apart()
	case p.b.Row == 1 && few(p.m, p.n) || p.c.Col != 1 && p.c.Row == 1:
		p.turned().spread()
	default:
		p.spread()
	}
}

// few reports whether there are few rows for so many terms.
func few(rows, terms int) bool { return rows <= complexFew && rows*complexFewTerms <= terms }

// turned returns the product of the transposed matrices.
func (p *complexProduct[R]) turned() *complexProduct[R] {
	q := *p
	q.m, q.n, q.a, q.b, q.c, q.biasRows = p.n, p.m, p.b.T(), p.a.T(), p.c.T(), !p.biasRows
	return &q
}

// number returns the parts of the complex number in row i and column j.
func number[R part](a Matrix, i, j int) *[2]R {
	return (*[2]R)(unsafe.Add(a.Ptr, (i*a.Row+j*a.Col)*int(unsafe.Sizeof([2]R{}))))
}

// share calls f for parts of n rows of so many numbers, on several processors if
// the product may use them.
func (p *complexProduct[R]) share(n, numbers int, f func(lo, hi int)) {
	if p.serial {
		f(0, n)
	} else {
		pool.For(n, max(1, complexShare/numbers), f)
	}
}

// apart computes a product of few rows by the parts of A. The rows of B have no gaps
// inside.
func (p *complexProduct[R]) apart() {
	size := int(unsafe.Sizeof(*new(R)))
	columns := min(p.n, max(1, complexBytes/(4*size*p.m)))
	block := scratch.Get((p.k + 2*columns) * 2 * p.m * size)
	defer block.Put()
	a := Matrix{block.Ptr(), p.k, 1}
	sums := Matrix{unsafe.Add(block.Ptr(), 2*p.m*p.k*size), 2 * columns, 1}
	for i := range p.m {
		re, im := unsafe.Slice(at[R](a, i, 0), p.k), unsafe.Slice(at[R](a, p.m+i, 0), p.k)
		for t := range re {
			v := number[R](p.a, i, t)
			re[t], im[t] = v[0], v[1]
		}
	}
	for j := 0; j < p.n; j += columns {
		n := min(columns, p.n-j)
		b := Matrix{unsafe.Pointer(number[R](p.b, 0, j)), 2 * p.b.Row, 1}
		runAt(p.level, &Product[R]{M: 2 * p.m, N: 2 * n, K: p.k, A: a, B: b, C: sums, Serial: p.serial})
		for i := range p.m {
			p.together(i, j, unsafe.Slice((*[2]R)(unsafe.Pointer(at[R](sums, i, 0))), n),
				unsafe.Slice((*[2]R)(unsafe.Pointer(at[R](sums, p.m+i, 0))), n))
		}
	}
}

// together sets row i of C from column j on to what the real and the imaginary parts
// of A's row make with B.
func (p *complexProduct[R]) together(i, j int, re, im [][2]R) {
	for c, x := range re {
		y, to := im[c], number[R](p.c, i, j+c)
		v := [2]R{x[0] - y[1], x[1] + y[0]}
		switch {
		case p.add:
			v[0], v[1] = v[0]+to[0], v[1]+to[1]
		case p.bias != nil:
			of := j + c
			if p.biasRows {
				of = i
			}
			b := number[R](Matrix{p.bias, 1, 1}, 0, of)
			v[0], v[1] = v[0]+b[0], v[1]+b[1]
		}
		*to = v
	}
}
