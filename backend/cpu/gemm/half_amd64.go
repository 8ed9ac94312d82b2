package gemm

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Halves reports whether HalfProducts can be run.
func Halves() bool { return simd.Active() >= simd.AMX }

// Run computes the product and reports true, or does nothing where Halves is
// false, K is 0 or C has gaps between the elements of rows and of columns.
func (p *HalfProduct) Run() bool {
	switch {
	case p.K == 0 || !Halves():
		return false
	case p.M == 0 || p.N == 0:
		return true
	case p.N > 1 && p.C.Col != 1:
		if p.C.Row != 1 || p.Bias != nil {
			return false
		}
		q := HalfProduct{M: p.N, N: p.M, K: p.K, A: p.B.T(), B: p.A.T(), C: p.C.T(), Serial: p.Serial}
		return q.Run()
	}
	j := &halfJob{HalfProduct: *p}
	j.do()
	return true
}

// A halfJob is a product of bfloat16 under way.
type halfJob struct {
	HalfProduct
	packsA         bool
	height, width  int // rows and columns of a task
	down, across   int // tasks
	p0, p1, j0, j1 int // the stretch's terms and columns
	panels         unsafe.Pointer
	sums           Matrix // of float32, between stretches of terms; by rows and columns of C
}

func (j *halfJob) do() {
	procs := 1
	if !j.Serial && j.M*j.N*j.K > halfShare {
		procs = runtime.GOMAXPROCS(0)
	}
	j.packsA = j.A.Col != 1 || j.K%halfStep != 0 || collides(j.A.Row*2) && j.N > 2*halfColumns
	stretch := min(j.N, halfAcross)
	j.height = max(4*halfRows, halfBlock/2/min(j.K, halfDepth))
	j.down = ceil(j.M, j.height)
	if procs > 1 {
		j.down = min(roundUp(max(j.down, 2*procs), procs), ceil(j.M, 2*halfRows))
	}
	j.height = roundUp(ceil(j.M, j.down), halfRows)
	j.down = ceil(j.M, j.height)
	j.width = stretch
	if procs > j.down {
		j.width = roundUp(ceil(stretch, ceil(procs, j.down)), halfColumns)
	}
	j.across = ceil(stretch, j.width)
	block := scratch.Get(roundUp(stretch, halfColumns) * roundUp(min(j.K, halfDepth), halfStep) * 2)
	defer block.Put()
	j.panels = block.Ptr()
	if j.K > halfDepth {
		block := scratch.Get(j.M * j.N * 4)
		defer block.Put()
		j.sums = Matrix{block.Ptr(), j.N, 1}
	}
	each := func(n, grain int, f func(lo, hi int)) {
		if procs == 1 {
			f(0, n)
		} else {
			pool.For(n, grain, f)
		}
	}
	for j.j0 = 0; j.j0 < j.N; j.j0 = j.j1 {
		j.j1 = min(j.j0+halfAcross, j.N)
		for j.p0 = 0; j.p0 < j.K; j.p0 = j.p1 {
			j.p1 = min(j.p0+halfDepth, j.K)
			each(ceil(j.j1-j.j0, halfColumns), panelsAtOnce, j.packPanels)
			each(j.down*j.across, 1, j.tasks)
		}
	}
}

// steps returns the rounds of a kernel in the stretch.
func (j *halfJob) steps() int { return ceil(j.p1-j.p0, halfStep) }

// packPanels packs panels [lo, hi) of the stretch's columns of B; terms that are
// missing from the last round become zeros.
func (j *halfJob) packPanels(lo, hi int) {
	k, bytes := j.p1-j.p0, j.steps()*halfStep/2*halfPairs
	for whole := k / 2 * halfPairs; lo < hi; {
		c := j.j0 + lo*halfColumns
		dst, b := unsafe.Add(j.panels, lo*bytes), from[int16](j.B, j.p0, c)
		panels := 1
		if b.Col == 1 && hi-lo >= panelsAtOnce && c+panelsAtOnce*halfColumns <= j.j1 && k%2 == 0 {
			panels = panelsAtOnce
		}
		for i := range panels {
			clear(unsafe.Slice((*byte)(unsafe.Add(dst, i*bytes+whole)), bytes-whole))
		}
		if panels == panelsAtOnce {
			pairRows4AVX512((*byte)(dst), bytes, (*byte)(b.Ptr), b.Row*2, k/2, halfColumns)
		} else {
			packPairs(dst, b, k, min(halfColumns, j.j1-c))
		}
		lo += panels
	}
}

