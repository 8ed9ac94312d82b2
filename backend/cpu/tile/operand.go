// Package tile gives kernels contiguous pieces of strided operands in the dtype
// they compute in. A piece is a run of row-major positions; where memory holds
// just that it is used in place, and elsewhere it is gathered into a buffer or
// scattered from one. The package knows nothing of operators.
package tile

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/ir"
)

// Size is how many elements a Buffer holds, of any dtype, and Bytes how many bytes.
const (
	Size  = 1024
	Bytes = Size * 16
)

// A Buffer is scratch for one operand of one goroutine. It remembers which
// element it was last filled with, so it must serve one Operand at a time:
// Reset it in between.
type Buffer struct {
	data   [Bytes]byte
	source unsafe.Pointer // the element that data repeats, or nil
	filled int            // how often
}

// Ptr returns the buffer's memory.
func (b *Buffer) Ptr() unsafe.Pointer { return unsafe.Pointer(&b.data) }

// Reset makes the buffer ready for another operand.
func (b *Buffer) Reset() { b.source, b.filled = nil, 0 }

// An Operand reads or writes the elements of one view in row-major order as a
// wanted dtype. It is not changed by use: goroutines may share it.
type Operand struct {
	ptr    unsafe.Pointer
	size   int // bytes of a stored element
	want   int // bytes of an element in the wanted dtype
	load   convert.Func
	store  convert.Func
	same   bool  // stored dtype is the wanted one
	shape  []int // coalesced, outermost first; at least one axis
	steps  []int // strides of shape
	inner  int   // last of shape
	step   int   // last of steps
	buffer []int // backs shape and steps between uses
}

// Of returns the operand for a view.
func Of(v ir.View, want ir.DType) Operand {
	var o Operand
	o.Init(v, want)
	return o
}

// Init makes o the operand for a view, reusing its memory.
func (o *Operand) Init(v ir.View, want ir.DType) {
	o.InitAxes(v.Ptr, v.DType, v.Shape, v.Strides, want)
}

// InitAxes is Init for some of a view's axes.
func (o *Operand) InitAxes(ptr unsafe.Pointer, dtype ir.DType, shape, strides []int, want ir.DType) {
	o.ptr = ptr
	o.size, o.want = dtype.Size(), want.Size()
	o.load, o.store = convert.Between(want, dtype), convert.Between(dtype, want)
	o.same = dtype == want
	if need := 2 * (len(shape) + 1); cap(o.buffer) < need {
		o.buffer = make([]int, need)
	}
	half := cap(o.buffer) / 2
	o.shape, o.steps = o.buffer[0:0:half], o.buffer[half:half]
	for i, d := range shape {
		if d == 1 {
			continue
		}
		last := len(o.shape) - 1
		if last >= 0 && o.steps[last] == strides[i]*d {
			o.shape[last] *= d
			o.steps[last] = strides[i]
			continue
		}
		o.shape, o.steps = append(o.shape, d), append(o.steps, strides[i])
	}
	if len(o.shape) == 0 {
		o.shape, o.steps = append(o.shape, 1), append(o.steps, 1)
	}
	o.inner, o.step = o.shape[len(o.shape)-1], o.steps[len(o.steps)-1]
}

// Clear drops the pointer to the view's memory.
func (o *Operand) Clear() { o.ptr = nil }

// Ptr returns the address of the first element.
func (o *Operand) Ptr() unsafe.Pointer { return o.ptr }

// At returns the address of the element at position i.
func (o *Operand) At(i int) unsafe.Pointer { return unsafe.Add(o.ptr, o.Offset(i)*o.size) }

// Size returns the bytes of a stored element.
func (o *Operand) Size() int { return o.size }

// Want returns the bytes of an element in the wanted dtype.
func (o *Operand) Want() int { return o.want }

// Row returns the length of the operand's rows: runs of positions, starting at
// multiples of it, whose elements have equal distances.
func (o *Operand) Row() int { return o.inner }

