package gpu

import (
	"slices"
	"sync"
	"unsafe"
)

// A pinnedSet knows the page-locked memory that a Driver gave out, and that of the
// program's which it page-locked: this one stays alive while it is in the set. The
// zero set is empty.
type pinnedSet struct {
	mu     sync.RWMutex
	blocks []span // by address
}

type span struct {
	start unsafe.Pointer
	bytes int64
	dev   int // in whose context it was made

	registered bool // the program's, page-locked
}

// after returns how many bytes p lies after the block's start; negative before it.
func (b *span) after(p unsafe.Pointer) int64 { return int64(uintptr(p) - uintptr(b.start)) }

// find returns the index of the first block that ends after p.
func (s *pinnedSet) find(p unsafe.Pointer) int {
	i, _ := slices.BinarySearchFunc(s.blocks, p, func(b span, p unsafe.Pointer) int {
		if b.after(p) >= b.bytes {
			return -1
		}
		return 1
	})
	return i
}

func (s *pinnedSet) add(b span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = slices.Insert(s.blocks, s.find(b.start), b)
}

// remove takes out the block that starts at p, and returns whose it was.
func (s *pinnedSet) remove(p unsafe.Pointer) (dev int, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(p)
	if i == len(s.blocks) || s.blocks[i].start != p {
		return 0, false
	}
	dev = s.blocks[i].dev
	s.blocks = slices.Delete(s.blocks, i, i+1)
	return dev, true
}

// has reports whether bytes from p on are in one block.
func (s *pinnedSet) has(p unsafe.Pointer, bytes int64) bool {
	_, known := s.of(p, bytes)
	return known
}

// of returns the block that bytes from p on are in.
func (s *pinnedSet) of(p unsafe.Pointer, bytes int64) (b span, known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i := s.find(p)
	if i == len(s.blocks) {
		return span{}, false
	}
	b = s.blocks[i]
	at := b.after(p)
	return b, at >= 0 && at+bytes <= b.bytes
}
