package main

import (
	"fmt"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// model is a convolutional network for images of 8 by 8 pixels.
type model struct {
	Features   *nn.Sequential // [n, 1, 8, 8] to [n, 32, 4, 4]
	Classifier *nn.Sequential // [n, 512] to [n, 10]
}

// newModel returns an untrained model on dev.
func newModel(dev device.Device) (*model, error) {
	m := &model{
		Features: nn.NewSequential(
			nn.NewConv2d(1, 16, 3, nn.Padding(1)), nn.NewBatchNorm(16), nn.ReLU(),
			nn.NewConv2d(16, 32, 3, nn.Padding(1)), nn.NewBatchNorm(32), nn.ReLU(),
			nn.MaxPool2d(2),
		),
		Classifier: nn.NewSequential(
			nn.Flatten(), nn.NewDropout(0.3), nn.NewLinear(512, 64), nn.ReLU(), nn.NewDropout(0.3), nn.NewLinear(64, 10),
		),
	}
	return m, nn.To(m, dev)
}

// Forward returns a score for each of the ten digits.
func (m *model) Forward(x tensor.Tensor) tensor.Tensor {
	return m.Classifier.Forward(m.Features.Forward(x))
}

func (m *model) parameters() int { return nn.NumParameters(m) }

// save writes the model's state to a file.
func (m *model) save(path string) error {
	return data.SaveTensors(path, nn.StateDict(m), map[string]string{"model": "digits"})
}

// load reads the state that save wrote.
func (m *model) load(path string) error {
	state, metadata, err := data.LoadTensors(path, device.CPU)
	if err != nil {
		return err
	}
	if metadata["model"] != "digits" {
		return fmt.Errorf("%s holds no digits model", path)
	}
	return nn.LoadStateDict(m, state)
}
