package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// counting is a null driver that counts launches by operator.
type counting struct {
	*null
	by map[string]int
}

func (d *counting) Launch(_ int, _ device.StreamID, c *ir.Call) error {
	d.by[c.Op.Name]++
	return nil
}

// TestStepLaunches lists what a training step of a perceptron of three layers
// launches before the optimizer: each entry is microseconds of a small step.
func TestStepLaunches(t *testing.T) {
	d := &counting{install(t), map[string]int{}}
	device.Install(d)
	on := tensor.On(device.Sim(0))
	model := nn.NewSequential(nn.NewLinear(784, 1024), nn.ReLU(), nn.NewLinear(1024, 1024), nn.ReLU(), nn.NewLinear(1024, 10))
	must(t, nn.To(model, device.Sim(0)))
	images, labels := tensor.Zeros([]int{128, 784}, on), tensor.Zeros([]int{128}, on, tensor.OfType(tensor.Int64))
	clear(d.by)
	must(t, model.Forward(images).CrossEntropy(labels).Backward())
	want := map[string]int{
		"matmul_bias": 3, "relu": 2, "cross_entropy_stats": 1,
		"ones": 1, "cross_entropy_grad": 1, "matmul": 5, "sum": 3, "relu_grad": 2,
	}
	if diff := cmp.Diff(want, d.by); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
