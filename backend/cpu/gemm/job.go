package gemm

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cache"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
)

// A job is a product under way. Its result is cut into tasks. Where B is packed
// and there are several tasks one below the other, a stretch of B's terms and
// columns is packed for all of them before they start; elsewhere each task packs
// the panels it needs when it needs them, so that they stay in its processor's
// first caches. A B that was packed before is read where it lies.
type job[T Number] struct {
	e *engine
	p Product[T]

	packsA, packsB bool
	shares         bool // packs B for all tasks
	copiesA        bool // copies the whole of A for all tasks
	alone          bool // a stretch of terms has a result of its own
	down, across   int  // tasks
	height, width  int  // rows and columns of a task
	depth          int  // most terms of a stretch

	now    stretch        // where B is packed for all tasks
	panels unsafe.Pointer // its panels
	bias   unsafe.Pointer // of rows, each as often as a panel has columns
}

// A stretch is some terms and columns of a product.
type stretch struct{ p0, p1, j0, j1 int }

// run computes a product that has terms and elements, and whose rows have no gaps
// inside.
func run[T Number](e *engine, p *Product[T]) {
	j := job[T]{e: e, p: *p}
	j.choose()
	procs := 1
	if !p.Serial && p.M*p.N*p.K > e.share {
		procs = runtime.GOMAXPROCS(0)
	}
	if procs > 1 && j.slices() {
		sliced := j
		sliced.inSlices()
		return
	}
	j.cut(procs)
	if procs == 1 || j.down*j.across == 1 {
		j.serial()
		return
	}
	shared := j
	shared.parallel()
}

// packs decides which operands are packed: those that kernels cannot read, those that
// are read several times and would not stay in a cache, and a B whose rows fall on the
// same places of a cache: if it comes from memory even for few rows, where those of a
// panel are several lines wide, of which a cache holds too few that were asked for ahead.
func (p *Product[T]) packs(e *engine) (a, b bool) {
	wide, tall := p.N > 3*e.columns(), p.M > e.passes*e.rows[twoVectors]
	b = p.N > 1 && p.B.Col != 1
	if e.family == portable {
		return wide && p.A.Col != 1, b || tall
	}
	strided := p.A.Col != 1 && p.M*p.K*e.size > strideBytes && (wide || p.A.Row == 1)
	a = strided || wide && p.K > 32 && collides(p.A.Row*e.size)
	apart := collides(p.B.Row*e.size) && (p.M > 2*e.rows[twoVectors] || e.columns()*e.size > 64 && p.K*p.N*e.size > cache.Last()/2)
	b = b || tall && (p.K > 32 && p.K*p.N*e.size > e.direct || p.stores(e)) || p.K > 32 && apart
	return a, b
}

// stores reports whether storing the result takes as long as multiplying: the sums
// are short, and there are many.
func (p *Product[T]) stores(e *engine) bool { return p.K <= e.flat && p.N > 8*e.columns() }

// choose decides how the product is cut into pieces that caches hold.
func (j *job[T]) choose() {
	e, p := j.e, &j.p
	j.packsA, j.packsB = p.packs(e)
	j.packsB = j.packsB && p.Packed == nil
	j.depth = e.depth
	switch {
	case p.N <= e.columns():
		j.depth = e.long
	case !j.packsB && min(p.K, e.depth)*p.N*e.size > e.direct:
		j.depth = e.short
	}
	if p.Stretch > 0 {
		j.depth = p.Stretch
	}
	j.height = max(4*e.rows[twoVectors], e.block/(min(p.K, j.depth)*e.size))
	j.height = min(j.height, 512, max(8*p.K, 128)) // each row of the result is a page
	if p.stores(e) {
		j.height = 4 * e.rows[twoVectors]
	}
	j.shares = j.packsB && p.M > j.height
}

// strideBytes is how large an A is packed whose rows have gaps inside; smaller ones
// are read as they are.
const strideBytes = 16 << 10

// collides reports whether rows so many bytes apart fall on a few places of a cache.
func collides(row int) bool { return row != 0 && row%2048 == 0 }

