package nn

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
)

// A Linear layer computes x·Wᵀ + b over the last axis.
type Linear struct {
	Weight *Parameter // [out, in]
	Bias   *Parameter // [out], or nil
}

// NewLinear returns a linear layer whose parameters are drawn uniformly from
// ±1/sqrt(in).
//
// Options: NoBias, tensor.On (the CPU), tensor.OfType (Float32).
func NewLinear(in, out int, opts ...Option) *Linear {
	return read("linear", opts, linearOptions).linear(in, out)
}

func (s *settings) linear(in, out int) *Linear {
	bound := 1 / math.Sqrt(float64(in))
	l := &Linear{Weight: s.uniform(bound, out, in)}
	if s.bias {
		l.Bias = s.uniform(bound, out)
	}
	return l
}

// Forward maps [..., in] to [..., out].
func (l *Linear) Forward(x tensor.Tensor) tensor.Tensor {
	if l == nil {
		return missing(l)
	}
	return x.Linear(l.Weight.value(), tensor.Bias(l.Bias.optional()))
}

// String describes the layer.
func (l *Linear) String() string {
	l = given(l)
	return fmt.Sprintf("Linear(in=%d, out=%d, bias=%t)", l.Weight.value().Size(1), l.Weight.value().Size(0), l.Bias != nil)
}

// An Embedding holds one vector for each of a number of classes.
type Embedding struct {
	Weight *Parameter // [classes, width]

	paddingIndex      int // -1 for none
	maxNorm, normType float64
	byFrequency       bool
}

// NewEmbedding returns an embedding drawn from the standard normal distribution.
//
// Options: tensor.PaddingIdx (-1, none), tensor.MaxNorm (none), tensor.NormType (2),
// tensor.ScaleGradByFreq, tensor.On (the CPU), tensor.OfType (Float32).
func NewEmbedding(classes, width int, opts ...Option) *Embedding {
	s := read("embedding", opts, embeddingOptions)
	e := &Embedding{
		Weight: s.parameter(tensor.Randn, classes, width), paddingIndex: s.paddingIndex,
		maxNorm: s.maxNorm, normType: s.normType, byFrequency: s.byFrequency,
	}
	switch {
	case s.paddingIndex == -1 || e.Weight.Err() != nil:
	case s.paddingIndex < 0 || s.paddingIndex >= classes:
		e.Weight = &Parameter{failed("padding index %d of an embedding of %d classes", s.paddingIndex, classes)}
	default:
		if err := Constant(e.Weight.Detach().Select(0, s.paddingIndex), 0); err != nil {
			e.Weight = &Parameter{failed("%w", err)}
		}
	}
	return e
}

// Forward maps int64 class numbers [...] to [..., width].
func (e *Embedding) Forward(x tensor.Tensor) tensor.Tensor {
	if e == nil {
		return missing(e)
	}
	opts := []Option{tensor.PaddingIdx(e.paddingIndex), tensor.ScaleGradByFreq(e.byFrequency)}
	if e.normType != 0 { // of a zero Embedding
		opts = append(opts, tensor.MaxNorm(e.maxNorm), tensor.NormType(e.normType))
	}
	return x.Embedding(e.Weight.value(), opts...)
}

// String describes the layer.
func (e *Embedding) String() string {
	e = given(e)
	return fmt.Sprintf("Embedding(classes=%d, width=%d)", e.Weight.value().Size(0), e.Weight.value().Size(1))
}
