package memory

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/figures"
	"github.com/sinter-go/sinter/runtime/memory/settings"
)

// unit is what blocks are multiples of, and addresses, in bytes.
const unit = settings.Unit

// An allocator is the caching allocator of one device.
type allocator struct {
	dev     device.Device
	drv     device.Driver
	total   int64 // bytes the device has; 0 where it does not say
	caching bool  // unless the environment said otherwise

	// growing is held during the driver's Alloc and Free, so that a goroutine that
	// finds no memory sees what others have released. It is taken before mu.
	growing sync.Mutex

	// mu is held for bookkeeping and for asking events whether they are done,
	// never while waiting.
	mu         sync.Mutex
	common     arena    // what is in no private pool
	arenas     []*arena // those of private pools, in the order they were made
	routes     []*route // replaced, never changed
	segments   []*chunk // the first chunk of each, by address
	spare      *chunk   // chunk records for reuse, linked by next
	stats      figures.Ledger
	fraction   float64 // of total that segments may take; 1 is no limit
	collectAt  int64   // held bytes from which on the collector is made to run
	collecting bool

	uses      []useQueue // one a stream that was recorded
	waiting   int        // entries in uses
	recording recordings // behind the uses of freed chunks
	capturing int        // captures under way
	deferred  []*chunk   // freed meanwhile, with recorded streams
	events    []device.EventID
	late      error // of freeing, for the next allocation to return

	trail trail // while history is recorded; has a lock of its own
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
		if a := (*t)[dev.Index]; a != nil && same(a.drv, drv) {
			return a
		}
	}
	return switchAllocator(dev, drv)
}

// same reports whether two drivers are one pointer. It costs less than to compare
// them, and of drivers that are no pointers it may miss some.
func same(a, b device.Driver) bool {
	return *(*[2]unsafe.Pointer)(unsafe.Pointer(&a)) == *(*[2]unsafe.Pointer)(unsafe.Pointer(&b))
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
// environment says so now.
func newAllocator(dev device.Device, drv device.Driver) *allocator {
	a := &allocator{dev: dev, drv: drv, fraction: 1, caching: true}
	a.common.init()
	for _, name := range []string{"SINTER_NO_MEMORY_CACHING", "PYTORCH_NO_CUDA_MEMORY_CACHING"} {
		if os.Getenv(name) == "1" {
			a.caching = false
		}
	}
	if p, err := drv.Properties(dev.Index); err == nil {
		a.total = p.TotalMemory
	}
	if conf, err := configuration(); err == nil && conf.Fraction >= 0 {
		a.fraction = conf.Fraction
	}
	a.setPace()
	return a
}

// alloc lends a chunk of bytes > 0 for work on stream s.
func (a *allocator) alloc(s device.StreamID, bytes int64) (*chunk, error) {
	if bytes >= maxRequest {
		return nil, a.tooLarge(bytes)
	}
	conf := inForce.Load()
	if conf == nil {
		var err error
		if conf, err = configuration(); err != nil {
			return nil, fmt.Errorf("%s: cannot allocate %d bytes: %w", a.dev, bytes, err)
		}
	}
	r := request{conf: conf, stream: s, bytes: bytes, size: conf.Round(bytes)}
	var within *scope
	if scopes.Held() {
		within, _ = scopes.Get()
	}
	a.mu.Lock()
	home := &a.common
	if within != nil || len(a.routes) > 0 {
		home = a.arenaFor(s, within)
	}
	r.pool = home.poolOf(r.size)
	if a.waiting > 0 {
		a.poll()
	}
	if err := a.late; err != nil {
		a.late = nil
		a.mu.Unlock()
		return nil, err
	}
	r.pool.searches++
	c := a.find(r)
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
	conf        *settings.Settings
	pool        *pool
	stream      device.StreamID
	bytes, size int64 // as asked for, and as a block
}

// find returns the free chunk that a request is served from: the best fit among
// those of the pool and stream, if it is not too large; nil if there is
// none. The caller holds a.mu, and counts the search where it is a step of grow.
func (a *allocator) find(r request) *chunk {
	set := r.pool.set(r.stream)
	c := set.bestFit(r.size)
	if c != nil && c.room != nil {
		c = set.inRoom(c, r.conf.Expandable)
	}
	if c == nil || !r.conf.Fits(r.size, c.size) {
		return nil
	}
	return c
}
