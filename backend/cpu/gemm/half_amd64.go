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
	procs := 1
	if !p.Serial && p.M*p.N*p.K > halfShare {
		procs = runtime.GOMAXPROCS(0)
	}
	j := halfJob{HalfProduct: *p}
	j.cut(procs)
	if j.K > halfDepth {
		row := roundUp(j.N, halfColumns)
		block := scratch.Get(j.M * row * 4)
		defer block.Put()
		j.sums = Matrix{block.Ptr(), row, 1}
	}
	if procs == 1 {
		j.own(0, j.across)
	} else {
		shared := j
		shared.parallel()
	}
	return true
}

// A halfJob is a product of bfloat16 under way. A task computes columns of the
// result from panels of its own, which stay in its processor's caches, or, where
// there are too few columns for that, rows of it from panels that all tasks share.
type halfJob struct {
	HalfProduct
	packsA  bool
	shares  bool
	height  int // rows that panels are multiplied with, one panel after the other
	columns int // of a stretch, where panels are shared
	width   int // columns of a task
	across  int // tasks side by side, and one below the other
	down    int
	now     stretch        // where panels are shared
	panels  unsafe.Pointer // its columns
	sums    Matrix         // of float32, between stretches of terms; by rows and columns of C
}

// cut divides the result among processors.
func (j *halfJob) cut(procs int) {
	j.packsA = j.A.Col != 1 || j.K%halfStep != 0
	panels := ceil(j.N, halfColumns)
	most := max(panelsAtOnce, halfPanels/j.panelBytes())
	j.height = min(max(halfBlock/(2*min(j.K, halfDepth))/halfRows, 2), 8, ceil(j.M, halfRows)) * halfRows
	j.down = ceil(j.M, j.height)
	j.shares = procs > 1 && j.down > 1 && panels < ownPanels*procs
	switch {
	case j.shares:
		most = min(panels, most*procs)
		j.columns = most * halfColumns
		j.width = ceil(most, ceil(procs, j.down)) * halfColumns
		j.across = ceil(j.columns, j.width)
		return
	case procs > 1:
		most = min(most, ownPanels, ceil(panels, procs))
	}
	j.width = min(panels, most) * halfColumns
	j.across = ceil(j.N, j.width)
}

// panelBytes returns the size of the largest panel.
func (j *halfJob) panelBytes() int { return ceil(min(j.K, halfDepth), halfStep) * 2 * tileBytes }

func (j *halfJob) parallel() {
	if !j.shares {
		pool.For(j.across, 1, j.own)
		return
	}
	block := scratch.Get(j.columns / halfColumns * j.panelBytes())
	defer block.Put()
	j.panels = block.Ptr()
	s := &j.now
	for s.j0 = 0; s.j0 < j.N; s.j0 = s.j1 {
		s.j1 = min(s.j0+j.columns, j.N)
		for s.p0 = 0; s.p0 < j.K; s.p0 = s.p1 {
			s.p1 = min(s.p0+halfDepth, j.K)
			pool.For(ceil(s.j1-s.j0, halfColumns), panelsAtOnce, func(lo, hi int) { j.packPanels(j.panels, *s, lo, hi) })
			pool.For(j.down*j.across, 1, j.common)
		}
	}
}

// own computes tasks [lo, hi), which pack for themselves.
func (j *halfJob) own(lo, hi int) {
	w := j.worker(j.width / halfColumns)
	defer w.block.Put()
	for ; lo < hi; lo++ {
		s := stretch{j0: lo * j.width}
		s.j1 = min(s.j0+j.width, j.N)
		for ; s.p0 < j.K; s.p0 = s.p1 {
			s.p1 = min(s.p0+halfDepth, j.K)
			j.packPanels(w.panels, s, 0, ceil(s.j1-s.j0, halfColumns))
			for i := 0; i < j.M; i += j.height {
				j.block(&w, s, i, s.j0, s.j1)
			}
		}
	}
}

// common computes tasks [lo, hi) from the panels of the stretch, those of the same
// rows one after the other.
func (j *halfJob) common(lo, hi int) {
	w := j.worker(0)
	defer w.block.Put()
	w.panels = j.panels
	for ; lo < hi; lo++ {
		c := j.now.j0 + lo%j.across*j.width
		j.block(&w, j.now, lo/j.across*j.height, c, min(c+j.width, j.now.j1))
	}
}

