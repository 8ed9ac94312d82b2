// Package optim changes parameters by their gradients: optimizers, learning-rate
// schedules and gradient clipping. It knows nothing of models or datasets.
package optim

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/core"
)

// ErrState is wrapped when a saved state does not fit an optimizer.
var ErrState = errors.New("state does not fit the optimizer")

// An Optimizer changes parameters by their gradients.
type Optimizer interface {
	// Step changes every parameter that has a gradient. When it returns an
	// error, the parameters named before it may have changed.
	Step() error
	// ZeroGrad removes the parameters' gradients.
	ZeroGrad() error
	// LearningRate returns the current learning rate; SetLearningRate changes it.
	LearningRate() float64
	SetLearningRate(lr float64)
	// State returns the optimizer's tensors and numbers by name; SetState puts
	// them back. The tensors are copies.
	State() (map[string]tensor.Tensor, error)
	SetState(map[string]tensor.Tensor) error
}

// slot is a tensor kept beside a parameter, made when it is first used.
type slot struct {
	t    tensor.Tensor
	used bool
}

// slots holds the tensors an optimizer keeps beside each parameter.
type slots struct {
	params []*nn.Parameter
	lr     float64
	steps  int64
	names  []string // of the kinds of tensor kept
	kept   [][]slot // by parameter, then by name
}

func newSlots(params []*nn.Parameter, lr float64, names ...string) (slots, error) {
	s := slots{params: params, lr: lr, names: names, kept: make([][]slot, len(params))}
	if len(params) == 0 {
		return s, fmt.Errorf("optim: no parameters to optimize")
	}
	if !(lr >= 0) {
		return s, fmt.Errorf("optim: learning rate %g is negative or not a number", lr)
	}
	for i, p := range params {
		if err := p.Err(); err != nil {
			return s, fmt.Errorf("optim: parameter %d: %w", i, err)
		}
		s.kept[i] = make([]slot, len(names))
	}
	return s, nil
}

func (s *slots) LearningRate() float64      { return s.lr }
func (s *slots) SetLearningRate(lr float64) { s.lr = lr }

func (s *slots) ZeroGrad() error {
	for i, p := range s.params {
		if err := p.ZeroGrad(); err != nil {
			return fmt.Errorf("optim: parameter %d: %w", i, err)
		}
	}
	return nil
}

// slot returns the k-th tensor kept for parameter i, zeros at first.
func (s *slots) slot(i, k int) tensor.Tensor {
	if kept := &s.kept[i][k]; !kept.used {
		core.OutsideScope(func() { *kept = slot{tensor.ZerosLike(s.params[i].Detach()), true} })
	}
	return s.kept[i][k].t
}

// each calls update for every parameter that has a gradient, with recording
// off, and releases what update made.
func (s *slots) each(update func(i int, p, grad tensor.Tensor) error) error {
	s.steps++
	var err error
	tensor.NoGrad(func() {
		for i, p := range s.params {
			g, ok := p.Grad()
			if !ok {
				continue
			}
			for k := range s.names {
				s.slot(i, k)
			}
			tensor.Scope(func(func(...tensor.Tensor)) { err = update(i, p.Tensor, g) })
			if err != nil {
				err = fmt.Errorf("optim: parameter %d: %w", i, err)
				return
			}
		}
	})
	return err
}

const stepsName = "steps"

// State returns copies of the tensors kept and the number of steps.
func (s *slots) State() (map[string]tensor.Tensor, error) {
	out := map[string]tensor.Tensor{stepsName: tensor.From([]int64{s.steps}, 1)}
	for i, kept := range s.kept {
		for k, kept := range kept {
			if !kept.used {
				continue
			}
			c := kept.t.Clone()
			if err := c.Err(); err != nil {
				return nil, err
			}
			out[fmt.Sprintf("%s.%d", s.names[k], i)] = c
		}
	}
	return out, nil
}

// SetState puts back what State returned. Nothing is changed when it does not fit.
func (s *slots) SetState(state map[string]tensor.Tensor) error {
	steps, ok := state[stepsName]
	if !ok {
		return fmt.Errorf("optim: %w: %q is missing", ErrState, stepsName)
	}
	n, err := steps.ItemInt()
	if err != nil {
		return fmt.Errorf("optim: %w: %s: %w", ErrState, stepsName, err)
	}
	fresh := make([][]slot, len(s.params))
	used := 1
	for i, p := range s.params {
		fresh[i] = make([]slot, len(s.names))
		for k, name := range s.names {
			t, ok := state[fmt.Sprintf("%s.%d", name, i)]
			if !ok {
				continue
			}
			used++
			fresh[i][k] = slot{t.To(p.Device()).Clone().Detach(), true}
			if err := fresh[i][k].t.Err(); err != nil {
				return fmt.Errorf("optim: %w: %s.%d: %w", ErrState, name, i, err)
			}
			if fmt.Sprint(t.Shape(), t.DType()) != fmt.Sprint(p.Shape(), p.DType()) {
				return fmt.Errorf("optim: %w: %s.%d is %s %v, the parameter %s %v", ErrState, name, i, t.DType(), t.Shape(), p.DType(), p.Shape())
			}
		}
	}
	if used != len(state) {
		return fmt.Errorf("optim: %w: %d of %d entries are for other parameters", ErrState, len(state)-used, len(state))
	}
	s.kept, s.steps = fresh, n
	return nil
}
