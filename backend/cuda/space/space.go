// Package space encodes iteration spaces for the device: Space and Divider of
// kernels/space.cuh. It knows nothing of operators, launches or dtypes.
package space

import (
	"math/bits"
	"slices"

	"github.com/sinter-go/sinter/backend/cuda/driver"
)

// MaxRank is how many axes a space on the device has, and Limit what its
// positions stay below.
const (
	MaxRank = 8
	Limit   = 1 << 31
)

// Fits reports whether n is below Limit, as on platforms with ints of 32 bits
// every int is.
func Fits(n int) bool { return int64(n) < Limit }

// A Space is a row-major iteration space and the strides of some operands over
// it, in elements. Axes go from the innermost out. It may be larger than the
// device takes at once; see Each.
type Space struct {
	First   int64 // linear index of position 0 in the space this is a piece of
	Extents []int
	Strides [][]int // for each operand an entry for each axis
}

// New returns the space of a shape, for operands of these strides, whose axes
// are given from the outermost in. Axes of extent 1 are dropped, and neighbours
// that are one run in every operand joined.
func New(shape []int, strides ...[]int) Space {
	s := Space{Extents: make([]int, 0, len(shape)), Strides: make([][]int, len(strides))}
	for k := range strides {
		s.Strides[k] = make([]int, 0, len(shape))
	}
	for a := len(shape) - 1; a >= 0; a-- {
		n := shape[a]
		if n == 1 {
			continue
		}
		if last := len(s.Extents) - 1; last >= 0 && s.runsOn(last, a, strides) {
			s.Extents[last] *= n
			continue
		}
		s.Extents = append(s.Extents, n)
		for k := range strides {
			s.Strides[k] = append(s.Strides[k], strides[k][a])
		}
	}
	return s
}

// runsOn reports whether axis a of strides goes on where axis last of s ends.
func (s *Space) runsOn(last, a int, strides [][]int) bool {
	for k := range strides {
		if strides[k][a] != s.Extents[last]*s.Strides[k][last] {
			return false
		}
	}
	return true
}

// Count returns the number of positions.
func (s *Space) Count() int64 {
	n := int64(1)
	for _, e := range s.Extents {
		n *= int64(e)
	}
	return n
}

// Each calls f for the pieces of s that the device takes, in order, with the
// offset in elements at which each operand's piece starts. f keeps neither.
func (s *Space) Each(f func(piece *Space, offsets []int64) error) error {
	return s.EachBelow(Limit, f)
}

// EachBelow is Each for pieces of fewer than limit positions.
func (s *Space) EachBelow(limit int64, f func(piece *Space, offsets []int64) error) error {
	if s.Count() == 0 {
		return nil
	}
	return s.pieces(limit, make([]int64, len(s.Strides)), f)
}

func (s *Space) pieces(limit int64, offsets []int64, f func(*Space, []int64) error) error {
	rank, count := len(s.Extents), s.Count()
	if rank <= MaxRank && count < limit {
		return f(s, offsets)
	}
	outer := rank - 1
	inner := count / int64(s.Extents[outer])
	step := 1
	if rank <= MaxRank {
		step = int(max(1, (limit-1)/inner))
	}
	for at := 0; at < s.Extents[outer]; at += step {
		piece := s.cut(outer, min(step, s.Extents[outer]-at))
		piece.First = s.First + int64(at)*inner
		start := slices.Clone(offsets)
		for k := range start {
			start[k] += int64(at) * int64(s.Strides[k][outer])
		}
		if err := piece.pieces(limit, start, f); err != nil {
			return err
		}
	}
	return nil
}

// cut returns s with extent n along its outermost axis, which goes if n is 1.
func (s *Space) cut(outer, n int) Space {
	c := Space{Extents: slices.Clone(s.Extents), Strides: slices.Clone(s.Strides)}
	c.Extents[outer] = n
	if n == 1 {
		c.Extents = c.Extents[:outer]
		for k := range c.Strides {
			c.Strides[k] = c.Strides[k][:outer]
		}
	}
	return c
}

// Widen makes units of n elements into one: the innermost extent is divided by
// n, all other strides of the operands that it moves are. Runs says which
// operands have n neighbouring elements in a unit; the others have one element
// for it. See Width.
func (s *Space) Widen(n int, runs []bool) {
	if n == 1 {
		return
	}
	s.Extents[0] /= n
	for k, strides := range s.Strides {
		if !runs[k] {
			continue
		}
		for d := 1; d < len(strides); d++ {
			strides[d] /= n
		}
	}
}

// Width returns the largest power of two, at most limit, of elements that are
// neighbours along the innermost axis in the operands that run, start a
// multiple of it there, and share an element of the other operands.
func (s *Space) Width(limit int, runs []bool) int {
	if len(s.Extents) == 0 {
		return 1
	}
	all := s.Extents[0]
	for k, strides := range s.Strides {
		if !runs[k] {
			if strides[0] != 0 {
				return 1
			}
			continue
		}
		if strides[0] != 1 {
			return 1
		}
		for _, st := range strides[1:] {
			all |= st
		}
	}
	return min(limit, all&-all)
}

// Append adds the space, a piece that Each gave, to a kernel's parameters.
func (s *Space) Append(p *driver.Params) {
	p.Int64(s.First)
	p.Int64(s.Count())
	p.Int32(int32(len(s.Extents)))
	for d := range MaxRank {
		n := 1
		if d < len(s.Extents) {
			n = s.Extents[d]
		}
		AppendDivider(p, n)
	}
	for _, strides := range s.Strides {
		for d := range MaxRank {
			v := 0
			if d < len(strides) {
				v = strides[d]
			}
			p.Int64(int64(v))
		}
	}
}

// AppendDivider adds the Divider by n, which is 1 to Limit-1.
func AppendDivider(p *driver.Params, n int) {
	multiplier, shift := Divider(uint32(n))
	p.Uint32(uint32(n))
	p.Uint32(multiplier)
	p.Uint32(shift)
}

// Divider returns the numbers that divide by n on the device: i/n is
// (high half of i*multiplier + i) >> shift for i below Limit.
func Divider(n uint32) (multiplier, shift uint32) {
	shift = uint32(bits.Len32(n - 1))
	return uint32((uint64(1)<<shift-uint64(n))<<32/uint64(n)) + 1, shift
}
