package opaque

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// moveWork is how many elements moved one at a time are worth another processor.
const moveWork = 8 * 1024

// indices returns operand i, an index into an axis of n elements, after checking
// every element of it.
func indices(c *ir.Call, i, axis, n int) ([]int64, error) {
	index := in[int64](c, i, ir.Int64)
	return index, check(index, c.In[i].Shape, 1, axis, n)
}

// check returns an error where an element of index, which may be every so many of
// an index of a shape, names no element of an axis of n elements.
func check(index []int64, shape []int, every, axis, n int) error {
	first := firstOutside(index, n)
	if first == len(index) {
		return nil
	}
	return fmt.Errorf("index %d at position %v is out of range for axis %d with %d elements (%s)",
		index[first], coordinates(shape, first*every), axis, n, ir.WantBelow(n))
}

// checkWork is how many elements of an index are worth another processor.
const checkWork = 64 * 1024

// firstOutside returns where the first element of index is that is not from 0 to below n,
// or index's length.
func firstOutside(index []int64, n int) int {
	var least atomic.Int64
	least.Store(int64(len(index)))
	pool.For(len(index), checkWork, func(lo, hi int) {
		var b limits
		if b.add(index[lo:hi]); b.below(n) {
			return
		}
		for k, v := range index[lo:hi] {
			if uint64(v) < uint64(n) { // and not negative
				continue
			}
			at := int64(lo + k)
			for now := least.Load(); at < now && !least.CompareAndSwap(now, at); now = least.Load() {
			}
			return
		}
	})
	return int(least.Load())
}

// limits are the least and the greatest element of an index, and 0.
type limits struct{ least, most int64 }

// below reports whether all that was added is from 0 to below n.
func (b *limits) below(n int) bool { return b.least >= 0 && b.most < int64(n) }

// add adds elements. It reads them twice, some at a time.
func (b *limits) add(index []int64) {
	if len(index) < leastVectors {
		for _, v := range index {
			b.least, b.most = min(b.least, v), max(b.most, v)
		}
		return
	}
	found := *b // what vector code is given is in the heap
	for len(index) > 0 {
		n := min(len(index), 1024)
		at := unsafe.Pointer(&index[0])
		leastOf64(n, unsafe.Pointer(&found.least), at, nil)
		mostOf64(n, unsafe.Pointer(&found.most), at, nil)
		index = index[n:]
	}
	*b = found
}

// leastVectors is how many elements are worth vectors.
const leastVectors = 32

// leastOf64 and mostOf64 take elements into the least or the greatest of them.
var (
	leastOf64 = fold.Loops(fold.Min, ir.Int64, ir.Int64, nil).Fold
	mostOf64  = fold.Loops(fold.Max, ir.Int64, ir.Int64, nil).Fold
)

// coordinates returns the place of row-major position i.
func coordinates(shape []int, i int) []int {
	at := make([]int, len(shape))
	for a := len(shape) - 1; a >= 0; a-- {
		at[a] = i % shape[a]
		i /= shape[a]
	}
	return at
}

// A walk visits the elements an index of some shape names in a tensor: those at
// the index's own coordinates except along one axis, where its value decides.
type walk struct {
	shape   []int // of the index, at least one axis
	strides []int // of the tensor; 0 along the axis
	step    int   // the tensor's stride along the axis
	row     int   // last extent of shape
	inner   int   // last of strides
}

// newWalk returns the walk over v by an index of the given shape.
func newWalk(v ir.View, shape []int, axis int) walk {
	if len(shape) == 0 {
		return walk{shape: []int{1}, strides: []int{0}, step: 1, row: 1}
	}
	w := walk{shape: shape, strides: make([]int, len(shape)), step: v.Strides[axis], row: shape[len(shape)-1]}
	copy(w.strides, v.Strides)
	w.strides[axis] = 0
	w.inner = w.strides[len(shape)-1]
	return w
}

// rows returns the number of rows of the index.
func (w *walk) rows() int { return ir.NumElements(w.shape[:len(w.shape)-1]) }

// base returns the element offset that row r of the index starts from.
func (w *walk) base(r int) int {
	off := 0
	for a := len(w.shape) - 2; a >= 0; a-- {
		off += r % w.shape[a] * w.strides[a]
		r /= w.shape[a]
	}
	return off
}

var gathers = bySize[func(out, x unsafe.Pointer, w *walk, index []int64)]{
	gather[uint8], gather[uint16], gather[uint32], gather[uint64], gather[[2]uint64],
}

// Gather takes the elements of x that index names along attribute dim.
func Gather(c *ir.Call) error {
	c = c.Raised()
	x, out := c.In[0], c.Out[0]
	axis, err := axisOf(c, 0, x.Shape)
	if err != nil {
		return err
	}
	if s, err := namedSlices(c, axis); s != nil || err != nil {
		s.take(out, x)
		return err
	}
	_, along, _ := around(x.Shape, axis)
	index, err := indices(c, 1, axis, along)
	if err != nil || len(index) == 0 {
		return err
	}
	d := tile.TargetOf(out, x.DType)
	w := newWalk(x, c.In[1].Shape, axis)
	gathers.of(x.DType)(d.Ptr, x.Ptr, &w, index)
	tile.Finish(out, d)
	return nil
}

func gather[T any](out, x unsafe.Pointer, w *walk, index []int64) {
	size := int(unsafe.Sizeof(*new(T)))
	dst := unsafe.Slice((*T)(out), len(index))
	row, step, inner := w.row, w.step*size, w.inner*size
	pool.For(w.rows(), max(1, moveWork/row), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			from := unsafe.Add(x, w.base(r)*size)
			to, at := dst[r*row:(r+1)*row], index[r*row:(r+1)*row]
			if inner == 0 && step == size {
				move.Take(simd.Active(), size, unsafe.Pointer(&to[0]), from, at)
				continue
			}
			for j, i := range at {
				to[j] = *(*T)(unsafe.Add(from, j*inner+int(i)*step))
			}
		}
	})
}
