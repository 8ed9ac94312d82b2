package edges_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestInt8LSTMNotFinite: a state that no bytes have a scale for makes all gates of its step
// NaN, and so all that comes behind it, in all rows; the step before keeps what it has.
func TestInt8LSTMNotFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, dev := range []device.Device{device.CPU, device.Sim(0)} {
		on := tensor.On(dev)
		run := func(dt tensor.DType, gate, state float64) []float64 {
			gates, h := make([]float64, 2*2*4), []float64{state, 0.5}
			gates[0] = gate
			weight, zero := tensor.Full([]int{1, 4}, 3, on, tensor.OfType(tensor.Int8)), tensor.Zeros([]int{}, on, tensor.OfType(tensor.Int8))
			y, _ := tensor.Int8LSTM(tensor.FromSlice(gates, []int{2, 2, 4}, on).ToType(dt), tensor.FromSlice(h, []int{2, 1}, on).ToType(dt),
				tensor.Zeros([]int{2, 1}, on, tensor.OfType(dt)), weight, tensor.Full([]int{}, 0.01, on, tensor.OfType(dt)), zero)
			return values(t, y)
		}
		for _, dt := range []tensor.DType{tensor.Float32, tensor.Float64} {
			for _, state := range []float64{nan, inf, -inf} {
				if diff := cmp.Diff([]float64{nan, nan, nan, nan}, run(dt, 0, state), cmpopts.EquateNaNs()); diff != "" {
					t.Errorf("%s, %s, a state of %v (-want +got):\n%s", dev, dt, state, diff)
				}
			}
			got := run(dt, nan, 0.25)
			if diff := cmp.Diff([]float64{nan, got[1], nan, nan}, got, cmpopts.EquateNaNs()); diff != "" || got[1] != got[1] {
				t.Errorf("%s, %s, a gate of NaN (-want +got):\n%s", dev, dt, fmt.Sprint(got))
			}
		}
	}
}

// TestInt8Conv2dNoChannels: sums of no terms are 0.
func TestInt8Conv2dNoChannels(t *testing.T) {
	for _, dev := range []device.Device{device.CPU, device.Sim(0)} {
		of := func(dt tensor.DType, shape ...int) tensor.Tensor {
			return tensor.Ones(shape, tensor.On(dev), tensor.OfType(dt))
		}
		for _, kernel := range []int{1, 3} {
			y := tensor.Int8Conv2d(of(tensor.Uint8, 1, 0, 2, 2), of(tensor.Int8, 2, 0, kernel, kernel), of(tensor.Uint8), of(tensor.Int8), tensor.Padding(kernel/2))
			if diff := cmp.Diff(make([]float64, 8), values(t, y)); diff != "" {
				t.Errorf("%s, a kernel of %d (-want +got):\n%s", dev, kernel, diff)
			}
		}
	}
}

// TestDynamicQuantizeNotFinite: an element that is NaN or infinite shows in the scale.
func TestDynamicQuantizeNotFinite(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, dev := range []device.Device{device.CPU, device.Sim(0)} {
		for _, test := range []struct{ element, scale float64 }{{nan, nan}, {inf, inf}, {-inf, inf}, {254, 1}} {
			_, scale, _ := tensor.DynamicQuantize(tensor.FromSlice([]float32{-1, float32(test.element), 2}, []int{3}, tensor.On(dev)))
			if diff := cmp.Diff([]float64{test.scale}, values(t, scale.Reshape(1)), cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("%s: the scale with an element of %v (-want +got):\n%s", dev, test.element, diff)
			}
		}
	}
}
