package gpu

import (
	"slices"
	"sync"
)

// A pinnedSet knows the page-locked memory that a Driver gave out. The zero set is
// empty.
type pinnedSet struct {
	mu     sync.RWMutex
	blocks []span // by address
}

type span struct {
	start, end uintptr
	dev        int // in whose context it was made
}

// find returns the index of the first block that ends after p.
func (s *pinnedSet) find(p uintptr) int {
	i, _ := slices.BinarySearchFunc(s.blocks, p, func(b span, p uintptr) int {
		if b.end <= p {
			return -1
		}
		return 1
	})
	return i
}

func (s *pinnedSet) add(p uintptr, bytes int64, dev int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = slices.Insert(s.blocks, s.find(p), span{p, p + uintptr(bytes), dev})
}

// remove takes out the block that starts at p, and returns whose it was.
func (s *pinnedSet) remove(p uintptr) (dev int, known bool) {
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
func (s *pinnedSet) has(p uintptr, bytes int64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i := s.find(p)
	return i < len(s.blocks) && s.blocks[i].start <= p && p+uintptr(bytes) <= s.blocks[i].end
}
