package gemm

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
)

// A thin is what a kernel for products of few rows gets: the memory of B sets
// their pace. Its fields' offsets are known to the generator; distances are in
// bytes.
//
// Where B's columns are contiguous a kernel computes sums of products, of groups of
// one or dotColumns columns one after the other. Where its rows are, it adds rows
// times elements of A to the result, groups of some rows one after the other.
type thin struct {
	b      unsafe.Pointer
	bRow   int            // from one column to the next, or from one row
	x      unsafe.Pointer // the rows of A, padded with zeros to whole vectors
	xRow   int
	y      unsafe.Pointer // the result
	yRow   int
	count  int // terms, or columns; at least one
	groups int // at least one
	last   int // elements of the last vector
}

const (
	thinRows   = 3 // rows of A at most
	dotColumns = 4 // columns of a group of sums

	// thinElements is how many elements of B a kernel reads in a call.
	thinElements = 64 << 10
	// thinStretch is how many terms of a sum are added up before the sums of stretches
	// are: a call cannot be interrupted, and processors share the stretches.
	thinStretch = thinElements / dotColumns
	// thinShare is how many elements of B are worth another processor.
	thinShare = 32 << 10
	// thinBytes is how much of the result is added to at a time.
	thinBytes = 16 << 10
	// thinLeast is how many elements B has at least for these kernels to pay.
	thinLeast = 128
)

// depths are the rows of B that a kernel adds at once, by rows of A.
func (e *engine) depths(rows int) int {
	if e.family == f32AVX512 || e.family == f64AVX512 {
		return 8
	}
	return [thinRows + 1]int{0, 8, 4, 3}[rows]
}

// runThin computes a product of few rows or columns and reports true, or does
// nothing where p is none or its operands have gaps inside rows and columns.
func runThin[T Number](e *engine, p *Product[T]) bool {
	if e.family == portable || min(p.M, p.N) > thinRows || max(p.M, p.N)*p.K < thinLeast {
		return false
	}
	q := *p
	if p.M > thinRows || p.N < p.M {
		q.M, q.N, q.A, q.B, q.C, q.BiasRows = p.N, p.M, p.B.T(), p.A.T(), p.C.T(), !p.BiasRows
	}
	// An axis of one element has any stride.
	sums := q.B.Row == 1 || q.K == 1
	if !sums && q.B.Col != 1 && q.N > 1 {
		return false
	}
	j := thinJob[T]{e: e, Product: q, sums: sums}
	if sums && q.K > thinElements {
		j.inStretches()
	} else {
		j.do()
	}
	if p.Done != nil {
		p.Done(0, p.M, 0, p.N)
	}
	return true
}

// A thinJob is a thin product under way.
type thinJob[T Number] struct {
	Product[T]
	e    *engine
	sums bool           // of products; else rows are added
	x    unsafe.Pointer // A's rows
	xRow int            // bytes
	y    Matrix         // the product
}

func (j *thinJob[T]) do() {
	e := j.e
	direct := j.C.Col == 1 && j.Bias == nil && !j.Add
	if j.A.Col == 1 && j.K*e.size%64 == 0 { // whole vectors, where they are
		j.x, j.xRow = j.A.Ptr, j.A.Row*e.size
	} else {
		j.xRow = roundUp(j.K*e.size, 64)
		block := scratch.Get(j.M * j.xRow)
		defer block.Put()
		j.x = block.Ptr()
		for i := range j.M {
			row := unsafe.Slice((*T)(unsafe.Add(j.x, i*j.xRow)), j.xRow/e.size)
			copyMatrix[T](Matrix{unsafe.Pointer(&row[0]), 0, 1}, from[T](j.A, i, 0), 1, j.K)
			clear(row[j.K:])
		}
	}
	j.y = j.C
	if !direct {
		row := roundUp(j.N*e.size, 64)
		block := scratch.Get(j.M * row)
		defer block.Put()
		j.y = Matrix{block.Ptr(), row / e.size, 1}
	}
	grain := roundUp(max(1, thinShare/j.K), 64/e.size)
	switch {
	case j.Serial || j.N <= grain || runtime.GOMAXPROCS(0) == 1:
		j.columns(0, j.N)
	default:
		shared := *j
		share := pool.Run
		if j.Back {
			share = pool.RunBack
		}
		share(j.N, grain, (*thinColumns[T])(&shared))
	}
	if !direct {
		j.finish()
	}
}

