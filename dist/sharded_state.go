package dist

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optim"
)

// everyRank stands for all ranks in place of one.
const everyRank = -1

// State returns the whole state, that of all ranks, as an optimizer that is not divided
// returns it: SetState of such a one, or of one that is divided among another number of ranks,
// takes it. All ranks call it. SaveCheckpoint has rank 0 alone keep it.
func (s *ShardedOptimizer) State() (map[string]tensor.Tensor, error) {
	if err := s.made(); err != nil {
		return nil, err
	}
	state, err := s.gather(everyRank)
	if err != nil {
		return nil, s.named(err)
	}
	return state, nil
}

// gather returns the whole state on rank root, or on every rank.
func (s *ShardedOptimizer) gather(root int) (map[string]tensor.Tensor, error) {
	own, err := s.inner.State()
	defer release(own)
	if err == nil {
		err = s.fits(own)
	}
	kept, err := s.kept(own, err)
	if err != nil {
		return nil, err
	}
	out := map[string]tensor.Tensor{}
	keep := root == everyRank || root == s.group.Rank()
	var why error // this rank cannot go on; the others know it before the next call of all
	take := func(name string, t tensor.Tensor) {
		if t = t.CPU(); t.Err() != nil {
			why = fmt.Errorf("%s: %w", name, t.Err())
		} else if keep {
			tensor.Keep(t)
			out[name] = t
		}
	}
	err = tensor.Scope(func() error {
		for _, name := range slices.Sorted(maps.Keys(own)) {
			if _, _, indexed := optim.StateParameter(name); indexed {
				continue
			}
			t, err := s.whole(own[name], why)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			take(name, t)
		}
		for _, b := range kept {
			t, err := s.join(&b, own, why)
			if err != nil {
				return fmt.Errorf("%s: %w", b.name(), err)
			}
			if keep {
				take(b.name(), t)
			}
		}
		return s.group.together(why)
	})
	if err != nil {
		release(out)
		return nil, err
	}
	return out, nil
}

func release(state map[string]tensor.Tensor) {
	for _, t := range state {
		t.Release()
	}
}

// A keptTensor is what is kept beside a parameter, by its place in the whole state.
type keptTensor struct {
	prefix string
	param  int
	dtype  ir.DType
}

func (k *keptTensor) name() string { return optim.StateName(k.prefix, k.param) }

// fits returns what of the state of this rank's part is not of its pieces.
func (s *ShardedOptimizer) fits(own map[string]tensor.Tensor) error {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		t := own[name]
		if err := t.Err(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		switch _, i, indexed := optim.StateParameter(name); {
		case indexed && i < len(s.own) && t.NumElements() != s.own[i].to-s.own[i].from:
			return fmt.Errorf("%s: %w: it is of shape %v, beside a part of %d elements: an optimizer that is divided steps element by element",
				name, optim.ErrState, t.Shape(), s.own[i].to-s.own[i].from)
		case !indexed && t.Rank() > 0 && t.NumElements() != len(s.own):
			return fmt.Errorf("%s: %w: %d numbers for %d parts", name, optim.ErrState, t.NumElements(), len(s.own))
		}
	}
	return nil
}

// failed begins what a rank tells of itself in place of what it keeps.
const failed = "!"

// kept returns what any rank keeps beside parameters, in the same order on all; why is why this one has no state. Where one
// has none all return why.
func (s *ShardedOptimizer) kept(own map[string]tensor.Tensor, why error) ([]keptTensor, error) {
	var text strings.Builder
	if why != nil {
		own = nil
		text.WriteString(failed + why.Error())
	}
	for name, t := range own {
		if prefix, i, ok := optim.StateParameter(name); ok && i < len(s.own) {
			fmt.Fprintf(&text, "%d %d %s\n", s.own[i].param, t.DType(), prefix)
		}
	}
	all, err := s.group.gatherBytes([]byte(text.String()))
	if err != nil {
		return nil, err
	}
	for r, b := range all {
		if other, is := strings.CutPrefix(string(b), failed); is && r != s.group.Rank() {
			err = errors.Join(err, fmt.Errorf("rank %d: %s", r, other))
		}
	}
	if err = errors.Join(why, err); err != nil {
		return nil, err
	}
	lines := map[string]keptTensor{}
	for _, b := range all {
		for line := range strings.Lines(string(b)) {
			var k keptTensor
			if _, err := fmt.Sscanf(line, "%d %d %s\n", &k.param, &k.dtype, &k.prefix); err != nil || k.param < 0 || k.param >= len(s.params) {
				return nil, fmt.Errorf("internal error: a rank keeps %q", line)
			}
			lines[line] = k
		}
	}
	var out []keptTensor
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		out = append(out, lines[line])
	}
	return out, nil
}

