// Package host recycles memory of Go's collector by size class, so that tensors of a
// program that goes on in steps are not new memory each time, and memory outside of Go's heap
// for temporaries. It knows nothing of devices but the driver that memory comes from.
package host

import (
	"errors"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/offheap"
)

// A Block is memory of Go's collector, or outside of its heap, lent out again and again.
type Block struct {
	Memory  device.Memory
	outside *offheap.Block // that the memory is of, nil for Go's
	class   int
	freed   uint64        // when it was last given back, by the cache's count
	loan    atomic.Uint64 // odd while lent; each loan and each return adds one
}

// The size classes of host blocks: powers of two from 1<<minClass to 1<<evenClass
// bytes, then 1<<fineBits to a doubling, so that at most an eighth of a large block
// is not used.
const (
	minClass  = 6
	evenClass = 16
	fineBits  = 3
	classes   = evenClass + 1 + (63-evenClass)<<fineBits
)

// keepAtLeast is what of the host blocks that were given back is kept for the next
// in any case; where the machine has more than eight times that, an eighth of its
// memory is. Those given back longest ago go first.
const keepAtLeast = 1 << 30

// A cache holds the blocks that nobody uses.
type cache struct {
	mu    sync.Mutex
	free  [classes][]*Block // by class; given back later is later in the list
	bytes int64             // of all of them
	bound int64             // of bytes; 0 before the first is kept
	count uint64            // of blocks given back so far
}

// The blocks that nobody uses: those of Go's memory, and those outside of its heap, which are
// never lent to tensors.
var unused, outside cache

// Class returns the size class of blocks that hold bytes > 0. The blocks
// of a class up to evenClass have 1<<class bytes.
func Class(bytes int64) int {
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

// Alloc lends a block of at least bytes > 0 bytes, one that was given back or one of drv's.
// Free takes the loan, which is odd.
func Alloc(drv device.Driver, bytes int64) (b *Block, loan uint64, err error) {
	class := Class(bytes)
	if b = unused.take(class); b == nil {
		m, err := drv.Alloc(0, classSize(class))
		if errors.Is(err, device.ErrOutOfMemory) && empty() {
			m, err = drv.Alloc(0, classSize(class))
		}
		if err != nil {
			return nil, 0, err
		}
		b = &Block{Memory: m, class: class}
	}
	return b, b.loan.Add(1), nil
}

// AllocOutside lends a block of at least bytes > 0 bytes outside of Go's heap. Its memory may go
// once the block is unreachable.
func AllocOutside(bytes int64) (b *Block, loan uint64) {
	class := Class(bytes)
	if b = outside.take(class); b == nil {
		m := offheap.New(int(classSize(class)))
		b = &Block{Memory: device.Memory{Host: m.Ptr(), Bytes: classSize(class)}, outside: m, class: class}
	}
	return b, b.loan.Add(1)
}

// Free gives the block back, and reports whether the loan had not ended.
func (b *Block) Free(loan uint64) bool {
	if !b.loan.CompareAndSwap(loan, loan+1) {
		return false
	}
	if b.outside != nil {
		outside.keep(b)
	} else {
		unused.keep(b)
	}
	return true
}

// Empty gives the blocks that nobody uses to Go's collector, which gives their memory
// back to the system in its time. The small blocks among them belong to it in any case.
func Empty() { empty() }

// empty is Empty, and reports whether there were any.
func empty() bool {
	inside, outside := unused.empty(), outside.empty()
	return inside || outside
}

// take returns the block of a class that was given back last, or nil.
func (c *cache) take(class int) *Block {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.free[class]
	n := len(l)
	if n == 0 {
		return nil
	}
	b := l[n-1]
	l[n-1] = nil
	c.free[class] = l[:n-1]
	c.bytes -= b.Memory.Bytes
	return b
}

// keep adds a block, and drops those given back longest ago while there are more
// bytes than the bound.
func (c *cache) keep(b *Block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bound == 0 {
		c.bound = keepBound()
	}
	if b.Memory.Bytes > c.bound {
		return
	}
	c.count++
	b.freed = c.count
	c.free[b.class] = append(c.free[b.class], b)
	for c.bytes += b.Memory.Bytes; c.bytes > c.bound; {
		c.dropOldest()
	}
}

// dropOldest drops the block that was given back longest ago; there is one. The
// caller holds c.mu.
func (c *cache) dropOldest() {
	oldest := -1
	for class, l := range c.free {
		if len(l) > 0 && (oldest < 0 || l[0].freed < c.free[oldest][0].freed) {
			oldest = class
		}
	}
	c.bytes -= c.free[oldest][0].Memory.Bytes
	c.free[oldest] = slices.Delete(c.free[oldest], 0, 1)
}

// empty drops all blocks and reports whether there were any.
func (c *cache) empty() bool {
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