// inStretches computes sums of many terms by stretches of them, whose sums are added
// up pairwise: their order does not depend on the number of processors.
func (j *thinJob[T]) inStretches() {
	e, n := j.e, ceil(j.K, thinStretch)
	row := roundUp(j.N*e.size, 64)
	block := scratch.Get(n * j.M * row)
	defer block.Put()
	part := func(s int) unsafe.Pointer { return unsafe.Add(block.Ptr(), s*j.M*row) }
	some := func(lo, hi int) {
		for s := lo; s < hi; s++ {
			one, first := *j, s*thinStretch
			one.K, one.Bias, one.Add, one.Serial = min(thinStretch, j.K-first), nil, false, true
			one.A, one.B, one.C = from[T](j.A, 0, first), from[T](j.B, first, 0), Matrix{part(s), row / e.size, 1}
			one.do()
		}
	}
	if j.Serial {
		some(0, n)
	} else {
		pool.For(n, 1, some)
	}
	for step := 1; step < n; step *= 2 {
		for s := 0; s+step < n; s += 2 * step {
			to, more := unsafe.Slice((*T)(part(s)), j.M*row/e.size), unsafe.Slice((*T)(part(s+step)), j.M*row/e.size)
			for i, v := range more {
				to[i] += v
			}
		}
	}
	j.y = Matrix{block.Ptr(), row / e.size, 1}
	j.finish()
}

// thinColumns is the columns of a product as a loop.
type thinColumns[T Number] thinJob[T]

// Run computes columns [lo, hi).
func (c *thinColumns[T]) Run(lo, hi int) { (*thinJob[T])(c).columns(lo, hi) }

// columns computes columns [lo, hi) of the product.
func (j *thinJob[T]) columns(lo, hi int) {
	if j.sums {
		j.dots(lo, hi)
	} else {
		j.updates(lo, hi)
	}
}

func (j *thinJob[T]) dots(lo, hi int) {
	e := j.e
	t := thin{bRow: j.B.Col * e.size, x: j.x, xRow: j.xRow, yRow: j.y.Row * e.size, count: j.K, last: j.K % e.lanes}
	for lo < hi {
		columns := dotColumns
		t.groups = min((hi-lo)/columns, max(1, thinElements/(columns*j.K)))
		if t.groups == 0 {
			columns, t.groups = 1, hi-lo
		}
		first := lo
		if j.Back && (hi-lo)%columns == 0 {
			first = hi - columns*t.groups
			hi = first
		} else {
			lo += columns * t.groups
		}
		t.b, t.y = unsafe.Pointer(at[T](j.B, 0, first)), unsafe.Pointer(at[T](j.y, 0, first))
		runDots(e.family, j.M, columns, &t)
	}
}

func (j *thinJob[T]) updates(lo, hi int) {
	e := j.e
	step := thinBytes / (j.M * e.size)
	for ; lo < hi; lo += step {
		n := min(step, hi-lo)
		t := thin{bRow: j.B.Row * e.size, xRow: j.xRow, y: unsafe.Pointer(at[T](j.y, 0, lo)), yRow: j.y.Row * e.size, count: n, last: n % e.lanes}
		for i := range j.M {
			clear(unsafe.Slice(at[T](j.y, i, lo), n))
		}
		t.b, t.x = unsafe.Pointer(at[T](j.B, 0, lo)), j.x
		addRows(e, &t, j.M, j.K)
	}
}

// addRows adds k rows of B, times factors, to the result's rows, as many at once as
// kernels take.
func addRows(e *engine, t *thin, rows, k int) {
	depth := e.depths(rows)
	for p := 0; p < k; {
		now := *t
		now.b, now.x = unsafe.Add(t.b, p*t.bRow), unsafe.Add(t.x, p*e.size)
		at := depth
		now.groups = min((k-p)/at, max(1, thinElements/(at*t.count)))
		if now.groups == 0 {
			at, now.groups = 1, k-p
		}
		runUpdates(e.family, rows, at, &now)
		p += at * now.groups
	}
}

// finish takes the product to C.
func (j *thinJob[T]) finish() {
	bias := Matrix{j.Bias, 0, 1}
	if j.BiasRows {
		bias = Matrix{j.Bias, 1, 0}
	}
	for i := range j.M {
		for c := range j.N {
			to, sum := at[T](j.C, i, c), *at[T](j.y, i, c)
			switch {
			case j.Add:
				*to += sum
			case j.Bias != nil:
				*to = sum + *at[T](bias, i, c)
			default:
				*to = sum
			}
		}
	}
}
