package gemm

import (
	"math"
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
)

// A halfDots is a product of one row or column whose sums are those of rows of
// contiguous terms with one vector. The rows are read once, where they are.
type halfDots struct {
	rows    Matrix
	x       unsafe.Pointer // contiguous
	y       unsafe.Pointer
	yStep   int // elements
	bias    unsafe.Pointer
	count   int
	terms   int
	perBias int // elements from the bias of a row to that of the next
	wide    bool
}

const (
	dotGroup = 4         // rows of a call's groups
	dotTerms = 16 << 10  // terms of a stretch, whose sums are added to those of the ones before
	dotChunk = 64        // rows whose sums are kept at once
	dotShare = 128 << 10 // elements worth another processor
)

// dots computes the product and reports true where it is such a one.
func (p *HalfProduct) dots() bool {
	d := halfDots{terms: p.K, bias: p.Bias, wide: p.Wide}
	x, step := p.B.Ptr, p.B.Row
	switch {
	case p.N == 1 && p.A.Col == 1:
		d.rows, d.count, d.y, d.yStep = p.A, p.M, p.C.Ptr, p.C.Row
	case p.M == 1 && p.B.Row == 1:
		d.rows, d.count, d.y, d.yStep, d.perBias = p.B.T(), p.N, p.C.Ptr, p.C.Col, 1
		x, step = p.A.Ptr, p.A.Col
	default:
		return false
	}
	d.x = x
	if step != 1 {
		block := scratch.Get(2 * p.K)
		defer block.Put()
		d.x = block.Ptr()
		copyMatrix[int16](Matrix{d.x, 1, 1}, Matrix{x, step, 1}, p.K, 1)
	}
	least := max(dotGroup, dotShare/p.K)
	if p.Serial || runtime.GOMAXPROCS(0) == 1 || d.count <= least {
		d.some(0, d.count)
	} else {
		shared := d
		pool.For(d.count, least, shared.some)
	}
	return true
}

// some computes the sums of rows [lo, hi).
func (d *halfDots) some(lo, hi int) {
	var sums, more [dotChunk]float32
	for ; lo < hi; lo += dotChunk {
		n := min(dotChunk, hi-lo)
		d.stretch(&sums, lo, n, 0)
		for p := dotTerms; p < d.terms; p += dotTerms {
			d.stretch(&more, lo, n, p)
			for i := range n {
				sums[i] += more[i]
			}
		}
		for i, sum := range sums[:n] {
			if d.bias != nil {
				sum += *at[float32](Matrix{d.bias, d.perBias, 0}, lo+i, 0)
			}
			to := Matrix{d.y, d.yStep, 0}
			if d.wide {
				*at[float32](to, lo+i, 0) = sum
				continue
			}
			*at[int16](to, lo+i, 0) = roundHalf(sum)
		}
	}
}

// stretch sets sums to those of n rows, of the terms from p on.
func (d *halfDots) stretch(sums *[dotChunk]float32, lo, n, p int) {
	terms := min(dotTerms, d.terms-p)
	x := (*byte)(unsafe.Add(d.x, 2*p))
	most := max(1, dotTerms/terms) // groups of a call
	for i := 0; i < n; {
		rows, groups := dotGroup, min((n-i)/dotGroup, most)
		if groups == 0 {
			rows, groups = 1, n-i
		}
		to, from := (*byte)(unsafe.Pointer(&sums[i])), (*byte)(unsafe.Pointer(at[int16](d.rows, lo+i, p)))
		if rows == 1 {
			halfDots1AVX512BF16(to, from, d.rows.Row*2, x, terms, groups)
		} else {
			halfDots4AVX512BF16(to, from, d.rows.Row*2, x, terms, groups)
		}
		i += rows * groups
	}
}

// roundHalf rounds to bfloat16 as AVX512-BF16 does.
func roundHalf(x float32) int16 {
	bits := math.Float32bits(x)
	switch {
	case x != x:
		return int16(bits>>16 | 0x40)
	case bits>>23&0xff == 0:
		return int16(bits >> 16 & 0x8000)
	}
	return int16((bits + 0x7fff + bits>>16&1) >> 16)
}
