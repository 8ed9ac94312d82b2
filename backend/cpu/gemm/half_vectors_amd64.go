package gemm

import "unsafe"

// A halfGroups is what a kernel on vectors gets: groups of rows are multiplied with
// panels, one after the other. Its fields' offsets are known to the
// generator; distances are in bytes.
type halfGroups struct {
	a        unsafe.Pointer
	aRow     int // from one row to the next
	aStep    int // to the next pair of terms
	aGroup   int // to the next group
	b        unsafe.Pointer
	bGroup   int
	pairs    int            // at least one
	src      unsafe.Pointer // nil, or what the sums begin with: float32
	srcRow   int
	srcGroup int
	c        unsafe.Pointer // where sums of float32 go, rows of whole vectors
	cRow     int
	cGroup   int
	out      unsafe.Pointer // nil, or where the sums go instead, rounded
	outRow   int
	outGroup int
	columns  int // of a panel
	groups   int // at least one

	// What is fetched to the second cache meanwhile, and by how much that moves on
	// with each pair.
	ahead     unsafe.Pointer
	aheadStep int
}

// Sizes of the pieces for kernels on vectors.
const (
	groupRows   = 14            // of a group, at most
	groupPanel  = 2 * groupRows // rows of A that are packed by pairs
	groupBlock  = 512 << 10     // bytes of A that panels are multiplied with, one panel after the other
	groupFlat   = 256 << 10     // bytes of panels that rows are multiplied with, one group after the other
	groupPanels = 4 << 20       // bytes of panels that one processor has at once, where it packs A for them
	groupNear   = 512 << 10     // and where not
	groupOnce   = 64 << 10      // pairs times rows of one call of a kernel, beyond one group
	groupLeast  = 256           // rows from which on processors share panels
)

// cutGroups divides the result among processors, for kernels on vectors.
func (j *halfJob) cutGroups(procs int) {
	j.packsA = j.A.Col != 1 || j.K%2 != 0 || j.K > 64 && j.M > 7 && collides(j.A.Row*2)
	panels := ceil(j.N, halfColumns)
	most := max(panelsAtOnce, groupPanels/j.panelBytes())
	if !j.packsA {
		most = max(panelsAtOnce, groupNear/j.panelBytes())
	}
	j.height = min(max(groupBlock/(2*min(j.K, halfDepth)), 4*groupRows), 512, j.M)
	j.down = ceil(j.M, j.height)
	j.shares = procs > 1 && (j.M >= groupLeast || panels < procs)
	if j.shares {
		j.down = roundUp(min(max(j.down, tasksEach*procs), ceil(j.M, 4*groupRows)), procs)
		most = min(panels, most*procs)
		j.columns = most * halfColumns
		j.width = ceil(most, ceil(procs, j.down)) * halfColumns
		j.across = ceil(j.columns, j.width)
	} else {
		j.width = min(most, ceil(panels, procs)) * halfColumns
		j.across = ceil(j.N, j.width)
	}
	j.height = ceil(j.M, j.down)
	j.down = ceil(j.M, j.height)
}

// A groupPlace is where kernels find rows of A: as they lie or, by pairs, in panels of
// groupPanel rows.
type groupPlace struct {
	ptr       unsafe.Pointer
	row, step int // bytes
	panel     int // bytes of a panel of rows, or 0
}

// at returns where row i is.
func (p *groupPlace) at(i int) unsafe.Pointer {
	if p.panel == 0 {
		return unsafe.Add(p.ptr, i*p.row)
	}
	return unsafe.Add(p.ptr, i/groupPanel*p.panel+i%groupPanel*p.row)
}

// copiedRow returns the bytes of a row of k terms that is copied.
func copiedRow(k int) int { return roundUp(2*k, 64) + gap }

// groupRoom returns the bytes of the rows of A of a task.
func (j *halfJob) groupRoom() int {
	return max(j.height*copiedRow(min(j.K, halfDepth)), ceil(j.height, groupPanel)*j.panelBytes())
}

// place returns where rows of A are in a stretch, which go to dst where they are
// packed: by pairs where A's columns are contiguous. A term that is missing from the
// last pair becomes zero.
func (j *halfJob) place(dst unsafe.Pointer, s stretch, i0, rows int) groupPlace {
	a, k := from[int16](j.A, i0, s.p0), s.p1-s.p0
	if !j.packsA {
		return groupPlace{a.Ptr, a.Row * 2, 4, 0}
	}
	if a.Row == 1 && a.Col != 1 {
		p := groupPlace{dst, 4, halfPairs, j.panelOf(k)}
		for i := 0; i < rows; i += groupPanel {
			to := p.at(i)
			if k%2 != 0 {
				clear(unsafe.Slice((*byte)(unsafe.Add(to, p.panel-halfPairs)), halfPairs))
			}
			packPairs(to, from[int16](a, i, 0).T(), k, min(groupPanel, rows-i))
		}
		return p
	}
	p := groupPlace{dst, copiedRow(k), 4, 0}
	to := Matrix{dst, p.row / 2, 1}
	copyTerms(to, a, rows, k)
	for i := range rows * (k % 2) {
		*at[int16](to, i, k) = 0
	}
	return p
}

// copyTerms copies an m by n matrix to one whose rows have no gaps inside.
func copyTerms(to, a Matrix, m, n int) {
	if lines := n / 32; a.Col == 1 && lines > 0 {
		rows := max(1, copyLines/lines)
		for i := 0; i < m; i += rows {
			given, dst := unsafe.Pointer(at[int16](a, i, 0)), unsafe.Pointer(at[int16](to, i, 0))
			copyBlockAVX2((*byte)(dst), to.Row*2, (*byte)(given), a.Row*2, min(rows, m-i), lines)
		}
		if n == lines*32 {
			return
		}
		to, a, n = from[int16](to, 0, lines*32), from[int16](a, 0, lines*32), n-lines*32
	}
	copyMatrix[int16](to, a, m, n)
}

