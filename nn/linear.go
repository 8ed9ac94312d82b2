package nn

import (
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
)

// A Linear layer computes x·Wᵀ + b over the last axis.
type Linear struct {
	Weight *Parameter // [out, in]
	Bias   *Parameter // [out], or nil
}

// NewLinear returns a linear layer whose weights are drawn uniformly from
// ±1/sqrt(in).
func NewLinear(in, out int, opts ...Option) *Linear {
	o := options(opts)
	bound := 1 / math.Sqrt(float64(in))
	l := &Linear{Weight: o.uniform(bound, out, in)}
	if o.bias {
		l.Bias = o.uniform(bound, out)
	}
	return l
}

// Forward maps [..., in] to [..., out].
func (l *Linear) Forward(x tensor.Tensor) tensor.Tensor {
	if l.Bias == nil {
		return x.Linear(l.Weight.Tensor)
	}
	return x.Linear(l.Weight.Tensor, tensor.Bias(l.Bias.Tensor))
}

// An Embedding holds one vector for each of a number of classes.
type Embedding struct {
	Weight *Parameter // [classes, width]
}

// NewEmbedding returns an embedding drawn from the standard normal distribution.
func NewEmbedding(classes, width int, opts ...Option) *Embedding {
	o := options(opts)
	return &Embedding{Weight: NewParameter(tensor.Randn([]int{classes, width}, o.place()...))}
}

// Forward maps int64 class numbers [...] to [..., width].
func (e *Embedding) Forward(x tensor.Tensor) tensor.Tensor { return e.Weight.Embedding(x) }
