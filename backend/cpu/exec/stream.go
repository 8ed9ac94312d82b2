package exec

import (
	"sync"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cache"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A stream is how an element-wise call works whose operands no cache holds: small
// tiles of the result are computed where the first cache keeps them, then written
// past the caches, while operands that are needed soon are asked for. That saves
// reading what is going to be overwritten.
//
// Tiles are taken from several pages side by side: processors follow several streams
// of memory at once, each to the end of its page.
type stream struct {
	on    bool
	write move.Streamer
	size  int // bytes of an element of the result
	tile  int // elements
	page  int // elements of the result in a page
	pages int // side by side
	ahead int // bytes from where operands are read to where they are asked for
	in    []streamIn
}

// A streamIn is an operand.
type streamIn struct {
	direct bool // used where it is; else loaded
	ptr    unsafe.Pointer
	size   int
}

// A streaming is a choice of sizes. One whose tiles have no bytes stands for none:
// what is computed slowly hides memory better by itself on some processors.
type streaming struct{ tileBytes, ahead, pages int }

// A streamPlan is the choice for a processor, by measurement: quick is for loops that
// work through rate bytes a nanosecond in the first cache, slow for others.
type streamPlan struct {
	rate        float64
	quick, slow streaming
}

// plan is the one of this process.
var plan = map[simd.Level]streamPlan{
	simd.AVX2:   {27, streaming{1024, 4096, 1}, streaming{}},
	simd.AVX512: {24, streaming{512, 512, 4}, streaming{512, 2048, 1}},
	simd.AMX:    {24, streaming{512, 512, 4}, streaming{512, 2048, 1}},
}[simd.Active()]

const pageBytes = 4096

// lastCache is from how many bytes on results are streamed.
var lastCache = cache.Last

// make turns the stream on, and reports that it did, where c is large enough and its
// loop quick enough, and its result is stored as it is computed and without gaps.
func (t *stream) make(c *ir.Call, e *elementwise) bool {
	t.write = move.Stream(simd.Active())
	out := c.Out[0]
	if !t.write.Usable() || !e.args[0].Contiguous() || uintptr(out.Ptr)%uintptr(out.DType.Size()) != 0 {
		return false
	}
	t.size = out.DType.Size()
	n, bytes := ir.NumElements(c.Space), t.size
	t.in = t.in[:0]
	for i, v := range c.In {
		in := streamIn{e.args[i+1].Contiguous(), v.Ptr, v.DType.Size()}
		if in.direct {
			bytes += in.size
		}
		t.in = append(t.in, in)
	}
	if n*bytes < lastCache() || n < tile.Size {
		return false
	}
	choice := plan.quick
	if rateOf(c, e, bytes) < plan.rate {
		choice = plan.slow
	}
	t.tile, t.ahead, t.pages = min(tile.Size, choice.tileBytes/t.size), choice.ahead, choice.pages
	t.page, t.on = pageBytes/t.size, t.tile > 0
	return t.on
}

// clear drops every pointer into tensors' memory.
func (t *stream) clear() {
	t.on = false
	clear(t.in)
}

// A body is a loop and what it is called with.
type body struct {
	op      *ir.Op
	variant int
	compute ir.DType
	bytes   int
}

// rates are the bytes a nanosecond of bodies as float64, measured when they are first
// streamed.
var rates sync.Map

// rateOf returns how many bytes a nanosecond c's loop works through in the first
// cache; bytes are those of one element of the operands and the result. The best of a
// few calls counts: others may have been interrupted.
func rateOf(c *ir.Call, e *elementwise, bytes int) float64 {
	key := body{c.Op, c.Variant, c.Compute, bytes}
	if r, ok := rates.Load(key); ok {
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
	rates.Store(key, rate)
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
func (t *stream) grain() int { return 256 << 10 / t.size }

// streamSpan computes whole tiles of [lo, hi), and what comes before the first
// that begins with a cache line. It returns where it stopped.
func (e *elementwise) streamSpan(lo, hi int, s *tile.Scratch) int {
	t := &e.stream
	if past := int(uintptr(e.args[0].Ptr())+uintptr(lo*t.size)) % move.Line; past != 0 {
		n := min(hi-lo, (move.Line-past)/t.size)
		e.piece(lo, n, s)
		lo += n
	}
	for group := t.pages * t.page; hi-lo >= group; lo += group {
		e.streamTiles(lo, t.page/t.tile, t.pages, s)
	}
	if rounds := (hi - lo) / t.tile; rounds > 0 {
		e.streamTiles(lo, rounds, 1, s)
		lo += rounds * t.tile
	}
	t.write.Fence()
	return lo
}

// streamTiles computes rounds tiles, one after the other, of each of several pages
// from lo on. It is not inlined, as piece is not.
//
//go:noinline
func (e *elementwise) streamTiles(lo, rounds, pages int, s *tile.Scratch) {
	t, p := &e.stream, s.Pointers(len(e.args))
	buf, n := s.Buffer(0).Ptr(), e.stream.tile
	for r := range rounds {
		for page := range pages {
			at := lo + page*t.page + r*n
			out := unsafe.Add(e.args[0].Ptr(), at*t.size)
			p[0] = buf
			var soon [2]unsafe.Pointer // of operands whose elements are of the result's size
			asked := 0
			for i := range t.in {
				in := &t.in[i]
				if !in.direct {
					p[i+1] = e.args[i+1].Load(at, n, s.Buffer(i+1))
					continue
				}
				p[i+1] = unsafe.Add(in.ptr, at*in.size)
				if in.size == t.size && asked < len(soon) {
					soon[asked] = p[i+1]
					asked++
				} else {
					t.write.Prefetch(p[i+1], t.ahead, n*in.size)
				}
			}
			switch asked {
			case 0:
				soon = [2]unsafe.Pointer{buf, buf}
			case 1:
				soon[1] = soon[0]
			}
			e.loop(n, p, e.scalars, int64(at))
			ahead := t.ahead
			if asked == 0 {
				ahead = 0
			}
			t.write.Write(out, buf, n*t.size, soon[0], soon[1], ahead)
		}
	}
}
