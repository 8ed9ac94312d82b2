package vector

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// A Func computes n consecutive elements of an element-wise or joint body, or of a part
// of a fold. p holds the results, then the operands (of a joint body what is written
// over, then the others), each n elements without gaps: the operands in the compute
// dtype (or their fixed dtype), the results in the body's kind. A result may be an
// operand. index is the linear index of the first element in the iteration space.
type Func func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64)

// FoldFuncs computes a reduction or scan for one compute dtype. Accumulators
// have dtype Acc, results dtype Out.
type FoldFuncs struct {
	Acc, Out ir.DType
	// Init sets n accumulators to the identity.
	Init func(n int, acc unsafe.Pointer, s []ir.Scalar)
	// Fold folds n consecutive elements of x into the one accumulator.
	Fold func(n int, acc, x unsafe.Pointer, s []ir.Scalar)
	// Rows folds x[j] into acc[j] for n values of j.
	Rows func(n int, acc, x unsafe.Pointer, s []ir.Scalar)
	// Merge folds the accumulator b[j] into acc[j] for n values of j.
	Merge func(n int, acc, b unsafe.Pointer, s []ir.Scalar)
	// Finish turns n accumulators of count elements each into results.
	Finish func(n int, out, acc unsafe.Pointer, s []ir.Scalar, count int64)
	// Scans have one of these two. Prefix folds n consecutive elements of x into the one
	// accumulator and writes the finished value after each to out; the accumulator
	// loses nothing that matters, however many there are. Run does so for a run of
	// elements behind others: what it writes is the accumulator's fold behind before.
	Prefix func(n int, out, acc, x unsafe.Pointer, s []ir.Scalar)
	Run    func(n int, out, acc, before, x unsafe.Pointer, s []ir.Scalar)

	// The rest may be nil, and is quicker where it is not. Loops that have Lines or Grid fold in
	// the order of package fold: element i of 1024 goes to accumulator i modulo as many as 256
	// bytes hold, and halves of these are merged. Merging with the identity changes nothing there.

	// Lines folds each of rows rows of n elements, at most 1024 and stride bytes
	// apart, and sets an accumulator for each.
	Lines func(rows, n, stride int, accs, x unsafe.Pointer, s []ir.Scalar)
	// Blocks folds each of count blocks of 1024 consecutive elements of x, merges the
	// results pairwise and sets the one accumulator; count is a power of two, at most 64.
	Blocks func(count int, acc, x unsafe.Pointer, s []ir.Scalar)
	// Grid is Rows for rows rows of n elements, stride bytes apart, in order.
	Grid func(rows, n, stride int, acc, x unsafe.Pointer, s []ir.Scalar)
	// Next, for scans, is Grid that writes the finished accumulators after each row
	// to a row of out; these are outStride bytes apart.
	Next func(rows, n, outStride, stride int, out, acc, x unsafe.Pointer, s []ir.Scalar)
}

// A Table has loops by variant, then by compute dtype; a nil entry means that the
// pair is not supported.
type Table = []*[ir.NumDTypes]Func
