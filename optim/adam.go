package optim

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/option"
)

// Adam is gradient descent with estimates of the gradient's first two moments.
// It is for real parameters.
type Adam struct {
	base
	o         adamSettings
	decoupled bool
}

// adamSettings are what options adjust.
type adamSettings struct {
	betas    [2]float64
	eps      float64
	decay    float64
	maximize bool
}

const adamOptions = "Betas, Eps, WeightDecay, Maximize"

// NewAdam returns Adam over params; weight decay is an L2 penalty. Options: Betas
// (0.9, 0.999), tensor.Eps (1e-8), WeightDecay (0), Maximize.
func NewAdam(params []*nn.Parameter, rate float64, opts ...Option) (*Adam, error) {
	return newAdam("adam", params, rate, 0, opts)
}

// NewAdamW returns Adam over params with weight decay that acts on the
// parameters directly. Options: Betas (0.9, 0.999), tensor.Eps (1e-8), WeightDecay (0.01),
// Maximize.
func NewAdamW(params []*nn.Parameter, rate float64, opts ...Option) (*Adam, error) {
	return newAdam("adamw", params, rate, 0.01, opts)
}

func newAdam(kind string, params []*nn.Parameter, rate, decay float64, opts []Option) (*Adam, error) {
	r := option.Read(opts)
	o := adamSettings{
		betas: option.Get(&r, "Betas", [2]float64{0.9, 0.999}), eps: r.Float("Eps", 1e-8),
		decay: r.Float("WeightDecay", decay), maximize: r.Flag("Maximize", false),
	}
	if err := r.Err(adamOptions); err != nil {
		return nil, fmt.Errorf("optim: %s: %w", kind, err)
	}
	if !(0 <= o.betas[0] && o.betas[0] < 1 && 0 <= o.betas[1] && o.betas[1] < 1 && o.eps >= 0 && o.decay >= 0) {
		return nil, fmt.Errorf("optim: betas %g and %g must be at least 0 and less than 1, eps %g and weight decay %g not negative", o.betas[0], o.betas[1], o.eps, o.decay)
	}
	b, err := newBase(kind, params, rate, "first_moment", "second_moment")
	if err != nil {
		return nil, err
	}
	for i, p := range params {
		if !p.DType().IsFloat() {
			return nil, fmt.Errorf("optim: parameter %d is %s; Adam is for floats", i, p.DType())
		}
	}
	return &Adam{b, o, kind == "adamw"}, nil
}

// Step changes every parameter that has a gradient. Everything happens in place: it
// needs no memory but the moments'.
func (a *Adam) Step() error {
	a = given(a)
	return a.step(a)
}

// StepOf is Step for those of the optimizer's parameters that are among some.
func (a *Adam) StepOf(some []*nn.Parameter) error {
	a = given(a)
	return a.stepOf(a, some)
}

// Whole returns a.
func (a *Adam) Whole() Optimizer { return a }

// ZeroGrad removes the parameters' gradients.
func (a *Adam) ZeroGrad() error { return given(a).base.ZeroGrad() }

// Parameters returns what is optimized, in the order that State counts in.
func (a *Adam) Parameters() []*nn.Parameter { return given(a).params }

// LearningRate returns the current learning rate.
func (a *Adam) LearningRate() float64 { return given(a).rate }

// SetLearningRate changes the learning rate.
func (a *Adam) SetLearningRate(rate float64) { given(a).setRate(rate) }

// State returns what the optimizer keeps; see Optimizer.
func (a *Adam) State() (map[string]tensor.Tensor, error) { return given(a).base.State() }

// SetState puts back what State returned.
func (a *Adam) SetState(state map[string]tensor.Tensor) error { return given(a).base.SetState(state) }

func (a *Adam) phase(step int64) int64 { return step }

// corrected returns the numbers of a step. With c1 = 1 - beta1^t and
// c2 = 1 - beta2^t it is rate/c1 * m / (sqrt(v/c2) + eps), which is
// (rate*sqrt(c2)/c1) * m / (sqrt(v) + eps*sqrt(c2)).
func (a *Adam) corrected(step int64) (rate, eps float64) {
	t := float64(step)
	c := math.Sqrt(1 - math.Pow(a.o.betas[1], t))
	return a.rate * c / (1 - math.Pow(a.o.betas[0], t)), a.o.eps * c
}

func (a *Adam) op() *ir.Op { return ops.AdamStepOp() }

func (a *Adam) together(g *group) error {
	n := a.numbers(g.phase)
	if g.two {
		return ops.AdamStepTwo(g.params, g.grads, g.others, g.kept[0], g.kept[1], n[0], n[1], n[2], n[3], n[4], n[5], n[6])
	}
	return ops.AdamStep(g.params, g.grads, g.kept[0], g.kept[1], n[0], n[1], n[2], n[3], n[4], n[5], n[6])
}

func (a *Adam) numbers(phase int64) []float64 {
	rate, eps := a.corrected(phase)
	decay, shrink := a.o.decay, 1.0
	if a.decoupled {
		decay, shrink = 0, 1-a.rate*a.o.decay
	}
	if a.o.maximize {
		rate, decay = -rate, -decay
	}
	return []float64{rate, 1 - a.o.betas[0], a.o.betas[1], 1 - a.o.betas[1], eps, decay, shrink}
}
