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
	for i := range k.shard {
		if n := len(k.shard[i].values); n != 0 {
			t.Fatalf("shard %d keeps %d values", i, n)
		}
	}
}

func BenchmarkGetUnused(b *testing.B) {
	k := NewKey[int]()
	for b.Loop() {
		k.Get()
	}
}
