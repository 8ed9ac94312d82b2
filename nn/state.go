package nn

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// ErrState is wrapped when a state dict does not fit a model.
const ErrState ir.Error = "state does not fit the model"

// entry is one tensor of a model's state.
type entry struct {
	name string
	t    *tensor.Tensor
}

// state returns m's parameters and buffers in field order.
func state(m any) []entry {
	var out []entry
	walk(m, func(name string, part any) bool {
		switch p := part.(type) {
		case *Parameter:
			out = append(out, entry{name, &p.Tensor})
		case *Buffer:
			out = append(out, entry{name, &p.Tensor})
		}
		return true
	})
	return out
}

// StateDict returns the model's parameters and buffers by name. The tensors share
// storage with the model. A name that two parts of the model have stands for a
// tensor that carries the error.
func StateDict(m any) map[string]tensor.Tensor {
	out := map[string]tensor.Tensor{}
	for _, e := range state(m) {
		if _, twice := out[e.name]; twice {
			out[e.name] = failed("%w: two of its tensors are named %q", ErrState, e.name)
			continue
		}
		out[e.name] = e.t.Detach()
	}
	return out
}

// LoadStateDict copies values into the model's parameters and buffers. Names,
// shapes and dtypes must agree exactly; devices may differ. When it returns an
// error, which wraps ErrState where something does not fit and names all that
// does not, or the prefix by which all names differ, nothing was changed.
// PyTorch's num_batches_tracked is passed over.
func LoadStateDict(m any, values map[string]tensor.Tensor) error {
	if err := CheckStateDict(m, values); err != nil {
		return err
	}
	return assign(state(m), values)
}

// CheckStateDict returns the error that LoadStateDict would find before it copies
// anything.
func CheckStateDict(m any, values map[string]tensor.Tensor) error {
	entries, missing, unexpected, problems := match(m, values)
	if len(entries) == 0 {
		var err error
		if missing, unexpected, err = prefixed(missing, unexpected); err != nil {
			problems = append(problems, err)
		}
	}
	for _, name := range missing {
		problems = append(problems, fmt.Errorf("%q is missing", name))
	}
	for _, name := range unexpected {
		problems = append(problems, fmt.Errorf("%q is not in the model", name))
	}
	if len(problems) > 0 {
		return fmt.Errorf("nn: %w: %w", ErrState, errors.Join(problems...))
	}
	return nil
}

// prefixed says which prefix all names of the model have in the state, or all names of the
// state in the model, and returns the names that the prefix does not explain.
func prefixed(missing, unexpected []string) (inModel, inState []string, err error) {
	if p := prefixOf(missing, unexpected); p != "" {
		rest := slices.DeleteFunc(unexpected, func(name string) bool { return strings.HasPrefix(name, p) })
		return nil, rest, fmt.Errorf("the model's names are there with %q in front: cut it off", p)
	}
	own := slices.DeleteFunc(slices.Clone(unexpected), func(name string) bool { return strings.HasSuffix(name, batchCount) })
	if p := prefixOf(own, missing); p != "" {
		rest := slices.DeleteFunc(missing, func(name string) bool { return strings.HasPrefix(name, p) && slices.Contains(own, name[len(p):]) })
		return rest, nil, fmt.Errorf("its names are the model's without %q in front: add it", p)
	}
	return missing, unexpected, nil
}

// prefixOf returns what ends in a point and makes every one of names one of longer; "" if
// there is nothing.
func prefixOf(names, longer []string) string {
	if len(names) == 0 {
		return ""
	}
	have := map[string]bool{}
	for _, l := range longer {
		have[l] = true
	}
	for _, l := range longer {
		p, ok := strings.CutSuffix(l, names[0])
		if ok && strings.HasSuffix(p, ".") && !slices.ContainsFunc(names, func(n string) bool { return !have[p+n] }) {
			return p
		}
	}
	return ""
}

// LoadMatching is LoadStateDict for values that are of a part of the model, or of
// more than the model: it copies what both have and returns the names that only
// one has. What is copied must agree in shape and dtype; otherwise nothing is
// changed.
func LoadMatching(m any, values map[string]tensor.Tensor) (missing, unexpected []string, err error) {
	entries, missing, unexpected, problems := match(m, values)
	if len(problems) > 0 {
		return missing, unexpected, fmt.Errorf("nn: %w: %w", ErrState, errors.Join(problems...))
	}
	return missing, unexpected, assign(entries, values)
}

