package gemm

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Halves reports whether HalfProducts can be run.
func Halves() bool { return simd.Active() >= simd.AVX512BF16 }

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
		q := HalfProduct{M: p.N, N: p.M, K: p.K, A: p.B.T(), B: p.A.T(), C: p.C.T(), Wide: p.Wide, Serial: p.Serial}
		return q.Run()
	case simd.Active() < simd.AMX && p.dots():
		return true
	}
	procs := 1
	if !p.Serial && p.M*p.N*p.K > halfShare {
		procs = runtime.GOMAXPROCS(0)
	}
	j := halfJob{HalfProduct: *p, tiles: simd.Active() >= simd.AMX}
	if j.tiles {
		j.cut(procs)
	} else {
		j.cutGroups(procs)
	}
	j.edge = j.N
	if room := j.sumsRoom(); room > 0 {
		block := scratch.Get(room)
		defer block.Put()
		j.setSums(block.Ptr())
	}
	if procs == 1 {
		j.own(0, j.across)
	} else {
		shared := j
		shared.parallel()
	}
	if j.Wide && j.edge < j.N {
		copyMatrix[float32](from[float32](j.C, 0, j.edge), j.last, j.M, j.N-j.edge)
	}
	return true
}

// keeps reports whether sums of float32 are kept in memory: for the next stretch of
// terms, or as the result.
func (j *halfJob) keeps() bool { return j.Wide || j.K > halfDepth }

// sumsRoom returns the bytes of the sums that are kept, besides those in a wide C:
// kernels write whole panels, so that what ends in a part of one has a place of its own.
func (j *halfJob) sumsRoom() int {
	switch {
	case j.Wide && j.N%halfColumns == 0 || !j.keeps():
		return 0
	case j.Wide:
		return j.M * halfPairs
	}
	return j.M * roundUp(j.N, halfColumns) * 4
}

// setSums gives the sums memory, besides a wide C's.
func (j *halfJob) setSums(ptr unsafe.Pointer) {
	if j.Wide {
		j.edge = j.N - j.N%halfColumns
		j.last = Matrix{ptr, halfColumns, 1}
		return
	}
	j.sums = Matrix{ptr, roundUp(j.N, halfColumns), 1}
}

// sumsAt returns where the sums of row i from column c on are, which begins a panel,
// and how far it is to the next row, in bytes.
func (j *halfJob) sumsAt(i, c int) (ptr unsafe.Pointer, row int) {
	s := j.sums
	switch {
	case c >= j.edge:
		s, c = j.last, c-j.edge
	case j.Wide:
		s = j.C
	}
	return unsafe.Pointer(at[float32](s, i, c)), s.Row * 4
}

// A halfJob is a product of bfloat16 under way. A task computes columns of the
// result from panels of its own, which stay in its processor's caches, or, where
// there are too few columns for that, rows of it from panels that all tasks share.
type halfJob struct {
	HalfProduct
	tiles   bool // the kernels are those on tiles, else those on vectors
	packsA  bool
	shares  bool
	height  int // rows that panels are multiplied with, one panel after the other
	columns int // of a stretch, where panels are shared
	width   int // columns of a task
	across  int // tasks side by side, and one below the other
	down    int
	now     stretch        // where panels are shared
	panels  unsafe.Pointer // its columns
	sums    Matrix         // of float32, between stretches of terms; by rows and columns of C, unless that is wide
	last    Matrix         // those of the last panel, from column edge on, where a wide C has a part of it
	edge    int
}

// cut divides the result among processors, for kernels on tiles.
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
func (j *halfJob) panelBytes() int { return j.panelOf(min(j.K, halfDepth)) }

// panelOf returns the size of a panel with k terms.
func (j *halfJob) panelOf(k int) int {
	if j.tiles {
		return ceil(k, halfStep) * 2 * tileBytes
	}
	return ceil(k, 2) * halfPairs
}

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
		if c := j.now.j0 + lo%j.across*j.width; c < j.now.j1 {
			j.block(&w, j.now, lo/j.across*j.height, c, min(c+j.width, j.now.j1))
		}
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
	room, rows := 0, 0
	if j.tiles {
		room = j.height * halfPairs
	}
	switch {
	case !j.packsA:
	case j.tiles:
		rows = j.height / halfRows * j.panelBytes()
	default:
		rows = j.groupRoom()
	}
	w.block = scratch.Get(room + rows + panels*j.panelBytes())
	w.room = w.block.Ptr()
	w.rows = unsafe.Add(w.room, room)
	w.panels = unsafe.Add(w.rows, rows)
	return w
}

// block computes the rows from i0 on, j.height of them, and columns [c0, c1) of a
// stretch.
func (j *halfJob) block(w *halfWorker, s stretch, i0, c0, c1 int) {
	if j.tiles {
		j.tileBlock(w, s, i0, c0, c1)
	} else {
		j.vectorBlock(w, s, i0, c0, c1)
	}
}
