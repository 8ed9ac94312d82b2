package compile_test

import (
	"testing"
	"time"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/stream"
)

// BenchmarkReplay measures what calls of a captured program cost on the host, of a small
// network, and what recording it costs. An iteration is 50 calls, and waits for the device, so
// that there is room for what it is given.
func BenchmarkReplay(b *testing.B) {
	for _, dev := range devices()[1:] {
		must(b, tensor.WithDefaults(tensor.Defaults{Device: dev}, func() error {
			f, state, x := training(b, func() nn.Module {
				return nn.NewSequential(nn.NewLinear(16, 16), nn.ReLU(), nn.NewLinear(16, 16), nn.ReLU(), nn.NewLinear(16, 10))
			}, []int{8, 16})
			step := compile.Step(f, compile.State(state...))
			defer step.Close()
			call := func() {
				y, err := step.Call(x)
				must(b, err)
				y.Release()
			}
			b.Run(dev.Kind.String()+"/call", func(b *testing.B) {
				b.ReportAllocs()
				for range 3 {
					call()
				}
				var host time.Duration
				n := 0
				for b.Loop() {
					start := time.Now()
					for range 50 {
						call()
					}
					host += time.Since(start)
					n += 50
					must(b, stream.Synchronize(b.Context(), dev))
				}
				b.ReportMetric(float64(host.Nanoseconds())/float64(n), "host-ns/call")
			})
			b.Run(dev.Kind.String()+"/record", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					step.Close()
					must(b, step.Prepare(x))
				}
			})
			return nil
		}))
	}
}
