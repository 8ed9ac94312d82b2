package scratch

import (
	"sync"
	"testing"
)

func TestGet(t *testing.T) {
	for _, n := range []int{0, 1, 64, 65, 1 << 10, 1<<10 + 1, 1 << 20} {
		b := Get(n)
		if uintptr(b.Ptr())%64 != 0 {
			t.Errorf("Get(%d) is not aligned", n)
		}
		s := Slice[byte](b, n)
		for i := range s {
			s[i] = byte(i)
		}
		b.Put()
	}
}

func TestConcurrent(t *testing.T) {
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for range 200 {
				b := Get(1000)
				s := Slice[int](b, 100)
				for i := range s {
					s[i] = g
				}
				for i := range s {
					if s[i] != g {
						t.Errorf("two goroutines hold one block")
						return
					}
				}
				b.Put()
			}
		})
	}
	all.Wait()
}
