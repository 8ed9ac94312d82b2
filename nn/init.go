package nn

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
)

// Gains of activations, for initialisers: the factor by which the layer before
// must be larger for the variance to stay the same.
const (
	GainLinear  = 1.0
	GainSigmoid = 1.0
	GainTanh    = 5.0 / 3
	GainReLU    = math.Sqrt2
	GainSELU    = 3.0 / 4
)

// GainLeakyReLU returns the gain of a leaky ReLU with the given slope.
func GainLeakyReLU(slope float64) float64 { return math.Sqrt(2 / (1 + slope*slope)) }

// A Fan says which of a layer's two numbers of connections an initialiser keeps
// the variance for.
type Fan uint8

// The fans.
const (
	FanIn  Fan = iota // those into each output, for the forward pass
	FanOut            // those out of each input, for the backward pass
)

// Uniform fills t with random numbers from [low, high).
func Uniform(t tensor.Tensor, low, high float64) error {
	return tensor.NoGrad(func() error { return t.UniformInPlace(low, high) })
}

// Normal fills t with random numbers of the normal distribution.
func Normal(t tensor.Tensor, mean, deviation float64) error {
	return tensor.NoGrad(func() error { return t.NormalInPlace(mean, deviation) })
}

// Constant fills t with one number.
func Constant(t tensor.Tensor, value float64) error {
	return tensor.NoGrad(func() error { return t.FillInPlace(value) })
}

// KaimingUniform fills a weight [out, in, ...] with uniform random numbers that
// keep the variance through layers of which each multiplies it by gain squared
// (He et al. 2015): of ±gain*sqrt(3/fan).
func KaimingUniform(t tensor.Tensor, gain float64, fan Fan) error {
	n, err := fanOf(t, fan)
	if err != nil {
		return err
	}
	bound := gain * math.Sqrt(3/n)
	return Uniform(t, -bound, bound)
}

// KaimingNormal is KaimingUniform with the normal distribution of deviation
// gain/sqrt(fan).
func KaimingNormal(t tensor.Tensor, gain float64, fan Fan) error {
	n, err := fanOf(t, fan)
	if err != nil {
		return err
	}
	return Normal(t, 0, gain/math.Sqrt(n))
}

// XavierUniform fills a weight [out, in, ...] with uniform random numbers that
// keep the variance in both directions (Glorot and Bengio 2010): of
// ±gain*sqrt(6/(fan in + fan out)).
func XavierUniform(t tensor.Tensor, gain float64) error {
	n, err := fans(t)
	if err != nil {
		return err
	}
	bound := gain * math.Sqrt(6/n)
	return Uniform(t, -bound, bound)
}

// XavierNormal is XavierUniform with the normal distribution of deviation
// gain*sqrt(2/(fan in + fan out)).
func XavierNormal(t tensor.Tensor, gain float64) error {
	n, err := fans(t)
	if err != nil {
		return err
	}
	return Normal(t, 0, gain*math.Sqrt(2/n))
}

// fanOf returns the number of connections of a weight [out, in, window...].
func fanOf(t tensor.Tensor, fan Fan) (float64, error) {
	if err := t.Err(); err != nil {
		return 0, err
	}
	shape := t.Shape()
	if len(shape) < 2 {
		return 0, fmt.Errorf("nn: a tensor of shape %v has no fan; it needs at least two axes, [out, in, ...]", shape)
	}
	channels := shape[1]
	if fan == FanOut {
		channels = shape[0]
	}
	n := channels
	for _, extent := range shape[2:] {
		n *= extent
	}
	if n == 0 {
		return 1, nil // there are no elements to fill
	}
	return float64(n), nil
}

// fans returns the sum of both numbers of connections.
func fans(t tensor.Tensor) (float64, error) {
	in, err := fanOf(t, FanIn)
	if err != nil {
		return 0, err
	}
	out, err := fanOf(t, FanOut)
	return in + out, err
}

// uniform returns a parameter drawn from [-bound, bound), or 0 where the bound
// is not finite because nothing is connected.
func (s *settings) uniform(bound float64, shape ...int) *Parameter {
	if math.IsInf(bound, 0) || math.IsNaN(bound) {
		bound = 0
	}
	p := s.parameter(tensor.Empty, shape...)
	if p.Err() != nil {
		return p
	}
	if err := Uniform(p.Tensor, -bound, bound); err != nil {
		return &Parameter{failed("%w", err)}
	}
	return p
}

// parameter returns a parameter that a function of package tensor makes.
func (s *settings) parameter(f func([]int, ...Option) tensor.Tensor, shape ...int) *Parameter {
	if s.err != nil {
		return s.broken()
	}
	t := f(shape, s.place()...)
	defer t.Release() // the parameter has a handle of its own
	return NewParameter(t)
}

// broken returns a parameter that carries the error of the options.
func (s *settings) broken() *Parameter { return &Parameter{failed("%w", s.err)} }

// full returns a tensor of one number.
func (s *settings) full(value float64, shape ...int) tensor.Tensor {
	if s.err != nil {
		return failed("%w", s.err)
	}
	dtype := s.dtype
	if dtype == ir.Invalid {
		dtype = tensor.DefaultType()
	}
	return tensor.Full(shape, value, tensor.On(s.device), tensor.OfType(dtype))
}