// cut divides the result among processors. Where B is packed for all, or is the
// smaller operand, tasks are rows, whose part of A only they read; elsewhere they
// are columns, whose part of B only they pack or read.
func (j *job[T]) cut(procs int) {
	e, p := j.e, &j.p
	rows := e.rows[twoVectors]
	if procs > 1 && j.packsB && (p.M > p.N || p.M >= sharedRows) {
		j.shares = true
	}
	columns := p.N
	if j.shares {
		columns = min(columns, e.across)
	}
	panels := ceil(columns, e.columns())
	j.down, j.across = ceil(p.M, j.height), 1
	switch {
	case procs == 1:
		// One task below the other, as they fit into the cache.
	case j.shares || p.M > p.N:
		if most := p.M / (4 * rows); most > j.down {
			j.down = min(roundUp(max(j.down, tasksEach*procs), procs), most)
		}
		if j.down < procs {
			j.down = min(procs, ceil(p.M, rows))
		}
		j.across = min(ceil(procs, j.down), panels)
	default:
		j.across = min(tasksEach*procs, panels)
		j.copiesA = j.packsA && p.A.Col == 1 && p.M*p.K*e.size <= 4*e.block
		if j.packsA && !j.copiesA || j.across < procs {
			j.across = min(procs, panels)
		}
		j.down = max(j.down, min(ceil(procs, j.across), ceil(p.M, rows)))
	}
	j.height = ceil(p.M, j.down)
	j.down = ceil(p.M, j.height)
	j.width = roundUp(ceil(columns, j.across), e.columns())
	j.across = ceil(columns, j.width)
}

// tasksEach is how many tasks there are for each processor, so that one that is
// faster takes more.
const tasksEach = 4

// sharedRows is how many rows make it worth while to pack B for all tasks, which
// then wait for each other, rather than A for each.
const sharedRows = 256

// begin makes room for what is shared and returns what gives it back.
func (j *job[T]) begin() (blocks [3]*scratch.Block) {
	e, p := j.e, &j.p
	if j.copiesA {
		blocks[2] = j.copyA()
	}
	if j.shares {
		blocks[0] = scratch.Get(roundUp(min(p.N, e.across), e.columns()) * min(p.K, j.depth) * e.size)
		j.panels = blocks[0].Ptr()
	}
	if p.Bias != nil && p.BiasRows && !p.Add {
		width := e.columns()
		blocks[1] = scratch.Get(p.M * width * e.size)
		j.bias = blocks[1].Ptr()
		given, repeated := unsafe.Slice((*T)(p.Bias), p.M), scratch.Slice[T](blocks[1], p.M*width)
		for i, b := range given {
			row := repeated[i*width:][:width]
			for c := range row {
				row[c] = b
			}
		}
	}
	return blocks
}

func end(blocks [3]*scratch.Block) {
	for _, b := range blocks {
		if b != nil {
			b.Put()
		}
	}
}

// next goes on to the next stretch, of columns where that of terms was the last.
func (j *job[T]) next() bool {
	s := &j.now
	if s.p1 == j.p.K || s.j1 == 0 {
		s.j0, s.p0 = s.j1, 0
		s.j1 = min(s.j0+j.e.across, j.p.N)
	} else {
		s.p0 = s.p1
	}
	s.p1 = min(s.p0+j.depth, j.p.K)
	return s.j0 < j.p.N
}

func (j *job[T]) serial() {
	blocks := j.begin()
	defer end(blocks)
	if !j.shares {
		j.own(0, j.down*j.across)
		return
	}
	for j.next() {
		j.packPanels(0, j.panelCount())
		j.common(0, j.down*j.across)
	}
}

func (j *job[T]) parallel() {
	blocks := j.begin()
	defer end(blocks)
	if !j.shares {
		pool.For(j.down*j.across, 1, j.own)
		return
	}
	pack, common := j.packPanels, j.common
	least := panelsAtOnce
	if j.p.B.Col != 1 {
		least = 1 // panels of a transposed B are packed one by one
	}
	for j.next() {
		pool.For(j.panelCount(), max(least, packShare/(j.e.columns()*(j.now.p1-j.now.p0))), pack)
		pool.For(j.down*j.across, 1, common)
	}
}

// packShare is how many elements to pack are worth another processor.
const packShare = 16 << 10

