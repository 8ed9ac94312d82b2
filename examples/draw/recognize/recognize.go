package recognize

import (
	"bytes"
	_ "embed"

	"github.com/sinter-go/sinter/data/digits"
	"github.com/sinter-go/sinter/examples/digits/network"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
)

//go:embed digits.safetensors
var weights []byte

// A Recognizer holds the trained network.
type Recognizer struct{ network *network.Network }

// New returns a Recognizer with the weights that the package embeds.
func New() (*Recognizer, error) {
	m, err := network.New(device.CPU)
	if err != nil {
		return nil, err
	}
	if err := m.Read(bytes.NewReader(weights)); err != nil {
		return nil, err
	}
	nn.Eval(m)
	return &Recognizer{m}, nil
}

// Probabilities returns for each digit how probable it is that the image shows it.
func (r *Recognizer) Probabilities(image [digits.Pixels]uint8) ([]float32, error) {
	return tensor.NoGradValue(func() ([]float32, error) {
		return tensor.ScopeValue(func() ([]float32, error) {
			x := tensor.From(image[:], 1, 1, digits.Side, digits.Side).ToType(tensor.Float32).DivScalar(digits.Max)
			return tensor.Data[float32](r.network.Forward(x).Softmax(1))
		})
	})
}
