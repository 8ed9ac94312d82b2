package dist

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// ShardedOptimizer is an optimizer whose state is divided among the ranks of a group: each
// keeps moments for its part of all elements, makes the step there, and gives the result to
// the others. Parameters come out as those of an optimizer that every rank has whole, and the
// state takes a share of the memory. It is for optimizers that step element by element, which
// those of package optim do, and for gradients that are the same on all ranks, as
// DistributedDataParallel makes them.
//
// All ranks call Step and State. A rank whose Step fails aborts the group. Where the optimizer of one rank's part
// has no state to give, State says why on all ranks.
type ShardedOptimizer struct {
	group  *Group
	params []*nn.Parameter
	pieces []piece // of all ranks, by parameter

	own   []piece         // of this rank
	parts []*nn.Parameter // the elements of own
	inner optim.Optimizer // over parts

	apart bool    // parts are no elements of params, and have gradients of their own
	units []*unit // that parts are of, if they are apart
}

var _ optim.Optimizer = (*ShardedOptimizer)(nil)

// NewShardedOptimizer divides an optimizer over parameters, which are on the group's device
// and stay there. build makes the optimizer of this rank's part: it is given that part as
// parameters of one axis. All ranks call it, with parameters of the same shapes and dtypes.
//
//	adam, err := dist.NewShardedOptimizer(g, nn.Parameters(model), func(part []*nn.Parameter) (optim.Optimizer, error) {
//		return optim.NewAdam(part, 1e-3)
//	})
func NewShardedOptimizer(g *Group, params []*nn.Parameter, build func(part []*nn.Parameter) (optim.Optimizer, error)) (*ShardedOptimizer, error) {
	if !g.made() {
		return nil, errNil
	}
	s := &ShardedOptimizer{group: g, params: params}
	if err := s.begin(build); err != nil {
		return nil, s.named(err)
	}
	return s, nil
}

func (s *ShardedOptimizer) named(err error) error {
	return fmt.Errorf("dist: rank %d: ShardedOptimizer: %w", s.group.Rank(), err)
}

// begin compares the parameters of the ranks, divides them and makes the optimizer.
func (s *ShardedOptimizer) begin(build func(part []*nn.Parameter) (optim.Optimizer, error)) error {
	if build == nil || len(s.params) == 0 {
		return fmt.Errorf("%w: %d parameters, and a function that makes the optimizer: want both", ErrCall, len(s.params))
	}
	var text strings.Builder
	for i, p := range s.params {
		if p == nil {
			return fmt.Errorf("%w: parameter %d is nil", ErrCall, i)
		}
		switch err := p.Err(); {
		case err != nil:
			return fmt.Errorf("parameter %d: %w", i, err)
		case p.Device() != s.group.Device():
			return fmt.Errorf("%w: parameter %d is on %s, the group's rank on %s", ErrCall, i, p.Device(), s.group.Device())
		case !p.IsContiguous():
			return fmt.Errorf("%w: parameter %d has strides %v, want a contiguous one", ErrCall, i, p.Strides())
		}
		fmt.Fprintf(&text, "parameter %d of %s %v\n", i, p.DType(), p.Shape())
	}
	if err := s.group.agree(text.String()); err != nil {
		return err
	}
	s.pieces = divide(s.params, s.group.Size())
	for _, p := range s.pieces {
		if p.owner == s.group.Rank() {
			s.own = append(s.own, p)
			s.parts = append(s.parts, nn.NewParameter(p.of(s.params[p.param].Tensor)))
		}
	}
	s.atLeastOne()
	return s.build(build)
}

// atLeastOne gives a rank without pieces one without elements, so that it has an optimizer too.
func (s *ShardedOptimizer) atLeastOne() {
	if len(s.own) == 0 {
		none := tensor.Zeros([]int{0}, tensor.On(s.group.Device()), tensor.OfType(s.params[0].DType()))
		s.own, s.parts = []piece{{owner: s.group.Rank()}}, []*nn.Parameter{nn.NewParameter(none)}
	}
}

