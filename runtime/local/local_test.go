package local

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

func TestNestingAndPanic(t *testing.T) {
	k := NewKey[int]()
	want := func(v int, ok bool) {
		t.Helper()
		if got, has := k.Get(); got != v || has != ok {
			t.Fatalf("Get() = %d, %t; want %d, %t", got, has, v, ok)
		}
	}
	want(0, false)
	k.With(1, func() {
		want(1, true)
		func() {
			defer func() { _ = recover() }()
			k.With(2, func() { want(2, true); panic("out") })
		}()
		want(1, true)
		done := make(chan bool)
		go func() { // a child sees nothing, and may end inside its scope
			defer close(done)
			if _, ok := k.Get(); ok {
				t.Error("a child goroutine sees its parent's value")
			}
			k.With(3, runtime.Goexit)
		}()
		<-done
		want(1, true)
	})
	want(0, false)
	if n := k.active.Load(); n != 0 {
		t.Errorf("%d scopes left open", n)
	}
}

func TestGoroutinesDoNotMix(t *testing.T) {
	k := NewKey[string]()
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			var nest func(depth int)
			nest = func(depth int) {
				v := fmt.Sprint(i, "/", depth)
				k.With(v, func() {
					runtime.Gosched()
					if depth < 5 {
						nest(depth + 1)
					}
					if got, ok := k.Get(); !ok || got != v {
						t.Errorf("Get() = %q, %t; want %q", got, ok, v)
					}
				})
			}
			nest(0)
		})
	}
	wg.Wait()
	if n := k.active.Load(); n != 0 {
		t.Errorf("%d scopes left open", n)
	}
	for i := range buckets {
		if r := buckets[i].head.Load(); r != nil {
			t.Fatalf("bucket %d keeps the record of goroutine %#x", i, r.id)
		}
	}
}

// TestKeysDoNotMix holds several keys in scopes that overlap, of which one is made
// while the goroutine is in a scope already.
func TestKeysDoNotMix(t *testing.T) {
	a := NewKey[*int]()
	a.With(nil, func() {
		b := NewKey[string]()
		if _, ok := b.Get(); ok {
			t.Error("a new key has a value")
		}
		b.With("b", func() {
			one := 1
			a.With(&one, func() {
				if v, ok := b.Get(); v != "b" || !ok {
					t.Errorf("b = %q, %t", v, ok)
				}
				if v, ok := a.Get(); v != &one || !ok {
					t.Errorf("a = %v, %t", v, ok)
				}
			})
			if v, ok := a.Get(); v != nil || !ok {
				t.Errorf("a = %v, %t; want nil that is held", v, ok)
			}
		})
		if _, ok := b.Get(); ok {
			t.Error("b is held outside its scope")
		}
	})
}

func BenchmarkGetUnused(b *testing.B) {
	k := NewKey[int]()
	for b.Loop() {
		k.Get()
	}
}

func BenchmarkGetElsewhere(b *testing.B) {
	k := NewKey[int]()
	done, inside := make(chan bool), make(chan bool)
	go k.With(1, func() { close(inside); <-done })
	<-inside
	for b.Loop() {
		k.Get()
	}
	close(done)
}

func BenchmarkGetHeld(b *testing.B) {
	k := NewKey[int]()
	k.With(1, func() {
		for b.Loop() {
			k.Get()
		}
	})
}

func BenchmarkWithNested(b *testing.B) {
	k := NewKey[bool]()
	k.With(true, func() {
		for b.Loop() {
			k.With(false, func() {})
		}
	})
}
