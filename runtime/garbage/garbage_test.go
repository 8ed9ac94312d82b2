package garbage

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// A held is garbage of its own: too large for an allocation that others share.
type held struct {
	inner *held
	_     [4]int64
}

// TestCollect: what runs behind a collection has run when that returns, slow ones too, and what a
// finalizer lets go was garbage as well.
func TestCollect(t *testing.T) {
	const n = 1000
	var ran atomic.Int64
	before := Queued()
	for i := range n {
		x := &held{inner: new(held)}
		runtime.AddCleanup(x.inner, func(*atomic.Int64) { ran.Add(1) }, &ran)
		runtime.SetFinalizer(x, func(*held) {
			if i == n/2 {
				time.Sleep(20 * time.Millisecond) // what waits for nobody is back by then
			}
			ran.Add(1)
		})
	}
	within(time.Hour)
	if got := ran.Load(); got < 2*n-2 { // registers may hold one
		t.Errorf("%d finalizers and cleanups of %d have run", got, 2*n)
	}
	if got := Queued() - before; got < 2*n-2 {
		t.Errorf("%d finalizers and cleanups were queued of %d", got, 2*n)
	}
}

// TestCollectInFinalizer: a finalizer that collects, and so waits for its own end, goes on.
func TestCollectInFinalizer(t *testing.T) {
	done := make(chan bool, 1)
	func() {
		runtime.SetFinalizer(new(held), func(*held) {
			within(10 * time.Millisecond)
			done <- true
		})
	}()
	for {
		runtime.GC()
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}
