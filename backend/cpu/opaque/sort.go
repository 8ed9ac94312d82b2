package opaque

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/keys"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/radix"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

const (
	// sortWork is how many elements to sort are worth another processor.
	sortWork = 512
	// sortBlock is the number of elements of one line that are read, or written,
	// before those of the next: neighbours in memory belong to different lines
	// where the axis is not the last.
	sortBlock = 256
	// sortTogether bounds the elements of lines that are sorted together, so that
	// what is read of their common cache lines is still there.
	sortTogether = 1 << 16
	// longLine is the length of lines that all workers sort together, where there
	// are fewer lines than workers.
	longLine = 1 << 17
)

// Sort orders x along attribute dim, descending if that attribute says so, and
// returns the elements and where each was. It is stable in both directions.
func Sort(c *ir.Call) error { return sortTo(c, &c.Out[0], &c.Out[1]) }

// SortPlaces is the places alone that Sort returns.
func SortPlaces(c *ir.Call) error { return sortTo(c, nil, &c.Out[0]) }

// sortTo is Sort that writes to views, of which that of the elements may be nil.
func sortTo(c *ir.Call, elements, positions *ir.View) error {
	code, err := sortCode(c.Compute)
	if err != nil {
		return err
	}
	x, descending := c.In[0], c.Attrs[1].Int != 0
	axis, err := axisOf(c, 0, x.Shape)
	if err != nil || x.NumElements() == 0 {
		return err
	}
	_, n, inner := around(x.Shape, axis)
	if int64(n) > radix.MaxLength {
		return fmt.Errorf("cannot sort %d elements along an axis, at most %d", n, int64(radix.MaxLength))
	}
	dense := tile.Dense(x, c.Compute)
	places := tile.TargetOf(*positions, ir.Int64)
	s := &sorting{code: code, from: dense.Ptr, index: tile.Elements[int64](places), n: n, inner: inner, size: c.Compute.Size()}
	var values ir.View
	if elements != nil {
		values = tile.TargetOf(*elements, c.Compute)
		s.to = values.Ptr
	}
	if descending {
		s.flip = ^uint64(0)
	}
	lines := x.NumElements() / n
	if s.together = n >= longLine && lines < runtime.GOMAXPROCS(0); s.together {
		s.Run(0, lines)
	} else {
		pool.Run(lines, max(1, sortWork/n), s)
	}
	if elements != nil {
		tile.Finish(*elements, values)
	}
	tile.Finish(*positions, places)
	return nil
}

// A sorting is a call of Sort on dense operands. A line's elements are inner
// elements apart.
type sorting struct {
	code     *keys.Code
	from, to unsafe.Pointer // to is nil where places alone are asked for
	index    []int64
	n, inner int
	size     int    // of an element, in bytes
	flip     uint64 // all ones where larger keys come first
	together bool   // all workers sort one line
}

// Run sorts the lines [lo, hi).
func (s *sorting) Run(lo, hi int) {
	most := max(1, min(16, sortTogether/s.n))
	words := scratch.Get(16 * s.n * min(most, s.inner))
	defer words.Put()
	room := scratch.Slice[keys.Word](words, 2*s.n*min(most, s.inner))
	for lo < hi {
		count := min(most, hi-lo, s.inner-lo%s.inner)
		s.lines(lo, count, room)
		lo += count
	}
}

// lines sorts count lines that are neighbours. Room has two words for each element.
func (s *sorting) lines(first, count int, room []keys.Word) {
	start := first/s.inner*s.n*s.inner + first%s.inner // the first element of the first line
	switch {
	case s.together:
		both := room[:2*s.n]
		pool.For(s.n, longLine/4, func(lo, hi int) { s.load(both, start, lo, hi) })
		sorted := s.sorted(both, start)
		pool.For(s.n, longLine/4, func(lo, hi int) { s.store(sorted, start, lo, hi) })
	case s.inner == 1:
		s.load(room, start, 0, s.n)
		s.store(s.sorted(room, start), start, 0, s.n)
	default:
		s.strided(start, count, room)
	}
}

// strided is lines where the elements of lines are apart.
func (s *sorting) strided(start, count int, room []keys.Word) {
	var sorted [16][]keys.Word
	for lo := 0; lo < s.n; lo += sortBlock {
		for i := range count {
			s.load(room[2*i*s.n:], start+i, lo, min(lo+sortBlock, s.n))
		}
	}
	for i := range count {
		sorted[i] = s.sorted(room[2*i*s.n:][:2*s.n], start+i)
	}
	for lo := 0; lo < s.n; lo += sortBlock {
		for i := range count {
			s.store(sorted[i], start+i, lo, min(lo+sortBlock, s.n))
		}
	}
}

// load writes the words of elements [lo, hi) of the line at start; not where keys
// are long.
func (s *sorting) load(words []keys.Word, start, lo, hi int) {
	if !s.code.Long {
		s.code.Load(words[lo:hi], unsafe.Add(s.from, start*s.size), lo, s.inner, s.flip)
	}
}

// sorted returns the words of the line at start in order. They are in both, whose
// first half has what load wrote.
func (s *sorting) sorted(both []keys.Word, start int) []keys.Word {
	a, spare := both[:s.n], both[s.n:2*s.n]
	switch {
	case s.code.Long:
		return s.long(start, a, spare)
	case s.together:
		return radix.SortParallel(a, spare)
	}
	return radix.Sort(a, spare)
}

// store writes the results [lo, hi) of the line at start.
func (s *sorting) store(sorted []keys.Word, start, lo, hi int) {
	if s.to == nil {
		keys.StorePlaces(s.index[start:], sorted[lo:hi], lo, s.inner)
		return
	}
	s.code.Store(unsafe.Add(s.to, start*s.size), s.index[start:], unsafe.Add(s.from, start*s.size), sorted[lo:hi], lo, s.inner, s.flip)
}

// long sorts the line at start, whose keys do not fit in words.
func (s *sorting) long(start int, a, spare []keys.Word) []keys.Word {
	block := scratch.Get(8 * s.n)
	defer block.Put()
	wide := scratch.Slice[uint64](block, s.n)
	line := unsafe.Add(s.from, start*s.size)
	if s.together {
		pool.For(s.n, longLine/4, func(lo, hi int) { s.code.Load(wide[lo:hi], line, lo, s.inner, s.flip) })
		return radix.Long(wide, a, spare, radix.SortParallel)
	}
	s.code.Load(wide, line, 0, s.inner, s.flip)
	return radix.Long(wide, a, spare, radix.Sort)
}

// sortCode returns the keys of a dtype.
func sortCode(dtype ir.DType) (*keys.Code, error) {
	if code := keys.Of(dtype); code != nil {
		return code, nil
	}
	return nil, unsupported(dtype)
}
