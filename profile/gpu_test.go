package profile_test

import (
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/cuda/cupti"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/profile"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
)

// TestGPU: on a GPU operators are shown on their streams with the code that ran, by CUPTI,
// one after the other, and a graph by its kernels. Without the library they are shown by
// events.
func TestGPU(t *testing.T) {
	if err := cuda.Unavailable(); err != nil {
		t.Skipf("no GPU: %v", err)
	}
	_, missing := cupti.Open()
	if missing != nil {
		t.Logf("times by events: %v", missing)
	}
	dev := device.CUDA(0)
	x := tensor.Randn([]int{512, 512}, tensor.On(dev))
	must(t, x.MatMul(x).Exp().Err()) // loads what it needs
	must(t, stream.Synchronize(t.Context(), dev))
	g := graph.New(dev)
	must(t, g.Capture(func() error { return x.Sigmoid().Add(x).Err() }))
	for range 2 { // traces come one after the other
		events, names := record(t, func(*profile.Profile) {
			must(t, x.MatMul(x).Exp().Sum().CPU().Err())
			side := stream.New(dev, 0)
			must(t, side.Err())
			side.Do(func() error { return x.Tanh().Err() })
			must(t, g.Replay())
		})
		end, kernels := 0.0, map[string]int{}
		for _, e := range events {
			if e.Phase != "X" || names[track(e)[:1]] == "program and cpu" {
				continue
			}
			if e.Duration <= 0 {
				t.Errorf("%s took %v us", e.Name, e.Duration)
			}
			stream := names[track(e)]
			kernels[e.Name]++
			if stream == "default stream" && (e.Name == "matmul" || e.Name == "exp" || e.Name == "sum") {
				if e.Time < end {
					t.Errorf("%s begins at %v us, before %v, when the one before it ends", e.Name, e.Time, end)
				}
				end = e.Time + e.Duration
			}
			if missing == nil && e.Args.Code == "" {
				t.Errorf("%s has no code", e.Name)
			}
			t.Logf("%s: %s, %.1f us from %.1f, %s", stream, e.Name, e.Duration, e.Time, e.Args.Code)
		}
		for _, name := range []string{"matmul", "exp", "sum", "tanh", "copy to host"} {
			if kernels[name] == 0 {
				t.Errorf("no %s in %v", name, kernels)
			}
		}
		if missing == nil && (kernels["sigmoid_float32"] != 1 || kernels["add_float32"] != 1) || missing != nil && kernels["graph"] != 1 {
			t.Errorf("a graph of two kernels shows in %v", kernels)
		}
	}
	must(t, g.Reset())
}
