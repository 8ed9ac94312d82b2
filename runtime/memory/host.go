package memory

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/device"
)

// Host blocks of up to 1<<maxClass bytes are recycled, a bounded number a class.
const (
	minClass    = 6  // 64 bytes
	maxClass    = 28 // 256 MiB
	keepBytes   = 64 << 20
	keepAtLeast = 2
)

// A host is memory of Go's collector, lent out again and again.
type host struct {
	memory device.Memory
	class  int           // size class, or -1: not recycled
	loan   atomic.Uint64 // odd while lent; each loan and each return adds one
}

type freeList struct {
	mu   sync.Mutex
	free []*host
}

var hostFree [maxClass + 1]freeList

// sizeClass returns the class whose blocks hold n bytes.
func sizeClass(n int64) int { return max(minClass, bits.Len64(uint64(n-1))) }

func (h *host) lend() Block {
	return Block{Memory: h.memory, Device: device.CPU, owner: h, hold: h.loan.Add(1)}
}

func allocHost(drv device.Driver, bytes int64) (Block, error) {
	class, size := sizeClass(bytes), bytes
	if class <= maxClass {
		if h := hostFree[class].take(); h != nil {
			return h.lend(), nil
		}
		size = 1 << class
	} else {
		class = -1
	}
	m, err := drv.Alloc(0, size)
	if err != nil {
		return Block{}, fmt.Errorf("cpu: cannot allocate %d bytes: %w", bytes, err)
	}
	h := &host{memory: m, class: class}
	return h.lend(), nil
}

func (l *freeList) take() *host {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.free)
	if n == 0 {
		return nil
	}
	h := l.free[n-1]
	l.free[n-1] = nil
	l.free = l.free[:n-1]
	return h
}

func (h *host) free(hold uint64) error {
	if !h.loan.CompareAndSwap(hold, hold+1) {
		return ErrFreed
	}
	if h.class < 0 {
		return nil
	}
	l := &hostFree[h.class]
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n < keepAtLeast || int64(n)<<h.class < keepBytes {
		l.free = append(l.free, h)
	}
	return nil
}

// use does nothing: work of streams reads unlocked host memory before the call
// that gives it returns.
func (*host) use(uint64, device.Device, device.StreamID) {}

// EmptyHostCache drops the recycled host blocks.
func EmptyHostCache() {
	for i := range hostFree {
		l := &hostFree[i]
		l.mu.Lock()
		l.free = nil
		l.mu.Unlock()
	}
}
