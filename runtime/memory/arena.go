package memory

import (
	"slices"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/local"
	"github.com/sinter-go/sinter/runtime/memory/figures"
	"github.com/sinter-go/sinter/runtime/memory/settings"
)

// An arena is the two pools that blocks of one origin come from: a device's
// default one, or what a private pool has on the device. The allocator's lock
// guards it.
type arena struct {
	id           PoolID
	small, large pool
	name         string
	noSplit      bool // a block takes its whole segment
	onOOM        bool // free blocks serve others before caches go back
	released     bool // nobody refers to it: what is free goes back with the next release
	segments     int  // held from the driver, reserved ranges included
	reserved     figures.Gauge
}

func (h *arena) init() {
	h.small = pool{small: true, kind: figures.Small, arena: h, sets: map[device.StreamID]*freeSet{}}
	h.large = pool{kind: figures.Large, arena: h, sets: map[device.StreamID]*freeSet{}}
}

// poolOf returns the pool for blocks of a size.
func (h *arena) poolOf(size int64) *pool {
	if size <= settings.SmallSize {
		return &h.small
	}
	return &h.large
}

// private reports whether the arena is not a device's default one.
func (h *arena) private() bool { return h.id != PoolID{} }

// cached reports whether what is free in the arena may go back to the driver: a
// private pool keeps it while somebody refers to the pool, since a graph may be
// replayed on it.
func (h *arena) cached() bool { return !h.private() || h.released }

// A pool is where chunks of one kind of size come from.
type pool struct {
	small    bool
	kind     int // of the ledger
	arena    *arena
	searches uint64                       // for free chunks, ever: what their age is counted in
	first    freeSet                      // of the default stream
	sets     map[device.StreamID]*freeSet // of the others
	last     *freeSet                     // the one of sets that was used last
	of       device.StreamID              // whose it is
	bare     map[device.StreamID][]*chunk // unmapped, by address
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

// A route sends the allocations on some streams to an arena.
type route struct {
	match func(device.StreamID) bool
	to    *arena
}

// scopes has the pools that the calling goroutine allocates from.
var scopes = local.NewKey[*scope]()

// A scope is a Pool.Do under way, within others.
type scope struct {
	of    *allocator
	to    *arena
	outer *scope
}

// arenaFor returns where an allocation on s comes from: the scope is the calling
// goroutine's. A route comes before scopes, for what a graph uses must not go
// back to others. The caller holds a.mu.
func (a *allocator) arenaFor(s device.StreamID, within *scope) *arena {
	for _, r := range a.routes {
		if r.match(s) {
			return r.to
		}
	}
	for ; within != nil; within = within.outer {
		if within.of == a {
			return within.to
		}
	}
	return &a.common
}

// arenaOf returns the arena of a pool, new if it has none. The caller holds a.mu.
func (a *allocator) arenaOf(id PoolID, o PoolOptions) *arena {
	for _, h := range a.arenas {
		if h.id == id {
			return h
		}
	}
	h := &arena{id: id, name: o.Name, noSplit: o.NoSplit, onOOM: o.UseOnOOM}
	h.init()
	a.arenas = append(a.arenas, h)
	return h
}

// forget drops the arenas that nobody refers to and that have no memory. The
// caller holds a.mu.
func (a *allocator) forget() {
	a.arenas = slices.DeleteFunc(a.arenas, func(h *arena) bool { return h.released && h.segments == 0 })
}
