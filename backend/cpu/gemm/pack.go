package gemm

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
)

// pack copies the n by k matrix a into panels of width rows: all rows of column
// 0, then of column 1, and so on. Rows and columns that are missing from the
// last panel and the last round of the kernel become zeros.
func pack[T Number](dst unsafe.Pointer, a Matrix, n, k, width int) {
	panels := (n + width - 1) / width
	deep := roundUp(k, unroll)
	pool.For(panels, max(1, parallelWork/(width*deep)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			panel := unsafe.Slice((*T)(unsafe.Add(dst, lo*width*deep*int(unsafe.Sizeof(*new(T))))), width*deep)
			packPanel(panel, a, lo*width, n, k, width)
		}
	})
}

func packPanel[T Number](panel []T, a Matrix, first, n, k, width int) {
	if first+width <= n && a.Row == 1 && width == kernelCols {
		for p := range k {
			*(*[kernelCols]T)(panel[p*kernelCols:]) = *(*[kernelCols]T)(unsafe.Pointer(at[T](a, first, p)))
		}
		clear(panel[k*width:])
		return
	}
	for r := range width {
		if first+r >= n {
			for p := range k {
				panel[p*width+r] = 0
			}
			continue
		}
		for p := range k {
			panel[p*width+r] = *at[T](a, first+r, p)
		}
	}
	clear(panel[k*width:])
}
