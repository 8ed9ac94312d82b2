//go:build unix

package lowering_test

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/made"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/codegen/jit"
)

// both are the linked loop of a body for float32 and the one made of it now.
func both(b *testing.B, name string, level simd.Level) map[string]vector.Func {
	b.Helper()
	if err := jit.Available(); err != nil || simd.Available() < level {
		b.Skip(level, err)
	}
	for _, x := range bodies(b) {
		if x.String() == name {
			loop, err := made.Compile(x.op, x.Variant, x.DType, level)
			if err != nil {
				b.Fatal(err)
			}
			return map[string]vector.Func{"linked": x.at(level), "made": loop.Main}
		}
	}
	b.Fatalf("no body %s", name)
	return nil
}

var kinds = []string{"linked", "made"}

// operands are the addresses of three arrays of n elements.
func operands(n int) []unsafe.Pointer {
	x := make([]float32, 3*n+1)
	for i := range x {
		x[i] = float32(math.Sin(float64(i))) * 0.9
	}
	return []unsafe.Pointer{unsafe.Pointer(&x[0]), unsafe.Pointer(&x[n]), unsafe.Pointer(&x[2*n])}
}

// BenchmarkCalls times calls of linked loops and made ones: of nothing, of a vector, of
// what the first cache holds.
func BenchmarkCalls(b *testing.B) {
	for _, level := range simd.UsableVectors()[1:] {
		loops := both(b, "mul/0/float32", level)
		for _, n := range []int{0, 16, 2048} {
			p := operands(2048)
			for _, kind := range kinds {
				b.Run(fmt.Sprint(level, "/", n, "/", kind), func(b *testing.B) {
					loop := loops[kind]
					for b.Loop() {
						loop(n, p, nil, 0)
					}
				})
			}
		}
	}
}

// BenchmarkPauses collects garbage while every processor is in a loop over as many
// elements as one call may have, and reports how long the world stood still.
func BenchmarkPauses(b *testing.B) {
	const n = 64 << 10
	for _, level := range simd.UsableVectors()[1:] {
		loops := both(b, "erfinv_grad_x/0/float32", level)
		for _, kind := range kinds {
			b.Run(fmt.Sprint(level, "/", kind), func(b *testing.B) {
				var stop atomic.Bool
				var wait sync.WaitGroup
				for range runtime.GOMAXPROCS(0) {
					wait.Go(func() {
						p := operands(n)
						for !stop.Load() {
							loops[kind](n, p, nil, 0)
						}
					})
				}
				before := pauses()
				for b.Loop() {
					runtime.GC()
				}
				after := pauses()
				stop.Store(true)
				wait.Wait()
				count, sum, worst := uint64(0), 0.0, 0.0
				for i, c := range after.Counts {
					if c -= before.Counts[i]; c > 0 {
						upper := after.Buckets[i+1]
						count, sum, worst = count+c, sum+upper*float64(c), upper
					}
				}
				b.ReportMetric(sum/float64(count)*1e6, "mean-us")
				b.ReportMetric(worst*1e6, "max-us")
				b.ReportMetric(float64(count), "pauses")
			})
		}
	}
}

// pauses is the histogram of times for which the collector stopped the world.
func pauses() *metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	h := *s[0].Value.Float64Histogram()
	h.Counts = append([]uint64(nil), h.Counts...)
	return &h
}