// A halfWorker is memory that tasks work in.
type halfWorker struct {
	block  *scratch.Block
	room   unsafe.Pointer // for the sums of a panel's rows
	rows   unsafe.Pointer // for the rows of A of a task, where they are packed
	panels unsafe.Pointer
}

func (j *halfJob) worker(panels int) (w halfWorker) {
	room, rows := j.height*halfPairs, 0
	if j.packsA {
		rows = j.height / halfRows * j.panelBytes()
	}
	w.block = scratch.Get(room + rows + panels*j.panelBytes())
	w.room = w.block.Ptr()
	w.rows = unsafe.Add(w.room, room)
	w.panels = unsafe.Add(w.rows, rows)
	return w
}

// steps returns the rounds of a kernel in a stretch.
func (s stretch) steps() int { return ceil(s.p1-s.p0, halfStep) }

// block computes the rows from i0 on, j.height of them, and columns [c0, c1) of a
// stretch.
func (j *halfJob) block(w *halfWorker, s stretch, i0, c0, c1 int) {
	rows, steps := min(j.height, j.M-i0), s.steps()
	t := halfTile{steps: steps, block: halfSteps, outRow: j.C.Row * 2}
	if j.packsA {
		j.packRows(w.rows, s, i0, i0+rows)
		t.a, t.aRow, t.aLow, t.aStep, t.aGroup = w.rows, halfStep*2, tileBytes, 2*tileBytes, steps*2*tileBytes
	} else {
		row := j.A.Row * 2
		t.a, t.aRow, t.aLow, t.aStep, t.aGroup = unsafe.Pointer(at[int16](j.A, i0, s.p0)), row, halfSide*row, halfStep*2, halfRows*row
	}
	for c := c0; c < c1; c += halfColumns {
		now := t
		now.columns = min(halfColumns, c1-c)
		now.b = unsafe.Add(w.panels, (c-s.j0)/halfColumns*steps*2*tileBytes)
		now.c, now.cRow = w.room, halfPairs
		if j.K > halfDepth {
			now.c, now.cRow = unsafe.Pointer(at[float32](j.sums, i0, c)), j.sums.Row*4
		}
		if j.K > halfDepth || steps > halfSteps {
			now.cGroup = halfRows * now.cRow
		}
		switch {
		case s.p0 > 0:
			now.src, now.srcRow, now.srcGroup = now.c, now.cRow, now.cGroup
		case j.Bias != nil:
			now.src = unsafe.Add(j.Bias, 4*c)
		}
		if s.p1 == j.K {
			now.out = unsafe.Pointer(at[int16](j.C, i0, c))
		}
		now.multiply(rows)
	}
}

// multiply runs the kernels for the rows of a panel.
func (t *halfTile) multiply(rows int) {
	whole := rows / halfRows
	if whole > 0 {
		now := *t
		now.groups, now.rows = whole, halfRows
		now.run()
	}
	if rows == whole*halfRows {
		return
	}
	t.a, t.c = unsafe.Add(t.a, whole*t.aGroup), unsafe.Add(t.c, whole*t.cGroup)
	if t.src != nil {
		t.src = unsafe.Add(t.src, whole*t.srcGroup)
	}
	if t.out != nil {
		t.out = unsafe.Add(t.out, whole*halfRows*t.outRow)
	}
	t.groups, t.rows = 1, rows%halfRows
	t.run()
}

// run runs the kernel for groups of rows, each of at most halfRows.
func (t *halfTile) run() {
	config := [64]byte{1}
	set := func(tile, rows, bytes int) { config[48+tile], config[16+2*tile] = byte(rows), byte(bytes) }
	r := [2]int{min(t.rows, halfSide), max(t.rows-halfSide, 0)}
	c := [2]int{min(t.columns, halfSide) * 4, max(t.columns-halfSide, 0) * 4}
	for i := range 2 {
		if r[i] > 0 {
			set(4+i, r[i], halfStep*2)
		}
		if c[i] > 0 {
			set(6+i, halfSide, c[i])
		}
		for k := range 2 {
			if r[i] > 0 && c[k] > 0 {
				set(2*i+k, r[i], c[k])
			}
		}
	}
	t.config = unsafe.Pointer(&config)
	p := (*byte)(unsafe.Pointer(t))
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
