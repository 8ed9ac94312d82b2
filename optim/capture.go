package optim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/graph"
)

// ErrCapture is wrapped when a step cannot be captured into a graph.
var ErrCapture = errors.New("the step cannot be captured")

// capture gives a group's step to a graph that is being captured. It is no step of
// the group's: each replay is one, with the learning rate and the count of steps
// that the optimizer has then.
func (b *base) capture(g *group, r rule) error {
	index, beside := slices.Clone(g.index), b.beside
	numbers := func() ([]float64, error) {
		if &b.beside[0] != &beside[0] {
			return nil, fmt.Errorf("optim: %w: SetState replaced what the captured step changes; capture it again", ErrState)
		}
		if err := b.checkRate(); err != nil {
			return nil, err
		}
		list := r.numbers(r.phase(beside[index[0]].steps + 1))
		for _, i := range index {
			beside[i].steps++
		}
		return list, nil
	}
	var err error
	graph.Refreshing(numbers, func() { err = r.together(g) })
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
	if graph.Current(b.params[i].Device()) == nil || b.beside[i].ready(b.params[i].Tensor, len(b.names)) {
		return nil
	}
	return fmt.Errorf("%w: it has made no step on %s yet, and what the optimizer keeps beside it is not there; make a step before", ErrCapture, b.params[i].Device())
}
