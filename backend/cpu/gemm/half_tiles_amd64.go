package gemm

import "unsafe"

// steps returns the rounds of a kernel in a stretch.
func (s stretch) steps() int { return ceil(s.p1-s.p0, halfStep) }

// tileBlock is block on tiles.
func (j *halfJob) tileBlock(w *halfWorker, s stretch, i0, c0, c1 int) {
	rows, steps := min(j.height, j.M-i0), s.steps()
	t := halfTile{steps: steps, block: halfSteps, outRow: j.C.Row * 2, inner: halfStep * 2}
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
		if j.keeps() {
			now.c, now.cRow = j.sumsAt(i0, c)
		}
		if j.keeps() || steps > halfSteps {
			now.cGroup = halfRows * now.cRow
		}
		switch {
		case s.p0 > 0:
			now.src, now.srcRow, now.srcGroup = now.c, now.cRow, now.cGroup
		case j.Bias != nil:
			now.src = unsafe.Add(j.Bias, 4*c)
		}
		if s.p1 == j.K && !j.Wide {
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
			set(4+i, r[i], t.inner)
		}
		if c[i] > 0 {
			set(6+i, t.inner/4, c[i])
		}
		for k := range 2 {
			if r[i] > 0 && c[k] > 0 {
				set(2*i+k, r[i], c[k])
			}
		}
	}
	t.config = unsafe.Pointer(&config)
	p := (*byte)(unsafe.Pointer(t))
	switch tall, wide := r[1] > 0, c[1] > 0; {
	case tall && wide && t.bytes:
		byteTile2x2AMX(p)
	case tall && t.bytes:
		byteTile2x1AMX(p)
	case wide && t.bytes:
		byteTile1x2AMX(p)
	case t.bytes:
		byteTile1x1AMX(p)
	case tall && wide:
		halfTile2x2AMX(p)
	case tall:
		halfTile2x1AMX(p)
	case wide:
		halfTile1x2AMX(p)
	default:
		halfTile1x1AMX(p)
	}
}

// packRows packs rows [i0, i1) of A in tiles of halfSide rows by halfStep terms:
// the two of a group of rows for the same terms, then those for the next ones.
// Terms that are missing from the last round become zeros.
func (j *halfJob) packRows(dst unsafe.Pointer, s stretch, i0, i1 int) {
	const both = 2 * tileBytes
	k := s.p1 - s.p0
	for i := i0; i < i1; i += halfRows {
		dst := unsafe.Add(dst, (i-i0)/halfRows*s.steps()*both)
		a, rows := from[int16](j.A, i, s.p0), min(halfRows, i1-i)
		p := 0
		for ; a.Col == 1 && p+4*halfStep <= k; p += 4 * halfStep {
			copyRows(4, 2*halfStep, unsafe.Add(dst, p/halfStep*both), both, unsafe.Pointer(at[int16](a, 0, p)), a.Row*2, rows)
		}
		for ; p < k; p += halfStep {
			packTiles(unsafe.Add(dst, p/halfStep*both), from[int16](a, 0, p), rows, min(halfStep, k-p))
		}
	}
}

// packTiles packs two tiles, one after the other.
func packTiles(dst unsafe.Pointer, a Matrix, rows, k int) {
	to := Matrix{dst, halfStep, 1}
	if a.Row == 1 && a.Col != 1 && rows == halfRows && k == halfStep {
		var pairs [halfStep / 2 * halfPairs]byte
		pairRows1AVX512(&pairs[0], 0, (*byte)(a.Ptr), a.Col*2, halfStep/2, halfRows)
		for half := range 2 {
			transpose32AVX2((*byte)(unsafe.Add(dst, 32*half)), 2*halfStep, &pairs[8*halfPairs*half], halfPairs, halfRows/8)
		}
		return
	}
	copyMatrix[int16](to, a, rows, k)
	for i := 0; i < rows && k < halfStep; i++ {
		clear(unsafe.Slice(at[int16](to, i, k), halfStep-k))
	}
}
