package memory

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/device"
)

// A host is memory of Go's collector, lent out again and again.
type host struct {
	memory device.Memory
	class  int
	freed  uint64        // when it was last given back, by the cache's count
	loan   atomic.Uint64 // odd while lent; each loan and each return adds one
}

// The size classes of host blocks: powers of two from 1<<minClass to 1<<evenClass
// bytes, then 1<<fineBits to a doubling, so that at most an eighth of a large block
// is not used.
const (
	minClass    = 6
	evenClass   = 16
	fineBits    = 3
	hostClasses = evenClass + 1 + (63-evenClass)<<fineBits
)

// keepAtLeast is what of the host blocks that were given back is kept for the next
// in any case; where the machine has more than eight times that, an eighth of its
// memory is. Those given back longest ago go first.
const keepAtLeast = 1 << 30

// A hostCache holds the host blocks that nobody uses.
type hostCache struct {
	mu    sync.Mutex
	free  [hostClasses][]*host // by class; given back later is later in the list
	bytes int64                // of all of them
	bound int64                // of bytes; 0 before the first is kept
	count uint64               // of blocks given back so far
}

var hosts hostCache

// HostClass returns the size class of host blocks that hold bytes > 0. The blocks
// of a class up to evenClass have 1<<class bytes.
func HostClass(bytes int64) int {
	n := uint64(bytes - 1)
	if n < 1<<evenClass {
		return max(minClass, bits.Len64(n))
	}
	top := bits.Len64(n) - 1
	return evenClass + 1 + (top-evenClass)<<fineBits + int(n>>(top-fineBits))&(1<<fineBits-1)
}

// classSize returns the size of the blocks of a class.
func classSize(class int) int64 {
	if class <= evenClass {
		return 1 << class
	}
	class -= evenClass + 1
	top := evenClass + class>>fineBits
	return int64(class&(1<<fineBits-1)+1<<fineBits+1) << (top - fineBits)
}

func (h *host) lend() Block {
	return Block{Memory: h.memory, Device: device.CPU, owner: h, hold: h.loan.Add(1)}
}

func allocHost(drv device.Driver, bytes int64) (Block, error) {
	if bytes > maxRequest {
		return Block{}, fmt.Errorf("%w: cpu: cannot allocate %d bytes", device.ErrOutOfMemory, bytes)
	}
	class := HostClass(bytes)
	if h := hosts.take(class); h != nil {
		return h.lend(), nil
	}
	m, err := drv.Alloc(0, classSize(class))
	if errors.Is(err, device.ErrOutOfMemory) && hosts.empty() {
		m, err = drv.Alloc(0, classSize(class))
	}
	if err != nil {
		return Block{}, fmt.Errorf("cpu: cannot allocate %d bytes: %w", bytes, err)
	}
	h := &host{memory: m, class: class}
	return h.lend(), nil
}

// take returns the block of a class that was given back last, or nil.
func (c *hostCache) take(class int) *host {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.free[class]
	n := len(l)
	if n == 0 {
		return nil
	}
	h := l[n-1]
	l[n-1] = nil
	c.free[class] = l[:n-1]
	c.bytes -= h.memory.Bytes
	return h
}

// keep adds a block, and drops those given back longest ago while there are more
// bytes than the bound.
func (c *hostCache) keep(h *host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bound == 0 {
		c.bound = keepBound()
	}
	if h.memory.Bytes > c.bound {
		return
	}
	c.count++
	h.freed = c.count
	c.free[h.class] = append(c.free[h.class], h)
	for c.bytes += h.memory.Bytes; c.bytes > c.bound; {
		c.dropOldest()
	}
}

// dropOldest drops the block that was given back longest ago; there is one. The
// caller holds c.mu.
func (c *hostCache) dropOldest() {
	oldest := -1
	for class, l := range c.free {
		if len(l) > 0 && (oldest < 0 || l[0].freed < c.free[oldest][0].freed) {
			oldest = class
		}
	}
	c.bytes -= c.free[oldest][0].memory.Bytes
	c.free[oldest] = slices.Delete(c.free[oldest], 0, 1)
}

// empty drops all blocks and reports whether there were any.
func (c *hostCache) empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	any := c.bytes > 0
	clear(c.free[:])
	c.bytes = 0
	return any
}

// keepBound returns how many bytes are kept at most.
func keepBound() int64 {
	drv, err := device.DriverOf(device.KindCPU)
	if err != nil {
		return keepAtLeast
	}
	_, total, err := drv.MemoryInfo(0)
	if err != nil {
		return keepAtLeast
	}
	return max(keepAtLeast, total/8)
}

func (h *host) free(hold uint64) error {
	if !h.loan.CompareAndSwap(hold, hold+1) {
		return ErrFreed
	}
	hosts.keep(h)
	return nil
}

// use does nothing: work of streams reads unlocked host memory before the call
// that gives it returns.
func (*host) use(uint64, device.Device, device.StreamID) {}

// EmptyHostCache gives the host blocks that nobody uses to Go's collector, which
// gives their memory back to the system in its time. The small blocks among them
// belong to it in any case.
func EmptyHostCache() { hosts.empty() }