// copyA copies A for all tasks, its rows apart like those of a block.
func (j *job[T]) copyA() *scratch.Block {
	e, p := j.e, &j.p
	k, row := p.K, roundUp(p.K*e.size, 64)+gap
	block := scratch.Get(p.M * row)
	to, a := Matrix{block.Ptr(), row / e.size, 1}, p.A
	pool.For(p.M, max(1, packShare/k), func(lo, hi int) {
		copyBlock[T](e, from[T](to, lo, 0), from[T](a, lo, 0), hi-lo, k)
	})
	p.A, j.packsA = to, false
	return block
}

func (j *job[T]) panelCount() int { return ceil(j.now.j1-j.now.j0, j.e.columns()) }

// packPanels packs panels [lo, hi) of the stretch for all tasks.
func (j *job[T]) packPanels(lo, hi int) {
	width := j.e.columns()
	s := j.now
	s.j0, s.j1 = s.j0+lo*width, min(s.j0+hi*width, s.j1)
	j.packB(unsafe.Add(j.panels, lo*width*(s.p1-s.p0)*j.e.size), s)
}

// A worker computes tasks: what it has packed of A and of B.
type worker struct {
	a      tile // where the rows of A are
	block  *scratch.Block
	panels unsafe.Pointer // packed columns of B; nil where it is not packed
	first  int            // of these columns
	far    bool           // the rows of A have not been read yet, and no cache holds them
}

func (w *worker) end() {
	if w.block != nil {
		w.block.Put()
	}
}

// common computes tasks [lo, hi) from the panels of the stretch, those of the same
// rows one after the other.
func (j *job[T]) common(lo, hi int) {
	w := worker{panels: j.panels, first: j.now.j0}
	defer w.end()
	if j.packsA {
		w.block = scratch.Get(j.blockBytes())
	}
	packed := -1
	for ; lo < hi; lo++ {
		d, x := lo/j.across, lo%j.across
		i0, s := d*j.height, j.now
		i1 := min(i0+j.height, j.p.M)
		if packed != d {
			packed = d
			j.place(&w, i0, i1, s)
		}
		s.j0 += x * j.width
		s.j1 = min(s.j0+j.width, s.j1)
		if s.j0 >= s.j1 {
			continue
		}
		j.multiply(&w, i0, i1, s)
		if s.p1 == j.p.K && j.p.Done != nil {
			j.p.Done(i0, i1, s.j0, s.j1)
		}
	}
}

// own computes tasks [lo, hi), which pack for themselves.
func (j *job[T]) own(lo, hi int) {
	w := j.worker()
	defer w.end()
	for ; lo < hi; lo++ {
		i0, i1, c0, c1 := j.task(lo)
		for p0 := 0; p0 < j.p.K; p0 += j.depth {
			j.stretch(&w, i0, i1, c0, c1, p0)
		}
		if j.p.Done != nil {
			j.p.Done(i0, i1, c0, c1)
		}
	}
}

// worker returns a worker that packs for itself.
func (j *job[T]) worker() (w worker) {
	room, panels := 0, 0
	if j.packsA {
		room = j.blockBytes()
	}
	if j.packsB {
		panels = j.chunk() * min(j.p.K, j.depth) * j.e.size
	}
	if room+panels > 0 {
		w.block = scratch.Get(room + panels)
	}
	if j.packsB {
		w.panels = unsafe.Add(w.block.Ptr(), room)
	}
	return w
}

// chunk returns how many columns of B a worker packs at once.
func (j *job[T]) chunk() int { return min(j.width, j.e.columns()*panelsAtOnce) }

// task returns the rows and columns of a task.
func (j *job[T]) task(i int) (i0, i1, c0, c1 int) {
	i0, c0 = i/j.across*j.height, i%j.across*j.width
	return i0, min(i0+j.height, j.p.M), c0, min(c0+j.width, j.p.N)
}

// stretch computes a task's stretch of terms from p0 on.
func (j *job[T]) stretch(w *worker, i0, i1, c0, c1, p0 int) {
	s := stretch{p0: p0, p1: min(p0+j.depth, j.p.K)}
	j.place(w, i0, i1, s)
	chunk := c1 - c0
	if j.packsB {
		chunk = j.chunk()
	}
	for s.j0 = c0; s.j0 < c1; s.j0 = s.j1 {
		s.j1 = min(s.j0+chunk, c1)
		if j.packsB {
			j.packB(w.panels, s)
			w.first = s.j0
		}
		j.multiply(w, i0, i1, s)
	}
}

