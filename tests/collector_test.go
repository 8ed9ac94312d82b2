package tests_test

import (
	"math"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/sinter-go/sinter/generated/tensor"
)

// stoppingTimes is how long the collector waits for all goroutines to stop.
const stoppingTimes = "/sched/pauses/stopping/gc:seconds"

// longestStop returns the upper end of the longest wait that after has more of than
// before.
func longestStop(before, after *metrics.Float64Histogram) time.Duration {
	for i := len(after.Counts) - 1; i >= 0; i-- {
		if after.Counts[i] > before.Counts[i] {
			end := after.Buckets[i+1]
			if math.IsInf(end, 1) {
				end = after.Buckets[i]
			}
			return time.Duration(end * float64(time.Second))
		}
	}
	return 0
}

func stops() *metrics.Float64Histogram {
	s := []metrics.Sample{{Name: stoppingTimes}}
	metrics.Read(s)
	return s[0].Value.Float64Histogram()
}

// TestCollectionDuringOperator: a collection does not wait for an operator over 64
// million elements to end, though the system cannot interrupt vector code for it:
// no loop stays in such code for long. Other programs may hold up either, so the
// best of some tries counts.
func TestCollectionDuringOperator(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 1 GiB of memory")
	}
	const n, most = 64 << 20, 2 * time.Millisecond
	x := tensor.Full([]int{n}, 0.5)
	must(t, x.Err())
	defer x.Release()
	for _, op := range []struct {
		name  string
		apply func() tensor.Tensor
	}{
		{"exp", x.Exp},
		{"add", func() tensor.Tensor { return x.Add(x) }},
		{"sum", func() tensor.Tensor { return x.Sum() }},
		{"softmax", func() tensor.Tensor { return x.Softmax(0) }},
	} {
		best := time.Duration(math.MaxInt64)
		for try := 0; try < 50 && best > most; try++ {
			before, done := stops(), make(chan error)
			go func() {
				y := op.apply()
				err := y.Err()
				y.Release()
				done <- err
			}()
			collections := 0
			for running := true; running; {
				select {
				case err := <-done:
					must(t, err)
					running = false
				default:
					runtime.GC()
					collections++
				}
			}
			if collections > 1 { // the last one may have come after the operator
				best = min(best, longestStop(before, stops()))
			}
		}
		if best > most {
			t.Errorf("%s: the collector waited %v at best, want at most %v", op.name, best, most)
		} else {
			t.Logf("%s: the collector waited %v", op.name, best)
		}
	}
}