// packPairs makes rows of pairs of terms, halfPairs bytes apart, of a k by n
// matrix with at most halfColumns columns.
func packPairs(dst unsafe.Pointer, b Matrix, k, n int) {
	if b.Col == 1 {
		if k > 1 {
			pairRows1AVX512((*byte)(dst), 0, (*byte)(b.Ptr), b.Row*2, k/2, n)
		}
		packPairsSlow(dst, b, k&^1, k, 0, n)
		return
	}
	if b.Row != 1 {
		packPairsSlow(dst, b, 0, k, 0, n)
		return
	}
	const block = 8 // columns, and pairs
	c := 0
	for ; c+block <= n && k >= 2*block; c += block {
		transpose32AVX2((*byte)(unsafe.Add(dst, 4*c)), halfPairs, (*byte)(unsafe.Pointer(at[int16](b, 0, c))), b.Col*2, k/(2*block))
	}
	packPairsSlow(dst, b, k&^(2*block-1), k, 0, c)
	packPairsSlow(dst, b, 0, k, c, n)
}

// packPairsSlow is packPairs for terms [p0, p1), where p0 is even, and columns
// [j0, j1).
func packPairsSlow(dst unsafe.Pointer, b Matrix, p0, p1, j0, j1 int) {
	for p := p0; p < p1; p++ {
		row := unsafe.Add(dst, p/2*halfPairs+p%2*2)
		for c := j0; c < j1; c++ {
			*(*int16)(unsafe.Add(row, 4*c)) = *at[int16](b, p, c)
		}
	}
}

// blockRow returns the bytes from one row of a packed block of A to the next.
func (j *halfJob) blockRow() int { return roundUp(min(j.K, halfDepth), halfStep)*2 + gap }

// packBlock packs rows [i0, i1) of A; terms that are missing from the last round
// become zeros.
func (j *halfJob) packBlock(dst unsafe.Pointer, i0, i1 int) {
	k, row := j.p1-j.p0, j.blockRow()
	a := from[int16](j.A, i0, j.p0)
	to := Matrix{dst, row / 2, 1}
	if k%halfStep != 0 {
		for i := range i1 - i0 {
			clear(unsafe.Slice(at[int16](to, i, k), roundUp(k, halfStep)-k))
		}
	}
	if a.Row != 1 || a.Col == 1 {
		copyMatrix[int16](to, a, i1-i0, k)
		return
	}
	pairs := k / 16 * 8
	block := scratch.Get(max(pairs, 1) * halfPairs)
	defer block.Put()
	for i := 0; i < i1-i0; i += halfColumns {
		n := min(halfColumns, i1-i0-i)
		part := from[int16](a, i, 0)
		if pairs > 0 {
			packPairs(block.Ptr(), part.T(), 2*pairs, n)
		}
		for p := 0; p < pairs && n >= 8; p += 8 {
			transpose32AVX2((*byte)(unsafe.Pointer(at[int16](to, i, 2*p))), row, (*byte)(unsafe.Add(block.Ptr(), p*halfPairs)), halfPairs, n/8)
		}
		whole := n &^ 7
		copyMatrix[int16](from[int16](to, i, 2*pairs), from[int16](part, 0, 2*pairs), whole, k-2*pairs)
		copyMatrix[int16](from[int16](to, i+whole, 0), from[int16](part, whole, 0), n-whole, k)
	}
}

// tasks computes pieces [lo, hi) of the stretch, those of the same rows one after
// the other.
func (j *halfJob) tasks(lo, hi int) {
	block := scratch.Get(j.height * (j.blockRow() + halfPairs))
	defer block.Put()
	packed := -1
	for ; lo < hi; lo++ {
		d, x := lo/j.across, lo%j.across
		i0, c0 := d*j.height, j.j0+x*j.width
		i1, c1 := min(i0+j.height, j.M), min(c0+j.width, j.j1)
		t := halfTile{a: unsafe.Pointer(at[int16](j.A, i0, j.p0)), aRow: j.A.Row * 2, aStep: halfStep * 2, steps: j.steps()}
		if j.packsA && packed != d {
			j.packBlock(unsafe.Add(block.Ptr(), j.height*halfPairs), i0, i1)
			packed = d
		}
		if j.packsA {
			t.a, t.aRow = unsafe.Add(block.Ptr(), j.height*halfPairs), j.blockRow()
		}
		for ; c0 < c1; c0 += halfColumns {
			j.panel(t, block.Ptr(), i0, i1, c0, min(c0+halfColumns, c1))
		}
	}
}

