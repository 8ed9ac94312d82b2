package conv

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A Swapped is a weight, [outs, channels, places], with its first two axes
// exchanged: a matrix with a row for each channel, and in it the places of the first
// output, then of the next.
type Swapped struct {
	Level                  simd.Level
	Weight                 unsafe.Pointer // contiguous
	Outs, Channels, Places int
	Elem                   int // bytes of an element
}

// near is how many outputs are taken at once: of each one some neighbouring channels
// stay in the first cache meanwhile.
const near = 16

// Pack copies terms [p0, p1) of rows [i0, i1) to dst, whose rows have ld elements.
func (s *Swapped) Pack(dst unsafe.Pointer, ld, i0, i1, p0, p1 int) {
	o0, o1 := (p0+s.Places-1)/s.Places, p1/s.Places
	if o0 > o1 { // inside of one output
		s.some(dst, ld, i0, i1, p0, p1)
		return
	}
	body := o0*s.Places - p0
	s.outputs(unsafe.Add(dst, body*s.Elem), ld, i0, i1, o0, o1)
	if body > 0 {
		s.some(dst, ld, i0, i1, p0, o0*s.Places)
	}
	if end := o1 * s.Places; end < p1 {
		s.some(unsafe.Add(dst, (end-p0)*s.Elem), ld, i0, i1, end, p1)
	}
}

// some copies terms of one output.
func (s *Swapped) some(dst unsafe.Pointer, ld, i0, i1, p0, p1 int) {
	from := unsafe.Add(s.Weight, (p0/s.Places*s.Channels*s.Places+p0%s.Places)*s.Elem)
	n := (p1 - p0) * s.Elem
	for i := i0; i < i1; i++ {
		copy(unsafe.Slice((*byte)(unsafe.Add(dst, (i-i0)*ld*s.Elem)), n), unsafe.Slice((*byte)(unsafe.Add(from, i*s.Places*s.Elem)), n))
	}
}

// outputs copies all terms of outputs [o0, o1).
func (s *Swapped) outputs(dst unsafe.Pointer, ld, i0, i1, o0, o1 int) {
	run, row := s.Places*s.Elem, s.Channels*s.Places*s.Elem
	pieces := (run + 31) / 32
	n := max(0, o1-o0-(32*pieces-1)/run) // the others are copied without what lies behind them
	if s.Level == simd.Portable || pieces > most {
		n = 0
	}
	var offsets [near]int
	for o := range offsets {
		offsets[o] = o * row
	}
	var t table
	for i := range min(pieces, most) {
		t[2*i], t[2*i+1] = 32*i, 32*i
	}
	for o := 0; o < o1-o0; o += near {
		whole := max(0, min(n-o, near))
		for c := i0; c < i1; c++ {
			to, from := unsafe.Add(dst, (c-i0)*ld*s.Elem+o*run), unsafe.Add(s.Weight, (o0+o)*row+c*run)
			if whole > 0 {
				gather(32, to, run, from, &offsets[0], whole, &t, pieces)
			}
			for i := whole; i < min(near, o1-o0-o); i++ {
				copy(unsafe.Slice((*byte)(unsafe.Add(to, i*run)), run), unsafe.Slice((*byte)(unsafe.Add(from, i*row)), run))
			}
		}
	}
}