// build makes the optimizer of this rank's part.
func (s *ShardedOptimizer) build(build func(part []*nn.Parameter) (optim.Optimizer, error)) (err error) {
	if s.inner, err = build(s.parts); err == nil && s.inner == nil {
		err = fmt.Errorf("%w: no optimizer was made", ErrCall)
	}
	return err
}

// made returns an error for an optimizer that this package did not make.
func (s *ShardedOptimizer) made() error {
	if s == nil || s.inner == nil {
		return errUnmadeOptimizer
	}
	return nil
}

var errUnmadeOptimizer = fmt.Errorf("dist: %w: a nil or zero *dist.ShardedOptimizer; NewShardedOptimizer makes one", ErrCall)

// Step changes every parameter that has a gradient, on all ranks.
func (s *ShardedOptimizer) Step() error {
	if err := s.made(); err != nil {
		return err
	}
	err := tensor.Scope(func() error {
		err := s.lend()
		if err == nil {
			err = s.inner.Step()
		}
		if s.apart {
			return err
		}
		return errors.Join(err, zeroGrad(s.parts))
	})
	if err != nil {
		err = s.named(err)
		s.group.Abort(err) // the others wait for what this rank steps
		return err
	}
	if s.apart {
		return s.evict()
	}
	return s.share()
}

// evict gives back what passes that failed have left of the elements before the step. All ranks do so: one that steps
// no elements of a unit could not tell by its part that others did.
func (s *ShardedOptimizer) evict() (err error) {
	for _, u := range s.units {
		err = errors.Join(err, u.evict())
	}
	return err
}

// lend gives the parts their places in the parameters' gradients.
func (s *ShardedOptimizer) lend() error {
	if s.apart {
		return nil
	}
	for i := range s.own {
		p := &s.own[i]
		h := s.params[p.param].Handle()
		if from, other, mean := h.GradOfTwo(); other != nil {
			a, b := p.of(tensor.Wrap(from)), p.of(tensor.Wrap(other))
			if err := s.parts[i].Handle().SetMeanGrad(a.Handle(), b.Handle(), nil, mean); err != nil {
				return fmt.Errorf("parameter %d: %w", p.param, err)
			}
			continue
		}
		if h = h.GradAsItIs(); h == nil {
			continue
		}
		g := tensor.Wrap(h)
		if !g.IsContiguous() {
			g = g.Contiguous()
		}
		part, err := p.of(g), error(nil)
		if g.DType() == s.parts[i].DType() {
			err = s.parts[i].SetGrad(part)
		} else {
			err = s.parts[i].Handle().SetNarrowGrad(part.Handle(), nil)
		}
		if err != nil {
			return fmt.Errorf("parameter %d: %w", p.param, err)
		}
	}
	return nil
}

// share makes every rank's parameters those that the owners of their pieces stepped.
func (s *ShardedOptimizer) share() error {
	return tensor.Scope(func() error {
		return s.group.Batch(func(b *Batch) {
			for i := range s.pieces {
				p := &s.pieces[i]
				b.Broadcast(p.of(s.params[p.param].Tensor), p.owner)
			}
		}).Wait(context.Background())
	})
}

func zeroGrad(params []*nn.Parameter) (err error) {
	for _, p := range params {
		err = errors.Join(err, p.ZeroGrad())
	}
	return err
}

// ZeroGrad removes the parameters' gradients.
func (s *ShardedOptimizer) ZeroGrad() error {
	if err := s.made(); err != nil {
		return err
	}
	var trained []*nn.Parameter
	for _, p := range s.params {
		if p.RequiresGrad() && !s.apart {
			trained = append(trained, p)
		}
	}
	return errors.Join(zeroGrad(trained), s.inner.ZeroGrad())
}

// Parameters returns what is optimized, in the order that State counts in.
func (s *ShardedOptimizer) Parameters() []*nn.Parameter {
	if s.made() != nil {
		return nil
	}
	return s.params
}

// LearningRate returns the current learning rate.
func (s *ShardedOptimizer) LearningRate() float64 {
	if s.made() != nil {
		return 0
	}
	return s.inner.LearningRate()
}

// SetLearningRate changes the learning rate. All ranks make the same change.
func (s *ShardedOptimizer) SetLearningRate(rate float64) {
	if s.made() == nil {
		s.inner.SetLearningRate(rate)
	}
}
