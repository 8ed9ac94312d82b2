package opaque

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A scattering is a call that writes elements of src into a copy of x.
type scattering struct {
	out    ir.View // contiguous copy of x
	index  []int64
	to     walk    // over out
	src    ir.View // in out's dtype
	from   walk    // over src; its step is not used
	serial int     // rows of the index that may meet in out
}

// newScattering checks operands x, index and src and makes the copy of x in
// dtype. It returns nil where there is nothing to write or an error.
func newScattering(c *ir.Call, dtype ir.DType) (*scattering, error) {
	x := c.In[0]
	axis, err := axisOf(c, 0, x.Shape)
	if err != nil {
		return nil, err
	}
	_, along, _ := around(x.Shape, axis)
	index, err := indices(c, 1, axis, along)
	if err != nil {
		return nil, err
	}
	s := &scattering{out: tile.TargetOf(c.Out[0], dtype), index: index, src: c.In[2]}
	tile.Copy(s.out, x)
	shape := c.In[1].Shape
	s.to = newWalk(s.out, shape, axis)
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
	s.serial = 1
	if len(shape) > 0 {
		s.serial = ir.NumElements(shape[axis:]) / max(1, shape[len(shape)-1])
	}
	if axis == len(shape)-1 {
		s.serial = 1
	}
	return s, nil
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
	tile.Copy(d, x)
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
	tile.Finish(c.Out[0], s.out)
	return nil
}

// each calls f for every row of the index, or pieces of it, with the element offsets that
// these start from in out and src. Elements that may meet stay in order: where rows may,
// those of one column do, and columns are shared among processors.
func (s *scattering) each(f func(index []int64, to, from int)) {
	row := s.to.row
	groups, bands, width := s.to.rows()/max(1, s.serial), 1, row
	if procs := runtime.GOMAXPROCS(0); s.serial > 1 && groups < procs { // no more than that: whole rows are read fastest
		bands = max(1, min(row/scatterBand, procs))
		width = (row + bands - 1) / bands
	}
	pool.For(groups*bands, max(1, moveWork/max(1, width*s.serial)), func(lo, hi int) {
		for unit := lo; unit < hi; unit++ {
			first := unit % bands * width
			last := min(row, first+width)
			for r := unit / bands * s.serial; first < last && r < (unit/bands+1)*s.serial; r++ {
				f(s.index[r*row+first:r*row+last], s.to.base(r)+first*s.to.inner, s.from.base(r)+first*s.from.inner)
			}
		}
	})
}

// scatterBand is how many columns one processor takes at least: some cache lines of each row.
const scatterBand = 64

func scatter[T any](s *scattering) {
	size := int(unsafe.Sizeof(*new(T)))
	out, src := s.out.Ptr, s.src.Ptr
	step, inner, fromInner := s.to.step*size, s.to.inner*size, s.from.inner*size
	s.each(func(index []int64, to, from int) {
		out, src := unsafe.Add(out, to*size), unsafe.Add(src, from*size)
		for j, i := range index {
			*(*T)(unsafe.Add(out, j*inner+int(i)*step)) = *(*T)(unsafe.Add(src, j*fromInner))
		}
	})
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
	tile.Finish(c.Out[0], s.out)
	return nil
}
