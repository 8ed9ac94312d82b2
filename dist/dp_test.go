package dist_test

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestDataParallel compares results and gradients with those of the model alone, also for
// batches that cannot be cut equally or have fewer samples than there are devices.
func TestDataParallel(t *testing.T) {
	for _, devices := range [][]device.Device{{device.CPU, device.CPU}, {device.Sim(0)}, {device.Sim(0), device.Sim(1), device.Sim(2)}} {
		for _, n := range []int{1, 2, 5, 6} {
			d, err := dist.NewDataParallel(devices, func() (nn.Module, error) { return newNet(device.CPU, true) })
			must(t, err)
			alone, err := newNet(devices[0], true)
			must(t, err)
			x, y := batch(1, n, devices[0])
			out, want := d.Forward(x), alone.Forward(x)
			equal(t, "device", out.Device(), devices[0])
			near(t, "results", map[string][]float64{"": data[float64](t, out.Reshape(-1))}, map[string][]float64{"": data[float64](t, want.Reshape(-1))}, bound)
			must(t, out.Sub(y).Square().Mean().Backward())
			must(t, want.Sub(y).Square().Mean().Backward())
			near(t, "gradients", gradients(t, d), gradients(t, alone), bound)
			must(t, tensor.NoGrad(func() error {
				if d.Forward(x).RequiresGrad() {
					t.Error("recorded within NoGrad")
				}
				return nil
			}))
		}
	}
}

func gradients(t testing.TB, m any) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	for name, p := range nn.Named(m) {
		g, has := p.Grad()
		if !has {
			t.Fatalf("%s has no gradient", name)
		}
		out[name] = data[float64](t, g)
	}
	return out
}

func TestDataParallelRefuses(t *testing.T) {
	lost := errors.New("lost")
	hidden := 3
	for _, c := range []struct {
		devices []device.Device
		build   func() (nn.Module, error)
		want    error
	}{
		{nil, func() (nn.Module, error) { return nn.NewLinear(2, 2), nil }, dist.ErrCall},
		{[]device.Device{device.CPU}, nil, dist.ErrCall},
		{[]device.Device{device.CPU}, func() (nn.Module, error) { return nil, lost }, lost},
		{[]device.Device{device.Sim(0), device.Sim(1)}, func() (nn.Module, error) { hidden++; return nn.NewLinear(2, hidden), nil }, dist.ErrMismatch},
	} {
		if _, err := dist.NewDataParallel(c.devices, c.build); !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}