// A groupTask is some rows of a stretch and all columns of a task.
type groupTask struct {
	*halfJob
	s      stretch
	place  groupPlace
	panels unsafe.Pointer // of the first column
	i0, c0 int

	next  unsafe.Pointer // the panel to fetch meanwhile, or nil
	asked int            // bytes of it that have been asked for
	step  int            // bytes to ask for with each pair of a group
}

// vectorBlock is block on vectors. Where the panels stay in a cache that is near, rows
// take them one after the other, so that the result is written as it lies in memory;
// elsewhere a panel takes all rows.
func (j *halfJob) vectorBlock(w *halfWorker, s stretch, i0, c0, c1 int) {
	rows := min(j.height, j.M-i0)
	panel := j.panelOf(s.p1 - s.p0)
	t := groupTask{halfJob: j, s: s, place: j.place(w.rows, s, i0, rows), panels: unsafe.Add(w.panels, (c0-s.j0)/halfColumns*panel), i0: i0, c0: c0}
	flat := ceil(c1-c0, halfColumns)*panel <= groupFlat
	unit := rows
	if t.place.panel != 0 {
		unit = groupPanel
	}
	if flat {
		unit = min(unit, groupPanel)
		for i := 0; i < rows; i += unit {
			t.across(i, min(unit, rows-i), c1-c0)
		}
		return
	}
	t.step = min(64, ceil(halfPairs, ceil(rows, groupRows)))
	for c := 0; c < c1-c0; c += halfColumns {
		t.next, t.asked = nil, 0
		if c+halfColumns < c1-c0 {
			t.next = unsafe.Add(t.panels, (c/halfColumns+1)*panel)
		}
		for i := 0; i < rows; i += unit {
			t.down(i, min(unit, rows-i), c, min(halfColumns, c1-c0-c))
		}
	}
}

// groups returns what a kernel gets for rows from i on and columns from c on.
func (t *groupTask) groups(i, c, columns int) halfGroups {
	j, s := t.halfJob, t.s
	g := halfGroups{
		a: t.place.at(i), aRow: t.place.row, aStep: t.place.step,
		b: unsafe.Add(t.panels, c/halfColumns*j.panelOf(s.p1-s.p0)), pairs: ceil(s.p1-s.p0, 2), columns: columns,
	}
	if j.keeps() {
		g.c, g.cRow = j.sumsAt(t.i0+i, t.c0+c)
	}
	switch {
	case s.p0 > 0:
		g.src, g.srcRow = g.c, g.cRow
	case j.Bias != nil:
		g.src = unsafe.Add(j.Bias, 4*(t.c0+c))
	}
	if s.p1 == j.K && !j.Wide {
		g.out, g.outRow = unsafe.Pointer(at[int16](j.C, t.i0+i, t.c0+c)), j.C.Row*2
	}
	return g
}

// across multiplies each group of rows [i, i+n) with all panels.
func (t *groupTask) across(i, n, columns int) {
	whole := columns / halfColumns
	for n > 0 {
		rows := ceil(n, ceil(n, groupRows))
		g := t.groups(i, 0, halfColumns)
		g.bGroup = g.pairs * halfPairs
		if g.out != nil {
			g.outGroup = 2 * halfColumns
		} else {
			g.cGroup = halfPairs
		}
		if g.src != nil {
			g.srcGroup = halfPairs
		}
		t.run(&g, rows, whole)
		if c := whole * halfColumns; c < columns {
			last := t.groups(i, c, columns-c)
			t.run(&last, rows, 1)
		}
		i, n = i+rows, n-rows
	}
}

// down multiplies rows [i, i+n) with the panel of some columns.
func (t *groupTask) down(i, n, c, columns int) {
	parts := ceil(n, groupRows)
	for _, part := range [2][2]int{{n/parts + 1, n % parts}, {n / parts, parts - n%parts}} {
		rows, count := part[0], part[1]
		if count == 0 {
			continue
		}
		g := t.groups(i, c, columns)
		g.aGroup, g.cGroup, g.outGroup = rows*g.aRow, rows*g.cRow, rows*g.outRow
		g.srcGroup = rows * g.srcRow
		t.run(&g, rows, count)
		i += rows * count
	}
}

// run multiplies count groups of rows, in calls that take some microseconds each.
func (t *groupTask) run(g *halfGroups, rows, count int) {
	for most := max(1, groupOnce/(rows*g.pairs)); count > 0; {
		g.groups = min(count, most)
		g.ahead, g.aheadStep = g.b, 0
		if size := g.pairs * halfPairs; t.next != nil && t.asked < size {
			g.ahead, g.aheadStep = unsafe.Add(t.next, t.asked), t.step
			t.asked += g.groups * g.pairs * t.step
		}
		runHalf(ceil(g.columns, halfColumns/2), rows, g)
		if count -= g.groups; count == 0 {
			return
		}
		// No pointer is formed to what lies behind the matrices.
		n := g.groups
		g.a, g.b = unsafe.Add(g.a, n*g.aGroup), unsafe.Add(g.b, n*g.bGroup)
		for _, p := range []struct {
			at   *unsafe.Pointer
			step int
		}{{&g.src, g.srcGroup}, {&g.c, g.cGroup}, {&g.out, g.outGroup}} {
			if *p.at != nil {
				*p.at = unsafe.Add(*p.at, n*p.step)
			}
		}
	}
}
