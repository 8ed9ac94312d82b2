package behaviour_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestHugeShapes: what only memory is too small for is out of memory, on an
// accelerator in the allocator's words, whatever makes the tensor.
func TestHugeShapes(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 1})
	on := tensor.On(device.Sim(0))
	makers := map[string]func(shape ...int) T{
		"empty": func(s ...int) T { return tensor.Empty(s, on, tensor.OfType(tensor.Uint8)) },
		"ones":  func(s ...int) T { return tensor.Ones(s, on, tensor.OfType(tensor.Uint8)) },
		"rand":  func(s ...int) T { return tensor.Rand(s, on) },
	}
	for name, of := range makers {
		for _, tt := range []struct {
			shape []int
			want  string
		}{
			{[]int{math.MaxInt/16 + 2}, "Tried to allocate "},
			{[]int{math.MaxInt}, "Tried to allocate more than 1EB memory."},
			{[]int{math.MaxInt, math.MaxInt, 3}, "Tried to allocate more than 1EB memory."},
		} {
			if strconv.IntSize == 32 && len(tt.shape) == 1 {
				continue // no more than a GPU may have
			}
			if err := of(tt.shape...).Err(); !errors.Is(err, device.ErrOutOfMemory) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s of %v: %v", name, tt.shape, err)
			}
		}
		if err := of(math.MaxInt, -1).Err(); !errors.Is(err, ir.ErrShape) {
			t.Errorf("%s of a negative extent: %v", name, err)
		}
		must(t, of(2, 3).Err())
	}
}

// TestManyLayers: numbers of layers that nobody wants are an error at once.
func TestManyLayers(t *testing.T) {
	for _, n := range []int{0, -1, math.MinInt, 1 << 20, math.MaxInt} {
		x := tensor.Ones([]int{1, 1, 1})
		if err := nn.NewLSTM(1, 1, nn.Layers(n)).Forward(x).Err(); err == nil || !strings.Contains(err.Error(), "layers") {
			t.Errorf("LSTM of %d layers: %v", n, err)
		}
	}
}
