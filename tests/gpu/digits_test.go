package gpu_test

import (
	"context"
	"math"
	"testing"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/data/digits"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// TestDigits trains the same network from the same seed on the CPU and on the GPU,
// with TF32 as a program has it: the accuracy on images that training did not see
// is the same within what three images of them make, and the losses begin alike.
func TestDigits(t *testing.T) {
	need(t)
	if *simulated {
		t.Skip("the reference interpreter would take long")
	}
	cpu, first, err := trainDigits(device.CPU)
	must(t, err)
	got, start, err := trainDigits(gpu)
	must(t, err)
	t.Logf("accuracy %.4f on the CPU, %.4f on the GPU; first losses %v and %v", cpu, got, first, start)
	if cpu < 0.95 || math.Abs(cpu-got) > 0.0101 {
		t.Errorf("accuracy %.4f on the GPU, %.4f on the CPU", got, cpu)
	}
	for i := range first {
		if math.Abs(first[i]-start[i]) > 2e-2*first[i] {
			t.Errorf("loss %d is %v on the GPU, %v on the CPU", i, start[i], first[i])
		}
	}
}

// trainDigits returns the accuracy after a few passes, and the first losses.
func trainDigits(dev device.Device) (accuracy float64, first []float64, err error) {
	random.Seed(7)
	set, err := digits.Load()
	if err != nil {
		return 0, nil, err
	}
	train, test, err := set.Split(0.2, 7)
	if err != nil {
		return 0, nil, err
	}
	model := nn.NewSequential(nn.NewConv2d(1, 16, 3, tensor.Padding(1)), nn.NewBatchNorm(16), nn.ReLU(), nn.MaxPool2d(2),
		nn.NewConv2d(16, 32, 3, tensor.Padding(1)), nn.ReLU(), nn.Flatten(), nn.NewDropout(0.1), nn.NewLinear(512, 10))
	if err := nn.To(model, dev); err != nil {
		return 0, nil, err
	}
	adam, err := optim.NewAdam(nn.Parameters(model), 2e-3)
	if err != nil {
		return 0, nil, err
	}
	loader, err := load(train, dev, true)
	if err != nil {
		return 0, nil, err
	}
	for range 6 {
		for batch, err := range loader.Epoch(context.Background()) {
			if err != nil {
				return 0, nil, err
			}
			loss, err := learn(model, adam, batch)
			if err != nil {
				return 0, nil, err
			}
			if len(first) < 3 {
				first = append(first, loss)
			}
		}
	}
	accuracy, err = measure(model, test, dev)
	return accuracy, first, err
}

func load(s digits.Set, dev device.Device, shuffle bool) (*data.Loader, error) {
	images := tensor.From(s.Images, s.Len(), 1, digits.Side, digits.Side).ToType(tensor.Float32).DivScalar(digits.Max)
	set, err := data.Tensors(images, tensor.From(s.Labels).ToType(tensor.Int64))
	return &data.Loader{Dataset: set, BatchSize: 64, Shuffle: shuffle, Prefetch: 2, Device: dev}, err
}

// learn takes one step and returns the loss before it.
func learn(model nn.Module, o optim.Optimizer, batch []T) (float64, error) {
	loss, err := optim.Minimize(o, func() T { return model.Forward(batch[0]).CrossEntropy(batch[1]) })
	if err != nil {
		return 0, err
	}
	return loss.Item()
}

// measure returns the share of a set that the model gets right.
func measure(model nn.Module, s digits.Set, dev device.Device) (float64, error) {
	loader, err := load(s, dev, false)
	if err != nil {
		return 0, err
	}
	nn.Eval(model)
	right := int64(0)
	for batch, err := range loader.Epoch(context.Background()) {
		if err != nil {
			return 0, err
		}
		n, err := tensor.ScopeValue(func() (int64, error) {
			return tensor.NoGradValue(func() (int64, error) {
				return model.Forward(batch[0]).Argmax(tensor.Dim(1)).Eq(batch[1]).Sum().ItemInt()
			})
		})
		if err != nil {
			return 0, err
		}
		right += n
	}
	return float64(right) / float64(s.Len()), nil
}
