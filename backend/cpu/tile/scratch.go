package tile

import (
	"sync"
	"unsafe"
)

// A Scratch is what one goroutine needs to work through the operands of a call.
type Scratch struct {
	buffers  []*Buffer
	pointers []unsafe.Pointer
}

var scratches = sync.Pool{New: func() any { return new(Scratch) }}

// Borrow returns scratch with n buffers ready for use. Give it back with Return.
func Borrow(n int) *Scratch {
	s := scratches.Get().(*Scratch)
	for len(s.buffers) < n {
		s.buffers = append(s.buffers, new(Buffer))
	}
	return s
}

// Buffer returns the i-th buffer.
func (s *Scratch) Buffer(i int) *Buffer { return s.buffers[i] }

// Pointers returns room for n pointers.
func (s *Scratch) Pointers(n int) []unsafe.Pointer {
	if cap(s.pointers) < n {
		s.pointers = make([]unsafe.Pointer, n)
	}
	return s.pointers[:n]
}

// Return gives scratch back, and keeps no pointer into operands' memory.
func (s *Scratch) Return() {
	clear(s.pointers[:cap(s.pointers)])
	for _, b := range s.buffers {
		b.Reset()
	}
	scratches.Put(s)
}