// Flat reports whether all elements have equal distances.
func (o *Operand) Flat() bool { return len(o.shape) == 1 }

// Constant reports whether all positions are the same element.
func (o *Operand) Constant() bool { return len(o.shape) == 1 && o.step == 0 }

// Direct reports whether a piece inside one row is used in place.
func (o *Operand) Direct() bool { return o.same && o.step == 1 }

// Contiguous reports whether every piece is used in place.
func (o *Operand) Contiguous() bool { return o.Direct() && o.Flat() }

// Period returns after how many positions the elements are the first ones again, 0 for never.
func (o *Operand) Period() int {
	if o.steps[0] != 0 {
		return 0
	}
	n := 1
	for _, d := range o.shape[1:] {
		n *= d
	}
	return n
}

// Offset returns the distance in elements of position i from the first.
func (o *Operand) Offset(i int) int {
	if len(o.shape) == 1 {
		return i * o.step
	}
	off := 0
	for a := len(o.shape) - 1; a > 0; a-- {
		q := i / o.shape[a]
		off += (i - q*o.shape[a]) * o.steps[a]
		i = q
	}
	return off + i*o.steps[0]
}

// Step returns the distance in elements of positions that follow one another in a row.
func (o *Operand) Step() int { return o.step }

// Rows returns how far in elements position lo is from the first, and how far apart rows rows of n
// positions are of which each begins step positions after the one before, the first at lo. It
// reports false where a row has elements of unequal distances, or rows have.
func (o *Operand) Rows(lo, n, rows, step int) (off, down int, ok bool) {
	off = o.Offset(lo)
	last, in := len(o.shape)-1, lo%o.inner
	switch {
	case last == 0, in+n+(rows-1)*step <= o.inner:
		return off, step * o.step, true
	case in+n > o.inner || rows > 1 && step%o.inner != 0:
		return 0, 0, false
	}
	row, each := lo/o.inner, step/o.inner
	if last > 1 && row%o.shape[last-1]+(rows-1)*each >= o.shape[last-1] {
		return 0, 0, false
	}
	return off, each * o.steps[last-1], true
}

// Load returns the elements at positions [lo, lo+n) in the wanted dtype, n at
// most Size: in place where it can, else in buf.
func (o *Operand) Load(lo, n int, buf *Buffer) unsafe.Pointer {
	return o.LoadFrom(o.ptr, lo, n, buf)
}

// LoadFrom is Load from the same layout at another address.
func (o *Operand) LoadFrom(base unsafe.Pointer, lo, n int, buf *Buffer) unsafe.Pointer {
	if p := o.inPlace(base, lo, n); p != nil {
		return p
	}
	if o.step == 0 && (len(o.shape) == 1 || lo%o.inner+n <= o.inner) {
		return o.repeat(unsafe.Add(base, o.Offset(lo)*o.size), n, buf)
	}
	buf.source = nil
	if len(o.shape) == 1 {
		o.load(n, buf.Ptr(), 1, unsafe.Add(base, lo*o.step*o.size), o.step)
	} else {
		o.Gather(base, lo, n, buf.Ptr())
	}
	return buf.Ptr()
}

// repeat returns n copies of one element.
func (o *Operand) repeat(from unsafe.Pointer, n int, buf *Buffer) unsafe.Pointer {
	if buf.source != from || buf.filled < n {
		o.load(n, buf.Ptr(), 1, from, 0)
		buf.source, buf.filled = from, n
	}
	return buf.Ptr()
}

// inPlace returns the address of positions [lo, lo+n) if they can be used where
// they are, else nil.
func (o *Operand) inPlace(base unsafe.Pointer, lo, n int) unsafe.Pointer {
	if !o.same || (o.step != 1 && n > 1) {
		return nil
	}
	if len(o.shape) > 1 && lo%o.inner+n > o.inner {
		return nil
	}
	return unsafe.Add(base, o.Offset(lo)*o.size)
}

