package gemm

import "unsafe"

// packPanels packs panels [lo, hi) of a stretch's columns of B, counted from the
// first one, which goes to dst; terms that are missing from the last round of
// kernels become zeros.
func (j *halfJob) packPanels(dst unsafe.Pointer, s stretch, lo, hi int) {
	k := s.p1 - s.p0
	bytes := j.panelOf(k)
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
	c := 0
	for ; c+wideBlock <= n && k >= 2*wideBlock; c += wideBlock {
		pairColumnsAVX512((*byte)(unsafe.Add(dst, 4*c)), (*byte)(unsafe.Pointer(at[int16](b, 0, c))), b.Col*2, k/(2*wideBlock))
	}
	// What is left are the last terms of these columns, and other columns.
	packColumns(dst, b, k/(2*wideBlock)*2*wideBlock, k, 0, c)
	packColumns(dst, b, 0, k, c, n)
}

const (
	wideBlock   = 16 // columns, and pairs, that are transposed at once with AVX-512
	narrowBlock = 8  // and with AVX2
)

// packColumns is packPairs for terms [p0, p1), where p0 is even, of the columns
// [j0, j1) of a matrix with contiguous columns.
func packColumns(dst unsafe.Pointer, b Matrix, p0, p1, j0, j1 int) {
	c, blocks := j0, (p1-p0)/(2*narrowBlock)
	for ; c+narrowBlock <= j1 && blocks > 0; c += narrowBlock {
		to := unsafe.Add(dst, p0/2*halfPairs+4*c)
		transpose32AVX2((*byte)(to), halfPairs, (*byte)(unsafe.Pointer(at[int16](b, p0, c))), b.Col*2, blocks)
	}
	packPairsSlow(dst, b, p0+blocks*2*narrowBlock, p1, j0, c)
	packPairsSlow(dst, b, p0, p1, c, j1)
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
