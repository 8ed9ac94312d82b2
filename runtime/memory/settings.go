package memory

import (
	"fmt"
	"math"
	"os"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
)

// settings are what a string in the environment or Configure says. They do
// not change once published.
type settings struct {
	text         string
	maxSplit     int64                // blocks of so many bytes are not divided
	maxRounding  int64                // by which a block that is not divided may be too large
	divisions    [numDivisions]uint64 // of the interval between powers of two that a size is in; 0: none
	rounds       bool                 // divisions has any
	collectFrom  float64              // of the limit, from where on old blocks go back; 0: never
	expandable   bool                 // segments grow page by page
	largeSegment int64                // bytes
	rejects      bool                 // what is over the limit fails at once
	fraction     float64              // of a device's memory; negative: not said
	pinned       pinnedSettings
}

// pinnedSettings are those of page-locked memory.
type pinnedSettings struct {
	register   bool  // lock memory of the program's instead of asking for locked memory
	threads    int   // that touch the pages of such memory first
	background bool  // a goroutine waits for copies
	reserve    int64 // bytes locked at once, which blocks are cut from; 0: none
	maxRound   int64 // blocks of more bytes are not rounded up to a power of two
	maxCached  int64 // blocks of more bytes are not kept
}

// unlimited stands for no limit on sizes.
const unlimited = math.MaxInt64

// The intervals that have divisions of their own: from 1 MiB, and sizes below it,
// to 32 GiB and sizes above.
const (
	numDivisions = 16
	firstDivided = 20 // log2 of the first interval's start
	maxThreads   = 128
	minLargeMiB  = directSize >> 20
	settingsEnv  = "SINTER_ALLOC_CONF"
)

func defaults() *settings {
	return &settings{
		maxSplit: unlimited, maxRounding: 20 << 20, largeSegment: largeSegment, fraction: -1,
		pinned: pinnedSettings{threads: 1, maxRound: unlimited, maxCached: unlimited},
	}
}

// inForce are the settings; nil before they are read for the first time.
var inForce atomic.Pointer[settings]

// configuration returns the settings. The first call reads the environment; what
// is wrong there is an error of every call until Configure.
func configuration() (*settings, error) {
	if s := inForce.Load(); s != nil {
		return s, nil
	}
	s := defaults()
	for _, name := range []string{settingsEnv, "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"} {
		text, set := os.LookupEnv(name)
		if !set {
			continue
		}
		var err error
		if s, err = parseSettings(text); err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", name, err)
		}
		break
	}
	inForce.CompareAndSwap(nil, s)
	return inForce.Load(), nil
}

// ErrSettings is wrapped by errors about the text of allocator settings.
const ErrSettings ir.Error = "invalid allocator settings"

// Configure sets how the allocators of all devices work from now on: the same
// text as the environment's SINTER_ALLOC_CONF, which it replaces as a whole.
// What it does not name is as by default, but that a memory fraction stays which
// it does not name.
//
// The text has the form "key:value,key:value"; whitespace counts for nothing.
// Sizes are in MiB. The keys, with their defaults:
//
//	backend:native                     nothing else is there
//	max_split_size_mb                  blocks of that size are not divided, nor lent to smaller requests; no limit
//	max_non_split_rounding_mb:20       how much larger such a block may be than what it is lent for
//	roundup_power2_divisions           sizes are rounded up to such a part of a power of two: a number, or a list
//	                                   by size as in [64:8,256:4,>:1]; none
//	garbage_collection_threshold       the part of the memory limit, between 0 and 1, above which blocks go back to
//	                                   the driver that were not used for long; none
//	expandable_segments:False          segments grow in reserved ranges of addresses
//	per_process_memory_fraction        as SetMemoryFraction on every device
//	large_segment_size_mb:20           what the driver is asked for when blocks of 1 to 10 MiB are needed; even, from 10 on
//	throw_on_cudamalloc_oom:False      a request over the memory limit fails without trying to make room
//	release_lock_on_cudamalloc         accepted: no lock is held in the driver's call in any case
//	pinned_use_cuda_host_register:False    page-lock the program's memory rather than ask the driver for locked memory
//	pinned_num_register_threads:1          goroutines that touch such memory first; a power of two up to 128
//	pinned_use_background_threads:False    wait for copies in a goroutine rather than look with the next allocation
//	pinned_reserve_segment_size_mb:0       page-lock that much at once, and cut blocks from it
//	pinned_max_round_threshold_mb          blocks above are not rounded up to a power of two; no limit
//	pinned_max_cached_size_mb              blocks above are not kept when they are freed; no limit
func Configure(text string) error {
	s, err := parseSettings(text)
	if err != nil {
		return err
	}
	inForce.Store(s)
	if s.fraction >= 0 {
		for _, a := range everyAllocator() {
			a.mu.Lock()
			a.fraction = s.fraction
			a.setPace()
			a.mu.Unlock()
		}
	}
	return nil
}

// Settings returns the text of the settings in force: the environment's or what
// Configure was given last.
func Settings() string {
	s, err := configuration()
	if err != nil {
		return ""
	}
	return s.text
}

// round returns the size of the block for n > 0 bytes. It is small enough
// to be inlined.
func (s *settings) round(n int64) int64 {
	if s.rounds {
		return s.roundDivided(n)
	}
	return roundSize(n)
}

func (s *settings) roundDivided(n int64) int64 {
	if d := s.division(n); d > 1 && uint64(n) > unit*d {
		return roundPart(n, d)
	}
	return roundSize(n)
}

// segment returns what the driver is asked for when a block of size bytes does not
// fit in what is there.
func (s *settings) segment(size int64) int64 {
	switch {
	case size <= smallSize:
		return smallSegment
	case size < directSize:
		return s.largeSegment
	}
	return (size + directRounding - 1) &^ (directRounding - 1)
}

// fits reports whether a free block of have bytes may serve a request of size.
func (s *settings) fits(size, have int64) bool {
	if size < s.maxSplit {
		return have < s.maxSplit
	}
	return have-size < s.maxRounding
}