// Target returns where to compute positions [lo, lo+n): in place where it can,
// else buf. Store must follow.
func (o *Operand) Target(lo, n int, buf *Buffer) unsafe.Pointer {
	return o.TargetAt(o.ptr, lo, n, buf)
}

// TargetAt is Target for the same layout at another address.
func (o *Operand) TargetAt(base unsafe.Pointer, lo, n int, buf *Buffer) unsafe.Pointer {
	if p := o.inPlace(base, lo, n); p != nil {
		return p
	}
	return buf.Ptr()
}

// Store takes what was computed at from, the result of Target, to positions
// [lo, lo+n).
func (o *Operand) Store(lo, n int, from unsafe.Pointer) { o.StoreAt(o.ptr, lo, n, from) }

// StoreAt is Store for the same layout at another address.
func (o *Operand) StoreAt(base unsafe.Pointer, lo, n int, from unsafe.Pointer) {
	switch {
	case o.inPlace(base, lo, n) != nil:
	case len(o.shape) == 1:
		o.store(n, unsafe.Add(base, lo*o.step*o.size), o.step, from, 1)
	default:
		o.Scatter(base, lo, n, from)
	}
}

// shortRow is the length in elements from which a row is worth a call. Columns of long rows
// are far apart: every element of one is in another cache line.
const shortRow = 16

// Gather converts the elements at positions [lo, lo+n) of the layout at base to
// dst. There is no bound on n.
func (o *Operand) Gather(base unsafe.Pointer, lo, n int, dst unsafe.Pointer) {
	o.walk(lo, n, func(at, rows, row, off, rowStep int) {
		to, src := unsafe.Add(dst, at*o.want), unsafe.Add(base, off*o.size)
		if row < min(rows, shortRow) { // few long columns rather than many short rows
			for j := range row {
				o.load(rows, unsafe.Add(to, j*o.want), row, unsafe.Add(src, j*o.step*o.size), rowStep)
			}
			return
		}
		for i := range rows {
			o.load(row, unsafe.Add(to, i*row*o.want), 1, unsafe.Add(src, i*rowStep*o.size), o.step)
		}
	})
}

// Scatter converts n elements at src to positions [lo, lo+n) of the layout at
// base. There is no bound on n.
func (o *Operand) Scatter(base unsafe.Pointer, lo, n int, src unsafe.Pointer) {
	o.walk(lo, n, func(at, rows, row, off, rowStep int) {
		from, to := unsafe.Add(src, at*o.want), unsafe.Add(base, off*o.size)
		if row < min(rows, shortRow) {
			for j := range row {
				o.store(rows, unsafe.Add(to, j*o.step*o.size), rowStep, unsafe.Add(from, j*o.want), row)
			}
			return
		}
		for i := range rows {
			o.store(row, unsafe.Add(to, i*rowStep*o.size), o.step, unsafe.Add(from, i*row*o.want), 1)
		}
	})
}

// walk covers positions [lo, lo+n) by blocks: rows rows of row elements each,
// the first at element offset off, rowStep apart. at is the block's first
// position less lo.
func (o *Operand) walk(lo, n int, block func(at, rows, row, off, rowStep int)) {
	if len(o.shape) == 1 {
		block(0, 1, n, lo*o.step, 0)
		return
	}
	outer := len(o.shape) - 2
	planeRows, rowStep := o.shape[outer], o.steps[outer]
	for at := 0; at < n; {
		i := lo + at
		q, r := i/o.inner, i%o.inner
		off := o.Offset(i)
		if r != 0 || n-at < o.inner { // part of a row
			m := min(o.inner-r, n-at)
			block(at, 1, m, off, 0)
			at += m
			continue
		}
		rows := min(planeRows-q%planeRows, (n-at)/o.inner)
		block(at, rows, o.inner, off, rowStep)
		at += rows * o.inner
	}
}
