package opaque

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A slicing is the slices of a tensor along one axis that an index names. The tensor's
// axes before that one have outer elements, those after it inner.
type slicing struct {
	outer, along, inner int
	index               []int64   // checked
	x                   *original // what is copied before slices are changed
}

// slicesOf returns the slices along attribute dim that operand 1, of one axis or
// none, names in x.
func slicesOf(c *ir.Call) (*slicing, error) {
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil {
		return nil, err
	}
	s := &slicing{}
	s.outer, s.along, s.inner = around(c.In[0].Shape, axis)
	s.index, err = indices(c, 1, axis, s.along)
	return s, err
}

// leastSlice is the bytes of a slice, at least, for which an index of elements is
// treated as one of slices.
const leastSlice = 32

// namedSlices returns the slices that operand 1, an index with the axes of x,
// names: it does where one list along axis is expanded over x's other axes. The
// result is nil where that is not so.
func namedSlices(c *ir.Call, axis int) (*slicing, error) {
	x, index := c.In[0], c.In[1]
	if len(index.Shape) == 0 {
		return nil, nil
	}
	for a, n := range index.Shape {
		if a != axis && (n != x.Shape[a] || n > 1 && index.Strides[a] != 0) {
			return nil, nil
		}
	}
	s := &slicing{}
	s.outer, s.along, s.inner = around(x.Shape, axis)
	if s.outer == 0 || s.inner*x.DType.Size() < leastSlice {
		return nil, nil
	}
	list := ir.View{Ptr: index.Ptr, DType: index.DType, Shape: index.Shape[axis : axis+1], Strides: index.Strides[axis : axis+1]}
	s.index = tile.Elements[int64](tile.Dense(list, ir.Int64))
	return s, check(s.index, index.Shape, s.inner, axis, s.along)
}

// take writes the slices of x to out.
func (s *slicing) take(out, x ir.View) {
	if out.NumElements() == 0 {
		return
	}
	from, d := tile.Dense(x, x.DType), tile.TargetOf(out, x.DType)
	size, n := s.inner*x.DType.Size(), len(s.index)
	if runs := s.runs(size); runs != nil {
		pool.For(s.outer, max(1, moveWork/(s.inner*n)), func(lo, hi int) {
			for o := lo; o < hi; o += runsTogether {
				to, row := unsafe.Add(d.Ptr, o*n*size), unsafe.Add(from.Ptr, o*s.along*size)
				for _, r := range runs {
					takeRun(min(runsTogether, hi-o), unsafe.Add(to, r.at*size), unsafe.Add(row, r.from*size), r.n*size, n*size, s.along*size)
				}
			}
		})
		tile.Finish(out, d)
		return
	}
	pool.For(s.outer*n, max(1, moveWork/s.inner), func(lo, hi int) {
		for lo < hi {
			list := s.index[lo%n : min(n, lo%n+hi-lo)]
			takeRows(unsafe.Add(d.Ptr, lo*size), unsafe.Add(from.Ptr, lo/n*s.along*size), list, size)
			lo += len(list)
		}
	})
	tile.Finish(out, d)
}

// runsTogether is how many outer elements are copied run by run, which the first cache holds.
const runsTogether = 32

// takeRun copies a run of bytes of outer elements, which begin toStep and step bytes apart.
func takeRun(outer int, to, from unsafe.Pointer, bytes, toStep, step int) {
	switch bytes {
	case 4:
		takeOne[uint32](outer, to, from, toStep, step)
	case 8:
		takeOne[uint64](outer, to, from, toStep, step)
	default:
		move.CopyRows(simd.Active(), to, from, outer, bytes, toStep, step)
	}
}

func takeOne[T any](outer int, to, from unsafe.Pointer, toStep, step int) {
	for o := range outer {
		*(*T)(unsafe.Add(to, o*toStep)) = *(*T)(unsafe.Add(from, o*step))
	}
}

// A run is n slices in a row, the first at place at of the index.
type run struct{ at, from, n int }

// What makes runs worth more than slices: slices that are short, and many in a run.
const (
	mostOfRun  = 64 // bytes of a slice
	leastOfRun = 8  // slices, on average
	leastOuter = 16 // outer elements, which are all that is shared between processors
)

// runs returns the index as runs of neighbours, as that of padding is made of; nil where
// slices of size bytes are better taken one by one.
func (s *slicing) runs(size int) []run {
	n := len(s.index)
	if size > mostOfRun || s.outer < leastOuter || n < leastOfRun {
		return nil
	}
	list := make([]run, 0, n/leastOfRun)
	for k, i := range s.index {
		if k > 0 && i == s.index[k-1]+1 {
			list[len(list)-1].n++
			continue
		}
		if len(list) == cap(list) {
			return nil
		}
		list = append(list, run{k, int(i), 1})
	}
	return list
}

// takeRows copies the rows of size bytes at src that index names to dst. Short rows
// are copied as two numbers, which overlap where the size is no power of two.
func takeRows(dst, src unsafe.Pointer, index []int64, size int) {
	switch {
	case size == 1 || size == 2 || size == 4 || size == 8 || size == 16:
		move.Take(simd.Active(), size, dst, src, index)
	case size < 4 || size >= 32:
		move.TakeRows(simd.Active(), dst, src, index, size)
	case size < 8:
		takeShort[uint32](dst, src, index, size)
	case size < 16:
		takeShort[uint64](dst, src, index, size)
	default:
		takeShort[[2]uint64](dst, src, index, size)
	}
}

