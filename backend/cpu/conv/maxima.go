package conv

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Maxima finds the largest elements of the windows over frames whose padding is the
// lowest number, and where these lie in the image.
type Maxima struct {
	elem    int
	windows int
	pieces  []int // three numbers for each vector: where it comes from and where it goes, in bytes, and its index
	offsets []int // of places, in bytes
	places  []int // of these in the image
	steps   [8]int
}

// NewMaxima returns nil if the level has no vectors for this: where numbers of places
// have more than 31 bits, too. places are those of the kernel along each axis.
func NewMaxima(f *Frame, out []int, places [][]int, level simd.Level) *Maxima {
	image, reach := 1, 0
	pitch := make([]int, len(f.In))
	for a := len(f.In) - 1; a >= 0; a-- {
		pitch[a] = image
		reach += f.Extent[a] * image
		image *= f.In[a]
	}
	if level == simd.Portable || reach > math.MaxInt32 {
		return nil
	}
	m := &Maxima{elem: f.Elem, windows: 1}
	for _, n := range out {
		m.windows *= n
	}
	for i := range m.steps {
		m.steps[i] = i * f.Stride[f.last]
	}
	width, lanes := out[f.last], 32/f.Elem
	for r, from := range f.Rows(out) {
		w, index, rest := r*width, 0, r*width
		for a := f.last; a >= 0; a-- {
			index += (rest%out[a]*f.Stride[a] - f.Lead[a]) * pitch[a]
			rest /= out[a]
		}
		for x := 0; x < width; x += lanes {
			m.pieces = append(m.pieces, from+x*f.Elem, (w+x)*f.Elem, index+x*f.Stride[f.last])
		}
	}
	place := make([]int, len(f.In))
	m.each(f, places, place, pitch, 0)
	return m
}

// each adds the places of the kernel from an axis on, in row-major order.
func (m *Maxima) each(f *Frame, places [][]int, place, pitch []int, axis int) {
	if axis == len(place) {
		index := 0
		for a, p := range place {
			index += p * pitch[a]
		}
		m.offsets, m.places = append(m.offsets, f.Offset(place)*f.Elem), append(m.places, index)
		return
	}
	for _, place[axis] = range places[axis] {
		m.each(f, places, place, pitch, axis+1)
	}
}

// Run sets values, and as int64 indices, of the windows over the frame at data. It
// reports whether a value is the lowest number: its index may be that of padding.
func (m *Maxima) Run(values, indices, data unsafe.Pointer) (lowest bool) {
	n, size := len(m.pieces)/3, m.windows*m.elem
	whole := n // vectors that end inside of the result
	for whole > 0 && m.pieces[3*whole-2]+32 > size {
		whole--
	}
	whole &^= 1
	const most = 64 // of a call: vector code cannot be preempted
	for at := 0; at < whole; at += most {
		lowest = maxima(m, values, indices, data, m.pieces[3*at:], min(most, whole-at)) || lowest
	}
	for at := whole; at < n; at += 2 {
		var ends [64]byte
		var places [16]int
		var table [6]int
		copy(table[:3], m.pieces[3*at:])
		copy(table[3:], m.pieces[3*min(at+1, n-1):])
		table[1], table[4] = 0, 32
		lowest = maxima(m, unsafe.Pointer(&ends), unsafe.Pointer(&places), data, table[:], 2) || lowest
		for i := range min(2, n-at) {
			to := m.pieces[3*(at+i)+1]
			bytes, lanes := min(32, size-to), 32/m.elem
			copy(unsafe.Slice((*byte)(unsafe.Add(values, to)), bytes), ends[32*i:])
			copy(unsafe.Slice((*int)(unsafe.Add(indices, to/m.elem*8)), bytes/m.elem), places[lanes*i:])
		}
	}
	return lowest
}

// Quads finds the largest elements of windows of two by two, or of two in lines, that lie
// side by side in planes of floating-point numbers, and their numbers in the plane. A line
// is a plane whose rows are the same one, width 0 apart: the first of equal ones counts.
type Quads struct{ rows, n, width, size, elem int }

// NewQuads returns nil where windows are others or reach out of the plane, a plane has
// more elements than an int32 counts or two of its rows more than a call may read, or
// the level has no vectors for them.
func NewQuads(in, out, kernel, stride, padding, dilation []int, elem int, level simd.Level) *Quads {
	if len(in) > 2 || level == simd.Portable {
		return nil
	}
	for a := range in {
		if kernel[a] != 2 || stride[a] != 2 || padding[a] != 0 || dilation[a] != 1 || 2*out[a] > in[a] {
			return nil
		}
	}
	q := &Quads{1, out[0], 0, in[0], elem}
	if len(in) == 2 {
		q = &Quads{out[0], out[1], in[1], in[0] * in[1], elem}
	}
	if q.rows*q.n == 0 || q.size > math.MaxInt32 || 2*q.width > quadElements || q.width == 0 && q.size > quadElements {
		return nil
	}
	return q
}

// quadElements is how many elements a call reads at most: vector code cannot be
// preempted.
const quadElements = 32 * 1024

// Run sets values, and as int64 indices, of the windows of planes at x, one behind the
// other.
func (q *Quads) Run(planes int, values, indices, x unsafe.Pointer) {
	together, rows := max(1, quadElements/q.size), q.rows
	if q.size > quadElements {
		rows = min(rows, quadElements/(2*q.width))
	}
	for p := 0; p < planes; p += together {
		for r := 0; r < q.rows; r += rows {
			window, first := (p*q.rows+r)*q.n, 2*r*q.width
			quads(q, min(together, planes-p), min(rows, q.rows-r), first,
				unsafe.Add(values, window*q.elem), unsafe.Add(indices, window*8), unsafe.Add(x, (p*q.size+first)*q.elem))
		}
	}
}
