package tile

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/ir"
)

// grain is the least number of elements worth another processor.
const grain = 16 * Size

// Copy converts the elements of src to those of dst, which has the same shape
// and must not overlap it. Strides of src may be negative.
func Copy(dst, src ir.View) {
	n := dst.NumElements()
	if n == 0 {
		return
	}
	if copyBlocks(dst, src) {
		return
	}
	to, from := Of(dst, dst.DType), Of(src, dst.DType)
	if to.Contiguous() {
		size := dst.DType.Size()
		pool.For(n, grain, func(lo, hi int) { from.Gather(src.Ptr, lo, hi-lo, unsafe.Add(dst.Ptr, lo*size)) })
		return
	}
	pool.For(n, grain, func(lo, hi int) {
		s := Borrow(1)
		defer s.Return()
		for ; lo < hi; lo += Size {
			m := min(Size, hi-lo)
			to.Scatter(dst.Ptr, lo, m, from.Load(lo, m, s.Buffer(0)))
		}
	})
}

// Dense returns a view of v's elements in dtype, row-major and without gaps: v
// itself where that is so, else a copy.
func Dense(v ir.View, dtype ir.DType) ir.View {
	if v.DType == dtype && v.IsContiguous() {
		return v
	}
	d := NewDense(dtype, v.Shape)
	Copy(d, v)
	return d
}

// NewDense returns a contiguous view of new memory, which is zero.
func NewDense(dtype ir.DType, shape []int) ir.View {
	n := ir.NumElements(shape)
	memory := make([]uint64, (n*dtype.Size()+7)/8+8)
	skip := int(-uintptr(unsafe.Pointer(&memory[0])) & 63)
	return ir.View{
		Ptr: unsafe.Add(unsafe.Pointer(&memory[0]), skip), DType: dtype,
		Shape: shape, Strides: ir.ContiguousStrides(shape),
	}
}

// TargetOf returns where to compute v's elements in dtype, row-major and without
// gaps: v itself where that is so, else new memory, which Finish copies to v.
func TargetOf(v ir.View, dtype ir.DType) ir.View {
	if v.DType == dtype && v.IsContiguous() {
		return v
	}
	return NewDense(dtype, v.Shape)
}

// Finish copies what was computed in d, from TargetOf, to v.
func Finish(v, d ir.View) {
	if d.Ptr != v.Ptr {
		Copy(v, d)
	}
}

// Elements returns the elements of a contiguous view, which are of type T.
func Elements[T any](v ir.View) []T {
	n := v.NumElements()
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(v.Ptr), n)
}
