package memory

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/memory/settings"
)

const settingsEnv = "SINTER_ALLOC_CONF"

// inForce are the settings; nil before they are read for the first time.
var inForce atomic.Pointer[settings.Settings]

// configuration returns the settings. The first call reads the environment; what
// is wrong there is an error of every call until Configure.
func configuration() (*settings.Settings, error) {
	if s := inForce.Load(); s != nil {
		return s, nil
	}
	s := settings.Default()
	for _, name := range []string{settingsEnv, "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"} {
		text, set := os.LookupEnv(name)
		if !set {
			continue
		}
		var err error
		if s, err = parse(text); err != nil {
			return nil, fmt.Errorf("environment variable %s: %w", name, err)
		}
		break
	}
	inForce.CompareAndSwap(nil, s)
	return inForce.Load(), nil
}

// ErrSettings is wrapped by errors about the text of allocator settings.
const ErrSettings ir.Error = "invalid allocator settings"

func parse(text string) (*settings.Settings, error) {
	s, err := settings.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	return s, nil
}

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
	s, err := parse(text)
	if err != nil {
		return err
	}
	inForce.Store(s)
	if s.Fraction >= 0 {
		for _, a := range everyAllocator() {
			a.mu.Lock()
			a.fraction = s.Fraction
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
	return s.Text
}
