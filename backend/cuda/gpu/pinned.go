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

type span struct{ start, end uintptr }

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

func (s *pinnedSet) add(p uintptr, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = slices.Insert(s.blocks, s.find(p), span{p, p + uintptr(bytes)})
}

func (s *pinnedSet) remove(p uintptr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(p); i < len(s.blocks) && s.blocks[i].start == p {
		s.blocks = slices.Delete(s.blocks, i, i+1)
	}
}

// has reports whether bytes from p on are in one block.
func (s *pinnedSet) has(p uintptr, bytes int64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	i := s.find(p)
	return i < len(s.blocks) && s.blocks[i].start <= p && p+uintptr(bytes) <= s.blocks[i].end
}
