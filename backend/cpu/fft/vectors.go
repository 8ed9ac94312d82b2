package fft

import "unsafe"

// Vectors are what a level does to several points at a time. The zero value is that
// of a level without vectors: portable code does all.
type vectors[F float] struct {
	passes []vectorPasses // those with the widest vectors first
	// first is the pass of radix 4 for sequences that are not interleaved, for count
	// butterflies, at least as many as a vector has points. The factors of second
	// points lie together, and so on, apart bytes from each other.
	first      func(y, x, w *byte, apart, count int)
	firstLeast int
	// scale multiplies n numbers, two a point. Exchange also exchanges the parts of
	// points. Dst may be src.
	scale, exchange func(dst, src *byte, n int, by F)
	// split and join do what half.split and half.join do to points in one piece, for
	// count vectors of ends points from both ends. Pointers to what lies higher go
	// down; by is half of what split multiplies by.
	split, join func(toLow, toHigh, low, high, w *byte, count int, by F)
	ends        int
}

// VectorPasses are functions for whole vectors of so many bytes. That of a radix
// does count butterflies of a pass, for span bytes of what is interleaved, at least
// a vector; distances are in bytes.
type vectorPasses struct {
	bytes int
	radix [6]func(y, x, w *byte, width, apart, span, count int)
}

// callPoints is about how many points one call of a vector function is given: Go
// cannot interrupt it.
const callPoints = 16 << 10

// pieces calls f for parts of [lo, hi), of about most each, none shorter than that
// unless all is.
func pieces(lo, hi, most int, f func(lo, hi int)) {
	for ; hi-lo >= 2*most; lo += most {
		f(lo, lo+most)
	}
	f(lo, hi)
}

func bytesOf[E any](x []E, i int) *byte { return (*byte)(unsafe.Pointer(&x[i])) }

// byVectors is step by vectors. It reports false, and does nothing, where they do
// not fit.
func (s *pass[F]) byVectors(v *vectors[F], y, x []point[F], width, from, to, lo, hi int) bool {
	size := int(unsafe.Sizeof(point[F]{}))
	if width == 1 && s.columns != nil && to-from >= v.firstLeast {
		pieces(from, to, callPoints/4, func(from, to int) {
			v.first(bytesOf(y, 4*from), bytesOf(x, from), bytesOf(s.columns, from), s.m*size, to-from)
		})
		return true
	}
	if s.radix > 5 {
		return false
	}
	for i := range v.passes {
		if k := &v.passes[i]; (hi-lo)*size >= k.bytes {
			pieces(lo, hi, callPoints/s.radix, func(lo, hi int) {
				pieces(from, to, max(1, callPoints/(s.radix*(hi-lo))), func(from, to int) {
					k.radix[s.radix](bytesOf(y, from*s.radix*width+lo), bytesOf(x, from*width+lo), bytesOf(s.twiddles, from*(s.radix-1)),
						width*size, s.m*width*size, (hi-lo)*size, to-from)
				})
			})
			return true
		}
	}
	return false
}

// weigh multiplies the points of x by a number, exchanges their parts where that is
// asked for, and writes them to dst, which may be x.
func (v *vectors[F]) weigh(dst, x []point[F], by F, exchange bool) {
	f := v.scale
	if exchange {
		f = v.exchange
	}
	switch {
	case len(x) == 0:
	case f != nil:
		pieces(0, len(x), callPoints, func(lo, hi int) { f(bytesOf(dst, lo), bytesOf(x, lo), 2*(hi-lo), by) })
	case exchange:
		for i, p := range x {
			dst[i] = point[F]{p.im * by, p.re * by}
		}
	default:
		for i, p := range x {
			dst[i] = point[F]{p.re * by, p.im * by}
		}
	}
}

// mirror does f, split or join, to as many points of from, in one piece of half a
// spectrum of 2*h points, as vectors can, and returns the first that they left.
func (v *vectors[F]) mirror(f func(toLow, toHigh, low, high, w *byte, count int, by F), to, from, roots []point[F], h int, by F) int {
	k := 1
	if f == nil || h/2 < v.ends {
		return k
	}
	pieces(0, h/2/v.ends, callPoints/8, func(lo, hi int) {
		k = 1 + lo*v.ends
		high := h - k - v.ends + 1
		f(bytesOf(to, k), bytesOf(to, high), bytesOf(from, k), bytesOf(from, high), bytesOf(roots, k), hi-lo, by)
		k = 1 + hi*v.ends
	})
	return k
}
