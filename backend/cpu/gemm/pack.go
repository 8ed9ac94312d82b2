package gemm

import "unsafe"

// packB packs the panels of a stretch's columns of B, the first of which begins a
// panel.
func (j *job[T]) packB(dst unsafe.Pointer, s stretch) {
	copyPanels[T](j.e, dst, from[T](j.p.B, s.p0, s.j0), s.p1-s.p0, s.j1-s.j0)
}

// gap is how many bytes are left free after each row of a block of A, so that rows
// do not fall on the same places of a cache.
const gap = 64

// blockBytes returns the size of a task's block of A.
func (j *job[T]) blockBytes() int {
	k := min(j.p.K, j.depth)
	return max(j.height*(roundUp(k*j.e.size, 64)+gap), k*(roundUp(j.height*j.e.size, 64)+gap))
}

// packBlock packs rows [i0, i1) of A and sets where t finds them: as they lie,
// columns of contiguous elements or rows of them.
func (j *job[T]) packBlock(t *tile, dst unsafe.Pointer, i0, i1 int, s stretch) {
	e, p := j.e, &j.p
	rows, k := i1-i0, s.p1-s.p0
	if p.A.Row == 1 && p.A.Col != 1 && e.family != portable {
		col := roundUp(rows*e.size, 64) + gap
		t.a, t.aRow, t.aCol = dst, e.size, col
		copyBlock[T](e, Matrix{dst, col / e.size, 1}, from[T](p.A, i0, s.p0).T(), k, rows)
		return
	}
	row := roundUp(k*e.size, 64) + gap
	t.a, t.aRow, t.aCol = dst, row, e.size
	to, a := Matrix{dst, row / e.size, 1}, from[T](p.A, i0, s.p0)
	if a.Col == 1 {
		copyBlock[T](e, to, a, rows, k)
	} else {
		copyMatrix[T](to, a, rows, k)
	}
}

// copyMatrix copies an m by n matrix to one whose rows have no gaps inside.
func copyMatrix[T Number](dst, src Matrix, m, n int) {
	if src.Col == 1 {
		for i := range m {
			copy(unsafe.Slice(at[T](dst, i, 0), n), unsafe.Slice(at[T](src, i, 0), n))
		}
		return
	}
	for i := range m {
		to := unsafe.Slice(at[T](dst, i, 0), n)
		for c := range to {
			to[c] = *at[T](src, i, c)
		}
	}
}
