package opaque

import (
	"runtime"

	"github.com/sinter-go/sinter/backend/cpu/pool"
)

// sliceWidth is how many elements of each slice are written at once, at most.
const sliceWidth = 1024

// widths returns how many parts of sliceWidth elements a slice has.
func (s *slicing) widths() int { return (s.inner + sliceWidth - 1) / sliceWidth }

// each calls f for elements [lo, hi) of every named slice, that of element k of the index
// in part o of the outer ones. What slices named twice write stays in order.
func (s *slicing) each(f func(o, k, lo, hi int)) {
	if s.byPlaces() {
		s.eachPlace(f)
		return
	}
	s.eachPart(func(o, lo, hi int) {
		for k := range s.index {
			f(o, k, lo, hi)
		}
	})
}

// eachPart calls f for elements [lo, hi) of all named slices in part o of the outer ones.
// Elements that one call is given are not given to another, so slices named twice stay in
// order.
func (s *slicing) eachPart(f func(o, lo, hi int)) {
	if len(s.index) == 0 || s.outer*s.inner == 0 {
		return
	}
	parts := s.widths()
	pool.For(s.outer*parts, max(1, moveWork/(min(s.inner, sliceWidth)*len(s.index))), func(first, end int) {
		for ; first < end; first++ {
			lo := first % parts * sliceWidth
			f(first/parts, lo, min(lo+sliceWidth, s.inner))
		}
	})
}

// mostPlaces is how many places along the axis there are for each name, at most, where
// names are put in order by counting.
const mostPlaces = 16

// byPlaces reports whether processors are better given slices than parts of all of them:
// where there are fewer parts than processors, and enough work.
func (s *slicing) byPlaces() bool {
	n, procs := len(s.index), runtime.GOMAXPROCS(0)
	return s.outer*s.widths() < procs && s.outer*s.inner*n >= 2*moveWork && s.along <= mostPlaces*n
}

// eachPlace does as each, a share of the places along the axis on each processor: all names
// of one place are of one share, so that they stay in order.
func (s *slicing) eachPlace(f func(o, k, lo, hi int)) {
	n := len(s.index)
	names, ends := s.sorted()
	pool.For(s.outer*n, max(1, moveWork/s.inner), func(first, end int) {
		for first < end {
			o, a := first/n, first%n
			b := min(n, a+end-first)
			first += b - a
			if p := s.index[names[a]]; p > 0 && a > ends[p-1] || p == 0 && a > 0 { // of the share before
				a = ends[p]
			}
			if a >= b {
				continue
			}
			for _, k := range names[a:ends[s.index[names[b-1]]]] {
				for lo := 0; lo < s.inner; lo += sliceWidth {
					f(o, k, lo, min(lo+sliceWidth, s.inner))
				}
			}
		}
	})
}

// sorted returns the positions of the index by the place that they name, those of one place
// in order, and where those of each place end.
func (s *slicing) sorted() (names, ends []int) {
	names, ends = make([]int, len(s.index)), make([]int, s.along)
	for _, p := range s.index {
		ends[p]++
	}
	sum := 0
	for p, m := range ends {
		ends[p] = sum
		sum += m
	}
	for k, p := range s.index {
		names[ends[p]] = k
		ends[p]++
	}
	return names, ends
}
