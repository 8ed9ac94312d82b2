// Package conv lays out convolutions for the functions that compute them, images
// with their padding in frames, where neighbouring windows read neighbouring
// elements whatever the stride, and sums up products where the frames lie. It knows
// nothing of tensors' operators.
package conv

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/ir"
)

// slack is how many bytes behind a frame may be read and written: a vector that
// ends with the last element starts in it.
const slack = 64

// A Frame is where one channel of an image lies with zeros around it, as far as
// windows reach. Along the last axis elements a stride apart lie side by side: the
// first phase has those that the first place of every window reads, the next those
// one further, and so on.
type Frame struct {
	In     []int    // extents of the image
	Lead   []int    // padding in front of each axis; negative where the image is cut off
	Stride []int    // between windows, along each axis
	Extent []int    // of the frame, before the last axis is put in phases
	Pitch  []int    // elements from one place to the next along each axis but the last
	Phase  []int    // where each phase of the last axis starts in a row, in elements, up to the last that windows read; -1 where none does
	Size   int      // elements of a frame
	Elem   int      // bytes of an element
	Low    bool     // the padding is the lowest number instead of zero
	used   [][]bool // which remainders, when divided by the stride, places that are read have; none behind the end
	last   int
}

// low32 and low64 are the lowest numbers.
var (
	low32 = binary.NativeEndian.AppendUint32(nil, math.Float32bits(float32(math.Inf(-1))))
	low64 = binary.NativeEndian.AppendUint64(nil, math.Float64bits(math.Inf(-1)))
)

// Stride returns the stride that windows along an axis are treated as having, of
// which the last place is reach behind the first: where there is but one window none
// matters, and that of windows side by side does.
func Stride(stride, out, reach int) int {
	if out == 1 {
		return min(stride, reach+1)
	}
	return stride
}

// NewFrame returns the frame of images with extents in, for windows whose kernel
// reads the given places along each axis, counted from its first one.
func NewFrame(in, lead, out, stride []int, places [][]int, elem int) *Frame {
	f := &Frame{In: in, Lead: lead, Stride: make([]int, len(in)), Elem: elem, last: len(in) - 1}
	f.Extent, f.Pitch = make([]int, len(in)), make([]int, len(in))
	f.used = make([][]bool, len(in))
	for a := range in {
		reach := 0
		for _, p := range places[a] {
			reach = max(reach, p)
		}
		s := Stride(stride[a], out[a], reach)
		for _, p := range places[a] {
			for len(f.used[a]) <= p%s {
				f.used[a] = append(f.used[a], false)
			}
			f.used[a][p%s] = true
		}
		f.Stride[a], f.Extent[a] = s, (out[a]-1)*s+reach+1
	}
	width := (f.Extent[f.last]-1)/f.Stride[f.last] + 1
	row := 0
	f.Phase = make([]int, len(f.used[f.last]))
	for q, used := range f.used[f.last] {
		f.Phase[q] = -1
		if used {
			f.Phase[q] = row
			row += width
		}
	}
	f.Pitch[f.last] = 1
	for a, size := f.last-1, row; a >= 0; a-- {
		f.Pitch[a] = size
		size *= f.Extent[a]
		row = size
	}
	f.Size = (row + (slack+elem-1)/elem + 15) &^ 15
	return f
}

// Offset returns where the element at a place along each axis lies in a frame, for
// the first window.
func (f *Frame) Offset(place []int) int {
	s := f.Stride[f.last]
	at := f.Phase[place[f.last]%s] + place[f.last]/s
	for a, p := range place[:f.last] {
		at += p * f.Pitch[a]
	}
	return at
}

// Step returns how far windows that are neighbours along an axis are apart, in
// elements of a frame.
func (f *Frame) Step(axis int) int {
	if axis == f.last {
		return 1
	}
	return f.Stride[axis] * f.Pitch[axis]
}

// Rows returns where each row of windows along the last axis starts, in bytes.
func (f *Frame) Rows(out []int) []int {
	starts := []int{0}
	for a, n := range out[:f.last] {
		var next []int
		for _, s := range starts {
			for i := range n {
				next = append(next, s+i*f.Step(a)*f.Elem)
			}
		}
		starts = next
	}
	return starts
}

// A Source is how images lie that frames are filled from.
type Source struct {
	DType   ir.DType // of the image
	Want    ir.DType // of the frame
	Strides []int    // of the spatial axes, in elements
}

