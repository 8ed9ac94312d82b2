// Package offheap gives memory that Go's collector does not count: weights as kernels read
// them are large and last, and in Go's heap each byte of them would let it grow by another
// before it is collected. The package knows nothing of what the memory is used for.
package offheap

import (
	"math"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"unsafe"
)

// A Block is memory that begins at a multiple of 64 bytes. It goes back once the Block is
// unreachable, whoever else has its address: what uses it keeps the Block alive meanwhile.
type Block struct {
	ptr unsafe.Pointer
}

// least is how many bytes a block outside Go's heap has at least: it takes whole pages.
const least = 16 << 10

// New returns n bytes of zeros, at least one. Where the platform has no memory but Go's, or
// there are few of them, they are Go's.
func New(n int) *Block {
	if n >= least {
		if data := mapped(n); data != nil {
			b := &Block{unsafe.Pointer(&data[0])}
			runtime.AddCleanup(b, giveBack, data)
			pace.took(int64(n))
			return b
		}
	}
	words := make([]uint64, n/8+9)
	skip := -uintptr(unsafe.Pointer(&words[0])) & 63
	return &Block{unsafe.Add(unsafe.Pointer(&words[0]), skip)}
}

// Ptr returns the memory.
func (b *Block) Ptr() unsafe.Pointer { return b.ptr }

// Bytes returns the first n bytes of the memory, which must be there.
func (b *Block) Bytes(n int) []byte { return unsafe.Slice((*byte)(b.ptr), n) }

func giveBack(data []byte) {
	pace.held.Add(-int64(len(data)))
	unmap(data)
}

// A pacer has garbage collected after as much memory as Go's own heap would have it: the
// collector does not see that blocks, of which it knows some bytes each, hold any.
type pacer struct {
	held  atomic.Int64 // bytes of the blocks that there are
	since atomic.Int64 // bytes of those made since garbage was collected for them
}

var pace pacer

// always is how many bytes are made without a collection.
const always = 32 << 20

// took notes a block, and collects garbage where it is time.
func (p *pacer) took(n int64) {
	held, since := p.held.Add(n), p.since.Add(n)
	if since < always || float64(since) < float64(held-since)*growth() {
		return
	}
	if p.since.CompareAndSwap(since, 0) && growth() < math.MaxInt32 {
		runtime.GC()
	}
}

// growth returns by which part of what is in use the heap grows before it is collected, as
// GOGC says it.
func growth() float64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
		return 1
	}
	return float64(sample[0].Value.Uint64()) / 100
}