// panel computes rows [i0, i1) of a panel; room is for their sums.
func (j *halfJob) panel(t halfTile, room unsafe.Pointer, i0, i1, c0, c1 int) {
	rows, cols := i1-i0, c1-c0
	t.b = unsafe.Add(j.panels, (c0-j.j0)/halfColumns*t.steps*halfStep/2*halfPairs)
	switch {
	case j.p0 > 0:
		t.src, t.srcRow = unsafe.Pointer(at[float32](j.sums, i0, c0)), j.sums.Row*4
	case j.Bias != nil:
		t.src = unsafe.Add(j.Bias, 4*c0)
	}
	if j.p1 < j.K {
		t.c, t.cRow = unsafe.Pointer(at[float32](j.sums, i0, c0)), j.sums.Row*4
	} else {
		t.c, t.cRow = room, halfPairs
	}
	next := 0
	if c1 < j.j1 {
		next = (c1 - j.j0) / halfColumns
	}
	bytes := t.steps * halfStep / 2 * halfPairs
	t.ahead, t.aheadStep = uintptr(unsafe.Add(j.panels, next*bytes)), ceil(bytes/t.steps, ceil(rows, halfRows))
	for steps := t.steps; steps > 0; steps -= halfSteps {
		now := t
		now.steps = min(steps, halfSteps)
		multiplyHalves(&now, rows, cols)
		t.src, t.srcRow = t.c, t.cRow
		t.ahead += uintptr(now.steps * rows / halfRows * t.aheadStep)
		if steps > halfSteps {
			t.a, t.b = unsafe.Add(t.a, halfSteps*t.aStep), unsafe.Add(t.b, halfSteps*halfStep/2*halfPairs)
		}
	}
	if j.p1 < j.K {
		return
	}
	roundRowsAMX((*byte)(unsafe.Pointer(at[int16](j.C, i0, c0))), j.C.Row*2, (*byte)(room), halfPairs, rows, cols)
}

// multiplyHalves runs the kernels for the rows of a panel.
func multiplyHalves(t *halfTile, rows, cols int) {
	whole := rows / halfRows
	if whole > 0 {
		t.groups = whole
		runHalves(t, halfRows, cols)
		if rows == whole*halfRows {
			return
		}
		done := whole * halfRows
		t.a, t.c = unsafe.Add(t.a, done*t.aRow), unsafe.Add(t.c, done*t.cRow)
		if t.src != nil {
			t.src = unsafe.Add(t.src, done*t.srcRow)
		}
		t.ahead += uintptr(whole * t.steps * t.aheadStep)
	}
	t.groups = 1
	runHalves(t, rows-whole*halfRows, cols)
}

// runHalves runs the kernel for groups of rows, each of at most halfRows.
func runHalves(t *halfTile, rows, cols int) {
	const side = 16
	config := [64]byte{1}
	set := func(tile, rows, bytes int) { config[48+tile], config[16+2*tile] = byte(rows), byte(bytes) }
	r := [2]int{min(rows, side), max(rows-side, 0)}
	c := [2]int{min(cols, side) * 4, max(cols-side, 0) * 4}
	for i := range 2 {
		if r[i] > 0 {
			set(4+i, r[i], side*4)
		}
		if c[i] > 0 {
			set(6+i, side, c[i])
		}
		for k := range 2 {
			if r[i] > 0 && c[k] > 0 {
				set(2*i+k, r[i], c[k])
			}
		}
	}
	now := *t
	now.config = unsafe.Pointer(&config)
	p := (*byte)(unsafe.Pointer(&now))
	switch {
	case r[1] > 0 && c[1] > 0:
		halfTile2x2AMX(p)
	case r[1] > 0:
		halfTile2x1AMX(p)
	case c[1] > 0:
		halfTile1x2AMX(p)
	default:
		halfTile1x1AMX(p)
	}
}
