// Package scan decides how scans along an axis are laid over the device: grids and
// blocks for the kernels of kernels/scan.cuh. It launches nothing.
package scan

import "math/bits"

const (
	threads    = 256
	columnEach = 16      // elements a thread takes of a column, at least, where columns are cut
	maxSlices  = 1 << 15 // of a line
	maxGrid    = 1<<31 - 1
)

// Lines are what is scanned.
type Lines struct {
	Count, Extent int64
	Columns       bool // elements of neighbouring lines lie closer together than those of a line
	Widest        int  // bytes of the largest element, read or written
}

// A Shape is how the lines are laid over the device: a kernel of columns or of rows has
// Grid[1] slices of every line.
type Shape struct{ Grid, Block [3]int }

// Slices is how many parts a line has. Of several, NAME_totals and NAME_carry find out what
// is before each.
func (s *Shape) Slices() int { return s.Grid[1] }

// Shape returns the shape for a device that runs so many threads at once.
func (l Lines) Shape(resident int64) Shape {
	if l.Columns {
		return l.columns(resident)
	}
	return l.rows(resident)
}

// columns gives a thread to each line, several where the lines are too few.
func (l Lines) columns(resident int64) Shape {
	each := min(threads, ceilPow2(max(l.Count, 32)))
	blocks := ceil(l.Count, each)
	return shape(blocks, min(2*(resident/each)/blocks, l.Extent/columnEach, maxSlices), [3]int{int(each), 1, 1})
}

// rows gives a warp to each short line and a block to each long one, several blocks
// where the lines are too few.
func (l Lines) rows(resident int64) Shape {
	items := l.items()
	if l.Extent <= 4*32*items {
		return shape(ceil(l.Count, threads/32), 1, [3]int{32, threads / 32, 1})
	}
	each := min(threads, ceilPow2(ceil(l.Extent, 2*items)))
	return shape(l.Count, min(resident/threads/l.Count, l.Extent/(each*items*2), maxSlices), [3]int{int(each), 1, 1})
}

// shape cuts lines into slices where that makes a difference.
func shape(blocks, slices int64, block [3]int) Shape {
	if slices < 4 {
		slices = 1
	}
	return Shape{Grid: [3]int{int(min(blocks, maxGrid)), int(slices), 1}, Block: block}
}

// items is how many consecutive elements a thread takes.
func (l Lines) items() int64 {
	switch {
	case l.Widest > 8:
		return 2
	case l.Widest > 4:
		return 4
	}
	return 8
}

// ceil returns n/d rounded up.
func ceil(n, d int64) int64 { return (n + d - 1) / d }

// ceilPow2 returns the least power of two that is not below n, at least 1.
func ceilPow2(n int64) int64 {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len64(uint64(n-1))
}

// Carries returns the shape of NAME_carry over so many lines.
func Carries(lines int64) Shape {
	return Shape{Grid: [3]int{int(ceil(lines, threads/32)), 1, 1}, Block: [3]int{threads, 1, 1}}
}
