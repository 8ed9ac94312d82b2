package pool

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-go/sinter/tests/allocations"
	"github.com/sinter-go/sinter/tests/patience"
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
	held := workers.free.Load()
	For(10, 10, func(lo, hi int) {
		if lo != 0 || hi != 10 {
			t.Errorf("range [%d, %d), want [0, 10)", lo, hi)
		}
		if free := workers.free.Load(); free != held {
			t.Error("small work was offered to workers")
		}
	})
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
		if live := workers.live.Load(); live > 4 { // four where another test asked for five processors
			t.Errorf("%d workers live", live)
		}
		if free := workers.free.Load(); free != 1<<maxTasks-1 {
			t.Errorf("of the tasks %b are free, want all", free)
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
		case <-time.After(patience.Left(t)):
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

// A row is a Runner over its elements.
type row []float32

func (r row) Run(lo, hi int) {
	for i := lo; i < hi; i++ {
		r[i] = r[i]*0.5 + 1
	}
}

// TestRunAllocates: a call is no allocation, whether workers take part or not.
func TestRunAllocates(t *testing.T) {
	procs(t, 2, func(t *testing.T) {
		work := &counted{}
		for _, grain := range []int{1000, 100} {
			t.Run(fmt.Sprint("grain ", grain), func(t *testing.T) { allocations.AtMost(t, 0, func() { Run(1000, grain, work) }) })
		}
	})
}

// A counted counts the indices it is run for.
type counted struct{ n atomic.Int64 }

func (c *counted) Run(lo, hi int) { c.n.Add(int64(hi - lo)) }

// TestRegions: each goroutine begins with a part of its own, and what nobody begins
// with is done by the others.
func TestRegions(t *testing.T) {
	var tk task
	for _, c := range []struct {
		n, grain, procs int
		back            bool
	}{{10, 1, 3, false}, {1000, 7, 4, false}, {5, 2, 8, false}, {1 << 20, 64, 64, false}, {10, 1, 3, true}, {1000, 7, 4, true}, {5, 2, 8, true}, {1 << 20, 64, 64, true}} {
		seen := make([]int, c.n)
		tk.back = c.back
		tk.prepare(c.n, c.grain, c.procs, function(func(lo, hi int) {
			for i := lo; i < hi; i++ {
				seen[i]++
			}
		}))
		first := tk.start(int(tk.regions)-1) * c.grain
		if c.back {
			first = c.n
		}
		tk.run = function(func(lo, hi int) {
			if end := map[bool]int{false: lo, true: hi}[c.back]; first >= 0 && end != first {
				t.Errorf("%+v: the last region's worker begins at %d, want %d", c, end, first)
			}
			first = -1
			for i := lo; i < hi; i++ {
				seen[i]++
			}
		})
		tk.all(int(tk.regions) - 1)
		for i, n := range seen {
			if n != 1 {
				t.Fatalf("%+v: index %d ran %d times", c, i, n)
			}
		}
	}
}

// TestBusyBoard: calls beyond those that workers take part in are computed all the
// same, and so are calls that are made inside.
func TestBusyBoard(t *testing.T) {
	procs(t, 2, func(t *testing.T) {
		var total atomic.Int64
		var callers sync.WaitGroup
		for range 3 * maxTasks {
			callers.Go(func() {
				For(4, 1, func(lo, hi int) {
					time.Sleep(time.Millisecond)
					total.Add(int64(hi - lo))
				})
			})
		}
		callers.Wait()
		if got := total.Load(); got != 3*maxTasks*4 {
			t.Errorf("%d indices ran, want %d", got, 3*maxTasks*4)
		}
	})
}

// TestWorkersSleep: workers without work look out for a bounded time, then sleep,
// and are woken for the next call.
func TestWorkersSleep(t *testing.T) {
	procs(t, 2, func(t *testing.T) {
		for range 3 {
			For(1000, 10, func(lo, hi int) { time.Sleep(10 * time.Microsecond) })
			if !patience.Until(t, func() bool { return workers.parked.Load() == workers.live.Load() }) {
				t.Fatalf("%d of %d workers sleep", workers.parked.Load(), workers.live.Load())
			}
			TestForUsesWorkers(t)
		}
	})
}

// TestManyCalls has tasks recycled between goroutines while workers look for them.
func TestManyCalls(t *testing.T) {
	procs(t, 4, func(t *testing.T) {
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for i := range 2000 {
					n := 2 + i%30
					got := &counted{}
					Run(n, 1, got)
					if got.n.Load() != int64(n) {
						t.Errorf("%d of %d indices ran", got.n.Load(), n)
						return
					}
				}
			})
		}
		callers.Wait()
	})
}

