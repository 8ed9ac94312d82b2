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
	// selectShare is the part of a line, as its inverse, up to which the first
	// elements are found by looking for them; where more are wanted, the line is
	// sorted.
	selectShare = 8
	// insertLength is the number of elements up to which each that is found is put in
	// its place among the first ones; where more are wanted, many are sorted together.
	insertLength = 32
	// selectPiece is the number of elements of a long line whose first ones one
	// worker looks for.
	selectPiece = 1 << 17
)

// SortFirst is the first elements that Sort returns, as many as attribute k says.
func SortFirst(c *ir.Call) error {
	code, err := sortCode(c.Compute)
	if err != nil {
		return err
	}
	x, k, descending := c.In[0], int(c.Attrs[1].Int), c.Attrs[2].Int != 0
	axis, err := axisOf(c, 0, x.Shape)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	_, n, inner := around(x.Shape, axis)
	if int64(n) > radix.MaxLength {
		return fmt.Errorf("cannot sort %d elements along an axis, at most %d", n, int64(radix.MaxLength))
	}
	dense := tile.Dense(x, c.Compute)
	values, places := tile.TargetOf(c.Out[0], c.Compute), tile.TargetOf(c.Out[1], ir.Int64)
	s := &selection{code: code, from: dense.Ptr, to: values.Ptr, index: tile.Elements[int64](places), n: n, k: k, inner: inner, size: c.Compute.Size()}
	if descending {
		s.flip = ^uint64(0)
	}
	lines := x.NumElements() / n
	pieces := 1
	if lines < runtime.GOMAXPROCS(0) {
		pieces = min(runtime.GOMAXPROCS(0), n/selectPiece)
	}
	if s.pieces = max(1, pieces); s.pieces > 1 {
		s.Run(0, lines)
	} else {
		pool.Run(lines, max(1, moveWork/n), s)
	}
	tile.Finish(c.Out[0], values)
	tile.Finish(c.Out[1], places)
	return nil
}

// A selection is a call of SortFirst on dense operands. A line's elements are inner
// elements apart.
type selection struct {
	code        *keys.Code
	from, to    unsafe.Pointer
	index       []int64
	n, k, inner int
	size        int    // of an element, in bytes
	flip        uint64 // all ones where larger keys come first
	pieces      int    // of a line, each of which a worker looks at
}

// Run selects of the lines [lo, hi).
func (s *selection) Run(lo, hi int) {
	var c *candidates
	if s.pieces == 1 {
		c = newCandidates(s, s.room(s.n))
		defer c.release()
	}
	for ; lo < hi; lo++ {
		from := unsafe.Add(s.from, (lo/s.inner*s.n*s.inner+lo%s.inner)*s.size)
		at := lo/s.inner*s.k*s.inner + lo%s.inner
		to, index := unsafe.Add(s.to, at*s.size), s.index[at:]
		if s.pieces > 1 {
			s.together(from, to, index)
			continue
		}
		c.reset()
		c.look(from, 0, s.n)
		s.code.Store(to, index, from, c.sorted(), 0, s.inner, s.flip)
	}
}

// together selects of one line by all workers.
func (s *selection) together(from, to unsafe.Pointer, index []int64) {
	found := make([]*candidates, s.pieces)
	pool.For(s.pieces, 1, func(lo, hi int) {
		for ; lo < hi; lo++ {
			a, b := lo*s.n/s.pieces, (lo+1)*s.n/s.pieces
			found[lo] = newCandidates(s, s.room(b-a))
			found[lo].look(from, a, b)
			found[lo].sorted()
		}
	})
	all := newCandidates(s, s.pieces*s.k)
	defer all.release()
	for _, c := range found {
		all.words = append(all.words, c.words...)
		all.long = append(all.long, c.long...)
		c.release()
	}
	s.code.Store(to, index, from, all.sorted(), 0, s.inner, s.flip)
}

// candidates are the elements of a line that may be among its first k. The upper
// half of a word is the key, or where keys are long nothing: they are beside.
type candidates struct {
	s     *selection
	words []keys.Word
	long  []uint64
	room  *scratch.Block
	most  int
}

