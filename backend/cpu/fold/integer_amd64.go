package fold

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// An extreme is the assembly of the greatest or the least of integers: fold takes
// elements into one, rows takes one row into another.
type extreme struct {
	fold [2]folding // of AVX2 and of AVX-512
	rows folding
}

type folding = func(n int, acc, x unsafe.Pointer, s []ir.Scalar)

// useExtreme puts the assembly for a kind and a dtype of integers, if there is some,
// into l. Order does not matter to it, so that blocks need not be merged.
func useExtreme(wide int, kind Kind, x ir.DType, l *vector.FoldFuncs) {
	e, ok := extremes[kind][x]
	if !ok {
		return
	}
	first, fold, size := l.Init, e.fold[wide], l.Acc.Size()
	l.Fold, l.Rows, l.Merge = fold, e.rows, e.rows
	l.Lines = func(rows, n, stride int, accs, x unsafe.Pointer, s []ir.Scalar) {
		first(rows, accs, s)
		for i := range rows {
			fold(n, unsafe.Add(accs, i*size), unsafe.Add(x, i*stride), s)
		}
	}
	l.Blocks = func(count int, acc, x unsafe.Pointer, s []ir.Scalar) {
		first(1, acc, s)
		fold(count*Block, acc, x, s)
	}
}