// Fill puts planes of images at src, which are distance elements apart, into frames at
// dst, one after the other, which start at a multiple of the vectors' size.
func (f *Frame) Fill(dst, src unsafe.Pointer, s *Source, planes, distance int) {
	size, most := f.Size*f.Elem, 1
	if f.last == 1 && !f.Low && f.plain(s) {
		most = max(1, nearBytes/(f.Size*f.Elem))
	}
	for ; planes > 0; planes -= most {
		n := min(most, planes)
		f.clear(unsafe.Slice((*byte)(dst), n*size))
		if most == 1 {
			f.fill(0, dst, src, s)
		} else if lo, hi := f.inside(0); lo < hi {
			f.rows(dst, src, s, lo, hi, n, distance)
		}
		if planes > n {
			dst, src = unsafe.Add(dst, n*size), unsafe.Add(src, n*distance*s.DType.Size())
		}
	}
}

// nearBytes is how many bytes of frames are filled at once: the first cache holds them.
const nearBytes = 16 * 1024

// clear sets frames to what padding counts as, where there is any.
func (f *Frame) clear(frames []byte) {
	switch {
	case f.covered():
	case !f.Low:
		clear(frames)
	default:
		low := low32
		if f.Elem == 8 {
			low = low64
		}
		for n := copy(frames, low); n < len(frames); n *= 2 {
			copy(frames[n:], frames[:n])
		}
	}
}

// covered reports whether windows read nothing but the image.
func (f *Frame) covered() bool {
	for a := range f.In {
		if lo, hi := f.inside(a); lo > 0 || hi < f.Extent[a] {
			return false
		}
	}
	return true
}

// inside returns which places of an axis the image covers.
func (f *Frame) inside(axis int) (lo, hi int) {
	lo = max(f.Lead[axis], 0)
	return lo, max(lo, min(f.Extent[axis], f.Lead[axis]+f.In[axis]))
}

// fillBytes is how many bytes a call copies at most: vector code cannot be
// preempted.
const fillBytes = 256 * 1024

func (f *Frame) fill(axis int, dst, src unsafe.Pointer, s *Source) {
	lo, hi := f.inside(axis)
	if lo == hi {
		return
	}
	if axis == f.last {
		f.row(dst, src, s, lo, hi)
		return
	}
	size, stride := s.DType.Size(), s.Strides[axis]
	if axis == f.last-1 && (f.paired(s) || f.plain(s)) {
		f.rows(dst, src, s, lo, hi, 1, 0)
		return
	}
	for t := lo; t < hi; t++ {
		if q := t % f.Stride[axis]; q < len(f.used[axis]) && f.used[axis][q] {
			f.fill(axis+1, unsafe.Add(dst, t*f.Pitch[axis]*f.Elem), unsafe.Add(src, (t-f.Lead[axis])*stride*size), s)
		}
	}
}

// rows fills places [lo, hi) of the last axis but one, many rows at once, of one plane
// or of several small ones.
func (f *Frame) rows(dst, src unsafe.Pointer, s *Source, lo, hi, planes, distance int) {
	axis := f.last - 1
	pitch, stride := f.Pitch[axis]*f.Elem, s.Strides[axis]*f.Elem
	step, t := 1, lo
	if only := f.only(axis); only >= 0 {
		step = f.Stride[axis]
		t += ((only-lo)%step + step) % step
	}
	first, end := f.inside(f.last)
	if first == end {
		return
	}
	paired, bytes := f.paired(s), (end-first)*f.Elem
	most := max(1, fillBytes/bytes)
	for n := (hi - t + step - 1) / step; n > 0; n -= most {
		to, from, rows := unsafe.Add(dst, t*pitch), unsafe.Add(src, (t-f.Lead[axis])*stride), min(n, most)
		t += most * step
		if paired {
			f.pairs(to, step*pitch, from, step*stride, rows)
			continue
		}
		to, from = unsafe.Add(to, first*f.Elem), unsafe.Add(from, (first-f.Lead[f.last])*f.Elem)
		if f.Low { // nothing behind a row becomes zero
			copyRowsPortable(to, step*pitch, from, step*stride, rows, bytes)
		} else {
			copyPlanes(to, f.Size*f.Elem, step*pitch, from, distance*f.Elem, step*stride, planes, rows, bytes)
		}
	}
}

// only returns which remainder, when divided by the stride, places of an axis have
// that are read; -1 if there are several.
func (f *Frame) only(axis int) int {
	only := -1
	for q, used := range f.used[axis] {
		switch {
		case used && only >= 0:
			return -1
		case used:
			only = q
		}
	}
	return only
}

