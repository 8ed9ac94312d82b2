package optim

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// AdamOptions adjusts Adam and AdamW. The zero value of a field means its
// default.
type AdamOptions struct {
	Beta1, Beta2 float64 // decay of the two moments; defaults 0.9 and 0.999
	Eps          float64 // added to the root of the second moment; default 1e-8
	WeightDecay  float64
}

// Adam is gradient descent with estimates of the gradient's first two moments.
type Adam struct {
	slots
	o         AdamOptions
	decoupled bool
}

// NewAdam returns Adam over params; weight decay is an L2 penalty.
func NewAdam(params []*nn.Parameter, lr float64, o AdamOptions) (*Adam, error) {
	return newAdam(params, lr, o, false)
}

// NewAdamW returns Adam over params with weight decay that acts on the
// parameters directly.
func NewAdamW(params []*nn.Parameter, lr float64, o AdamOptions) (*Adam, error) {
	return newAdam(params, lr, o, true)
}

func newAdam(params []*nn.Parameter, lr float64, o AdamOptions, decoupled bool) (*Adam, error) {
	if o.Beta1 == 0 {
		o.Beta1 = 0.9
	}
	if o.Beta2 == 0 {
		o.Beta2 = 0.999
	}
	if o.Eps == 0 {
		o.Eps = 1e-8
	}
	if !(0 <= o.Beta1 && o.Beta1 < 1 && 0 <= o.Beta2 && o.Beta2 < 1) || o.Eps < 0 || o.WeightDecay < 0 {
		return nil, fmt.Errorf("optim: betas %g and %g must be in [0, 1), eps %g and weight decay %g not negative", o.Beta1, o.Beta2, o.Eps, o.WeightDecay)
	}
	s, err := newSlots(params, lr, "first_moment", "second_moment")
	return &Adam{s, o, decoupled}, err
}

// Step changes every parameter that has a gradient.
func (a *Adam) Step() error { return a.each(a.update) }

func (a *Adam) update(i int, p, g tensor.Tensor) error {
	if a.o.WeightDecay != 0 {
		if a.decoupled {
			if err := p.MulScalarInPlace(1 - a.lr*a.o.WeightDecay); err != nil {
				return err
			}
		} else {
			g = g.AddScaled(p, a.o.WeightDecay)
		}
	}
	m, v := a.slot(i, 0), a.slot(i, 1)
	if err := m.LerpScalarInPlace(g, 1-a.o.Beta1); err != nil {
		return err
	}
	if err := v.LerpScalarInPlace(g.Mul(g), 1-a.o.Beta2); err != nil {
		return err
	}
	t := float64(a.steps)
	rate := a.lr / (1 - math.Pow(a.o.Beta1, t))
	root := v.DivScalar(1 - math.Pow(a.o.Beta2, t)).Sqrt().AddScalar(a.o.Eps)
	return p.AddcdivInPlace(m, root, tensor.Value(-rate))
}
