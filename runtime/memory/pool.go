package memory

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// A PoolID names a private pool; the zero value is the default pool.
type PoolID struct{ A, B uint64 }

// PoolOptions are properties of a Pool.
type PoolOptions struct {
	// UseOnOOM lets allocations outside of the pool have its free blocks when the
	// driver has no more memory, before cached memory goes back to it.
	UseOnOOM bool
	// NoSplit gives every block a segment of its own.
	NoSplit bool
	// Name is what snapshots call the pool.
	Name string
}

// Errors of pools.
const (
	// ErrPoolInUse is wrapped when a pool is entered that is in use.
	ErrPoolInUse ir.Error = "the memory pool is in use already"
	// ErrPoolReleased is wrapped when a pool is used that nobody holds any more.
	ErrPoolReleased ir.Error = "the memory pool was released"
)

// A Pool is memory of one device that is kept apart from the rest: of a part of
// the program, or of a graph, whose addresses must not be lent to others. Blocks
// of a pool go back to the pool when they are freed. What is free in it stays with
// it, also when the device's cache is emptied, as long as somebody refers to the
// pool: its holders, and whoever allocates from it just now. A Pool is
// safe for use by several goroutines, of which one at a time allocates from it.
type Pool struct {
	id      PoolID
	dev     device.Device
	options PoolOptions

	mu      sync.Mutex // taken before an allocator's
	holders int
	active  bool       // Do or Route is under way
	of      *allocator // from the first of these on
	arena   *arena
}

var poolIDs atomic.Uint64

// NewPool returns a pool on a device, which the caller holds until Release. Nothing
// is asked of the device before the first allocation.
func NewPool(d device.Device, o PoolOptions) *Pool {
	return &Pool{id: PoolID{0, poolIDs.Add(1)}, dev: d.Resolve(), options: o, holders: 1}
}

// errNoPool is what methods of no pool answer.
var errNoPool = fmt.Errorf("memory pool: %w: a nil *memory.Pool; NewPool makes one", device.ErrInvalid)

// ID returns the pool's name, which no other pool of the process has.
func (p *Pool) ID() (id PoolID) {
	if p != nil {
		id = p.id
	}
	return id
}

// Device returns the device whose memory it is.
func (p *Pool) Device() (d device.Device) {
	if p != nil {
		d = p.dev
	}
	return d
}

// UseCount returns how many refer to the pool: 1 for each holder, and 1 while
// allocations come from it.
func (p *Pool) UseCount() int {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.uses()
}

func (p *Pool) uses() int {
	if p.active {
		return p.holders + 1
	}
	return p.holders
}

// Retain makes one more holder, who calls Release too: graphs share a pool so.
func (p *Pool) Retain() error {
	if p == nil {
		return errNoPool
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holders == 0 {
		return p.failure(ErrPoolReleased)
	}
	p.holders++
	return nil
}

// Release ends one holder's use. When nobody refers to the pool any more, the
// segments that no block is in go back to the driver, which waits for the
// device's work; the others do with the next EmptyCache, or when memory is short,
// once their blocks are free. During a capture that is true of all.
func (p *Pool) Release() error {
	if p == nil {
		return errNoPool
	}
	p.mu.Lock()
	if p.holders == 0 {
		p.mu.Unlock()
		return p.failure(ErrPoolReleased)
	}
	p.holders--
	unused := p.uses() == 0
	p.mu.Unlock()
	return p.dispose(unused)
}

// dispose lets the arena's memory go when nobody refers to the pool, which stays
// so. The caller holds no lock.
func (p *Pool) dispose(unused bool) error {
	if !unused || p.of == nil {
		return nil
	}
	a := p.of
	a.mu.Lock()
	p.arena.released = true
	a.mu.Unlock()
	if err := a.giveBack(func(h *arena) bool { return h == p.arena }); err != nil {
		return p.failure(err)
	}
	return nil
}

func (p *Pool) failure(err error) error {
	return fmt.Errorf("%s: memory pool %d_%d: %w", p.dev, p.id.A, p.id.B, err)
}

// Do calls f; what the calling goroutine allocates on the pool's device meanwhile
// comes from the pool. Calls with different pools nest, the innermost counts. It
// returns f's error, or that the pool is in use already, and then f is not called.
func (p *Pool) Do(f func() error) (err error) {
	if p == nil {
		return errNoPool
	}
	if f == nil {
		return p.failure(fmt.Errorf("%w: there is no function to call", device.ErrInvalid))
	}
	a, err := p.begin()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	outer, _ := scopes.Get()
	return scopes.Try(&scope{of: a, to: p.arena, outer: outer}, f)
}

// Route sends the allocations on the pool's device to the pool whose stream
// satisfies match, of whatever goroutine, until end is called. The same pool
// twice at once is an error. Match is called with the allocator locked: it must be
// quick and must not allocate on the device.
func (p *Pool) Route(match func(device.StreamID) bool) (end func(), err error) {
	if p == nil {
		return nil, errNoPool
	}
	if match == nil {
		return nil, fmt.Errorf("%w: a route of %s without a function that says which streams take it", device.ErrInvalid, p.Device())
	}
	a, err := p.begin()
	if err != nil {
		return nil, err
	}
	r := &route{match, p.arena}
	a.mu.Lock()
	a.routes = append(slices.Clip(a.routes), r)
	a.mu.Unlock()
	return sync.OnceFunc(func() {
		a.mu.Lock()
		a.routes = slices.DeleteFunc(slices.Clone(a.routes), func(x *route) bool { return x == r })
		a.mu.Unlock()
		if err := p.end(); err != nil {
			a.mu.Lock()
			a.late = errors.Join(a.late, err)
			a.mu.Unlock()
		}
	}), nil
}

// begin makes the pool the one that somebody allocates from.
func (p *Pool) begin() (*allocator, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.holders == 0:
		return nil, p.failure(ErrPoolReleased)
	case p.active:
		return nil, p.failure(ErrPoolInUse)
	}
	if p.of == nil {
		d, drv, err := device.Find(p.dev)
		if err != nil {
			return nil, p.failure(err)
		}
		if !d.Accelerator() {
			return nil, p.failure(fmt.Errorf("%w: want an accelerator's memory", device.ErrInvalid))
		}
		a := allocatorOf(d, drv)
		a.mu.Lock()
		p.of, p.arena = a, a.arenaOf(p.id, p.options)
		a.mu.Unlock()
	}
	p.active = true
	return p.of, nil
}

// end is what begin ends with.
func (p *Pool) end() error {
	p.mu.Lock()
	p.active = false
	unused := p.uses() == 0
	p.mu.Unlock()
	return p.dispose(unused)
}
