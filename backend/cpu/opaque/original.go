package opaque

import (
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cache"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// An original is the operand that a kernel changes a copy of. Whoever changes a part of the
// result copies that part first, so that it is in a cache when it is changed.
type original struct {
	out, x  unsafe.Pointer
	size    int  // bytes of an element
	pending bool // nothing is copied yet; parts are asked for
	same    bool // x is one element, all over
}

// originalOf returns x as what out, contiguous, is a copy of. What is not copied part by part is
// copied now: other layouts and dtypes, and what is written past the caches.
func originalOf(out, x ir.View) *original {
	o := &original{out: out.Ptr, x: x.Ptr, size: out.DType.Size()}
	if x.DType == out.DType && x.Ptr != out.Ptr && 2*out.Bytes() < int64(lastCache()) {
		o.same = !slices.ContainsFunc(x.Strides, func(s int) bool { return s != 0 })
		o.pending = o.same || x.IsContiguous()
	}
	if !o.pending {
		tile.Copy(out, x)
	}
	return o
}

// lastCache is how many bytes both sides of a copy have that is not copied part by part.
var lastCache = cache.Last

// copy copies n elements from the given one on.
func (o *original) copy(at, n int) { o.rows(at, 1, n, n) }

// rows copies rows of n elements that are step apart, the first from the given element on.
func (o *original) rows(at, rows, n, step int) {
	if !o.pending || n == 0 {
		return
	}
	if n == step {
		rows, n = 1, rows*n
	}
	level, to := simd.Active(), unsafe.Add(o.out, at*o.size)
	if !o.same {
		move.CopyRows(level, to, unsafe.Add(o.x, at*o.size), rows, n*o.size, step*o.size, step*o.size)
		return
	}
	fill := move.Fill(level, o.size)
	for r := range rows {
		fill(unsafe.Add(to, r*step*o.size), o.x, n)
	}
}

// rest copies all of x, of n elements, that is not copied yet.
func (o *original) rest(n int) {
	if o.pending {
		pool.For(n, max(1, originalPiece/o.size), func(lo, hi int) { o.copy(lo, hi-lo) })
	}
	o.pending = false
}

// originalPiece is the bytes that one processor copies at a time.
const originalPiece = 256 << 10
