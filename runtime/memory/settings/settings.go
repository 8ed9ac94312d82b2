// Package settings is what the text of allocator settings says, and the sizes of blocks and
// segments that follow from it. It knows nothing of allocators and of the environment.
package settings

import "math"

// The sizes that nothing else is said of, in bytes.
const (
	Unit           = 512      // blocks are multiples of it, and so are addresses
	SmallSize      = 1 << 20  // the largest block of the small pool
	SmallSegment   = 2 << 20  // what the small pool asks the driver for
	largeSegment   = 20 << 20 // what the large pool does for blocks below directSize
	directSize     = 10 << 20 // blocks from here on get a segment of their own size
	directRounding = 2 << 20
)

// Settings are what a text says. They do not change once they are made.
type Settings struct {
	Text         string
	MaxSplit     int64   // blocks of so many bytes are not divided
	MaxRounding  int64   // by which a block that is not divided may be too large
	CollectFrom  float64 // of the limit, from where on old blocks go back; 0: never
	Expandable   bool    // segments grow page by page
	LargeSegment int64   // bytes
	Rejects      bool    // what is over the limit fails at once
	Fraction     float64 // of a device's memory; negative: not said
	Pinned       Pinned

	divisions [numDivisions]uint64 // of the interval between powers of two that a size is in; 0: none
	rounds    bool                 // divisions has any
}

// Pinned are the settings of page-locked memory.
type Pinned struct {
	Register   bool  // lock memory of the program's instead of asking for locked memory
	Threads    int   // that touch the pages of such memory first
	Background bool  // a goroutine waits for copies
	Reserve    int64 // bytes locked at once, which blocks are cut from; 0: none
	MaxRound   int64 // blocks of more bytes are not rounded up to a power of two
	MaxCached  int64 // blocks of more bytes are not kept
}

// Unlimited stands for no limit on sizes.
const Unlimited = math.MaxInt64

// The intervals that have divisions of their own: from 1 MiB, and sizes below it,
// to 32 GiB and sizes above.
const (
	numDivisions = 16
	firstDivided = 20 // log2 of the first interval's start
	maxThreads   = 128
	minLargeMiB  = directSize >> 20
)

// Default returns what an empty text says.
func Default() *Settings {
	return &Settings{
		MaxSplit: Unlimited, MaxRounding: 20 << 20, LargeSegment: largeSegment, Fraction: -1,
		Pinned: Pinned{Threads: 1, MaxRound: Unlimited, MaxCached: Unlimited},
	}
}

// roundSize returns the size of the block for n > 0 bytes.
func roundSize(n int64) int64 { return (n + Unit - 1) &^ (Unit - 1) }

// Round returns the size of the block for n > 0 bytes. It is small enough to be inlined.
func (s *Settings) Round(n int64) int64 {
	if s.rounds {
		return s.roundDivided(n)
	}
	return roundSize(n)
}

func (s *Settings) roundDivided(n int64) int64 {
	if d := s.division(n); d > 1 && uint64(n) > Unit*d {
		return roundPart(n, d)
	}
	return roundSize(n)
}

// Segment returns what the driver is asked for when a block of size bytes does not
// fit in what is there.
func (s *Settings) Segment(size int64) int64 {
	switch {
	case size <= SmallSize:
		return SmallSegment
	case size < directSize:
		return s.LargeSegment
	}
	return (size + directRounding - 1) &^ (directRounding - 1)
}

// Fits reports whether a free block of have bytes may serve a request of size.
func (s *Settings) Fits(size, have int64) bool {
	if size < s.MaxSplit {
		return have < s.MaxSplit
	}
	return have-size < s.MaxRounding
}
