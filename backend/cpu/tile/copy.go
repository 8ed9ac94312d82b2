package tile

import (
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cache"
	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// grain is the least number of elements worth another processor.
const grain = 16 * Size

// Copy converts the elements of src to those of dst, which has the same shape
// and must not overlap it. Strides of src may be negative.
func Copy(dst, src ir.View) {
	n := dst.NumElements()
	if src.Ptr == dst.Ptr && src.DType == dst.DType && slices.Equal(src.Strides, dst.Strides) {
		return // a kernel that updates its operand
	}
	if n == 0 {
		return
	}
	if n == 1 || n <= Size && dst.IsContiguous() && src.IsContiguous() { // small models have many such
		if dst.DType == src.DType {
			move.Copy(simd.Active(), dst.Ptr, src.Ptr, n*dst.DType.Size())
		} else {
			convert.Between(dst.DType, src.DType)(n, dst.Ptr, 1, src.Ptr, 1)
		}
		return
	}
	if copyRuns(dst, src, n) || copyBlocks(dst, src) {
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

// leastRun is the bytes from which runs are copied one by one.
const leastRun = 32

// copyRuns copies the n elements where both sides hold runs of elements of one dtype
// without gaps. It reports false, and does nothing, where they do not.
func copyRuns(dst, src ir.View, n int) bool {
	if dst.DType != src.DType {
		return false
	}
	size := dst.DType.Size()
	if dst.IsContiguous() && src.IsContiguous() {
		copyFlat(dst, src, n*size)
		return true
	}
	p := pair(dst, src)
	last := len(p.shape) - 1
	if last < 0 || p.dst[last] != 1 || p.src[last] != 1 || p.shape[last]*size < leastRun {
		return false
	}
	if last == 0 {
		copyFlat(dst, src, n*size)
		return true
	}
	level, run, outer := simd.Active(), p.shape[last]*size, p.shape[:last]
	rows := outer[last-1]
	pool.For(n/p.shape[last], max(1, grain/p.shape[last]), func(lo, hi int) {
		for lo < hi {
			to, from, r := 0, 0, lo
			for a := last - 1; a >= 0; a-- {
				at := r % outer[a]
				r /= outer[a]
				to, from = to+at*p.dst[a], from+at*p.src[a]
			}
			count := min(hi-lo, rows-lo%rows)
			move.CopyRows(level, unsafe.Add(dst.Ptr, to*size), unsafe.Add(src.Ptr, from*size), count, run, p.dst[last-1]*size, p.src[last-1]*size)
			lo += count
		}
	})
	return true
}

const (
	// pieceBytes is what one processor copies at a time, at least, and pieces into how many
	// of them a copy is cut, at most.
	pieceBytes = 32 << 10
	pieces     = 64
	// aheadBytes is from where to where memory is asked for that is streamed soon.
	aheadBytes = 4096
)

// lastCache is how many bytes both sides of a copy have that is written past the
// caches, at least.
var lastCache = cache.Last

// copyFlat copies bytes that have no gaps on either side.
func copyFlat(dst, src ir.View, n int) {
	level := simd.Active()
	if n <= pieceBytes {
		move.Copy(level, dst.Ptr, src.Ptr, n)
		return
	}
	piece := max(pieceBytes, n/pieces&^(move.Line-1))
	past := move.UncachedAt(level)
	if 2*n < lastCache() || !past.Usable() {
		pool.For(n, piece, func(lo, hi int) { move.Copy(level, unsafe.Add(dst.Ptr, lo), unsafe.Add(src.Ptr, lo), hi-lo) })
		return
	}
	pool.For(n, piece, func(lo, hi int) {
		to, from, n := unsafe.Add(dst.Ptr, lo), unsafe.Add(src.Ptr, lo), hi-lo
		if over := int(uintptr(to) % move.Line); over != 0 {
			head := min(n, move.Line-over)
			move.Copy(level, to, from, head)
			if n -= head; n == 0 {
				return
			}
			to, from = unsafe.Add(to, head), unsafe.Add(from, head)
		}
		for at := 0; at < n; at += 1024 {
			lines := min(1024, n-at) &^ (move.Line - 1)
			past.Write(unsafe.Add(to, at), unsafe.Add(from, at), lines, unsafe.Add(from, at), unsafe.Add(from, at), aheadBytes)
			if rest := min(1024, n-at) - lines; rest > 0 {
				move.Copy(level, unsafe.Add(to, at+lines), unsafe.Add(from, at+lines), rest)
			}
		}
		past.Fence()
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
