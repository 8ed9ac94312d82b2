package optim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/core"
)

// ErrState is wrapped when a saved state does not fit an optimizer.
const ErrState ir.Error = "state does not fit the optimizer"

func (b *base) rateName() string  { return b.kind + ".learning_rate" } // float64, a scalar
func (b *base) stepsName() string { return b.kind + ".steps" }         // int64 [parameters]

// keptName names the k-th tensor beside parameter i.
func (b *base) keptName(i, k int) string {
	return StateName(b.kind+"."+b.names[k], i)
}

// StateParameter takes a name in a State apart: of a tensor that is kept beside a parameter
// it returns what the tensors of all parameters begin with, and which parameter. What has no
// such name is a number for all (a scalar) or one for each parameter (a vector).
func StateParameter(name string) (prefix string, parameter int, ok bool) {
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return name, 0, false
	}
	i, err := strconv.Atoi(name[at+1:])
	if err != nil || i < 0 || strconv.Itoa(i) != name[at+1:] {
		return name, 0, false
	}
	return name[:at], i, true
}

// StateName is the name of what is kept beside a parameter: StateParameter takes it apart.
func StateName(prefix string, parameter int) string { return prefix + "." + strconv.Itoa(parameter) }

func (b *base) State() (map[string]tensor.Tensor, error) {
	if err := b.made(); err != nil {
		return nil, err
	}
	steps := make([]int64, len(b.params))
	out := map[string]tensor.Tensor{}
	for i, s := range b.states {
		steps[i] = s.steps
		for k, t := range s.kept {
			c := t.CPU()
			if c == t {
				c = t.Clone()
			}
			if err := c.Err(); err != nil {
				return nil, fmt.Errorf("optim: %s: %w", b.keptName(i, k), err)
			}
			out[b.keptName(i, k)] = c
		}
	}
	out[b.stepsName()] = tensor.From(steps)
	out[b.rateName()] = tensor.FromScalar(b.rate, tensor.OfType(tensor.Float64))
	return out, nil
}

func (b *base) SetState(state map[string]tensor.Tensor) error {
	if err := b.made(); err != nil {
		return err
	}
	fresh := base{kind: b.kind, names: b.names, params: b.params}
	if err := fresh.read(state); err != nil {
		fresh.release()
		return fmt.Errorf("optim: %w: %w", ErrState, err)
	}
	old := *b
	b.rate, b.states = fresh.rate, fresh.states
	old.release()
	return nil
}

func (b *base) release() {
	for _, s := range b.states {
		for _, t := range s.kept {
			t.Release()
		}
	}
}

// read takes rate and beside from a state, all of whose entries must be used.
func (b *base) read(state map[string]tensor.Tensor) error {
	rest := maps.Clone(state)
	take := func(name string) (tensor.Tensor, error) {
		t, ok := rest[name]
		if !ok {
			return t, fmt.Errorf("%q is missing", name)
		}
		delete(rest, name)
		return t, t.Err()
	}
	steps, err := b.readNumbers(take)
	if err != nil {
		return err
	}
	b.states = make([]paramState, len(b.params))
	for i, p := range b.params {
		b.states[i].steps = steps[i]
		if steps[i] == 0 {
			continue
		}
		for k := range b.names {
			t, err := take(b.keptName(i, k))
			if err == nil {
				t, err = keptLike(t, p)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", b.keptName(i, k), err)
			}
			b.states[i].kept = append(b.states[i].kept, t)
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("nothing of the optimizer is named %q", slices.Sorted(maps.Keys(rest)))
	}
	return nil
}

// readNumbers takes the learning rate and the parameters' steps.
func (b *base) readNumbers(take func(string) (tensor.Tensor, error)) ([]int64, error) {
	t, err := take(b.rateName())
	if err != nil {
		return nil, err
	}
	if b.rate, err = t.Item(); err != nil {
		return nil, fmt.Errorf("%s: %w", b.rateName(), err)
	}
	if err := b.checkRate(); err != nil {
		return nil, err
	}
	if t, err = take(b.stepsName()); err != nil {
		return nil, err
	}
	steps, err := tensor.Data[int64](t)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", b.stepsName(), err)
	case len(steps) != len(b.params):
		return nil, fmt.Errorf("it is of %d parameters, the optimizer has %d", len(steps), len(b.params))
	case slices.Min(steps) < 0 || slices.Max(steps) == math.MaxInt64:
		return nil, fmt.Errorf("%s: %v", b.stepsName(), steps)
	}
	return steps, nil
}

// keptLike returns a copy of t beside p, which t must be like.
func keptLike(t tensor.Tensor, p *nn.Parameter) (tensor.Tensor, error) {
	if t.DType() != p.DType() || !slices.Equal(t.Shape(), p.Shape()) {
		return t, fmt.Errorf("it is %s %v, the parameter %s %v", t.DType(), t.Shape(), p.DType(), p.Shape())
	}
	var c tensor.Tensor
	var err error
	core.OutsideScope(func() {
		c, err = tensor.NoGradValue(func() (tensor.Tensor, error) {
			c := t.To(p.Device())
			if c == t {
				c = t.Clone()
			}
			return c, c.Err()
		})
	})
	return c, err
}
