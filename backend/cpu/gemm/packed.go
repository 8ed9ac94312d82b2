package gemm

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/runtime/offheap"
)

// A Packed is a matrix B as kernels read it, for all products with it: panels of columns
// one after the other, each of all terms. It does not change. What reads its memory keeps it
// alive until then.
type Packed struct {
	e      *engine
	k, n   int
	ptr    unsafe.Pointer // of memory
	memory *offheap.Block
}

// newPacked returns one of so many bytes, which are zeros.
func newPacked(e *engine, k, n, bytes int) Packed {
	b := offheap.New(bytes)
	return Packed{e, k, n, b.Ptr(), b}
}

// Packs reports whether a product of M rows is quicker with a B that is packed: others
// read B once, where it lies.
func (p *Product[T]) Packs() bool {
	e := engineOf[T](simd.Active())
	return e.family != portable && !e.integer() && min(p.M, p.N) > thinRows && p.N >= e.columns() && p.M*p.N*p.K > e.share/4
}

// Pack returns the k by n matrix b packed for kernels of the present level.
func Pack[T Number](b Matrix, k, n int) *Packed { return packAt[T](simd.Active(), b, k, n) }

// packAt is Pack at a level of instructions.
func packAt[T Number](level simd.Level, b Matrix, k, n int) *Packed {
	e := engineOf[T](level)
	made := newPacked(e, k, n, roundUp(n, e.columns())*k*e.size)
	p := &made
	columns := max(1, packedElements/max(1, k*e.columns())) * e.columns()
	for c := 0; c < n; c += columns {
		copyPanels[T](e, unsafe.Add(p.ptr, c*k*e.size), from[T](b, 0, c), k, min(columns, n-c))
	}
	return p
}

// packedElements is how many elements are packed between two places where the goroutine
// can be stopped.
const packedElements = 256 << 10

// fits reports whether p is what products of an engine with k by n matrices read.
func (p *Packed) fits(e *engine, k, n int) bool { return p.e == e && p.k == k && p.n == n }

// runPacked computes a product whose B is packed. Its terms come in the stretches that the
// product has whose B is not.
func runPacked[T Number](e *engine, p *Product[T]) {
	q := *p
	if q.Packed = nil; q.Stretch == 0 {
		plain := q
		if turns(e, p) {
			plain = q.turned()
		}
		j := job[T]{e: e, p: plain}
		j.choose()
		q.Stretch = j.depth
	}
	q.Packed = p.Packed
	run(e, &q)
	runtime.KeepAlive(p.Packed)
}