// match returns the entries of m that have values, the names that only m or only
// values has, and what is wrong with the rest.
func match(m any, values map[string]tensor.Tensor) (entries []entry, missing, unexpected []string, problems []error) {
	known := map[string]bool{}
	for _, e := range state(m) {
		if known[e.name] {
			problems = append(problems, fmt.Errorf("two tensors of the model are named %q", e.name))
			continue
		}
		known[e.name] = true
		v, ok := values[e.name]
		if !ok {
			missing = append(missing, e.name)
			continue
		}
		switch {
		case e.t.Handle().Err() != nil:
			problems = append(problems, fmt.Errorf("the model's %q: %w", e.name, e.t.Err()))
		case v.Handle().Err() != nil:
			problems = append(problems, fmt.Errorf("%q: %w", e.name, v.Err()))
		case v.DType() != e.t.DType() || !slices.Equal(v.Shape(), e.t.Shape()):
			problems = append(problems, fmt.Errorf("%q is %s %v, the model has %s %v", e.name, v.DType(), v.Shape(), e.t.DType(), e.t.Shape()))
		}
		entries = append(entries, e)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !known[name] && !countsBatches(name, known) {
			unexpected = append(unexpected, name)
		}
	}
	return entries, missing, unexpected, problems
}

// batchCount is PyTorch's name for the number of batches that a batch normalization has seen.
const batchCount = "num_batches_tracked"

// countsBatches reports whether name is of the number of batches that PyTorch keeps beside
// the statistics of a batch normalization. The layers here need none.
func countsBatches(name string, known map[string]bool) bool {
	layer, ok := strings.CutSuffix(name, batchCount)
	return ok && known[layer+"running_mean"]
}

// assign copies values that fit to entries. When a copy fails, as on a device out
// of memory, those made before are undone from copies in host memory.
func assign(entries []entry, values map[string]tensor.Tensor) error {
	return tensor.NoGrad(func() error {
		return tensor.Scope(func() error {
			values := apart(entries, values)
			var before []tensor.Tensor
			for i, e := range entries {
				old, err := hostCopy(*e.t)
				if err == nil {
					before = append(before, old)
					err = copyTo(*e.t, values[e.name])
				}
				if err != nil {
					return fmt.Errorf("nn: %s: %w", e.name, errors.Join(err, restore(entries[:i], before)))
				}
			}
			return nil
		})
	})
}

// apart returns values with those copied that share memory with an entry, which
// may be written before they are read.
func apart(entries []entry, values map[string]tensor.Tensor) map[string]tensor.Tensor {
	out := maps.Clone(values)
	for name, v := range values {
		for _, e := range entries {
			if v.SharesStorage(*e.t) {
				out[name] = v.Clone()
				break
			}
		}
	}
	return out
}

func restore(entries []entry, before []tensor.Tensor) error {
	var problems []error
	for i, e := range entries {
		if err := copyTo(*e.t, before[i]); err != nil {
			problems = append(problems, fmt.Errorf("%s could not be put back: %w", e.name, err))
		}
	}
	return errors.Join(problems...)
}

// hostCopy returns a copy of t in host memory.
func hostCopy(t tensor.Tensor) (tensor.Tensor, error) {
	c := t.CPU()
	if c == t {
		c = t.Clone()
	}
	return c, c.Err()
}

// copyTo writes v to t and leaves no memory behind on t's device.
func copyTo(t, v tensor.Tensor) error {
	moved := v.To(t.Device())
	err := t.CopyFrom(moved)
	if err != nil {
		forgive(t)
	}
	if moved != v {
		moved.Release()
	}
	return err
}

// To moves the model's parameters, their gradients and its buffers to dev. When
// it returns an error nothing was moved.
func To(m any, dev device.Device) error {
	return replace(m, func(t tensor.Tensor) tensor.Tensor { return t.To(dev) })
}

// ToType converts the model's parameters, their gradients and its buffers to
// dtype d; tensors that are not of a floating dtype are left alone. When it
// returns an error nothing was converted.
func ToType(m any, d tensor.DType) error {
	if !d.IsFloat() {
		return fmt.Errorf("nn: a model's dtype must be a floating one, not %s", d)
	}
	return replace(m, func(t tensor.Tensor) tensor.Tensor {
		if !t.DType().IsFloat() {
			return t
		}
		return t.ToType(d)
	})
}

// replace puts f of each tensor of m's state, and of its gradient, in its place.
func replace(m any, f func(tensor.Tensor) tensor.Tensor) (err error) {
	entries := state(m)
	fresh := make([]tensor.Tensor, len(entries))
	core.OutsideScope(func() {
		err = tensor.NoGrad(func() (err error) {
			for i, e := range entries {
				if fresh[i], err = replaced(*e.t, f); err != nil {
					for k, t := range fresh[:i] {
						if t != *entries[k].t {
							t.Release()
						}
					}
					return fmt.Errorf("nn: %s: %w", e.name, err)
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for i, e := range entries {
		*e.t = fresh[i]
	}
	return nil
}

// replaced returns f of t with t's part in training; t itself where f changes
// nothing.
func replaced(t tensor.Tensor, f func(tensor.Tensor) tensor.Tensor) (tensor.Tensor, error) {
	n := f(t)
	if err := n.Err(); err != nil || n == t || !t.RequiresGrad() {
		return n, err
	}
	if n = n.RequireGrad(); n.Err() != nil {
		return n, n.Err()
	}
	if g, ok := t.Grad(); ok {
		moved := f(g)
		err := n.SetGrad(moved)
		if moved != g {
			moved.Release()
		}
		g.Release()
		if err != nil {
			n.Release()
			return n, err
		}
	}
	return n, nil
}