// panelsAtOnce is how many panels of B a task packs at once: enough that each row
// of them is some cache lines.
const panelsAtOnce = 4

// place sets where a worker finds rows [i0, i1) of A.
func (j *job[T]) place(w *worker, i0, i1 int, s stretch) {
	if j.packsA {
		j.packBlock(&w.a, w.block.Ptr(), i0, i1, s)
		return
	}
	w.far = j.p.M*j.p.K*j.e.size > j.e.direct
	w.a.a = unsafe.Pointer(at[T](j.p.A, i0, s.p0))
	w.a.aRow, w.a.aCol = j.p.A.Row*j.e.size, j.p.A.Col*j.e.size
}

// multiply computes rows [i0, i1) of a stretch.
func (j *job[T]) multiply(w *worker, i0, i1 int, s stretch) {
	e, p := j.e, &j.p
	t := w.a
	t.k = s.p1 - s.p0
	t.cRow = p.C.Row * e.size
	t.bRow = p.B.Row * e.size
	if w.panels != nil || p.Packed != nil {
		t.bRow = e.columns() * e.size
	}
	most := i1 - i0
	if t.aRow%4096 == 0 && t.aCol == e.size {
		most = e.ways
	}
	groups := e.split(i1-i0, twoVectors, most)
	far := w.far && t.aCol == e.size && e.rows[twoVectors]*t.aRow <= aheadBytes*t.k
	w.far = false
	for c := s.j0; c < s.j1; c += e.columns() {
		now := t
		now.c = unsafe.Pointer(at[T](p.C, i0, c))
		j.panel(&now, w, c, s, groups.large+groups.small)
		j.source(&now, i0, c, s.p0)
		n := min(e.columns(), s.j1-c)
		class, last := e.classOf(n)
		now.last = last
		if class > twoEdge {
			groups = e.split(i1-i0, class, most)
		}
		multiply[T](e, &now, class, groups, n, far && c == s.j0)
	}
}

// aheadBytes is how much the larger kernels ask for with each term.
const aheadBytes = 128

// panel sets where the columns of B from c on are and which ones are asked for
// meanwhile: those that come next, if they are not in a cache already.
func (j *job[T]) panel(t *tile, w *worker, c int, s stretch, groups int) {
	e, p := j.e, &j.p
	next := c + e.columns()
	switch {
	case j.shares:
		t.b = unsafe.Add(w.panels, (c-w.first)*t.k*e.size)
		if next >= s.j1 {
			next = s.j0
		}
		t.ahead, t.aheadAt, t.aheadStep = w.panels, (next-w.first)*t.k*e.size, ceil(t.bRow, groups)
	case w.panels != nil:
		t.b = unsafe.Add(w.panels, (c-w.first)*t.k*e.size)
	case p.Packed != nil:
		t.b = unsafe.Add(p.Packed.ptr, (c*p.K+s.p0*e.columns())*e.size)
		if next >= s.j1 {
			next = s.j0
		}
		t.ahead, t.aheadAt, t.aheadStep = p.Packed.ptr, (next*p.K+s.p0*e.columns())*e.size, ceil(t.bRow, groups)
	default:
		t.b = unsafe.Pointer(at[T](p.B, s.p0, c))
	}
}

// source sets what is added to a stretch's sums: those of the stretches before it,
// or what is there before the first.
func (j *job[T]) source(t *tile, i, c, p0 int) {
	e, p := j.e, &j.p
	switch {
	case p0 > 0 && j.alone:
		t.src = nil
	case p0 > 0 || p.Add:
		t.src, t.srcRow = t.c, t.cRow
	case j.bias != nil:
		t.src, t.srcRow = unsafe.Add(j.bias, i*e.columns()*e.size), e.columns()*e.size
	case p.Bias != nil:
		t.src, t.srcRow = unsafe.Add(p.Bias, c*e.size), 0
	default:
		t.src = nil
	}
}
