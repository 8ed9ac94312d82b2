//go:build !amd64

package gemm

import "unsafe"

// copyPanels copies a k by n matrix to panels.
func copyPanels[T Number](e *engine, dst unsafe.Pointer, src Matrix, k, n int) {
	width := e.columns()
	for c := 0; c < n; c += width {
		copyMatrix[T](Matrix{unsafe.Add(dst, c*k*e.size), width, 1}, from[T](src, 0, c), k, min(width, n-c))
	}
}

// copyBlock copies an m by n matrix whose rows have no gaps inside to another.
func copyBlock[T Number](_ *engine, dst, src Matrix, m, n int) { copyMatrix[T](dst, src, m, n) }

// copyRowsOf copies a k by n matrix to one whose rows have no gaps inside.
func copyRowsOf[T Number](_ *engine, to, src Matrix, k, n int) { copyMatrix[T](to, src, k, n) }

// packQuads is not called: there is no assembly for this architecture.
func packQuads(unsafe.Pointer, int, unsafe.Pointer, int, int, *int32, uint32) {}
