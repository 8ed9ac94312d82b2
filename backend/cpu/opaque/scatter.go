package opaque

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A scattering is a call that writes elements of src into a copy of x.
type scattering struct {
	out    ir.View   // contiguous: the copy of x
	x      *original // what is not copied yet
	index  []int64
	to     walk     // over out
	src    ir.View  // in out's dtype
	from   walk     // over src; its step is not used
	serial int      // rows of the index that may meet in out
	group  int      // elements of out that so many rows name in, if only they do; else 0
	dealt  *dealing // not nil: the index is in another order
}

// newScattering checks operands x, index and src, which are written to a copy of x in
// dtype.
func newScattering(c *ir.Call, dtype ir.DType) (*scattering, error) {
	x, shape := c.In[0], c.In[1].Shape
	axis, err := axisOf(c, 0, x.Shape)
	if err != nil {
		return nil, err
	}
	_, along, _ := around(x.Shape, axis)
	s := &scattering{out: tile.TargetOf(c.Out[0], dtype), index: in[int64](c, 1, ir.Int64), src: c.In[2], serial: 1}
	s.to = newWalk(s.out, shape, axis)
	if len(shape) > 0 && axis < len(shape)-1 {
		s.serial = ir.NumElements(shape[axis:]) / max(1, shape[len(shape)-1])
	}
	if !s.inside(along) {
		return nil, check(s.index, shape, 1, axis, along)
	}
	s.src = broadcastScalar(s.src, shape)
	if s.src.DType != dtype {
		s.src = tile.Dense(s.src, dtype)
	}
	s.from = newWalk(s.src, shape, 0)
	s.from.strides = s.src.Strides
	if len(shape) == 0 {
		s.from.strides = []int{0}
	}
	s.from.inner = s.from.strides[len(s.from.strides)-1]
	s.x = originalOf(s.out, x)
	s.keep(shape, axis)
	s.deal(along)
	return s, nil
}

// inside reports whether every element of the index names one of an axis of n. It shares
// them among processors as each does, who have them in their caches then; what one would look
// through alone, all do.
func (s *scattering) inside(n int) bool {
	if s.serial <= 1 && s.to.rows() < runtime.GOMAXPROCS(0) {
		return firstOutside(s.index, n) == len(s.index)
	}
	var outside atomic.Bool
	s.parts(func(row, rows, first, last int) {
		var b limits
		if last-first == s.to.row {
			b.add(s.index[row*s.to.row : (row+rows)*s.to.row])
		} else {
			for r := row; r < row+rows; r++ {
				b.add(s.index[r*s.to.row+first : r*s.to.row+last])
			}
		}
		if !b.below(n) {
			outside.Store(true)
		}
	})
	return !outside.Load()
}

// keep decides how x is copied: by those who write into the parts of the copy, where the index
// has its extents, else at once.
func (s *scattering) keep(shape []int, axis int) {
	if !s.x.pending {
		return
	}
	x := s.out.Shape
	same := len(shape) == len(x) && len(s.index) > 0
	for a := range shape {
		same = same && (a == axis || shape[a] == x[a])
	}
	if !same {
		s.x.rest(s.out.NumElements())
		return
	}
	s.group = max(1, s.out.NumElements()/(s.to.rows()/s.serial))
}

// broadcastScalar returns v as shape if it is a scalar.
func broadcastScalar(v ir.View, shape []int) ir.View {
	if len(v.Shape) == 0 {
		v.Shape, v.Strides = shape, make([]int, len(shape))
	}
	return v
}

// scatterSlices does a call whose index names whole slices by put, which is given a
// copy of x and src without what the index does not reach, both in dtype. It
// reports whether the index is such.
func scatterSlices(c *ir.Call, dtype ir.DType, put func(s *slicing, out, src ir.View)) (bool, error) {
	x, src := c.In[0], c.In[2]
	axis, err := axisOf(c, 0, x.Shape)
	if err != nil {
		return false, err
	}
	s, err := namedSlices(c, axis)
	if s == nil || err != nil {
		return false, err
	}
	if len(src.Shape) > 0 {
		src = part(src, nil, c.In[1].Shape)
	}
	d := tile.TargetOf(c.Out[0], dtype)
	s.x = originalOf(d, x)
	put(s, d, tile.Dense(src, dtype))
	tile.Finish(c.Out[0], d)
	return true, nil
}

var scatters = bySize[func(s *scattering)]{
	scatter[uint8], scatter[uint16], scatter[uint32], scatter[uint64], scatter[[2]uint64],
}

// Scatter writes the elements of src where index says along attribute dim, in
// row-major order, into a copy of x.
func Scatter(c *ir.Call) error {
	c = c.Raised()
	if done, err := scatterSlices(c, c.Out[0].DType, (*slicing).put); done || err != nil {
		return err
	}
	s, err := newScattering(c, c.Out[0].DType)
	if err != nil {
		return err
	}
	if len(s.index) > 0 {
		scatters.of(s.out.DType)(s)
	}
	s.dealt.put()
	tile.Finish(c.Out[0], s.out)
	return nil
}

// parts calls f for rows of the index, and of each of them columns [first, last). Elements that
// may meet are of one part: where rows may, those of one column do, and columns are shared among
// processors.
func (s *scattering) parts(f func(row, rows, first, last int)) {
	row := s.to.row
	if row == 0 {
		return
	}
	groups, bands, width := s.to.rows()/max(1, s.serial), 1, row
	if procs := runtime.GOMAXPROCS(0); s.serial > 1 && groups < procs { // no more than that: whole rows are read fastest
		bands = max(1, min(row/scatterBand, procs))
		width = (row + bands - 1) / bands
	}
	once := max(1, moveWork/max(1, width*s.serial))
	pool.For(groups*bands, once, func(lo, hi int) {
		for lo < hi {
			n := 1
			if bands == 1 {
				n = min(hi-lo, once)
			}
			if first := lo % bands * width; first < row {
				f(lo/bands*s.serial, n*s.serial, first, min(row, first+width))
			}
			lo += n
		}
	})
}

