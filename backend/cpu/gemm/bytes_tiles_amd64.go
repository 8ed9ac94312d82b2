package gemm

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
)

// byteBlock is how many bytes of A panels of bytes are multiplied with, one after the other.
const byteBlock = 256 << 10

// A byteTiles is a product of bytes on tiles under way. A task computes some rows of some
// panels of the result.
type byteTiles struct {
	*Bytes
	m      int
	a      unsafe.Pointer
	row    int
	c      Matrix
	bias   unsafe.Pointer // nil, or a number for each column
	height int            // rows of a task
	width  int            // columns of a task
	across int            // tasks side by side
}

// onTiles is Mul on tiles.
func (b *Bytes) onTiles(m int, a unsafe.Pointer, row int, c Matrix, bias []int32, serial bool) {
	j := byteTiles{Bytes: b, m: m, a: a, row: row, c: c}
	if bias != nil {
		j.bias = unsafe.Pointer(&bias[0])
	}
	j.height = min(max(byteBlock/b.Row()/halfRows, 1), 8, ceil(m, halfRows)) * halfRows
	down, panels, procs := ceil(m, j.height), ceil(b.n, halfColumns), 1
	if !serial && m*b.n*b.packed.k > halfShare {
		procs = runtime.GOMAXPROCS(0)
	}
	if procs == 1 {
		j.width, j.across = panels*halfColumns, 1
		j.some(0, down)
		return
	}
	j.width = max(1, panels*down/(2*procs)) * halfColumns
	j.width = min(j.width, panels*halfColumns)
	j.across = ceil(b.n, j.width)
	shared := j
	pool.For(down*j.across, 1, shared.some)
}

// some computes tasks [lo, hi).
func (j *byteTiles) some(lo, hi int) {
	for ; lo < hi; lo++ {
		i, c := lo/j.across*j.height, lo%j.across*j.width
		j.block(i, min(j.height, j.m-i), c, min(c+j.width, j.n))
	}
}

// block computes rows from i on, and columns [c0, c1): the terms that fill tiles, and then
// those that are left.
func (j *byteTiles) block(i, rows, c0, c1 int) {
	const step = halfStep * 2
	quads, cRow := j.packed.k, j.c.Row*4
	t := halfTile{
		a: unsafe.Add(j.a, i*j.row), aRow: j.row, aLow: halfSide * j.row, aStep: step, aGroup: halfRows * j.row,
		block: halfSteps, cRow: cRow, cGroup: halfRows * cRow, bytes: true,
	}
	for c := c0; c < c1; c += halfColumns {
		now := t
		now.columns = min(halfColumns, c1-c)
		now.b = unsafe.Add(j.packed.ptr, c*quads*4)
		now.c = unsafe.Pointer(at[int32](j.c, i, c))
		if j.bias != nil {
			now.src = unsafe.Add(j.bias, c*4)
		}
		whole, left := quads/halfSide, quads%halfSide
		if whole > 0 {
			part := now
			part.steps, part.inner = whole, step
			part.multiply(rows)
			now.src, now.srcRow, now.srcGroup = now.c, now.cRow, now.cGroup
		}
		if left > 0 {
			now.a, now.b = unsafe.Add(now.a, whole*step), unsafe.Add(now.b, whole*halfSide*halfPairs)
			now.steps, now.inner = 1, left*4
			now.multiply(rows)
		}
	}
}
