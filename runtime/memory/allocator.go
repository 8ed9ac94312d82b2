package memory

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/device"
)

// Sizes of section 3.1.
const (
	unit           = 512      // blocks are multiples of it, and so are addresses
	smallSize      = 1 << 20  // the largest block of the small pool
	smallSegment   = 2 << 20  // what the small pool asks the driver for
	largeSegment   = 20 << 20 // what the large pool does for blocks below directSize
	directSize     = 10 << 20 // blocks from here on get a segment of their own size
	directRounding = 2 << 20
)

// roundSize returns the size of the block for n > 0 bytes (A2).
func roundSize(n int64) int64 { return (n + unit - 1) &^ (unit - 1) }

// segmentSize returns what the driver is asked for when a block of size bytes, a
// multiple of unit, does not fit in what is there (A5).
func segmentSize(size int64) int64 {
	switch {
	case size <= smallSize:
		return smallSegment
	case size < directSize:
		return largeSegment
	}
	return (size + directRounding - 1) &^ (directRounding - 1)
}

// An allocator is the caching allocator of one device.
type allocator struct {
	dev     device.Device
	drv     device.Driver
	total   int64 // bytes the device has; 0 where it does not say
	caching bool

	// growing is held during the driver's Alloc and Free, so that a goroutine that
	// finds no memory sees what others have released. It is taken before mu.
	growing sync.Mutex

	// mu is held for bookkeeping and for asking events whether they are done,
	// never while waiting.
	mu           sync.Mutex
	small, large pool
	segments     []*chunk // the first chunk of each, by address
	spare        *chunk   // chunk records for reuse, linked by next
	stats        Stats
	fraction     float64 // of total that segments may take; 1 is no limit
	collectAt    int64   // held bytes from which on the collector is made to run
	collecting   bool

	uses    []useQueue // one a stream that was recorded
	waiting int        // entries in uses
	events  []device.EventID
	late    error // of freeing, for the next allocation to return
}

// A pool is where chunks of one kind of size come from.
type pool struct {
	small bool
	first freeSet                      // of the default stream
	sets  map[device.StreamID]*freeSet // of the others
	last  *freeSet                     // the one of sets that was used last
	of    device.StreamID              // whose it is
}

// set returns the free chunks of a stream.
func (p *pool) set(s device.StreamID) *freeSet {
	switch {
	case s == 0:
		return &p.first
	case s == p.of:
		return p.last
	}
	found := p.sets[s]
	if found == nil {
		found = new(freeSet)
		p.sets[s] = found
	}
	p.of, p.last = s, found
	return found
}

// splits reports whether a chunk is divided when rest bytes of it are not needed
// (A9).
func (p *pool) splits(rest int64) bool {
	if p.small {
		return rest >= unit
	}
	return rest > smallSize
}

// poolOf returns the pool for blocks of a size (A6).
func (a *allocator) poolOf(size int64) *pool {
	if size <= smallSize {
		return &a.small
	}
	return &a.large
}

// allocators has those of all drivers and devices; latest those in use now, by
// kind and index.
var allocators struct {
	mu     sync.Mutex
	all    map[allocatorKey]*allocator
	latest [1 << 8]atomic.Pointer[[]*allocator]
}

type allocatorKey struct {
	drv   device.Driver
	index int
}

// allocatorOf returns the allocator of a device.
func allocatorOf(dev device.Device, drv device.Driver) *allocator {
	if t := allocators.latest[dev.Kind].Load(); t != nil && uint(dev.Index) < uint(len(*t)) {
		if a := (*t)[dev.Index]; a != nil && a.drv == drv {
			return a
		}
	}
	return switchAllocator(dev, drv)
}

// switchAllocator makes the allocator of dev that of drv. That of another driver
// gives back what it has cached.
func switchAllocator(dev device.Device, drv device.Driver) *allocator {
	allocators.mu.Lock()
	key := allocatorKey{drv, dev.Index}
	a := allocators.all[key]
	if a == nil {
		a = newAllocator(dev, drv)
		if allocators.all == nil {
			allocators.all = map[allocatorKey]*allocator{}
		}
		allocators.all[key] = a
	}
	var table []*allocator
	if t := allocators.latest[dev.Kind].Load(); t != nil {
		table = slices.Clone(*t)
	}
	if more := dev.Index + 1 - len(table); more > 0 {
		table = append(table, make([]*allocator, more)...)
	}
	old := table[dev.Index]
	table[dev.Index] = a
	allocators.latest[dev.Kind].Store(&table)
	allocators.mu.Unlock()
	if old != nil && old != a {
		_ = old.release() // its driver is gone for the program
	}
	return a
}

// existing returns the allocator of a device that was used before, or nil.
func existing(d device.Device) *allocator {
	d = d.Resolve()
	drv, err := device.DriverOf(d.Kind)
	if err != nil {
		return nil
	}
	allocators.mu.Lock()
	defer allocators.mu.Unlock()
	return allocators.all[allocatorKey{drv, d.Index}]
}

// newAllocator returns the allocator of a device. Caching is off when the
// environment says so now (A33).
func newAllocator(dev device.Device, drv device.Driver) *allocator {
	a := &allocator{dev: dev, drv: drv, fraction: 1, caching: true}
	a.small = pool{small: true, sets: map[device.StreamID]*freeSet{}}
	a.large = pool{sets: map[device.StreamID]*freeSet{}}
	for _, name := range []string{"SINTER_NO_MEMORY_CACHING", "PYTORCH_NO_CUDA_MEMORY_CACHING"} {
		if os.Getenv(name) == "1" {
			a.caching = false
		}
	}
	if p, err := drv.Properties(dev.Index); err == nil {
		a.total = p.TotalMemory
	}
	a.setPace()
	return a
}

// alloc lends a chunk of bytes > 0 for work on stream s.
func (a *allocator) alloc(s device.StreamID, bytes int64) (*chunk, error) {
	if bytes >= maxRequest {
		return nil, a.tooLarge(bytes)
	}
	r := request{stream: s, bytes: bytes, size: roundSize(bytes)}
	r.pool = a.poolOf(r.size)
	a.mu.Lock()
	if a.waiting > 0 {
		a.poll()
	}
	if err := a.late; err != nil {
		a.late = nil
		a.mu.Unlock()
		return nil, err
	}
	c := r.pool.set(s).bestFit(r.size)
	if c == nil {
		a.mu.Unlock()
		return a.grow(r)
	}
	a.lend(c, r)
	a.mu.Unlock()
	return c, nil
}

// A request is what an allocation asks for.
type request struct {
	pool        *pool
	stream      device.StreamID
	bytes, size int64 // as asked for, and as a block
}
