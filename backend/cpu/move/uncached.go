package move

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Line is the bytes of a cache line. What is written past the caches begins at multiples of it.
const Line = 64

// An Uncached writes memory past the caches, for results too large to be found there
// when they are read.
type Uncached struct {
	write func(dst, src *byte, n int, first, second *byte, ahead int)
}

var uncached = [...]Uncached{
	simd.Portable: {}, simd.AVX2: {uncachedAt(simd.AVX2)}, simd.AVX512: {uncachedAt(simd.AVX512)},
}

// UncachedAt returns a level's Uncached. It can do nothing where Usable is false.
func UncachedAt(level simd.Level) Uncached { return uncached[level.Vectors()] }

// Usable reports whether there are instructions for it.
func (s Uncached) Usable() bool { return s.write != nil }

// Write copies n bytes, a multiple of Line, to dst, which is aligned to Line, and asks
// for as many that are ahead bytes after first and after second, which may be the same,
// before they are needed. These may lie outside of what the two point into. Fence must
// follow the last Write before another goroutine reads what was written.
func (s Uncached) Write(dst, src unsafe.Pointer, n int, first, second unsafe.Pointer, ahead int) {
	if n > 0 {
		s.write(Bytes(dst), Bytes(src), n, Bytes(first), Bytes(second), ahead)
	}
}

// Fence orders what was written before everything after it.
func (Uncached) Fence() { fenceAVX2() }

// Prefetch asks for the n bytes that are ahead bytes after p before they are needed.
// They may lie outside of what p points into.
func (Uncached) Prefetch(p unsafe.Pointer, ahead, n int) {
	if n > 0 {
		prefetchAVX2(Bytes(p), ahead, n)
	}
}
