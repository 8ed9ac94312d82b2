// Package optim trains parameters by their gradients: optimizers, learning-rate schedules
// and gradient clipping. It knows nothing of datasets.
//
//	adam, err := optim.NewAdam(nn.Parameters(model), 1e-3)
//	if err != nil {
//		return err
//	}
//	for range 500 {
//		_, err := optim.Minimize(adam, func() tensor.Tensor { return model.Forward(x).Sub(y).Square().Mean() })
//		if err != nil {
//			return err
//		}
//	}
//
// The chapter docs/guide/training.md of the guide shows more.
//
// # Optimizers
//
// NewSGD, NewAdam and NewAdamW make one. Minimize makes a whole step. Programs that do
// something between gradients and step, such as ClipGradNorm, call ZeroGrad, Backward and
// Step in a tensor.Scope instead. Package checkpoint saves and resumes a run.
//
// Optimizers are for one goroutine at a time. What they keep beside parameters is on the
// parameters' devices and belongs to no tensor.Scope. It is made at the first step in which
// a parameter has a gradient.
//
// # Schedules
//
// A Schedule is a function of the number of steps, such as Cosine or one of the program's
// own. NewScheduler sets an optimizer's learning rate by it.
package optim

import (
	"errors"
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/core"
)

// An Optimizer changes parameters by their gradients.
type Optimizer interface {
	// Step changes every parameter that has a gradient, those of one device and dtype
	// together. Where something is wrong with a parameter, or there is no memory for
	// what is kept beside it, the error names it and nothing has changed. Where a
	// device fails, the parameters that the error names have made no step (a part of
	// it where they are complex or share elements), and each of the others a whole
	// step or none.
	//
	// A Step while the parameters' device captures a graph changes nothing. Each replay
	// is then a step, with the learning rate and the number of steps there are at that
	// time. An error wraps ErrCapture where a step cannot be captured: before the
	// first one of a parameter that something is kept beside, and of parameters that
	// are complex or share elements. After SetState a graph must be captured again.
	Step() error
	// ZeroGrad removes the parameters' gradients.
	ZeroGrad() error
	// Parameters returns what is optimized, in the order that State counts in.
	Parameters() []*nn.Parameter
	// LearningRate returns the current learning rate; SetLearningRate changes it.
	// A rate that is negative or not finite makes the next Step fail.
	LearningRate() float64
	SetLearningRate(rate float64)
	// State returns what the optimizer keeps, by name: its learning rate, the
	// steps each parameter has made, and copies in host memory of the tensors
	// beside each. SetState puts it back, or wraps ErrState and changes nothing
	// when it is not of such an optimizer over such parameters. Options are the
	// program's and no part of it.
	State() (map[string]tensor.Tensor, error)
	SetState(map[string]tensor.Tensor) error
}

// A Partial is an optimizer that can make a step of some of its parameters, as those of this
// package can.
type Partial interface {
	Optimizer
	// Whole returns the optimizer of whose Step this is a part. A type that embeds one and has a
	// Step of its own is another, whose steps are not made in parts.
	Whole() Optimizer
	// StepOf is Step for those of the optimizer's parameters that are among some.
	StepOf(some []*nn.Parameter) error
}

var (
	_ Partial = (*SGD)(nil)
	_ Partial = (*Adam)(nil)
)

// base is what optimizers have in common.
type base struct {
	kind   string // prefixes the names in State
	names  []string
	params []*nn.Parameter
	places map[*nn.Parameter]int // in params, from the first step of some of them on
	rate   float64
	states []paramState // by parameter
	groups []*group     // of steps so far, of which the first used are this step's
	used   int
}

// paramState is what an optimizer keeps beside one parameter.
type paramState struct {
	steps int64           // made so far
	kept  []tensor.Tensor // by name; nil before the first step
}

func newBase(kind string, params []*nn.Parameter, rate float64, names ...string) (base, error) {
	b := base{kind: kind, names: names, params: params, rate: rate, states: make([]paramState, len(params))}
	if len(params) == 0 {
		return b, fmt.Errorf("optim: no parameters to optimize")
	}
	if err := b.checkRate(); err != nil {
		return b, err
	}
	first := make(map[*nn.Parameter]int, len(params))
	for i, p := range params {
		if p == nil {
			return b, fmt.Errorf("optim: parameter %d is nil", i)
		}
		if err := p.Err(); err != nil {
			return b, fmt.Errorf("optim: parameter %d: %w", i, err)
		}
		if k, twice := first[p]; twice {
			return b, fmt.Errorf("optim: parameter %d is parameter %d again", i, k)
		}
		first[p] = i
	}
	return b, nil
}

// given returns p, or where it is nil a zero T, of which each method says that it was
// not made as it should be.
func given[T any](p *T) *T {
	if p == nil {
		p = new(T)
	}
	return p
}

// made returns an error for an optimizer that is nil or was not made by a function of
// this package.
func (b *base) made() error {
	if b.kind == "" {
		return errors.New("optim: an optimizer that is nil or a zero value; NewSGD, NewAdam and NewAdamW make one")
	}
	return nil
}

func (b *base) checkRate() error {
	if !(b.rate >= 0) || math.IsInf(b.rate, 1) {
		return fmt.Errorf("optim: learning rate %g must be finite and not negative", b.rate)
	}
	return nil
}

func (b *base) ZeroGrad() error {
	if err := b.made(); err != nil {
		return err
	}
	for i, p := range b.params {
		if !p.RequiresGrad() && p.DType().Differentiable() {
			continue // frozen
		}
		if err := p.ZeroGrad(); err != nil {
			return fmt.Errorf("optim: parameter %d: %w", i, err)
		}
	}
	return nil
}

// ready reports whether n tensors are there, where p is and of its dtype.
func (s *paramState) ready(p tensor.Tensor, n int) bool {
	return len(s.kept) == n && (n == 0 || s.kept[0].Device() == p.Device() && s.kept[0].DType() == p.DType())
}

// prepare makes n tensors of zeros like p at first, and later has them follow p
// to another device or dtype.
func (s *paramState) prepare(p tensor.Tensor, n int) (err error) {
	if s.ready(p, n) {
		return nil
	}
	before := s.kept
	core.OnFailure(func() { s.kept = before })
	core.Unrecorded(func() {
		core.OutsideScope(func() {
			kept := make([]tensor.Tensor, n)
			for k := range kept {
				if s.kept == nil {
					kept[k] = tensor.ZerosLike(p)
				} else {
					kept[k] = s.kept[k].To(p.Device()).ToType(p.DType())
				}
				if err = kept[k].Err(); err != nil {
					return
				}
			}
			s.kept = kept
		})
	})
	return err
}

// kept returns the handles of what is kept beside a parameter.
func kept(list []tensor.Tensor) []*core.Tensor {
	out := make([]*core.Tensor, len(list))
	for i, t := range list {
		out[i] = t.Handle()
	}
	return out
}

// setRate changes the learning rate.
func (b *base) setRate(rate float64) {
	core.Journal(func() func() {
		before := b.rate
		b.rate = rate
		return func() { b.rate = before }
	})
}
