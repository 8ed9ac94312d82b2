package optim

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// SGDOptions adjusts stochastic gradient descent.
type SGDOptions struct {
	Momentum    float64 // share of the last step's direction that is kept
	Dampening   float64 // share of the gradient left out of the direction
	Nesterov    bool    // look ahead along the direction; needs momentum and no dampening
	WeightDecay float64 // L2 penalty added to the gradient
}

// SGD is stochastic gradient descent.
type SGD struct {
	slots
	o SGDOptions
}

// NewSGD returns stochastic gradient descent over params.
func NewSGD(params []*nn.Parameter, lr float64, o SGDOptions) (*SGD, error) {
	if o.Momentum < 0 || o.WeightDecay < 0 {
		return nil, fmt.Errorf("optim: momentum %g and weight decay %g must not be negative", o.Momentum, o.WeightDecay)
	}
	if o.Nesterov && (o.Momentum == 0 || o.Dampening != 0) {
		return nil, fmt.Errorf("optim: Nesterov needs momentum (has %g) and no dampening (has %g)", o.Momentum, o.Dampening)
	}
	var names []string
	if o.Momentum != 0 {
		names = []string{"momentum"}
	}
	s, err := newSlots(params, lr, names...)
	return &SGD{s, o}, err
}

// Step changes every parameter that has a gradient.
func (s *SGD) Step() error { return s.each(s.update) }

func (s *SGD) update(i int, p, g tensor.Tensor) error {
	if s.o.WeightDecay != 0 {
		g = g.AddScaled(p, s.o.WeightDecay)
	}
	if s.o.Momentum != 0 {
		v := s.slot(i, 0)
		if err := v.MulScalarInPlace(s.o.Momentum); err != nil {
			return err
		}
		damp := 1 - s.o.Dampening
		if s.steps == 1 {
			damp = 1
		}
		if err := v.AddScaledInPlace(g, damp); err != nil {
			return err
		}
		if s.o.Nesterov {
			g = g.AddScaled(v, s.o.Momentum)
		} else {
			g = v
		}
	}
	return p.AddScaledInPlace(g, -s.lr)
}