// room returns for how many candidates there is to be room where n elements are
// looked at.
func (s *selection) room(n int) int {
	if s.k <= n/selectShare {
		return min(n, max(4*s.k, 32))
	}
	return n
}

// newCandidates returns room for so many candidates.
func newCandidates(s *selection, most int) *candidates {
	c := &candidates{s: s, most: most, room: scratch.Get(32 * most)}
	c.reset()
	return c
}

// reset makes candidates those of a new line.
func (c *candidates) reset() {
	room := scratch.Slice[uint64](c.room, 4*c.most)
	c.words, c.long = room[:0:c.most], room[c.most:c.most:2*c.most]
}

// rest returns room for twice as many words as there may be candidates.
func (c *candidates) rest() []keys.Word { return scratch.Slice[keys.Word](c.room, 4*c.most)[2*c.most:] }

func (c *candidates) release() { c.room.Put() }

const (
	// lookBlock is how many elements' keys are made at a time, and lookNear how many
	// where one of them was found to be a candidate.
	lookBlock = 512
	lookNear  = 8
)

// look adds the elements [lo, hi) of a line. Once there are enough, those that are
// not before the k-th are left out.
func (c *candidates) look(from unsafe.Pointer, lo, hi int) {
	block := c.rest()
	find := c.s.code.Find
	if c.s.inner != 1 {
		find = nil
	}
	limit, full := ^uint64(0), false // the k-th word or key so far
	inserts := c.s.k <= insertLength
	for cuts := c.most < hi-lo; lo < hi; {
		if cuts && len(c.words) > c.most*3/4 {
			limit, full = c.cut(), true
		}
		n := min(lookBlock, c.most-len(c.words))
		if full && find != nil {
			lo, n = find(from, lo, hi, limit, c.s.flip), lookNear
		}
		n = min(n, hi-lo)
		c.s.code.Load(block[:n], from, lo, c.s.inner, c.s.flip)
		for i, w := range block[:n] {
			if full && w >= limit {
				continue
			}
			if full && inserts {
				limit = c.insert(w, lo+i)
				continue
			}
			if c.s.code.Long {
				c.long = append(c.long, w)
				w = keys.Word(lo + i)
			}
			c.words = append(c.words, w)
		}
		lo += n
	}
}

// insert puts an element that is before the last candidate in its place among them,
// which cut left in order, drops the last, and returns the new last one's word, or
// long key.
func (c *candidates) insert(w uint64, place int) uint64 {
	words := c.words
	i := len(words) - 1
	if !c.s.code.Long {
		for ; i > 0 && words[i-1] > w; i-- {
			words[i] = words[i-1]
		}
		words[i] = w
		return words[len(words)-1]
	}
	for ; i > 0 && c.long[i-1] > w; i-- {
		c.long[i], words[i] = c.long[i-1], words[i-1]
	}
	c.long[i], words[i] = w, keys.Word(place)
	return c.long[len(words)-1]
}

// cut leaves the first k candidates and returns the last one's word, or long key. An
// element that comes later is among the first k only if it is less: an equal one
// comes after.
func (c *candidates) cut() uint64 {
	words := c.sorted()
	if c.s.code.Long {
		return c.long[len(words)-1]
	}
	return words[len(words)-1]
}

// sorted leaves the first k candidates, in order, and returns them.
func (c *candidates) sorted() []keys.Word {
	n, most, rest := len(c.words), c.most, c.rest()
	k := min(c.s.k, n)
	if !c.s.code.Long {
		sorted := radix.Sort(c.words, rest[:n])
		c.words = c.words[:copy(c.words[:k], sorted)]
		return c.words
	}
	order := radix.Long(c.long, rest[:n], rest[most:][:n], radix.Sort)[:k]
	other := rest[:k]
	if n > 0 && &order[0] == &rest[0] {
		other = rest[most:][:k]
	}
	for i, w := range order { // the places, then the keys, in order
		other[i] = c.words[uint32(w)]
	}
	copy(c.words, other)
	for i, w := range order {
		other[i] = c.long[uint32(w)]
	}
	copy(c.long, other)
	c.words, c.long = c.words[:k], c.long[:k]
	return c.words
}