// takeShort is takeRows for rows of more than a T and at most two.
func takeShort[T any](dst, src unsafe.Pointer, index []int64, size int) {
	last := size - int(unsafe.Sizeof(*new(T)))
	for k, i := range index {
		to, from := unsafe.Add(dst, k*size), unsafe.Add(src, int(i)*size)
		*(*T)(to) = *(*T)(from)
		*(*T)(unsafe.Add(to, last)) = *(*T)(unsafe.Add(from, last))
	}
}

// put writes the slices of src, which are as many as are named, to out: one
// element all over where src has no axes.
func (s *slicing) put(out, src ir.View) {
	size, n := out.DType.Size(), len(s.index)
	repeated := move.Fill(simd.Active(), size)
	write := func(o, k, lo, hi int) {
		to := unsafe.Add(out.Ptr, ((o*s.along+int(s.index[k]))*s.inner+lo)*size)
		if len(src.Shape) == 0 {
			repeated(to, src.Ptr, hi-lo)
			return
		}
		move.Copy(simd.Active(), to, unsafe.Add(src.Ptr, ((o*n+k)*s.inner+lo)*size), (hi-lo)*size)
	}
	if s.x.pending {
		s.eachOnce(func(o, k int) { write(o, k, 0, s.inner) })
		return
	}
	s.each(write)
}

// leastAdded returns the bytes of a slice, at least, that is worth a call of its own, out of
// order: narrower ones are added sooner by one processor.
func leastAdded() int {
	if runtime.GOMAXPROCS(0) < leastProcs {
		return 1024
	}
	return 256
}

// add adds the slices of src, which are as many as are named, to those of out, by
// the sums of its dtype.
func (s *slicing) add(out, src ir.View, sum addRows) {
	size, n := out.DType.Size(), len(s.index)
	one := []int64{0}
	addOne := func(to, from unsafe.Pointer, m int) {
		if !move.AddRows(simd.Active(), out.DType, to, from, one, m*size) {
			sum(to, from, one, 1, m, 0, m)
		}
	}
	runs := s.runs(s.inner * size)
	if runs == nil && s.addDealt(out, src, sum) {
		return
	}
	if runs == nil && s.inner*size >= leastAdded() && s.byPlaces() {
		s.eachPlace(func(o, k, lo, hi int) {
			at, row := (o*s.along+int(s.index[k]))*s.inner+lo, (o*n+k)*s.inner+lo
			addOne(unsafe.Add(out.Ptr, at*size), unsafe.Add(src.Ptr, row*size), hi-lo)
		})
		return
	}
	s.eachPart(func(o, lo, hi int) {
		to, from := unsafe.Add(out.Ptr, o*s.along*s.inner*size), unsafe.Add(src.Ptr, o*n*s.inner*size)
		for _, r := range runs { // as one long slice each
			addOne(unsafe.Add(to, r.from*s.inner*size), unsafe.Add(from, r.at*s.inner*size), r.n*s.inner)
		}
		if runs != nil {
			return
		}
		if s.inner == 1 || hi-lo < s.inner || !move.AddRows(simd.Active(), out.DType, to, from, s.index, s.inner*size) {
			sum(to, from, s.index, s.along, s.inner, lo, hi)
		}
	})
}

// fold folds the slices of src, which are as many as are named, into those of out, row by
// row.
func (s *slicing) fold(out, src ir.View, rows func(n int, acc, x unsafe.Pointer, _ []ir.Scalar)) {
	if len(src.Shape) == 0 {
		src = tile.Dense(broadcastScalar(src, []int{s.outer, len(s.index), s.inner}), src.DType)
	}
	size, n := out.DType.Size(), len(s.index)
	s.each(func(o, k, lo, hi int) {
		rows(hi-lo, unsafe.Add(out.Ptr, ((o*s.along+int(s.index[k]))*s.inner+lo)*size), unsafe.Add(src.Ptr, ((o*n+k)*s.inner+lo)*size), nil)
	})
}

type addRows func(out, src unsafe.Pointer, index []int64, along, inner, lo, hi int)

// addSlices adds elements [lo, hi) of each slice of src to out's.
func addSlices[T number](out, src unsafe.Pointer, index []int64, along, inner, lo, hi int) {
	dst, from := unsafe.Slice((*T)(out), along*inner), unsafe.Slice((*T)(src), len(index)*inner)
	if inner == 1 {
		for k, v := range from {
			dst[index[k]] += v
		}
		return
	}
	for k, i := range index {
		to := dst[int(i)*inner+lo : int(i)*inner+hi]
		for j, v := range from[k*inner+lo : k*inner+hi] {
			to[j] += v
		}
	}
}

var sliceAdds = table[addRows]{
	ir.Uint8: addSlices[uint8], ir.Int8: addSlices[int8], ir.Int16: addSlices[int16], ir.Int32: addSlices[int32], ir.Int64: addSlices[int64],
	ir.Float32: addSlices[float32], ir.Float64: addSlices[float64], ir.Complex64: addSlices[complex64], ir.Complex128: addSlices[complex128],
}

// IndexSelect takes the slices of x along attribute dim that index names.
func IndexSelect(c *ir.Call) error {
	s, err := slicesOf(c)
	if err != nil {
		return err
	}
	s.take(c.Out[0], c.In[0])
	return nil
}

// IndexAdd adds the slices of src along attribute dim to those slices of a copy
// of x that index names.
func IndexAdd(c *ir.Call) error {
	acc := sumsIn(c.Compute)
	sum, err := sliceAdds.of(acc)
	if err != nil {
		return err
	}
	s, err := slicesOf(c)
	if err != nil {
		return err
	}
	d, src := tile.TargetOf(c.Out[0], acc), tile.Dense(c.In[2], acc)
	s.x = originalOf(d, c.In[0])
	s.add(d, src, sum)
	tile.Finish(c.Out[0], d)
	return nil
}
