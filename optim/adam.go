package optim

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// AdamOptions adjusts Adam and AdamW. The zero value of a field means its
// default.
type AdamOptions struct {
	Beta1, Beta2 float64 // decay of the two moments; defaults 0.9 and 0.999
	Eps          float64 // added to the root of the second moment; default 1e-8
	WeightDecay  float64 // default none, also of AdamW
}

// Adam is gradient descent with estimates of the gradient's first two moments.
// It is for real parameters.
type Adam struct {
	base
	o         AdamOptions
	decoupled bool
}

// NewAdam returns Adam over params; weight decay is an L2 penalty.
func NewAdam(params []*nn.Parameter, rate float64, o AdamOptions) (*Adam, error) {
	return newAdam("adam", params, rate, o)
}

// NewAdamW returns Adam over params with weight decay that acts on the
// parameters directly.
func NewAdamW(params []*nn.Parameter, rate float64, o AdamOptions) (*Adam, error) {
	return newAdam("adamw", params, rate, o)
}

func newAdam(kind string, params []*nn.Parameter, rate float64, o AdamOptions) (*Adam, error) {
	if o.Beta1 == 0 {
		o.Beta1 = 0.9
	}
	if o.Beta2 == 0 {
		o.Beta2 = 0.999
	}
	if o.Eps == 0 {
		o.Eps = 1e-8
	}
	if !(0 < o.Beta1 && o.Beta1 < 1 && 0 < o.Beta2 && o.Beta2 < 1 && o.Eps > 0 && o.WeightDecay >= 0) {
		return nil, fmt.Errorf("optim: betas %g and %g must be between 0 and 1, eps %g positive and weight decay %g not negative", o.Beta1, o.Beta2, o.Eps, o.WeightDecay)
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

// ZeroGrad removes the parameters' gradients.
func (a *Adam) ZeroGrad() error { return given(a).base.ZeroGrad() }

// Parameters returns what is optimized, in the order that State counts in.
func (a *Adam) Parameters() []*nn.Parameter { return given(a).params }

// LearningRate returns the current learning rate.
func (a *Adam) LearningRate() float64 { return given(a).rate }

// SetLearningRate changes the learning rate.
func (a *Adam) SetLearningRate(rate float64) { given(a).rate = rate }

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
	c := math.Sqrt(1 - math.Pow(a.o.Beta2, t))
	return a.rate * c / (1 - math.Pow(a.o.Beta1, t)), a.o.Eps * c
}

func (a *Adam) together(g *group) error {
	n := a.numbers(g.phase)
	return ops.AdamStep(g.params, g.grads, g.kept[0], g.kept[1], n[0], n[1], n[2], n[3], n[4], n[5], n[6])
}

func (a *Adam) numbers(phase int64) []float64 {
	rate, eps := a.corrected(phase)
	decay, shrink := a.o.WeightDecay, 1.0
	if a.decoupled {
		decay, shrink = 0, 1-a.rate*a.o.WeightDecay
	}
	return []float64{rate, 1 - a.o.Beta1, a.o.Beta2, 1 - a.o.Beta2, eps, decay, shrink}
}
