package gemm

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
)

const (
	// sliceBytes is how large a copy of the result is at most.
	sliceBytes = 64 << 10
	// sliceRoom is how much memory the copies take.
	sliceRoom = 256 << 10
	// sliceLeast is how many stretches of terms are worth sharing.
	sliceLeast = 8
)

// slices reports whether processors share the terms, not the result: it is small
// and the sums are long.
func (j *job[T]) slices() bool {
	p := &j.p
	return j.e.family != portable && p.M*j.sliceRow() <= sliceBytes && p.K >= sliceLeast*j.depth
}

// sliceRow returns the bytes of a copy's row.
func (j *job[T]) sliceRow() int { return roundUp(j.p.N*j.e.size, 64) }

// A slicing is a job whose stretches of terms are computed at the same time, the
// first into the result and others into copies of it, and then added up in their
// order: the same sums as of one stretch after the other.
type slicing[T Number] struct {
	job[T]
	copies unsafe.Pointer
	row    int // bytes of a copy's row
	size   int // bytes of a copy
	first  int // the stretch that the first copy is of
}

// inSlices computes the product by stretches.
func (j *job[T]) inSlices() {
	s := slicing[T]{job: *j}
	e, p := j.e, &s.p
	s.shares = false
	s.cut(1)
	blocks := s.begin()
	defer end(blocks)
	s.row = s.sliceRow()
	s.size = s.row * p.M
	n := ceil(p.K, s.depth)
	most := min(n-1, sliceRoom/s.size)
	block := scratch.Get(most*s.size + roundUp(most*e.size, 64))
	defer block.Put()
	s.copies = block.Ptr()
	ones := unsafe.Slice((*T)(unsafe.Add(s.copies, most*s.size)), most)
	for i := range ones {
		ones[i] = 1
	}
	compute := s.compute
	for done := 0; done < n; {
		next := min(max(done, 1)+most, n)
		s.first = max(done, 1)
		pool.For(next-done, 1, compute)
		s.add(unsafe.Pointer(&ones[0]), next-s.first)
		done = next
	}
	if p.Done != nil {
		p.Done(0, p.M, 0, p.N)
	}
}

// compute computes some stretches: with the first one of all, [lo, hi) of them, else
// those from s.first on.
func (s *slicing[T]) compute(lo, hi int) {
	w := s.worker()
	defer w.end()
	if s.first > 1 {
		lo, hi = lo+s.first, hi+s.first
	}
	for ; lo < hi; lo++ {
		one := s.job
		if lo > 0 {
			one.alone, one.p.C = true, Matrix{unsafe.Add(s.copies, (lo-s.first)*s.size), s.row / s.e.size, 1}
		}
		for i := range s.down * s.across {
			i0, i1, c0, c1 := s.task(i)
			one.stretch(&w, i0, i1, c0, c1, lo*s.depth)
		}
	}
}

// add adds n copies to the result, times one.
func (s *slicing[T]) add(ones unsafe.Pointer, n int) {
	e, p := s.e, &s.p
	if e.integer() {
		for i := range n {
			addMatrix[T](p.C, Matrix{unsafe.Add(s.copies, i*s.size), s.row / e.size, 1}, p.M, p.N)
		}
		return
	}
	for i := range p.M {
		t := thin{b: unsafe.Add(s.copies, i*s.row), bRow: s.size, x: ones, y: unsafe.Pointer(at[T](p.C, i, 0)), count: p.N, last: p.N % e.lanes}
		addRows(e, &t, 1, n)
	}
}
