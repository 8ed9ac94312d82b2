// Package network is the convolutional network of the digits examples, with its file.
package network

import (
	"fmt"
	"io"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

// A Network tells digits from images of 8 by 8 pixels.
type Network struct {
	Features   *nn.Sequential // [n, 1, 8, 8] to [n, 32, 4, 4]
	Classifier *nn.Sequential // [n, 512] to [n, 10]
}

// New returns an untrained network on dev.
func New(dev device.Device) (*Network, error) {
	m := &Network{
		Features: nn.NewSequential(
			nn.NewConv2d(1, 16, 3, tensor.Padding(1)), nn.NewBatchNorm(16), nn.ReLU(),
			nn.NewConv2d(16, 32, 3, tensor.Padding(1)), nn.NewBatchNorm(32), nn.ReLU(),
			nn.MaxPool2d(2),
		),
		Classifier: nn.NewSequential(
			nn.Flatten(), nn.NewDropout(0.3), nn.NewLinear(512, 64), nn.ReLU(), nn.NewDropout(0.3), nn.NewLinear(64, 10),
		),
	}
	return m, nn.To(m, dev)
}

// Forward returns a score for each of the ten digits.
func (m *Network) Forward(x tensor.Tensor) tensor.Tensor {
	return m.Classifier.Forward(m.Features.Forward(x))
}

// metadata tells a file of this network from others.
var metadata = map[string]string{"model": "digits"}

// Save writes the network's state to a file.
func (m *Network) Save(path string) error {
	return data.SaveTensors(path, nn.StateDict(m), data.Metadata(metadata))
}

// Load reads the state that Save wrote.
func (m *Network) Load(path string) error {
	state, found, err := data.LoadTensors(path, device.CPU)
	if err != nil {
		return err
	}
	return m.set(path, state, found)
}

// Read reads the state that Save wrote from what has been opened already.
func (m *Network) Read(r io.Reader) error {
	state, found, err := data.ReadTensors(r, device.CPU)
	if err != nil {
		return err
	}
	return m.set("the input", state, found)
}

func (m *Network) set(from string, state map[string]tensor.Tensor, found map[string]string) error {
	if found["model"] != metadata["model"] {
		return fmt.Errorf("%s holds no digits model", from)
	}
	return nn.LoadStateDict(m, state)
}
