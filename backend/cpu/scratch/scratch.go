// Package scratch recycles the memory that kernels need while they run. It knows
// nothing of what it is used for.
package scratch

import (
	"math/bits"
	"sync"
	"unsafe"
)

// A Block is memory that starts at a multiple of 64 bytes. What it holds at
// first is arbitrary.
type Block struct {
	ptr   unsafe.Pointer
	class int
}

// classes holds free blocks of 1<<class bytes.
var classes [48]sync.Pool

// Get returns a block of at least n bytes. Give it back with Put; a block that
// is not given back is garbage like any other.
func Get(n int) *Block {
	class := bits.Len(uint(max(n, 64) - 1))
	if b, ok := classes[class].Get().(*Block); ok {
		return b
	}
	return &Block{Aligned(1 << class), class}
}

// Aligned returns n bytes of zeros, at least one, which start at a multiple of 64 bytes.
func Aligned(n int) unsafe.Pointer {
	words := make([]uint64, n/8+9)
	skip := -uintptr(unsafe.Pointer(&words[0])) & 63
	return unsafe.Add(unsafe.Pointer(&words[0]), skip)
}

// Put gives the block back. Its memory must not be used afterwards.
func (b *Block) Put() { classes[b.class].Put(b) }

// Ptr returns the block's memory.
func (b *Block) Ptr() unsafe.Pointer { return b.ptr }

// Slice returns the block's memory as n elements without pointers, which must
// fit.
func Slice[T any](b *Block, n int) []T { return unsafe.Slice((*T)(b.ptr), n) }
