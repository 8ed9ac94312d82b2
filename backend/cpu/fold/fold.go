// Package fold holds the loops of the usual reductions and scans: sums, products,
// extremes, and whether any or all elements are not zero. It knows nothing of
// layouts.
//
// A block of 1024 elements has as many accumulators as fit 256 bytes: element i
// goes to accumulator i modulo their number, each adds up its elements in order,
// and at last the halves of them are combined until one is left. Blocks are merged
// pairwise. All levels follow this order, so that sums and products are the same,
// bit for bit, with any vectors and any number of threads. So are extremes, which
// have -0 before +0 and one NaN for all; which NaN a sum or a product of several is
// package ir leaves open.
package fold

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// A Kind is how elements are combined.
type Kind uint8

// The kinds.
const (
	Sum  Kind = iota
	Prod      // the product
	Max       // NaN if there is one
	Min       // NaN if there is one
	Any       // whether an element is not zero
	All       // whether no element is zero
	kinds
)

// Block is how many elements are folded before results are merged pairwise.
const Block = 1024

// lanesBytes is the size of a block's accumulators.
const lanesBytes = 256

// active are the loops of the level in use.
var active = func() (t [kinds][ir.NumDTypes]*vector.FoldFuncs) {
	for kind := range kinds {
		for d := range ir.DType(ir.NumDTypes) {
			t[kind][d] = At(simd.Active(), kind, d)
		}
	}
	return t
}()

// Loops returns the loops that fold elements of dtype x, nil where there are none.
// Finish, if not nil, makes results of dtype out of accumulators; otherwise they are
// the accumulators.
func Loops(kind Kind, x, out ir.DType, finish func(n int, out, acc unsafe.Pointer, s []ir.Scalar, count int64)) *vector.FoldFuncs {
	loops := active[kind][x]
	if finish == nil || loops == nil {
		return given(kind, loops)
	}
	own := *loops
	own.Out, own.Finish = out, finish
	if h, ok := halves.Load(loops); ok {
		halves.Store(&own, h)
	}
	if f, ok := sums.Load(loops); ok {
		sums.Store(&own, f)
	}
	return given(kind, &own)
}

// ours has the Kind of the loops, *vector.FoldFuncs, that this package gave to operators.
var ours sync.Map

func given(kind Kind, l *vector.FoldFuncs) *vector.FoldFuncs {
	if l != nil {
		ours.Store(l, kind)
	}
	return l
}

// Ours reports whether an operator has these loops from Loops or Scans: they have vector
// code where there is any.
func Ours(l *vector.FoldFuncs) bool {
	_, ok := ours.Load(l)
	return ok
}

// Adds reports whether these loops are from Loops and add up elements as they are.
func Adds(l *vector.FoldFuncs) bool {
	kind, ok := ours.Load(l)
	return ok && kind == Sum && l.Grid != nil && l.Lines != nil
}

// Halves are Lines and Blocks of loops over float32 for elements of a 16-bit float
// dtype, in the same order. Rows of Lines have a multiple of HalfLanes elements, and at
// least so many.
type Halves struct {
	Lines  func(rows, n, stride int, accs, x unsafe.Pointer)
	Blocks func(count int, acc, x unsafe.Pointer)
}

// HalfLanes is how many accumulators Halves have.
const HalfLanes = lanesBytes / 4

// halves has the *[2]Halves, of float16 and of bfloat16, of each *vector.FoldFuncs that
// has some.
var halves sync.Map

// HalvesOf returns what loops from this package have for a dtype, nil where there is
// nothing.
func HalvesOf(loops *vector.FoldFuncs, x ir.DType) *Halves {
	h, ok := halves.Load(loops)
	switch {
	case ok && x == ir.Float16:
		return &h.(*[2]Halves)[0]
	case ok && x == ir.BFloat16:
		return &h.(*[2]Halves)[1]
	}
	return nil
}

// A Bytes adds the sum of n elements that are stored as bytes to an accumulator.
type Bytes func(n int, acc, x unsafe.Pointer)

// sums has the Bytes of each *vector.FoldFuncs that has one.
var sums sync.Map

// BytesOf returns what loops from this package that add up int64 have for elements that are
// stored as bytes, nil where there is nothing.
func BytesOf(loops *vector.FoldFuncs) Bytes {
	if f, ok := sums.Load(loops); ok {
		return f.(Bytes)
	}
	return nil
}