// plain reports whether rows are copied as they are.
func (f *Frame) plain(s *Source) bool {
	return s.DType == s.Want && s.Strides[f.last] == 1 && f.Stride[f.last] == 1
}

// paired reports whether elements of rows are taken apart by vectors: rows with two
// phases, the first element of the image in one that is read.
func (f *Frame) paired(s *Source) bool {
	lead := f.Lead[f.last]
	lo, hi := f.inside(f.last)
	return s.DType == s.Want && s.Strides[f.last] == 1 && f.Stride[f.last] == 2 && lead >= 0 &&
		f.phase(lead%2) >= 0 && hi-lo == f.In[f.last] && splits(hi-lo, f.Elem)
}

// phase returns where a phase of the last axis starts, -1 where no window reads it.
func (f *Frame) phase(q int) int {
	if q < len(f.Phase) {
		return f.Phase[q]
	}
	return -1
}

// row fills places [lo, hi) of the last axis.
func (f *Frame) row(dst, src unsafe.Pointer, s *Source, lo, hi int) {
	step, stride := f.Stride[f.last], s.Strides[f.last]
	if f.paired(s) {
		f.pairs(dst, 0, src, 0, 1)
		return
	}
	load := convert.Between(s.Want, s.DType)
	for q, at := range f.Phase {
		first := max(0, (lo-q+step-1)/step)
		n := (hi - q - first*step + step - 1) / step
		if at < 0 || n <= 0 {
			continue
		}
		from := unsafe.Add(src, (q+first*step-f.Lead[f.last])*stride*s.DType.Size())
		load(n, unsafe.Add(dst, (at+first)*f.Elem), 1, from, step*stride)
	}
}

// pairs fills rows with two phases, to and from bytes apart.
func (f *Frame) pairs(dst unsafe.Pointer, to int, src unsafe.Pointer, from, rows int) {
	lead, n := f.Lead[f.last], f.In[f.last]
	first := f.Phase[lead%2] + lead/2
	next := first // of a phase that is not read
	if second := f.phase((lead + 1) % 2); second >= 0 {
		next = second + (lead+1)/2
	}
	split(f.Elem, unsafe.Add(dst, first*f.Elem), unsafe.Add(dst, next*f.Elem), to, src, from, rows, n&^1)
	if n%2 > 0 {
		for r := range rows {
			move(f.Elem, unsafe.Add(dst, r*to+(first+n/2)*f.Elem), unsafe.Add(src, r*from+(n-1)*f.Elem))
		}
	}
}

// copyRowsPortable copies rows of so many bytes.
func copyRowsPortable(dst unsafe.Pointer, to int, src unsafe.Pointer, from, rows, bytes int) {
	for r := range rows {
		copy(unsafe.Slice((*byte)(unsafe.Add(dst, r*to)), bytes), unsafe.Slice((*byte)(unsafe.Add(src, r*from)), bytes))
	}
}

// copyPlanesPortable copies planes of rows of so many bytes.
func copyPlanesPortable(dst unsafe.Pointer, toPlane, to int, src unsafe.Pointer, fromPlane, from, planes, rows, bytes int) {
	for p := range planes {
		copyRowsPortable(unsafe.Add(dst, p*toPlane), to, unsafe.Add(src, p*fromPlane), from, rows, bytes)
	}
}

// Interleave fills a row from rows that it has the elements of in turns: element i
// is the next one of rows[i%len(rows)]. The rows lie at addresses.
func Interleave[T Float](to []T, rows []unsafe.Pointer) {
	first, step, elem := 0, len(rows), int(unsafe.Sizeof(T(0)))
	if step == 1 {
		copy(to, unsafe.Slice((*T)(rows[0]), len(to)))
		return
	}
	if n := len(to) / 2; step == 2 && merges(n, elem) {
		merge(elem, unsafe.Pointer(&to[0]), rows[0], rows[1], n)
		first = n
	}
	for r, row := range rows {
		from := unsafe.Slice((*T)(row), (len(to)-r+step-1)/step)
		for i := first; i < len(from); i++ {
			to[i*step+r] = from[i]
		}
	}
}

// move copies an element.
func move(size int, to, from unsafe.Pointer) {
	if size == 8 {
		*(*uint64)(to) = *(*uint64)(from)
		return
	}
	*(*uint32)(to) = *(*uint32)(from)
}
