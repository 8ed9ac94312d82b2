package core

// A slab gives out slices of one kind from large pieces. What it gave out is never given out
// again, and lives as long as any part of its piece.
type slab[T any] struct{ free []T }

// take returns n elements, all zero.
func (s *slab[T]) take(n int) []T {
	const piece = 256
	if n > len(s.free) {
		s.free = make([]T, max(n, piece/4, min(4*cap(s.free), piece)))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// clone returns a copy of list; nil of nil.
func (s *slab[T]) clone(list []T) []T {
	if list == nil {
		return nil
	}
	out := s.take(len(list))
	copy(out, list)
	return out
}