// whole returns a scalar as it is, and of a vector, which has an element for each part, one
// that has an element for each parameter: that of the rank which has its first elements. Where one of the ranks fails, or
// has failed before for a reason, all do.
func (s *ShardedOptimizer) whole(t tensor.Tensor, why error) (tensor.Tensor, error) {
	if t.Rank() == 0 {
		return t.Clone(), nil
	}
	out := tensor.Zeros([]int{len(s.params)}, tensor.OfType(t.DType()))
	for i := range s.own {
		if p := &s.own[i]; p.from > 0 || p.to == 0 {
			continue
		}
		why = errors.Join(why, out.Narrow(0, s.own[i].param, 1).CopyFrom(t.Narrow(0, i, 1)))
	}
	on := out.To(s.group.Device())
	if err := s.group.together(errors.Join(why, on.Err())); err != nil {
		return t, err
	}
	err := s.group.AllReduce(on, Sum).Wait(context.Background())
	return on.CPU(), err
}

// join returns what is kept beside a parameter, of which every rank has its pieces. It fails as whole does.
func (s *ShardedOptimizer) join(k *keptTensor, own map[string]tensor.Tensor, why error) (tensor.Tensor, error) {
	p := s.params[k.param]
	out := tensor.Zeros(p.Shape(), tensor.On(s.group.Device()), tensor.OfType(k.dtype))
	why = errors.Join(why, out.Err())
	for i := range s.own {
		if s.own[i].param != k.param || s.own[i].from == s.own[i].to {
			continue
		}
		t, ok := own[optim.StateName(k.prefix, i)]
		if ok && why == nil { // else the parameter has made no step here, as on no rank
			why = s.own[i].of(out).CopyFrom(t)
		}
	}
	if err := s.group.together(why); err != nil {
		return out, err
	}
	err := s.group.Batch(func(b *Batch) {
		for i := range s.pieces {
			if s.pieces[i].param == k.param {
				b.Broadcast(s.pieces[i].of(out), s.pieces[i].owner)
			}
		}
	}).Synchronize(context.Background())
	return out, err
}

// SetState puts back what State returned, or what an optimizer that is not divided did: each
// rank takes its part. Ranks need not wait for one another.
func (s *ShardedOptimizer) SetState(state map[string]tensor.Tensor) error {
	if err := s.made(); err != nil {
		return err
	}
	err := tensor.Scope(func() error {
		part, err := s.cut(state)
		if err != nil {
			return fmt.Errorf("%w: %w", optim.ErrState, err)
		}
		return s.inner.SetState(part)
	})
	if err != nil {
		return s.named(err)
	}
	return nil
}

// cut returns this rank's part of a whole state.
func (s *ShardedOptimizer) cut(state map[string]tensor.Tensor) (map[string]tensor.Tensor, error) {
	out := map[string]tensor.Tensor{}
	for name, t := range state {
		if err := t.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		prefix, param, indexed := optim.StateParameter(name)
		switch {
		case indexed && param >= len(s.params):
			return nil, fmt.Errorf("%s: there are %d parameters", name, len(s.params))
		case indexed && !slices.Equal(t.Shape(), s.params[param].Shape()):
			return nil, fmt.Errorf("%s: it is %s %v, the parameter %s %v", name, t.DType(), t.Shape(), s.params[param].DType(), s.params[param].Shape())
		case indexed:
			for i := range s.own {
				if s.own[i].param == param {
					out[optim.StateName(prefix, i)] = s.own[i].of(t.Contiguous())
				}
			}
		case t.Rank() == 0:
			out[name] = t
		case t.NumElements() != len(s.params):
			return nil, fmt.Errorf("%s: it is of %d parameters, the optimizer has %d", name, t.NumElements(), len(s.params))
		default:
			index := make([]int64, len(s.own))
			for i := range s.own {
				index[i] = int64(s.own[i].param)
			}
			out[name] = t.IndexSelect(0, tensor.From(index))
		}
	}
	return out, nil
}
