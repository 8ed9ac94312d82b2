package exec

import (
	"math"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/generated/cpu"
	"github.com/sinter-go/sinter/ir"
)

// stops returns the histogram of how long the collector waited for goroutines to stop.
func stops() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64Histogram()
}

// median returns the middle of what was added to a histogram since before.
func median(before, after *metrics.Float64Histogram) time.Duration {
	total, seen := uint64(0), uint64(0)
	for i, n := range after.Counts {
		total += n - before.Counts[i]
	}
	for i, n := range after.Counts {
		if seen += n - before.Counts[i]; 2*seen > total {
			return time.Duration(after.Buckets[i] * float64(time.Second))
		}
	}
	return 0
}

// TestCollectorIsNotHeldUp collects beside an operator of 64 million elements, whose
// assembly cannot be preempted.
func TestCollectorIsNotHeldUp(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a gigabyte")
	}
	const n = 64 << 20
	x, y := cputest.NewView(ir.Float32, "contiguous", n), cputest.NewView(ir.Float32, "contiguous", n)
	exp := ir.Op{
		Name: "exp", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, CPU: ir.CPUKernels{Elementwise: cpu.Exp},
	}
	for _, from := range []int{1, math.MaxInt} { // streamed, and not
		streamFrom(t, from)
		var stop atomic.Bool
		var running atomic.Int32
		done := make(chan error)
		go func() {
			var err error
			for err == nil && !stop.Load() {
				running.Add(1)
				err = Run(&ir.Call{Op: &exp, Compute: ir.Float32, Space: []int{n}, Flat: true, Out: []ir.View{y}, In: []ir.View{x}})
			}
			done <- err
		}()
		for running.Load() < 2 {
			time.Sleep(time.Millisecond)
		}
		before := stops()
		for range 8 {
			runtime.GC()
			time.Sleep(3 * time.Millisecond)
		}
		after := stops()
		stop.Store(true)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if held := median(before, after); held > 2*time.Millisecond {
			t.Errorf("streamed from %d bytes on: the collector waited %v", from, held)
		}
	}
}
