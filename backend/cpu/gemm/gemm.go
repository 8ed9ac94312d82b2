// Package gemm multiplies matrices: a micro-kernel keeps a tile of the result in
// registers, and what it reads is packed where the caches would not hold it
// otherwise. Kernels are assembly for float32, float64, int32 and int64 where there
// is some for the processor; other types and architectures run plain Go. Products of
// complex numbers are made ones of real numbers. The package knows nothing of tensors.
//
// Every element's sum runs over k in ascending order, in stretches that are added
// up one after the other; how many processors take part does not change it.
package gemm

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A Number is an element type. Integers wrap.
type Number interface {
	uint8 | int8 | int16 | int32 | int64 | float32 | float64 | complex64 | complex128
}

// A Matrix is strided memory. The strides are counted in elements and may be 0 or
// negative.
type Matrix struct {
	Ptr      unsafe.Pointer
	Row, Col int // distance from one row, or column, to the next
}

// T returns the transposed matrix.
func (a Matrix) T() Matrix { return Matrix{a.Ptr, a.Col, a.Row} }

// from returns the part of a that begins at row i and column j.
func from[T Number](a Matrix, i, j int) Matrix {
	return Matrix{unsafe.Pointer(at[T](a, i, j)), a.Row, a.Col}
}

func at[T Number](a Matrix, i, j int) *T {
	return (*T)(unsafe.Add(a.Ptr, (i*a.Row+j*a.Col)*int(unsafe.Sizeof(*new(T)))))
}

// A Product is C = A*B, where A is M by K, B is K by N and C, which must not
// overlap them, M by N. Run does not change it: any goroutine may run it.
type Product[T Number] struct {
	M, N, K int
	A, B, C Matrix

	Add      bool           // add the product to C instead of setting it
	Bias     unsafe.Pointer // unless nil, or with Add: contiguous elements that are added, N to each row
	BiasRows bool           // Bias has M elements, each for a row

	// Stretch is how many terms are summed up before the sums are added to those of the
	// terms before; 0: as many as suit the sizes. Products that are parts of another get
	// the same, so that sums do not depend on how it is cut.
	Stretch int

	// Packed, unless nil, is B as Pack made it. B is there as well. The result is the same,
	// to the bit.
	Packed *Packed

	Serial bool // use the calling goroutine only

	// Back has products of few rows read the columns of B from the last to the first. Where a
	// product with the same B was before, a cache still has the last ones.
	Back bool

	// Done, unless nil, is called once for each block of C, rows [i0, i1) and
	// columns [j0, j1), when it is finished and still in a cache. The blocks are
	// disjoint and cover C. Several goroutines call it at once.
	Done func(i0, i1, j0, j1 int)
}

// Run computes the product.
func (p *Product[T]) Run() { runAt(simd.Active(), p) }

// Mul sets the m by n matrix c to a*b, where a is m by k and b is k by n; with
// add it adds the product to c. c must not overlap the others.
func Mul[T Number](m, n, k int, a, b, c Matrix, add bool) {
	p := Product[T]{M: m, N: n, K: k, A: a, B: b, C: c, Add: add}
	runAt(simd.Active(), &p)
}

// BestStretch returns the Stretch that suits the product.
func (p *Product[T]) BestStretch() int {
	j := job[T]{e: engineOf[T](simd.Active()), p: *p}
	j.choose()
	return j.depth
}

// PanelColumns returns how many columns of B kernels multiply with at once: parts of a
// product have some times as many.
func PanelColumns[T Number]() int { return engineOf[T](simd.Active()).columns() }

// runAt is Run at a level of instructions.
func runAt[T Number](level simd.Level, p *Product[T]) {
	e := engineOf[T](level)
	switch {
	case p.M == 0 || p.N == 0:
	case p.K == 0:
		withoutTerms(p)
	case runComplex(level, p):
	case e.integer() && runColumn(e, p):
	case !e.integer() && runThin(e, p):
	case runSmall(e, p):
	case p.Packed != nil && p.Packed.fits(e, p.K, p.N) && (p.N == 1 || p.C.Col == 1) && !p.Add:
		runPacked(e, p)
	case p.N > 1 && p.C.Col != 1:
		runAcross(e, p)
	case turns(e, p):
		runTurned(e, p)
	default:
		run(e, p)
	}
}

// withoutTerms computes a product whose sums are empty.
func withoutTerms[T Number](p *Product[T]) {
	for i := range p.M {
		for j := range p.N {
			to := at[T](p.C, i, j)
			switch {
			case p.Add:
			case p.Bias == nil:
				*to = 0
			case p.BiasRows:
				*to = *at[T](Matrix{p.Bias, 1, 0}, i, 0)
			default:
				*to = *at[T](Matrix{p.Bias, 1, 0}, j, 0)
			}
		}
	}
	if p.Done != nil {
		p.Done(0, p.M, 0, p.N)
	}
}

// runAcross computes a product whose result has gaps inside rows: as a transposed
// one where that has none, else through memory of its own.
func runAcross[T Number](e *engine, p *Product[T]) {
	if p.C.Row == 1 {
		q := p.turned()
		run(e, &q)
		return
	}
	q := *p
	block := scratch.Get(p.M * p.N * e.size)
	defer block.Put()
	q.C, q.Done, q.Add = Matrix{block.Ptr(), p.N, 1}, nil, false
	run(e, &q)
	p.finish(e, q.C, 0, p.M, 0, p.N)
}

// turned returns the product of the transposed matrices.
func (p *Product[T]) turned() Product[T] {
	q := *p
	q.M, q.N, q.A, q.B, q.C, q.BiasRows, q.Packed = p.N, p.M, p.B.T(), p.A.T(), p.C.T(), !p.BiasRows, nil
	if done := p.Done; done != nil {
		q.Done = func(i0, i1, j0, j1 int) { done(j0, j1, i0, i1) }
	}
	return q
}

// turns reports whether a product is better computed transposed: packing B, whose
// columns are contiguous, would take longer than packing A and moving the result.
func turns[T Number](e *engine, p *Product[T]) bool {
	if e.family == portable || p.B.Row != 1 || p.B.Col == 1 {
		return false
	}
	return p.N*p.K > p.M*p.K+3*p.M*p.N
}

// runTurned computes the transposed product in memory of its own, from which
// blocks go to C as soon as they are finished.
func runTurned[T Number](e *engine, p *Product[T]) {
	q := p.turned()
	block := scratch.Get(q.M * q.N * e.size)
	defer block.Put()
	q.C = Matrix{block.Ptr(), q.N, 1}
	if q.Add {
		q.Add, q.Bias = false, nil
	}
	given, product := *p, q.C.T()
	q.Done = func(j0, j1, i0, i1 int) { given.finish(e, product, i0, i1, j0, j1) }
	run(e, &q)
}

// finish takes rows [i0, i1) and columns [j0, j1) of the product to C.
func (p *Product[T]) finish(e *engine, product Matrix, i0, i1, j0, j1 int) {
	to, from := from[T](p.C, i0, j0), from[T](product, i0, j0)
	if !p.Add && p.C.Col == 1 {
		copyRowsOf[T](e, to, from, i1-i0, j1-j0)
	} else {
		for i := range i1 - i0 {
			for j := range j1 - j0 {
				c, sum := at[T](to, i, j), *at[T](from, i, j)
				if p.Add {
					sum += *c
				}
				*c = sum
			}
		}
	}
	if p.Done != nil {
		p.Done(i0, i1, j0, j1)
	}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

func ceil(n, by int) int { return (n + by - 1) / by }
