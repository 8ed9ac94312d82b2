package opaque

import (
	"math/bits"
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/ir"
)

// A dealing is the elements of long rows of an index, with what is written where they say, put
// together by stretches of places: each processor writes into stretches of its own. What is
// written to one place stays in order.
type dealing struct {
	stretches int
	shift     int   // 1<<shift places are a stretch
	ends      []int // of each stretch of each row, in the index
	index     *scratch.Block
	src       *scratch.Block // nil: one element for all
}

const (
	leastDealt    = 32 * 1024 // elements of a row that are worth dealing
	mostStretches = 64        // so many places in memory are written to at a time
	leastProcs    = 8         // with fewer processors, one that does not deal is done sooner
)

// worthDealing reports whether rows of n elements, which name places of along, are better dealt
// than each written by one processor.
func worthDealing(rows, n, along int) bool {
	procs := runtime.GOMAXPROCS(0)
	return procs >= leastProcs && rows < procs && n >= leastDealt && along >= mostStretches
}

// newDealing returns room for rows of n elements that name places of along.
func newDealing(rows, n, along int) *dealing {
	d := &dealing{shift: bits.Len(uint(along-1) / mostStretches)}
	d.stretches = (along-1)>>d.shift + 1
	d.ends = make([]int, rows*d.stretches)
	d.index = scratch.Get(rows * n * 8)
	return d
}

// deal puts the elements of rows together by stretches, where there are fewer rows than
// processors and elements of one row may meet.
func (s *scattering) deal(along int) {
	rows, n := s.to.rows(), s.to.row
	if s.to.inner != 0 || !worthDealing(rows, n, along) {
		return
	}
	d := newDealing(rows, n, along)
	index, values := scratch.Slice[int64](d.index, rows*n), s.src
	if s.from.inner != 0 {
		size := s.src.DType.Size()
		d.src = scratch.Get(rows * n * size)
		values = ir.View{Ptr: d.src.Ptr(), DType: s.src.DType, Shape: []int{rows, n}, Strides: []int{n, 1}}
	}
	for r := range rows {
		ends := d.ends[r*d.stretches : (r+1)*d.stretches]
		h := dealt{index: s.index[r*n : (r+1)*n], to: index[r*n : (r+1)*n], shift: d.shift}
		if d.src != nil {
			size := s.src.DType.Size()
			h.src, h.step = unsafe.Add(s.src.Ptr, s.from.base(r)*size), s.from.inner*size
			h.values = unsafe.Add(values.Ptr, r*n*size)
		}
		h.deal(ends, dealers.of(s.src.DType))
		for b := range ends {
			ends[b] += r * n
		}
	}
	s.index, s.src, s.dealt = index, values, d
	if d.src != nil {
		s.from = walk{shape: []int{rows, n}, strides: []int{n, 1}, row: n, inner: 1}
	}
}

// put gives memory back.
func (d *dealing) put() {
	if d == nil {
		return
	}
	d.index.Put()
	if d.src != nil {
		d.src.Put()
	}
}

// eachDealt is each for what was dealt.
func (s *scattering) eachDealt(f func(index []int64, to, from int)) {
	d, along := s.dealt, 1
	if s.x.pending {
		along = s.group
	}
	pool.For(len(d.ends), 1, func(lo, hi int) {
		for ; lo < hi; lo++ {
			first := 0
			if lo > 0 {
				first = d.ends[lo-1]
			}
			row := lo / d.stretches
			if s.x.pending {
				at := lo % d.stretches << d.shift
				s.x.copy(row*along+at, min(1<<d.shift, along-at))
			}
			// A row's elements stand in its part of the index, from is counted from its first.
			f(s.index[first:d.ends[lo]], s.to.base(row), s.from.base(row)+(first-row*s.to.row)*s.from.inner)
		}
	})
}

// addDealt adds slices of one element as add does. It reports false, and does nothing, where
// dealing these is not worth it.
func (s *slicing) addDealt(out, src ir.View, sum addRows) bool {
	n, size := len(s.index), out.DType.Size()
	if s.inner != 1 || !worthDealing(s.outer, n, s.along) {
		return false
	}
	d := newDealing(1, n, s.along)
	d.src = scratch.Get(n * size)
	defer d.put()
	h := dealt{index: s.index, to: scratch.Slice[int64](d.index, n), values: d.src.Ptr(), step: size, shift: d.shift}
	for o := range s.outer {
		h.src = unsafe.Add(src.Ptr, o*n*size)
		h.deal(d.ends, dealers.of(out.DType))
		to := unsafe.Add(out.Ptr, o*s.along*size)
		pool.For(d.stretches, 1, func(lo, hi int) {
			for ; lo < hi; lo++ {
				first, at := 0, lo<<d.shift
				if lo > 0 {
					first = d.ends[lo-1]
				}
				s.x.copy(o*s.along+at, min(1<<d.shift, s.along-at))
				sum(to, unsafe.Add(h.values, first*size), h.to[first:d.ends[lo]], s.along, 1, 0, 1)
			}
		})
	}
	s.x.pending = false
	return true
}

// dealt is one row.
type dealt struct {
	index, to   []int64
	src, values unsafe.Pointer // values is nil where there are none
	step        int            // bytes between elements of src
	shift       int
}

// deal puts the row's elements together, and sets ends to where those of each stretch end. The
// row is cut into shares, which keep their order.
func (h *dealt) deal(ends []int, deal func(h *dealt, lo, hi int, next []int)) {
	shares, n := min(runtime.GOMAXPROCS(0), 64), len(h.index)
	each := (n + shares - 1) / shares
	counts := make([][mostStretches]int, shares)
	pool.For(shares, 1, func(first, end int) {
		for ; first < end; first++ {
			count := &counts[first]
			for _, i := range h.index[min(n, first*each):min(n, (first+1)*each)] {
				count[uint(i)>>h.shift%mostStretches]++
			}
		}
	})
	sum := 0
	for b := range ends {
		for k := range counts {
			counts[k][b], sum = sum, sum+counts[k][b]
		}
		ends[b] = sum
	}
	pool.For(shares, 1, func(first, end int) {
		for ; first < end; first++ {
			deal(h, min(n, first*each), min(n, (first+1)*each), counts[first][:])
		}
	})
}

var dealers = bySize[func(h *dealt, lo, hi int, next []int)]{
	dealShare[uint8], dealShare[uint16], dealShare[uint32], dealShare[uint64], dealShare[[2]uint64],
}

// dealShare writes elements [lo, hi) to where the next of each stretch stands.
func dealShare[T any](h *dealt, lo, hi int, next []int) {
	next = next[:mostStretches]
	if h.values == nil {
		for _, i := range h.index[lo:hi] {
			b := uint(i) >> h.shift % mostStretches
			h.to[next[b]] = i
			next[b]++
		}
		return
	}
	values, src := unsafe.Slice((*T)(h.values), len(h.index)), unsafe.Add(h.src, lo*h.step)
	for j, i := range h.index[lo:hi] {
		b := uint(i) >> h.shift % mostStretches
		at := next[b]
		h.to[at], values[at] = i, *(*T)(unsafe.Add(src, j*h.step))
		next[b]++
	}
}
