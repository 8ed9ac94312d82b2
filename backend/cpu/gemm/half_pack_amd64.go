package gemm

import "unsafe"

// packPanels packs panels [lo, hi) of a stretch's columns of B, counted from the
// first one, which goes to dst; terms that are missing from the last round become
// zeros.
func (j *halfJob) packPanels(dst unsafe.Pointer, s stretch, lo, hi int) {
	k, bytes := s.p1-s.p0, s.steps()*2*tileBytes
	for whole := k / 2 * halfPairs; lo < hi; {
		c := s.j0 + lo*halfColumns
		dst, b := unsafe.Add(dst, lo*bytes), from[int16](j.B, s.p0, c)
		panels := 1
		if b.Col == 1 && hi-lo >= panelsAtOnce && c+panelsAtOnce*halfColumns <= s.j1 && k%2 == 0 {
			panels = panelsAtOnce
		}
		for i := range panels {
			clear(unsafe.Slice((*byte)(unsafe.Add(dst, i*bytes+whole)), bytes-whole))
		}
		if panels == panelsAtOnce {
			pairRows4AVX512((*byte)(dst), bytes, (*byte)(b.Ptr), b.Row*2, k/2, halfColumns)
		} else {
			packPairs(dst, b, k, min(halfColumns, s.j1-c))
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

// packRows packs rows [i0, i1) of A in tiles of halfSide rows by halfStep terms:
// the two of a group of rows for the same terms, then those for the next ones.
// Terms that are missing from the last round become zeros.
func (j *halfJob) packRows(dst unsafe.Pointer, s stretch, i0, i1 int) {
	const both = 2 * tileBytes
	k := s.p1 - s.p0
	for i := i0; i < i1; i += halfRows {
		a, rows := from[int16](j.A, i, s.p0), min(halfRows, i1-i)
		p := 0
		for ; a.Col == 1 && p+4*halfStep <= k; p += 4 * halfStep {
			copyRows(4, 2*halfStep, unsafe.Add(dst, p/halfStep*both), both, unsafe.Pointer(at[int16](a, 0, p)), a.Row*2, rows)
		}
		for ; p < k; p += halfStep {
			packTiles(unsafe.Add(dst, p/halfStep*both), from[int16](a, 0, p), rows, min(halfStep, k-p))
		}
		dst = unsafe.Add(dst, s.steps()*both)
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
