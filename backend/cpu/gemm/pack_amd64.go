package gemm

import "unsafe"

// copyPanels copies a k by n matrix to panels.
func copyPanels[T Number](e *engine, dst unsafe.Pointer, src Matrix, k, n int) {
	width := e.columns()
	row := width * e.size
	panel := row * k
	whole := 0
	if e.family != portable && src.Col == 1 {
		for ; whole+4*width <= n; whole += 4 * width {
			copyRows(4, row, unsafe.Add(dst, whole/width*panel), panel, from[T](src, 0, whole).Ptr, src.Row*e.size, k)
		}
		for ; whole+width <= n; whole += width {
			copyRows(1, row, unsafe.Add(dst, whole/width*panel), panel, from[T](src, 0, whole).Ptr, src.Row*e.size, k)
		}
	}
	for c := whole; c < n; c += width {
		copyRowsOf[T](e, Matrix{unsafe.Add(dst, c/width*panel), width, 1}, from[T](src, 0, c), k, min(width, n-c))
	}
}

// copyRowsOf copies a k by n matrix to one whose rows have no gaps inside.
func copyRowsOf[T Number](e *engine, to, src Matrix, k, n int) {
	if e.family != portable && src.Row == 1 && src.Col != 1 {
		transposeRows[T](e, to, src, k, n)
	} else {
		copyMatrix[T](to, src, k, n)
	}
}

// copyRows copies rows of bytes to each of some panels.
func copyRows(panels, bytes int, dst unsafe.Pointer, panel int, src unsafe.Pointer, srcRow, rows int) {
	to, given := (*byte)(dst), (*byte)(src)
	switch {
	case panels == 4 && bytes == 64:
		copyRows4x64AVX2(to, panel, given, srcRow, rows)
	case panels == 4:
		copyRows4x128AVX2(to, panel, given, srcRow, rows)
	case bytes == 64:
		copyRows1x64AVX2(to, panel, given, srcRow, rows)
	default:
		copyRows1x128AVX2(to, panel, given, srcRow, rows)
	}
}

// copyLines is how many times 64 bytes one call copies.
const copyLines = 8 << 10

// copyBlock copies an m by n matrix whose rows have no gaps inside to another.
func copyBlock[T Number](e *engine, dst, src Matrix, m, n int) {
	lines := n * e.size / 64
	if e.family != portable && lines > 0 {
		rows := max(1, copyLines/lines)
		for i := 0; i < m; i += rows {
			to, given := unsafe.Pointer(at[T](dst, i, 0)), unsafe.Pointer(at[T](src, i, 0))
			copyBlockAVX2((*byte)(to), dst.Row*e.size, (*byte)(given), src.Row*e.size, min(rows, m-i), lines)
		}
		done := lines * 64 / e.size
		if n == done {
			return
		}
		dst, src, n = from[T](dst, 0, done), from[T](src, 0, done), n-done
	}
	copyMatrix[T](dst, src, m, n)
}

// transposeRows copies a k by n matrix with contiguous columns.
func transposeRows[T Number](e *engine, to, src Matrix, k, n int) {
	block := 32 / e.size // elements of a vector
	row, col := to.Row*e.size, src.Col*e.size
	c := 0
	for ; c+block <= n && k >= block; c += block {
		dst, given := (*byte)(unsafe.Pointer(at[T](to, 0, c))), (*byte)(unsafe.Pointer(at[T](src, 0, c)))
		if e.size == 8 {
			transpose64AVX2(dst, row, given, col, k/block)
		} else {
			transpose32AVX2(dst, row, given, col, k/block)
		}
	}
	// No pointer is formed to what lies behind the matrices.
	if whole := k / block * block; whole < k {
		copyMatrix[T](from[T](to, whole, 0), from[T](src, whole, 0), k-whole, c)
	}
	if c < n {
		copyMatrix[T](from[T](to, 0, c), from[T](src, 0, c), k, n-c)
	}
}

// quadsOnce is how many quads one call packs.
const quadsOnce = 4 << 10

// packQuads packs quads of rows of quadColumns bytes, and adds the sums of columns to sums.
func packQuads(dst unsafe.Pointer, dstRow int, src unsafe.Pointer, srcRow, quads int, sums *int32, flip uint32) {
	for i := 0; i < quads; i += quadsOnce {
		packQuadsAVX2((*byte)(unsafe.Add(dst, i*dstRow)), dstRow, (*byte)(unsafe.Add(src, 4*i*srcRow)), srcRow, min(quadsOnce, quads-i), sums, flip)
	}
}
