package optim

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// SGDOptions adjusts stochastic gradient descent.
type SGDOptions struct {
	Momentum    float64 // share of the last step's direction that is kept
	Dampening   float64 // share of the gradient left out of the direction, but for a parameter's first step
	Nesterov    bool    // look ahead along the direction; needs momentum and no dampening
	WeightDecay float64 // L2 penalty added to the gradient
}

// SGD is stochastic gradient descent.
type SGD struct {
	base
	o SGDOptions
}

// NewSGD returns stochastic gradient descent over params.
func NewSGD(params []*nn.Parameter, rate float64, o SGDOptions) (*SGD, error) {
	if !(o.Momentum >= 0) || !(o.WeightDecay >= 0) || o.Dampening != o.Dampening {
		return nil, fmt.Errorf("optim: momentum %g and weight decay %g must not be negative, and dampening %g a number", o.Momentum, o.WeightDecay, o.Dampening)
	}
	if o.Nesterov && (o.Momentum == 0 || o.Dampening != 0) {
		return nil, fmt.Errorf("optim: Nesterov needs momentum (has %g) and no dampening (has %g)", o.Momentum, o.Dampening)
	}
	var names []string
	if o.Momentum != 0 {
		names = []string{"momentum"}
	}
	b, err := newBase("sgd", params, rate, names...)
	if err != nil {
		return nil, err
	}
	return &SGD{b, o}, nil
}

// Step changes every parameter that has a gradient. Everything happens in place:
// it needs no memory but the momentum's.
func (s *SGD) Step() error {
	s = given(s)
	return s.step(s)
}

// ZeroGrad removes the parameters' gradients.
func (s *SGD) ZeroGrad() error { return given(s).base.ZeroGrad() }

// Parameters returns what is optimized, in the order that State counts in.
func (s *SGD) Parameters() []*nn.Parameter { return given(s).params }

// LearningRate returns the current learning rate.
func (s *SGD) LearningRate() float64 { return given(s).rate }

// SetLearningRate changes the learning rate.
func (s *SGD) SetLearningRate(rate float64) { given(s).rate = rate }

// State returns what the optimizer keeps; see Optimizer.
func (s *SGD) State() (map[string]tensor.Tensor, error) { return given(s).base.State() }

// SetState puts back what State returned.
func (s *SGD) SetState(state map[string]tensor.Tensor) error { return given(s).base.SetState(state) }

// phase tells first steps from others where they differ.
func (s *SGD) phase(step int64) int64 {
	if s.o.Dampening != 0 {
		return min(step, 2)
	}
	return 1
}

// together moves parameters by -rate*d, d being the direction
// momentum*v + share*(g + decay*p).
func (s *SGD) together(g *group) error {
	n := s.numbers(g.phase)
	if s.o.Momentum == 0 {
		return ops.SGDStep(g.params, g.grads, n[0], n[1])
	}
	return ops.SGDMomentumStep(g.params, g.grads, g.kept[0], n[0], n[1], n[2], n[3], s.o.Nesterov)
}

func (s *SGD) numbers(phase int64) []float64 {
	if s.o.Momentum == 0 {
		return []float64{s.rate, s.o.WeightDecay}
	}
	share := 1.0
	if phase > 1 {
		share -= s.o.Dampening
	}
	return []float64{s.rate, s.o.Momentum, share, s.o.WeightDecay}
}
