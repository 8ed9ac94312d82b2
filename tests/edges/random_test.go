package edges_test

import (
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	. "github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestProbabilities gives Multinomial and Bernoulli what are no weights and no
// probabilities, on the CPU and on a simulated accelerator with the reference kernels.
func TestProbabilities(t *testing.T) {
	device.Install(sim.New(sim.Config{Devices: 1}))
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, dev := range []device.Device{device.CPU, device.Sim(0)} {
		for _, c := range []struct {
			name      string
			x         []float32
			weights   bool // fine for Multinomial
			bernoulli bool // fine for Bernoulli
		}{
			{"negative", []float32{-1, 2}, false, false},
			{"NaN", []float32{nan, 0.5}, false, false},
			{"infinite", []float32{inf, 0.5}, false, false},
			{"zeros", []float32{0, 0}, false, true},
			{"above one", []float32{1.5, 0}, true, false},
			{"probabilities", []float32{0.25, 0.75}, true, true},
		} {
			x := From(c.x, 1, 2).To(dev)
			for _, replacement := range []bool{false, true} {
				_, err := Data[int64](x.Multinomial(1, Replacement(replacement)))
				if (err == nil) != c.weights || err != nil && !strings.Contains(err.Error(), "no probabilities") {
					t.Errorf("%s: multinomial of %s: %v", dev, c.name, err)
				}
			}
			_, err := Data[float32](x.Bernoulli())
			if (err == nil) != c.bernoulli || err != nil && !strings.Contains(err.Error(), "no probabilities") {
				t.Errorf("%s: bernoulli of %s: %v", dev, c.name, err)
			}
		}
	}
}

// TestDigammaGradient: the gradient is trigamma, whose values are PyTorch's polygamma(1, x).
func TestDigammaGradient(t *testing.T) {
	x := FromSlice([]float64{1, 0.5, -0.5, 1e30, math.Inf(1), 1e-5}, []int{6}, RequireGrad())
	if err := x.Digamma().Sum().Backward(); err != nil {
		t.Fatal(err)
	}
	g, _ := x.Grad()
	got, err := Data[float64](g)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1.6449340668482264, 4.934802200544679, 8.934802200544679, 1e-30, 0, 1.00000000016449e10} {
		if d := math.Abs(got[i] - want); d > 1e-13*math.Abs(want) {
			t.Errorf("element %d: %v, want %v", i, got[i], want)
		}
	}
}
