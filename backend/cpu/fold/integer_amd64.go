package fold

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// An extreme is the assembly of the greatest or the least of integers: fold takes
// elements into one, rows takes one row into another.
type extreme struct {
	fold [2]folding // of AVX2 and of AVX-512
	rows folding
}

type folding = func(n int, acc, x unsafe.Pointer, s []ir.Scalar)

var extremes = [kinds]map[ir.DType]extreme{
	Max: {
		ir.Uint8: {[2]folding{maxU8FoldAVX2, maxU8FoldAVX512}, maxU8RowsAVX2},
		ir.Int8:  {[2]folding{maxI8FoldAVX2, maxI8FoldAVX512}, maxI8RowsAVX2},
		ir.Int16: {[2]folding{maxI16FoldAVX2, maxI16FoldAVX512}, maxI16RowsAVX2},
		ir.Int32: {[2]folding{maxI32FoldAVX2, maxI32FoldAVX512}, maxI32RowsAVX2},
		ir.Int64: {[2]folding{maxI64FoldAVX2, maxI64FoldAVX512}, maxI64RowsAVX2},
	},
	Min: {
		ir.Uint8: {[2]folding{minU8FoldAVX2, minU8FoldAVX512}, minU8RowsAVX2},
		ir.Int8:  {[2]folding{minI8FoldAVX2, minI8FoldAVX512}, minI8RowsAVX2},
		ir.Int16: {[2]folding{minI16FoldAVX2, minI16FoldAVX512}, minI16RowsAVX2},
		ir.Int32: {[2]folding{minI32FoldAVX2, minI32FoldAVX512}, minI32RowsAVX2},
		ir.Int64: {[2]folding{minI64FoldAVX2, minI64FoldAVX512}, minI64RowsAVX2},
	},
}

// useExtreme puts the assembly for a kind and a dtype of integers, if there is some,
// into l. Order does not matter to it, so that blocks need not be merged.
func useExtreme(wide int, kind Kind, x ir.DType, l *ir.ReduceLoops) {
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
