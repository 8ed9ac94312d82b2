package optim

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/option"
)

// SGD is stochastic gradient descent.
type SGD struct {
	base
	o sgdSettings
}

// sgdSettings are what options adjust.
type sgdSettings struct {
	momentum, dampening, decay float64
	nesterov, maximize         bool
}

const sgdOptions = "Momentum, Dampening, Nesterov, WeightDecay, Maximize"

// NewSGD returns stochastic gradient descent over params. Options: Momentum (0),
// Dampening (0), Nesterov, WeightDecay (0), an L2 penalty, Maximize.
func NewSGD(params []*nn.Parameter, rate float64, opts ...Option) (*SGD, error) {
	r := option.Read(opts)
	o := sgdSettings{
		momentum: r.Float("Momentum", 0), dampening: r.Float("Dampening", 0), decay: r.Float("WeightDecay", 0),
		nesterov: r.Flag("Nesterov", false), maximize: r.Flag("Maximize", false),
	}
	if err := r.Err(sgdOptions); err != nil {
		return nil, fmt.Errorf("optim: sgd: %w", err)
	}
	if !(o.momentum >= 0) || !(o.decay >= 0) || o.dampening != o.dampening {
		return nil, fmt.Errorf("optim: momentum %g and weight decay %g must not be negative, and dampening %g a number", o.momentum, o.decay, o.dampening)
	}
	if o.nesterov && (o.momentum == 0 || o.dampening != 0) {
		return nil, fmt.Errorf("optim: Nesterov needs momentum (has %g) and no dampening (has %g)", o.momentum, o.dampening)
	}
	var names []string
	if o.momentum != 0 {
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

// StepOf is Step for those of the optimizer's parameters that are among some.
func (s *SGD) StepOf(some []*nn.Parameter) error {
	s = given(s)
	return s.stepOf(s, some)
}

// Whole returns s.
func (s *SGD) Whole() Optimizer { return s }

// ZeroGrad removes the parameters' gradients.
func (s *SGD) ZeroGrad() error { return given(s).base.ZeroGrad() }

// Parameters returns what is optimized, in the order that State counts in.
func (s *SGD) Parameters() []*nn.Parameter { return given(s).params }

// LearningRate returns the current learning rate.
func (s *SGD) LearningRate() float64 { return given(s).rate }

// SetLearningRate changes the learning rate.
func (s *SGD) SetLearningRate(rate float64) { given(s).setRate(rate) }

// State returns what the optimizer keeps; see Optimizer.
func (s *SGD) State() (map[string]tensor.Tensor, error) { return given(s).base.State() }

// SetState puts back what State returned.
func (s *SGD) SetState(state map[string]tensor.Tensor) error { return given(s).base.SetState(state) }

// phase tells first steps from others where they differ.
func (s *SGD) phase(step int64) int64 {
	if s.o.dampening != 0 {
		return min(step, 2)
	}
	return 1
}

func (s *SGD) op() *ir.Op {
	if s.o.momentum == 0 {
		return ops.SGDStepOp()
	}
	return ops.SGDMomentumStepOp()
}

// together moves parameters by -rate*d, d being the direction
// momentum*v + share*(g + decay*p).
func (s *SGD) together(g *group) error {
	n := s.numbers(g.phase)
	switch {
	case s.o.momentum == 0 && g.two:
		return ops.SGDStepTwo(g.params, g.grads, g.others, n[0], n[1])
	case s.o.momentum == 0:
		return ops.SGDStep(g.params, g.grads, n[0], n[1])
	case g.two:
		return ops.SGDMomentumStepTwo(g.params, g.grads, g.others, g.kept[0], n[0], n[1], n[2], n[3], s.o.nesterov)
	}
	return ops.SGDMomentumStep(g.params, g.grads, g.kept[0], n[0], n[1], n[2], n[3], s.o.nesterov)
}

func (s *SGD) numbers(phase int64) []float64 {
	rate, decay := s.rate, s.o.decay
	if s.o.maximize {
		rate, decay = -rate, -decay
	}
	if s.o.momentum == 0 {
		return []float64{rate, decay}
	}
	share := 1.0
	if phase > 1 {
		share -= s.o.dampening
	}
	return []float64{rate, s.o.momentum, share, decay}
}
