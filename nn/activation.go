package nn

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// ReLU returns max(x, 0) as a module.
func ReLU() Module { return fixed{"ReLU", tensor.ReLU} }

// ReLU6 returns x limited to the range from 0 to 6 as a module.
func ReLU6() Module { return fixed{"ReLU6", tensor.ReLU6} }

// LeakyReLU returns x where it is positive and slope*x elsewhere as a module.
func LeakyReLU(slope float64) Module {
	return fixed{fmt.Sprintf("LeakyReLU(%g)", slope), func(x tensor.Tensor) tensor.Tensor { return x.LeakyReLU(tensor.NegativeSlope(slope)) }}
}

// ELU returns the exponential linear unit with alpha 1 as a module.
func ELU() Module { return fixed{"ELU", func(x tensor.Tensor) tensor.Tensor { return x.ELU() }} }

// SELU returns the scaled exponential linear unit as a module.
func SELU() Module { return fixed{"SELU", tensor.SELU} }

// GELU returns the Gaussian error linear unit as a module: exact, or approximated with
// tensor.ApproximateTanh.
//
// Options: tensor.Approximate (ApproximateNone).
func GELU(opts ...Option) Module {
	opts = slices.Clone(opts)
	return fixed{"GELU", func(x tensor.Tensor) tensor.Tensor { return x.GELU(opts...) }}
}

// SiLU returns x*sigmoid(x), also called swish, as a module.
func SiLU() Module { return fixed{"SiLU", tensor.SiLU} }

// Mish returns x*tanh(softplus(x)) as a module.
func Mish() Module { return fixed{"Mish", tensor.Mish} }

// Sigmoid returns 1/(1 + exp(-x)) as a module.
func Sigmoid() Module { return fixed{"Sigmoid", tensor.Sigmoid} }

// Tanh returns the hyperbolic tangent as a module.
func Tanh() Module { return fixed{"Tanh", tensor.Tanh} }

// Softplus returns log(1 + exp(x)) as a module.
func Softplus() Module {
	return fixed{"Softplus", func(x tensor.Tensor) tensor.Tensor { return x.Softplus() }}
}

// Hardswish returns x*relu6(x + 3)/6 as a module.
func Hardswish() Module { return fixed{"Hardswish", tensor.Hardswish} }

// Softmax returns a module that computes exp(x)/sum(exp(x)) along dim: positive numbers
// whose sum along dim is 1.
func Softmax(dim int) Module {
	return fixed{fmt.Sprintf("Softmax(dim=%d)", dim), func(x tensor.Tensor) tensor.Tensor { return x.Softmax(dim) }}
}

// LogSoftmax returns the logarithm of Softmax as a module.
func LogSoftmax(dim int) Module {
	return fixed{fmt.Sprintf("LogSoftmax(dim=%d)", dim), func(x tensor.Tensor) tensor.Tensor { return x.LogSoftmax(dim) }}
}

// A PReLU returns x where it is positive and Weight*x elsewhere.
type PReLU struct {
	Weight *Parameter // [1], or [channels]
}

// NewPReLU returns a leaky ReLU whose slope is trained: one for all, or one for each of
// a number of channels. It starts at 0.25.
//
// Options: tensor.On (the CPU), tensor.OfType (Float32).
func NewPReLU(channels int, opts ...Option) *PReLU {
	s := read("prelu", opts, placeOptions)
	return &PReLU{Weight: NewParameter(s.full(0.25, channels))}
}

// Forward maps any shape, or with more than one channel [n, channels, ...], to
// itself.
func (p *PReLU) Forward(x tensor.Tensor) tensor.Tensor {
	if p == nil {
		return missing(p)
	}
	return x.PReLU(p.Weight.value())
}

// String describes the layer.
func (p *PReLU) String() string {
	p = given(p)
	return fmt.Sprintf("PReLU(%d)", p.Weight.value().NumElements())
}
