package core

// A slab gives out slices of one kind from pieces, each twice as large as the one before. What
// it gave out is never given out again, and lives as long as any part of its piece.
type slab[T any] struct {
	free  []T
	piece int // elements of the next piece
	used  int // elements that it gave out
}

const (
	firstPiece   = 16
	largestPiece = 256
)

// expect has the first piece be of n elements, within bounds.
func (s *slab[T]) expect(n int) { s.piece = min(n, largestPiece) }

// take returns n elements, all zero.
func (s *slab[T]) take(n int) []T {
	if n > len(s.free) {
		s.free = make([]T, max(n, s.piece, firstPiece))
		s.piece = min(2*len(s.free), largestPiece)
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	s.used += n
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
