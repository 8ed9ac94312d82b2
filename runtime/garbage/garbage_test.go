package garbage

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-go/sinter/tests/lost"
)

// A held is garbage of its own: too large for an allocation that others share.
type held struct {
	inner *held
	_     [4]int64
}

// collections bounds how often a test collects for what comes after one or two: by then it hangs,
// however slow the machine is, as each collection lets all goroutines run.
const collections = 100_000

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
	for range collections {
		runtime.GC()
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
	t.Errorf("the finalizer has not ended after %d collections", collections)
}

// TestCollectLost: what Go lost is waited for once, and what comes after it each time.
func TestCollectLost(t *testing.T) {
	if testing.Short() {
		t.Skip("to lose cleanups takes many collections")
	}
	count, restore, found := lost.Cleanups()
	defer restore()
	if !found {
		t.Skip("Go loses no cleanups here")
	}
	for range collections { // until all have run that will
		if pending()[1] <= uint64(count()) {
			break
		}
		runtime.GC()
	}
	within(20 * time.Millisecond) // gives them up
	within(time.Hour)
	var ran atomic.Int64
	func() {
		runtime.AddCleanup(new(held), func(*atomic.Int64) {
			time.Sleep(20 * time.Millisecond)
			ran.Add(1)
		}, &ran)
	}()
	within(time.Hour)
	if ran.Load() != 1 {
		t.Error("a cleanup was not waited for after one was lost")
	}
	restore()
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // which restore puts back
	for range collections {                           // the first finds them, and the next ones see that they have run
		if count() == 0 {
			break
		}
		within(time.Hour)
	}
	if n := count(); n != 0 {
		t.Errorf("%d cleanups have not run after %d collections with all processors", n, collections)
	}
	if within(time.Hour); waited.given[1] != 0 {
		t.Errorf("%d cleanups are given up that have run", waited.given[1])
	}
}

func TestPatience(t *testing.T) {
	var p patience
	for i, look := range []struct {
		left   [2]uint64
		giveUp bool
		want   bool
	}{
		{left: [2]uint64{0, 0}, want: true},
		{left: [2]uint64{3, 0}},
		{left: [2]uint64{0, 3}},
		{left: [2]uint64{2, 3}, giveUp: true},
		{left: [2]uint64{2, 3}, want: true},
		{left: [2]uint64{3, 3}}, // one came
		{left: [2]uint64{2, 4}},
		{left: [2]uint64{2, 1}, want: true}, // two have run after all
		{left: [2]uint64{2, 3}},             // so these are others
		{left: [2]uint64{0, 0}, want: true},
		{left: [2]uint64{1, 0}},
	} {
		if got := p.over(look.left); got != look.want {
			t.Errorf("look %d, %d are left: over %t, want %t", i, look.left, got, look.want)
		}
		if look.giveUp {
			p.giveUp(look.left)
		}
	}
}
