// Package offheap gives memory that Go's collector does not count: weights as kernels read
// them are large and last, and in Go's heap each byte of them would let it grow by another
// before it is collected. The package knows nothing of what the memory is used for.
package offheap

import (
	"runtime"
	"runtime/metrics"
	"sync"
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
	pace.gave(int64(len(data)))
	unmap(data)
}

// A pacer has garbage collected after as much memory as Go's own heap would have it: the
// collector does not see that blocks, of which it knows some bytes each, hold any.
type pacer struct {
	mu   sync.Mutex
	held int64 // bytes of the blocks that there are
	live int64 // of those that were there when garbage was collected for them, at most
}

var pace pacer

// always is how many bytes are made without a collection.
const always = 32 << 20

// took notes a block, and collects garbage where it is time.
func (p *pacer) took(n int64) {
	p.mu.Lock()
	p.live = min(p.live, p.held)
	p.held += n
	due := p.held-p.live >= always && late(p.held, p.live)
	if due {
		p.live = p.held
	}
	p.mu.Unlock()
	if due {
		runtime.GC()
	}
}

func (p *pacer) gave(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held -= n
}

// now returns the bytes of the blocks that there are.
func (p *pacer) now() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// late reports whether blocks have grown, from live bytes to held, by what GOGC lets the heap and
// them grow together, or beyond what GOMEMLIMIT leaves for them.
func late(held, live int64) bool {
	samples := []metrics.Sample{
		{Name: "/gc/gogc:percent"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/gomemlimit:bytes"}, {Name: "/memory/classes/total:bytes"},
	}
	metrics.Read(samples)
	var v [4]float64
	for i, s := range samples {
		if s.Value.Kind() != metrics.KindUint64 {
			return true // of another Go: as if nothing else lived
		}
		v[i] = float64(s.Value.Uint64())
	}
	return float64(held-live) >= (float64(live)+v[1])*v[0]/100 || float64(held)+v[3] > v[2]
}