// each calls f for every row of the index, or pieces of it, with the element offsets that
// these start from in out and src. Elements that may meet stay in order.
func (s *scattering) each(f func(index []int64, to, from int)) {
	if s.dealt != nil {
		s.eachDealt(f)
		s.x.pending = false
		return
	}
	row := s.to.row
	s.parts(func(at, rows, first, last int) {
		if s.x.pending && last-first == row {
			s.x.copy(at/s.serial*s.group, rows/s.serial*s.group)
		} else if s.x.pending {
			s.x.rows(at/s.serial*s.group+first, s.group/row, last-first, row)
		}
		for r := at; r < at+rows; r++ {
			f(s.index[r*row+first:r*row+last], s.to.base(r)+first*s.to.inner, s.from.base(r)+first*s.from.inner)
		}
	})
	s.x.pending = false
}

// scatterBand is how many columns one processor takes at least: some cache lines of each row.
const scatterBand = 64

func scatter[T any](s *scattering) {
	size := int(unsafe.Sizeof(*new(T)))
	out, src := s.out.Ptr, s.src.Ptr
	step, inner, fromInner := s.to.step*size, s.to.inner*size, s.from.inner*size
	s.each(func(index []int64, to, from int) {
		if len(index) == 0 {
			return
		}
		out, src := unsafe.Add(out, to*size), unsafe.Add(src, from*size)
		switch {
		case fromInner == size && inner == 0 && step == size:
			putRow(out, unsafe.Slice((*T)(src), len(index)), index)
		case fromInner == size && inner == size:
			putColumns(out, unsafe.Slice((*T)(src), len(index)), index, step)
		default:
			for j, i := range index {
				*(*T)(unsafe.Add(out, j*inner+int(i)*step)) = *(*T)(unsafe.Add(src, j*fromInner))
			}
		}
	})
}

// putRow writes elements to those of one row that index names, in order.
func putRow[T any](out unsafe.Pointer, src []T, index []int64) {
	src = src[:len(index)]
	for j, i := range index {
		*(*T)(unsafe.Add(out, uintptr(i)*unsafe.Sizeof(*new(T)))) = src[j]
	}
}

// putColumns writes elements to the rows that index names, which are step bytes apart, each to
// its own column.
func putColumns[T any](out unsafe.Pointer, src []T, index []int64, step int) {
	src = src[:len(index)]
	for j, i := range index {
		*(*T)(unsafe.Add(out, uintptr(j)*unsafe.Sizeof(*new(T))+uintptr(int(i)*step))) = src[j]
	}
}

func scatterAdd[T number](s *scattering) {
	size := int(unsafe.Sizeof(*new(T)))
	out, src := s.out.Ptr, s.src.Ptr
	step, inner, fromInner := s.to.step*size, s.to.inner*size, s.from.inner*size
	s.each(func(index []int64, to, from int) {
		out, src := unsafe.Add(out, to*size), unsafe.Add(src, from*size)
		if inner == 0 && fromInner == size && len(index) > 0 {
			addRow(out, unsafe.Slice((*T)(src), len(index)), index, step)
			return
		}
		for j, i := range index {
			*(*T)(unsafe.Add(out, j*inner+int(i)*step)) += *(*T)(unsafe.Add(src, j*fromInner))
		}
	})
}

// addRow adds elements to those of one row, which are step bytes apart, in order.
func addRow[T number](out unsafe.Pointer, src []T, index []int64, step int) {
	src = src[:len(index)]
	for j, i := range index {
		*(*T)(unsafe.Add(out, int(i)*step)) += src[j]
	}
}

var scatterAdds = table[func(s *scattering)]{
	ir.Uint8: scatterAdd[uint8], ir.Int8: scatterAdd[int8], ir.Int16: scatterAdd[int16], ir.Int32: scatterAdd[int32], ir.Int64: scatterAdd[int64],
	ir.Float32: scatterAdd[float32], ir.Float64: scatterAdd[float64], ir.Complex64: scatterAdd[complex64], ir.Complex128: scatterAdd[complex128],
}

// sumsIn returns the dtype that sums of a compute dtype are kept in: those of bools
// are numbers until they are stored, where all but 0 is true.
func sumsIn(compute ir.DType) ir.DType {
	if compute == ir.Bool {
		return ir.Int64
	}
	return compute
}

// ScatterAdd adds the elements of src where index says along attribute dim, in
// row-major order, to a copy of x.
func ScatterAdd(c *ir.Call) error {
	c = c.Raised()
	acc := sumsIn(c.Compute)
	f, err := scatterAdds.of(acc)
	if err != nil {
		return err
	}
	sum, err := sliceAdds.of(acc)
	if err != nil {
		return err
	}
	if len(c.In[2].Shape) > 0 {
		done, err := scatterSlices(c, acc, func(s *slicing, out, src ir.View) { s.add(out, src, sum) })
		if done || err != nil {
			return err
		}
	}
	s, err := newScattering(c, acc)
	if err != nil {
		return err
	}
	if len(s.index) > 0 {
		f(s)
	}
	s.dealt.put()
	tile.Finish(c.Out[0], s.out)
	return nil
}