func BenchmarkRun(b *testing.B) {
	work := make(row, 1<<20)
	for _, n := range []int{2, 1 << 12, 1 << 14, 1 << 16, 1 << 20} {
		for _, grain := range []int{n, n / 2} {
			name := map[bool]string{true: "serial", false: "halves"}[grain == n]
			b.Run(fmt.Sprint(name, "/", n), func(b *testing.B) {
				for b.Loop() {
					Run(n, grain, &work)
				}
			})
		}
	}
}

// TestRefused: of many that join at once as many as there are seats get one, those that are refused leave
// nothing behind, and the caller waits for all.
func TestRefused(t *testing.T) {
	k := &task{done: make(chan struct{}, 1)}
	k.state.Store(closedBit)
	for round := range 2000 {
		seats := 1 + round%3
		k.prepare(100, 1, seats+1, idle{})
		k.open()
		var joined atomic.Int64
		var begin, tried, ended sync.WaitGroup
		begin.Add(1)
		for range 8 {
			tried.Add(1)
			ended.Go(func() {
				begin.Wait()
				got := k.join()
				tried.Done()
				if got {
					joined.Add(1)
					runtime.Gosched()
					k.leave()
				}
			})
		}
		begin.Done()
		if round%2 == 0 { // else who comes late finds it closed
			tried.Wait()
		}
		state := k.close()
		ended.Wait()
		if n := joined.Load(); n > int64(seats) || round%2 == 0 && n != int64(seats) {
			t.Fatalf("round %d: %d have joined, there are %d seats", round, n, seats)
		}
		left := k.state.Load()
		if k.seats = left >> seatShift; left&helperMask != 0 || left&closedBit == 0 || k.seats != int64(seats)-joined.Load() {
			t.Fatalf("round %d: the state is %#x, %#x when it was closed, after %d of %d", round, left, state, joined.Load(), seats)
		}
	}
}

// BenchmarkSpread measures what it takes to spread work over all goroutines: a call of no work,
// and of adding to numbers that caches hold.
func BenchmarkSpread(b *testing.B) {
	work := make(row, 1<<20)
	for _, n := range []int{1 << 14, 1 << 17, 1 << 20} {
		for _, pieces := range []int{1, 4, 16} {
			grain := max(1, n/runtime.GOMAXPROCS(0)/pieces)
			b.Run(fmt.Sprintf("nothing/%d/%d", n, pieces), func(b *testing.B) {
				for b.Loop() {
					Run(n, grain, idle{})
				}
			})
			b.Run(fmt.Sprintf("add/%d/%d", n, pieces), func(b *testing.B) {
				for b.Loop() {
					Run(n, grain, &work)
				}
			})
		}
	}
}

type idle struct{}

func (idle) Run(int, int) {}

// BenchmarkRunAfterIdle measures a call of no work to speak of after the workers
// went to sleep.
func BenchmarkRunAfterIdle(b *testing.B) {
	work := make(row, 2)
	for b.Loop() {
		b.StopTimer()
		time.Sleep(2 * time.Millisecond)
		b.StartTimer()
		Run(2, 1, &work)
	}
}
