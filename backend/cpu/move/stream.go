package move

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Line is the bytes of a cache line. Streams begin at multiples of it.
const Line = 64

// A Streamer writes memory past the caches, for results too large to be found there
// when they are read.
type Streamer struct {
	write func(dst, src *byte, n int, first, second *byte, ahead int)
}

var streamers = [...]Streamer{
	simd.Portable: {}, simd.AVX2: {streamer(simd.AVX2)}, simd.AVX512: {streamer(simd.AVX512)},
}

// Stream returns a level's Streamer. It can do nothing where Usable is false.
func Stream(level simd.Level) Streamer { return streamers[level.Vectors()] }

// Usable reports whether there are instructions for it.
func (s Streamer) Usable() bool { return s.write != nil }

// Write copies n bytes, a multiple of Line, to dst, which is aligned to Line, and asks
// for as many that are ahead bytes after first and after second, which may be the same,
// before they are needed. These may lie outside of what the two point into. Fence must
// follow the last Write before another goroutine reads what was written.
func (s Streamer) Write(dst, src unsafe.Pointer, n int, first, second unsafe.Pointer, ahead int) {
	if n > 0 {
		s.write(Bytes(dst), Bytes(src), n, Bytes(first), Bytes(second), ahead)
	}
}

// Fence orders what was written before everything after it.
func (Streamer) Fence() { fenceAVX2() }

// Prefetch asks for the n bytes that are ahead bytes after p before they are needed.
// They may lie outside of what p points into.
func (Streamer) Prefetch(p unsafe.Pointer, ahead, n int) {
	if n > 0 {
		prefetchAVX2(Bytes(p), ahead, n)
	}
}
