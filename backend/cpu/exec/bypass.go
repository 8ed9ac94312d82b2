package exec

import (
	"sync"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cache"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// A bypass is how an element-wise call works whose operands no cache holds: its result
// is written past the caches, which saves reading what is going to be overwritten, while
// operands that are needed soon are asked for. There are loops that do so themselves;
// with others small tiles of the result are computed where the first cache keeps them,
// then written.
//
// Tiles are taken from several pages side by side: processors follow several streams
// of memory at once, each to the end of its page.
type bypass struct {
	on    bool
	loop  vector.Func // one that does so itself, or nil
	write move.Uncached
	size  int // bytes of an element of the result
	tile  int // elements
	page  int // elements of the result in a page
	pages int // side by side
	ahead int // elements from where operands are read to where they are asked for
	in    []bypassIn
}

// A bypassIn is an operand.
type bypassIn struct {
	direct bool // used where it is; else laid out or loaded
	ptr    unsafe.Pointer
	size   int
}

// A bypassSizes is a choice of sizes, ahead in bytes of the result, for loops that work
// through rate bytes a nanosecond in the first cache: what is computed more slowly
// hides memory better by itself on some processors.
type bypassSizes struct {
	tileBytes, ahead, pages int
	rate                    float64
}

// active is the one of this process, by measurement.
var active = map[simd.Level]bypassSizes{
	simd.AVX2: {2048, 2048, 1, 27}, simd.AVX512: {512, 1024, 4, 0},
}[simd.Active().Vectors()]

const pageBytes = 4096

// lastCache is from how many bytes on results are written past the caches.
var lastCache = cache.Last

// make turns the bypass on, and reports that it did, where c is large enough and its
// loop quick enough, and its result is stored as it is computed and without gaps.
func (t *bypass) make(c *ir.Call, code *code, e *elementwise) bool {
	t.write = move.UncachedAt(simd.Active())
	out := c.Out[0]
	if !t.write.Usable() || !e.args[0].Contiguous() || uintptr(out.Ptr)%uintptr(out.DType.Size()) != 0 {
		return false
	}
	t.size = out.DType.Size()
	n, bytes, alike := ir.NumElements(c.Space), t.size, t.size == c.Compute.Size()
	t.in = t.in[:0]
	for i, v := range c.In {
		in := bypassIn{e.args[i+1].Contiguous(), v.Ptr, v.DType.Size()}
		if in.direct {
			bytes += in.size
		}
		alike = alike && e.args[i+1].Want() == t.size
		t.in = append(t.in, in)
	}
	if n*bytes < lastCache() || n < tile.Size {
		return false
	}
	if alike {
		t.loop = code.set.PastCaches()
	}
	if t.loop == nil && active.rate > 0 && code.rate(e, bytes) < active.rate {
		return false
	}
	t.tile, t.ahead, t.pages = min(tile.Size, active.tileBytes/t.size), active.ahead/t.size, active.pages
	t.page, t.on = pageBytes/t.size, true
	return true
}

// clear drops every pointer into tensors' memory.
func (t *bypass) clear() {
	t.on, t.loop = false, nil
	clear(t.in)
}

// rate returns how many bytes a nanosecond the loop works through in the first cache,
// measured when it is first asked for; bytes are those of one element of the operands and
// the result. The best of a few calls counts: others may have been interrupted.
func (c *code) rate(e *elementwise, bytes int) float64 {
	if r, ok := c.rates.Load(bytes); ok {
		return r.(float64)
	}
	const calls, rateSize = 10, 256
	s := tile.Borrow(len(e.args))
	defer s.Return()
	p, best := s.Pointers(len(e.args)), time.Duration(1<<62)
	for range calls {
		p[0] = s.Buffer(0).Ptr()
		for i := 1; i < len(p); i++ {
			p[i] = e.args[i].Load(0, rateSize, s.Buffer(i))
		}
		start := time.Now()
		e.loop(rateSize, p, e.scalars, 0)
		best = min(best, time.Since(start))
	}
	rate := float64(bytes*rateSize) / max(1, float64(best-clock()))
	c.rates.Store(bytes, rate)
	return rate
}

// clock returns what it takes to look at the time.
var clock = sync.OnceValue(func() time.Duration {
	best := time.Duration(1 << 62)
	for range 10 {
		start := time.Now()
		best = min(best, time.Since(start))
	}
	return best
})

// grain is about a quarter of a megabyte of the result.
func (t *bypass) grain() int { return 256 << 10 / t.size }

// bypassSpan computes what it can of [lo, hi): what comes before the first cache line,
// and whole groups or tiles from there on. It returns where it stopped.
func (e *elementwise) bypassSpan(lo, hi int, s *tile.Scratch) int {
	t := &e.bypass
	if past := int(uintptr(e.args[0].Ptr())+uintptr(lo*t.size)) % move.Line; past != 0 {
		n := min(hi-lo, (move.Line-past)/t.size)
		e.piece(lo, n, s)
		lo += n
	}
	if t.loop != nil {
		return e.bypassGroups(lo, hi, s)
	}
	for group := t.pages * t.page; hi-lo >= group; lo += group {
		e.bypassTiles(lo, t.page/t.tile, t.pages, s)
	}
	if rounds := (hi - lo) / t.tile; rounds > 0 {
		e.bypassTiles(lo, rounds, 1, s)
		lo += rounds * t.tile
	}
	t.write.Fence()
	return lo
}

// longBypass bounds one call of a loop past the caches, as longRun does of others.
const longBypass = 32 * 1024

// bypassGroups is bypassSpan by the loop that does it all. Operands that are not as the
// result is are laid out for a group at a time.
func (e *elementwise) bypassGroups(lo, hi int, s *tile.Scratch) int {
	group := vector.Group / e.bypass.size
	most, held := longBypass, -1 // the group that is laid out
	for i := range e.bypass.in {
		if !e.bypass.in[i].direct {
			s.Buffer(i + 1).Reset()
			most = group
		}
	}
	for hi-lo >= group {
		n := min(most, (hi-lo)/group*group)
		e.bypassGroup(lo, n, held, s)
		lo, held = lo+n, lo
	}
	return lo
}

// bypassGroup computes n elements from lo on with one call of the loop, where buffers hold
// what is laid out of those from held on, if that is not negative. It is not inlined, as
// piece is not.
//
//go:noinline
func (e *elementwise) bypassGroup(lo, n, held int, s *tile.Scratch) {
	p := s.Pointers(len(e.args))
	p[0] = unsafe.Add(e.args[0].Ptr(), lo*e.bypass.size)
	for i := range e.bypass.in {
		a := &e.args[i+1]
		if e.bypass.in[i].direct {
			p[i+1] = unsafe.Add(a.Ptr(), lo*e.bypass.size)
			continue
		}
		p[i+1] = s.Buffer(i + 1).Ptr()
		if period := a.Period(); held < 0 || period == 0 || (lo-held)%period != 0 {
			a.Gather(a.Ptr(), lo, n, p[i+1])
		}
	}
	e.bypass.loop(n, p, e.scalars, int64(lo))
}

// A buffer holds a group of an operand.
const _ = uint(tile.Bytes - vector.Group)

// bypassTiles computes rounds tiles, one after the other, of each of several pages
// from lo on. What follows a page of several is not the next, but that of the next
// group. It is not inlined, as piece is not.
//
//go:noinline
func (e *elementwise) bypassTiles(lo, rounds, pages int, s *tile.Scratch) {
	t := &e.bypass
	for r := range rounds {
		ahead := t.ahead
		if r*t.tile+ahead >= t.page {
			ahead += (pages - 1) * t.page
		}
		for page := range pages {
			e.bypassTile(lo+page*t.page+r*t.tile, ahead, s)
		}
	}
}

// bypassTile computes the tile that begins at an element, and asks for the one that
// begins so many further on.
func (e *elementwise) bypassTile(at, ahead int, s *tile.Scratch) {
	t, p := &e.bypass, s.Pointers(len(e.args))
	buf := s.Buffer(0).Ptr()
	p[0] = buf
	var soon [2]unsafe.Pointer // operands whose elements are of the result's size
	asked := 0
	for i := range t.in {
		in := &t.in[i]
		if !in.direct {
			p[i+1] = e.args[i+1].Load(at, t.tile, s.Buffer(i+1))
			continue
		}
		p[i+1] = unsafe.Add(in.ptr, at*in.size)
		if in.size == t.size && asked < len(soon) {
			soon[asked] = p[i+1]
			asked++
		} else {
			t.write.Prefetch(p[i+1], ahead*in.size, t.tile*in.size)
		}
	}
	switch asked {
	case 0:
		soon, ahead = [2]unsafe.Pointer{buf, buf}, 0
	case 1:
		soon[1] = soon[0]
	}
	e.loop(t.tile, p, e.scalars, int64(at))
	t.write.Write(unsafe.Add(e.args[0].Ptr(), at*t.size), buf, t.tile*t.size, soon[0], soon[1], ahead*t.size)
}
