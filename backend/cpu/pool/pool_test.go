package pool

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// procs runs f with GOMAXPROCS set to n.
func procs(t *testing.T, n int, f func(t *testing.T)) {
	old := runtime.GOMAXPROCS(n)
	defer runtime.GOMAXPROCS(old)
	f(t)
}

func TestForCoversOnce(t *testing.T) {
	for _, p := range []int{1, 2, 5} {
		procs(t, p, func(t *testing.T) {
			for _, c := range []struct{ n, grain int }{{0, 1}, {-3, 1}, {1, 1}, {7, 0}, {100, 1}, {1000, 64}, {1000, 999}, {1000, 1000}, {4096, 7}} {
				seen := make([]atomic.Int32, max(c.n, 0))
				For(c.n, c.grain, func(lo, hi int) {
					if lo >= hi || lo%max(c.grain, 1) != 0 {
						t.Errorf("For(%d, %d): range [%d, %d)", c.n, c.grain, lo, hi)
					}
					for i := lo; i < hi; i++ {
						seen[i].Add(1)
					}
				})
				for i := range seen {
					if got := seen[i].Load(); got != 1 {
						t.Fatalf("For(%d, %d): index %d ran %d times", c.n, c.grain, i, got)
					}
				}
			}
		})
	}
}

func TestForSmallStaysHere(t *testing.T) {
	before := workers.posted.Load()
	For(10, 10, func(lo, hi int) {
		if lo != 0 || hi != 10 {
			t.Errorf("range [%d, %d), want [0, 10)", lo, hi)
		}
	})
	if after := workers.posted.Load(); after != before {
		t.Errorf("small work was offered to workers")
	}
}

func TestForNestedAndConcurrent(t *testing.T) {
	procs(t, 3, func(t *testing.T) {
		var total atomic.Int64
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for range 20 {
					For(10, 1, func(lo, hi int) {
						For(100, 7, func(lo, hi int) { total.Add(int64(hi - lo)) })
					})
				}
			})
		}
		callers.Wait()
		if got, want := total.Load(), int64(8*20*10*100); got != want {
			t.Errorf("%d indices ran, want %d", got, want)
		}
		workers.mu.Lock()
		defer workers.mu.Unlock()
		if workers.live > 4 { // four where another test asked for five processors
			t.Errorf("%d workers live", workers.live)
		}
		if len(workers.open) != 0 {
			t.Errorf("%d tasks left open", len(workers.open))
		}
	})
}

func TestForUsesWorkers(t *testing.T) {
	procs(t, 2, func(t *testing.T) {
		var both sync.WaitGroup
		both.Add(2)
		done := make(chan struct{})
		go func() {
			defer close(done)
			For(2, 1, func(lo, hi int) { both.Done(); both.Wait() })
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("two ranges never ran at once")
		}
	})
}

func TestForPanics(t *testing.T) {
	procs(t, 3, func(t *testing.T) {
		for _, n := range []int{1, 50} {
			for at := range n {
				func() {
					defer func() {
						if got := recover(); got != "piece" {
							t.Errorf("recovered %v", got)
						}
					}()
					For(n, 1, func(lo, hi int) {
						if lo == at {
							panic("piece")
						}
					})
				}()
			}
		}
	})
	TestForCoversOnce(t)
}

func TestForSurvivesGoexit(t *testing.T) {
	procs(t, 2, func(t *testing.T) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			For(100, 1, func(lo, hi int) { runtime.Goexit() })
		}()
		<-ended
		TestForCoversOnce(t)
	})
}

func BenchmarkFor(b *testing.B) {
	work := make([]float32, 1<<20)
	for _, n := range []int{1 << 12, 1 << 14, 1 << 16, 1 << 20} {
		for _, grain := range []int{n, n / 2} {
			name := map[bool]string{true: "serial", false: "halves"}[grain == n]
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				for b.Loop() {
					For(n, grain, func(lo, hi int) {
						for i := lo; i < hi; i++ {
							work[i] = work[i]*0.5 + 1
						}
					})
				}
			})
		}
	}
}
