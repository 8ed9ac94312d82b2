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
	if s.outer*s.inner == 0 {
		return
	}
	parts, slices := s.widths(), max(1, len(s.index))
	if s.x.pending && s.outer*parts < runtime.GOMAXPROCS(0) {
		s.x.rest(s.outer * s.along * s.inner)
	}
	if s.x.pending {
		slices += s.along
	}
	pool.For(s.outer*parts, max(1, moveWork/(min(s.inner, sliceWidth)*slices)), func(first, end int) {
		for ; first < end; first++ {
			lo := first % parts * sliceWidth
			hi := min(lo+sliceWidth, s.inner)
			s.x.rows(first/parts*s.along*s.inner+lo, s.along, hi-lo, s.inner)
			f(first/parts, lo, hi)
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
	names, ends := s.sorted()
	once := max(1, copiedOnce/s.inner)
	pool.For(s.outer*s.along, max(1, moveWork/s.inner), func(first, end int) {
		for copied := first; first < end; first++ {
			if first == copied {
				n := min(once, end-first)
				s.x.copy(first*s.inner, n*s.inner)
				copied += n
			}
			o, p := first/s.along, first%s.along
			begin := 0
			if p > 0 {
				begin = ends[p-1]
			}
			for _, k := range names[begin:ends[p]] {
				for lo := 0; lo < s.inner; lo += sliceWidth {
					f(o, k, lo, min(lo+sliceWidth, s.inner))
				}
			}
		}
	})
}

// copiedOnce is how many elements are copied before slices of them are changed, about: the
// first cache holds them.
const copiedOnce = 2048

// eachOnce calls f for the last name of every place that is named, and copies the others; the
// order of writes does not matter so.
func (s *slicing) eachOnce(f func(o, k int)) {
	last := make([]int, s.along) // the last name of each place, and 1
	for k, p := range s.index {
		last[p] = k + 1
	}
	pool.For(s.outer*s.along, max(1, moveWork/s.inner), func(first, end int) {
		for first < end {
			o, p := first/s.along, first%s.along
			if k := last[p]; k > 0 {
				f(o, k-1)
				first++
				continue
			}
			n := 1
			for n < end-first && p+n < s.along && last[p+n] == 0 {
				n++
			}
			s.x.copy(first*s.inner, n*s.inner)
			first += n
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
