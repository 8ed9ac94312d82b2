package optim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/graph"
)

// ErrCapture is wrapped when a step cannot be captured into a graph.
const ErrCapture ir.Error = "the step cannot be captured"

// capture gives a group's step to a graph that is being captured. It is no step of
// the group's: each replay is one, with the learning rate and the count of steps
// that the optimizer has then.
func (b *base) capture(g *group, r rule) error {
	index, states := slices.Clone(g.index), b.states
	renewed := make([]func(), len(g.params))
	for k, h := range g.params {
		renewed[k] = h.GradRenewed()
	}
	numbers := func() ([]float64, error) {
		if &b.states[0] != &states[0] {
			return nil, fmt.Errorf("optim: %w: SetState replaced what the captured step changes; capture it again", ErrState)
		}
		if err := b.checkRate(); err != nil {
			return nil, err
		}
		list := r.numbers(r.phase(states[index[0]].steps + 1))
		for _, i := range index {
			states[i].steps++
		}
		for _, note := range renewed {
			note()
		}
		return list, nil
	}
	err := graph.Refreshing(numbers, func() error { return r.together(g) })
	if errors.Is(err, core.ErrOverlap) {
		err = fmt.Errorf("%w: parameters that share elements are changed one by one: %w", ErrCapture, err)
	}
	if err != nil {
		return fmt.Errorf("optim: %s: %w", g, err)
	}
	return nil
}

// capturable returns why a parameter's step cannot be captured where its device's
// current stream is: what is kept beside it would be cleared by every replay.
func (b *base) capturable(i int) error {
	if graph.Current(b.params[i].Device()) == nil || b.states[i].ready(b.params[i].Tensor, len(b.names)) {
		return nil
	}
	return fmt.Errorf("%w: it has made no step on %s yet, and what the optimizer keeps beside it is not there; make a step before", ErrCapture, b.params[i].Device())
}

// record gives a group's step to a recording. Each run of the program is a step, with the
// learning rate and the number of steps that there are then. The program holds while the
// group's parameters make the same step together and what is kept beside them is the same.
func (b *base) record(g *group, r rule) error {
	index, all := slices.Clone(g.index), &b.states[0]
	numbers := func() ([]float64, error) {
		if err := b.checkRate(); err != nil {
			return nil, err
		}
		list := r.numbers(r.phase(b.states[index[0]].steps + 1))
		for _, i := range index {
			b.states[i].steps++
		}
		return list, nil
	}
	err := graph.Refreshing(numbers, func() error { return r.together(g) })
	if errors.Is(err, core.ErrOverlap) {
		err = fmt.Errorf("%w: parameters that share elements are changed one by one: %w", core.ErrUnrecordable, err)
	}
	if err != nil {
		return fmt.Errorf("optim: %s: %w", g, err)
	}
	handles := make([]*core.Tensor, len(index))
	moments := make([][]tensor.Tensor, len(index))
	for k, i := range index {
		handles[k], moments[k] = b.params[i].Handle(), slices.Clone(b.states[i].kept)
		b.states[i].steps++
	}
	core.OnRolledBack(func() {
		for _, i := range index {
			b.states[i].steps--
		}
	})
	core.Guard("an optimizer's parameters, or what it keeps beside them", func() bool {
		for k, i := range index {
			if &b.states[0] != all || b.params[i].Handle() != handles[k] || !slices.Equal(b.states[i].kept, moments[k]) ||
				r.phase(b.states[i].steps+1) != r.phase(b.states[index[0]].steps+1) {
				return false
			}
		}
		return true
	})
	return nil
}