// At returns the loops at a level, which must be available; nil where there are
// none for the dtype. It is for tests that compare levels.
func At(level simd.Level, kind Kind, x ir.DType) *vector.FoldFuncs {
	l := portable(kind, x)
	if l != nil {
		vectors(level, kind, x, l)
	}
	return l
}

// portable returns the loops in plain Go.
func portable(kind Kind, x ir.DType) *vector.FoldFuncs {
	switch {
	case kind == Any || kind == All:
		return truthLoops(kind, x)
	case x == ir.Bool:
		return nil
	case (kind == Max || kind == Min) && x.IsComplex():
		return nil
	}
	switch x {
	case ir.Uint8:
		return ordered(kind, x, uint8(0), 0, 255)
	case ir.Int8:
		return ordered[int8](kind, x, 0, -1<<7, 1<<7-1)
	case ir.Int16:
		return ordered[int16](kind, x, 0, -1<<15, 1<<15-1)
	case ir.Int32:
		return ordered[int32](kind, x, 0, -1<<31, 1<<31-1)
	case ir.Int64:
		return ordered[int64](kind, x, 0, -1<<63, 1<<63-1)
	case ir.Float32:
		return ordered(kind, x, 0, -infinity[float32](), infinity[float32]())
	case ir.Float64:
		return ordered(kind, x, 0, -infinity[float64](), infinity[float64]())
	case ir.Complex64:
		return numeric[complex64](kind, x)
	case ir.Complex128:
		return numeric[complex128](kind, x)
	}
	return nil
}

func infinity[T float32 | float64]() T {
	var zero T
	return 1 / zero
}

// elements returns n elements at p.
func elements[T any](n int, p unsafe.Pointer) []T { return unsafe.Slice((*T)(p), n) }

// Lanes returns how many accumulators of type T a block has.
func Lanes[T any]() int {
	var z T
	return lanesBytes / int(unsafe.Sizeof(z))
}

// LanesOf returns how many accumulators of a dtype Fold of this package's loops has, to which it
// gives elements in turn.
func LanesOf(acc ir.DType) int { return lanesBytes / acc.Size() }

// A folder is the functions of one kind and type, from which its loops are made.
type folder[T any] struct {
	identity T
	combine  func(a, b T) T
	block    func(x []T) T // of Block elements at most
	rows     func(a, x []T)
	prefix   func(out, x []T, a T) T
}

// loops returns the loops of a folder.
func (f folder[T]) loops(x ir.DType) *vector.FoldFuncs {
	l := &vector.FoldFuncs{Acc: x, Out: x}
	l.Init = func(n int, acc unsafe.Pointer, _ []ir.Scalar) {
		a := elements[T](n, acc)
		for i := range a {
			a[i] = f.identity
		}
	}
	l.Fold = func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) {
		a := (*T)(acc)
		*a = f.combine(*a, f.block(elements[T](n, x)))
	}
	l.Blocks = func(count int, acc, x unsafe.Pointer, _ []ir.Scalar) {
		var parts [maxBlocks]T
		all := elements[T](count*Block, x)
		for i := range parts[:count] {
			parts[i] = f.block(all[i*Block : (i+1)*Block])
		}
		*(*T)(acc) = pairwise(parts[:count], f.combine)
	}
	l.Rows = func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) { f.rows(elements[T](n, acc), elements[T](n, x)) }
	l.Merge = l.Rows
	l.Finish = func(n int, out, acc unsafe.Pointer, _ []ir.Scalar, _ int64) {
		copy(elements[T](n, out), elements[T](n, acc))
	}
	l.Prefix = func(n int, out, acc, x unsafe.Pointer, _ []ir.Scalar) {
		a := (*T)(acc)
		*a = f.prefix(elements[T](n, out), elements[T](n, x), *a)
	}
	return l
}

// maxBlocks is how many blocks Blocks takes, at most; it takes powers of two.
const maxBlocks = 64

// pairwise merges neighbours until one is left; there are a power of two.
func pairwise[T any](parts []T, combine func(a, b T) T) T {
	for n := len(parts) / 2; n > 0; n /= 2 {
		for i := range n {
			parts[i] = combine(parts[2*i], parts[2*i+1])
		}
	}
	return parts[0]
}
