package offheap

import (
	"runtime"
	"testing"
	"time"
	"unsafe"
)

// Blocks are zeros at multiples of 64 bytes, and may be written to the last byte.
func TestNew(t *testing.T) {
	for _, n := range []int{1, 63, 64, least - 1, least, least + 1, 1<<20 + 3} {
		b := New(n)
		s := unsafe.Slice((*byte)(b.Ptr()), n)
		for i := range s {
			if s[i] != 0 {
				t.Fatalf("%d bytes: byte %d is %d", n, i, s[i])
			}
			s[i] = 1
		}
		if uintptr(b.Ptr())%64 != 0 {
			t.Errorf("%d bytes are not aligned", n)
		}
		runtime.KeepAlive(b)
	}
}

// Blocks that nobody has any more go back without the program's own garbage, and those that
// are held stay as they are.
func TestGarbage(t *testing.T) {
	if mapped(least) == nil {
		t.Skip("all memory is Go's here")
	}
	const bytes = 4 << 20
	held := New(bytes)
	last := &unsafe.Slice((*byte)(held.Ptr()), bytes)[bytes-1]
	*last = 7
	for range 100 {
		New(bytes)
	}
	for pace.now() > 60*bytes { // a collection has been; what runs after it gets its turn
		time.Sleep(time.Millisecond)
	}
	if *last != 7 {
		t.Errorf("a block that is held has %d, want 7", *last)
	}
	runtime.KeepAlive(held)
}
