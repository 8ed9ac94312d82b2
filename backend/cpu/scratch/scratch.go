// Package scratch recycles the memory that kernels need while they run. It knows
// nothing of what it is used for.
package scratch

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/runtime/offheap"
)

// A Block is memory that starts at a multiple of 64 bytes. What it holds at
// first is arbitrary.
type Block struct {
	memory *offheap.Block
	class  int
}

// classes holds free blocks of 1<<class bytes.
var classes [48]sync.Pool

// Get returns a block of at least n bytes. Give it back with Put, after the last use of its
// memory: that of a block which nobody has goes.
func Get(n int) *Block {
	class := bits.Len(uint(max(n, 64) - 1))
	if b, ok := classes[class].Get().(*Block); ok {
		return b
	}
	return &Block{offheap.New(1 << class), class}
}

// Put gives the block back. Its memory must not be used afterwards.
func (b *Block) Put() { classes[b.class].Put(b) }

// Ptr returns the block's memory.
func (b *Block) Ptr() unsafe.Pointer { return b.memory.Ptr() }

// Slice returns the block's memory as n elements without pointers, which must
// fit.
func Slice[T any](b *Block, n int) []T { return unsafe.Slice((*T)(b.Ptr()), n) }
