package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/precision"
)

// A watcher notes the kernels that it is given, and what they may round.
type watcher struct {
	*sim.Driver
	kernels   []string
	flat      []bool
	precision []ir.Precision
}

func (w *watcher) Launch(dev int, q device.StreamID, c *ir.Call) error {
	w.kernels, w.flat, w.precision = append(w.kernels, c.Kernel.String()), append(w.flat, c.Flat), append(w.precision, c.Precision)
	return w.Driver.Launch(dev, q, c)
}

func watch(t *testing.T) *watcher {
	w := &watcher{Driver: sim.New(sim.Config{Devices: 1})}
	old, _ := device.DriverOf(device.KindSim)
	device.Install(new(cpu.Driver), w)
	t.Cleanup(func() { device.Install(old) })
	return w
}

// TestSpecialNumbers: for some numbers in host memory another operator is launched, on
// every device; for others, for several elements, and for complex numbers it is not.
func TestSpecialNumbers(t *testing.T) {
	sim0 := core.Placement{Device: device.Sim()}
	host := func(shape []int, v ...float32) T { return core.From(v, shape, core.Placement{Device: device.CPU}) }
	const square, pow = "square(x float32) -> (out float32): x*x", "pow(x float32, y float32) -> (out float32): pow(x, y)"
	for _, tt := range []struct {
		name string
		y    func(x T) T
		want string
	}{
		{"two", func(T) T { return host([]int{}, 2) }, square},
		{"three", func(T) T { return host([]int{}, 3) }, pow},
		{"near two", func(T) T { return host([]int{}, 2.0000002) }, pow},
		{"as many twos", func(x T) T { return core.From([]float32{2, 2}, []int{2}, sim0) }, pow},
	} {
		w := watch(t)
		x := core.From([]float32{3, -4}, []int{2}, sim0)
		y := tt.y(x)
		w.kernels, w.flat = nil, nil
		z := ops.Pow(x, y)
		must(t, z.Err())
		if diff := cmp.Diff([]string{tt.want}, w.kernels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if tt.want == square {
			want(t, z, 9, 16)
			if !w.flat[0] {
				t.Errorf("%s: what is left of the operands is not flat", tt.name)
			}
		}
	}
}

// TestPrecisionOfCalls: a product carries what held when it was asked for; other calls
// carry nothing.
func TestPrecisionOfCalls(t *testing.T) {
	defer precision.SetMatmulTF32(precision.MatmulTF32())
	sim0 := core.Placement{Device: device.Sim()}
	w := watch(t)
	x := core.From([]float32{1, 2, 3, 4}, []int{2, 2}, sim0)
	w.precision = nil
	var wanted []ir.Precision
	for _, on := range []bool{true, false} {
		precision.SetMatmulTF32(on)
		wanted = append(wanted, precision.Now(), ir.Precision{})
		must(t, ops.MatMul(x, x).Err())
		must(t, ops.Add(x, x).Err())
	}
	if diff := cmp.Diff(wanted, w.precision); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !w.precision[0].MatmulTF32 || w.precision[2].MatmulTF32 {
		t.Errorf("TF32: %t, %t, want true, false", w.precision[0].MatmulTF32, w.precision[2].MatmulTF32)
	}
}
