// Package checkpoint saves a training run to one file and puts it back: the
// model, the optimizer, the learning-rate schedule, the random generator and what
// the program adds. A run that is saved and resumed gives the numbers of one that
// was not interrupted, to the bit, where its kernels are deterministic. The
// package knows nothing of layers or of particular optimizers.
//
//	state := checkpoint.State{Model: model, Optimizer: adam, Metadata: map[string]string{"epoch": "3"}}
//	if err := checkpoint.Save("run.safetensors", state); err != nil {
//		return err
//	}
//	metadata, err := checkpoint.Load("run.safetensors", state)
//	if err != nil {
//		return err
//	}
//	fmt.Println(metadata["epoch"])
//
// Gradients, training mode and the place in an epoch are no part of a checkpoint:
// save between epochs, because a shuffling loader draws its order when an epoch
// begins.
//
// A checkpoint is a safetensors file. The model's tensors are named "model." and
// their name in the state dict, the optimizer's "optimizer." and theirs; numbers
// are in the metadata.
package checkpoint

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// ErrFit is wrapped when a checkpoint does not fit what it is loaded into.
const ErrFit ir.Error = "the checkpoint does not fit"

// State is what a checkpoint is saved from and loaded into. What is nil is left
// out, and a checkpoint that holds it does not fit; only of Random nil stands for
// the calling goroutine's generator.
type State struct {
	Model     any               // a model as package nn has it
	Optimizer optim.Optimizer   // over parameters of Model
	Scheduler *optim.Scheduler  // of Optimizer; its curve is the program's and not saved
	Random    *random.Generator // draws the numbers to come
	Metadata  map[string]string // what the program adds, as the epoch; Load leaves it alone
}

// sound returns an error for parts that are there and of no use.
func (s State) sound() error {
	if v := reflect.ValueOf(s.Optimizer); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("the optimizer is a nil %T; it takes one that was made, or nil for none", s.Optimizer)
	}
	if s.Scheduler != nil {
		return s.Scheduler.Err()
	}
	return nil
}

// Save writes s to the file at path in one step: a reader, or a crash at any
// moment, sees the old file or all of the new one. It waits for work on the
// model's devices.
func Save(path string, s State) error {
	if err := s.sound(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	tensors := map[string]tensor.Tensor{}
	metadata := numbers(s)
	if s.Model != nil {
		for name, t := range nn.StateDict(s.Model) {
			tensors[modelPrefix+name] = t
		}
	}
	if s.Optimizer != nil {
		state, err := s.Optimizer.State()
		if err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
		for name, t := range state {
			tensors[optimizerPrefix+name] = t
			defer t.Release()
		}
		names, err := parameterNames(s)
		if err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
		metadata[parametersKey] = names
	}
	for key, text := range s.Metadata {
		metadata[userPrefix+key] = text
	}
	if err := data.SaveTensors(path, tensors, data.Metadata(metadata)); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// Load puts the checkpoint at path back into s, and returns what the program
// added to it. Names, shapes, dtypes and the optimizer's kind must agree exactly;
// devices may differ. When Load returns an error, which wraps ErrFit where
// something does not fit, it has changed nothing.
func Load(path string, s State) (metadata map[string]string, err error) {
	return load(path, s, nil)
}

// LoadTogether is Load in step with others that load the same checkpoint: all of them change, or none. agree is called with
// what went wrong here, nil for nothing: first when the checkpoint was read and fits, and if it returned nil once
// more when it was put. Where it returns an error, of this one or of others, everything is again as it was. It is not
// called for a State of no use.
func LoadTogether(path string, s State, agree func(own error) error) (metadata map[string]string, err error) {
	return load(path, s, agree)
}

func load(path string, s State, agree func(error) error) (metadata map[string]string, err error) {
	if err := s.sound(); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	together, ask := agree != nil, agree
	agree = func(own error) error {
		if together {
			if err := ask(own); err != nil {
				return err
			}
		}
		return own
	}
	f, tensors, err := read(path, s)
	defer func() { release(tensors) }()
	if err = agree(err); err != nil {
		return nil, err
	}
	before := &earlier{}
	defer func() { release(before.optimizer); release(before.model) }()
	own := f.put(s, before, together)
	if own != nil {
		own = fmt.Errorf("checkpoint: %s: %w", path, own)
	}
	if err := agree(own); err != nil {
		if own == nil {
			err = errors.Join(err, before.back(s))
		}
		return nil, err
	}
	if s.Scheduler != nil {
		if err := s.Scheduler.SetState(*f.scheduler); err != nil {
			return nil, err // cannot be: f was checked
		}
	}
	generator(s).SetState(f.random)
	return f.user, nil
}

// read returns the checkpoint at path, which fits s, and the tensors that were read.
func read(path string, s State) (*file, map[string]tensor.Tensor, error) {
	tensors, all, err := data.LoadTensors(path, device.CPU)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	f, err := divide(tensors, all)
	if err == nil {
		err = f.check(s)
	}
	if err != nil {
		err = fmt.Errorf("checkpoint: %s: %w: %w", path, ErrFit, err)
	}
	return f, tensors, err
}

func release(tensors map[string]tensor.Tensor) {
	for _, t := range tensors {
		t.Release()
	}
}

// earlier is what a State had before a checkpoint was put into it.
type earlier struct {
	optimizer, model map[string]tensor.Tensor
}

// keepModel keeps copies of a model's tensors in host memory.
func (e *earlier) keepModel(m any) error {
	e.model = map[string]tensor.Tensor{}
	return tensor.NoGrad(func() error {
		for name, t := range nn.StateDict(m) {
			c := t.CPU()
			if c == t {
				c = t.Clone()
			}
			if e.model[name] = c; c.Err() != nil {
				return fmt.Errorf("%s: %w", name, c.Err())
			}
		}
		return nil
	})
}

// back puts back what there was.
func (e *earlier) back(s State) (err error) {
	if s.Optimizer != nil {
		err = s.Optimizer.SetState(e.optimizer)
	}
	if s.Model != nil {
		err = errors.Join(err, nn.LoadStateDict(s.Model, e.model))
	}
	return err
}

// ReadMetadata returns what the program added to the checkpoint at path, without
// reading its tensors.
func ReadMetadata(path string) (map[string]string, error) {
	all, err := readMetadata(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	f, err := divide(nil, all)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", path, err)
	}
	return f.user, nil
}

// parameterNames returns the names of the optimizer's parameters in the model, in
// the optimizer's order, one a line. Without a model they have none.
func parameterNames(s State) (string, error) {
	names := map[*nn.Parameter]string{}
	for name, p := range nn.Named(s.Model) {
		names[p] = name
	}
	var list []string
	for i, p := range s.Optimizer.Parameters() {
		name, ok := names[p]
		if !ok && s.Model != nil {
			return "", fmt.Errorf("parameter %d of the optimizer is not in the model", i)
		}
		list = append(list, name)
	}
	return strings.Join(list, "\n"), nil
}

// put changes the tensors of s to what f holds, which fits, or nothing. The optimizer comes first because
// it can be undone when a device fails in the middle of the model. What there was is kept, that of the model if together.
func (f *file) put(s State, before *earlier, together bool) (err error) {
	if s.Model != nil && together {
		if err := before.keepModel(s.Model); err != nil {
			return err
		}
	}
	if s.Optimizer != nil {
		if before.optimizer, err = s.Optimizer.State(); err != nil {
			return err
		}
		switch err := s.Optimizer.SetState(f.optimizer); {
		case errors.Is(err, optim.ErrState):
			return fmt.Errorf("%w: %w", ErrFit, err)
		case err != nil:
			return err
		}
	}
	if s.Model != nil {
		if err := nn.LoadStateDict(s.Model, f.model); err != nil {
			if s.Optimizer != nil {
				err = errors.Join(err, s.Optimizer.SetState(before.optimizer))
			}
			return err
		}
	}
	return nil
}

// generator returns the generator that s stands for.
func generator(s State) *random.Generator {
	if s.Random != nil {
		return s.Random
	}
	return random.Current()
}

// check reports what of f does not fit s. It changes nothing.
func (f *file) check(s State) error {
	for _, part := range []struct {
		name        string
		held, asked bool
	}{
		{"model", len(f.model) > 0, s.Model != nil},
		{"optimizer", f.optimizer != nil, s.Optimizer != nil},
		{"scheduler", f.scheduler != nil, s.Scheduler != nil},
	} {
		if part.held && !part.asked {
			return fmt.Errorf("it holds the state of the %s, and none is given to load it into", part.name)
		}
		if part.asked && !part.held && !(part.name == "model" && len(nn.StateDict(s.Model)) == 0) {
			return fmt.Errorf("it holds no state of the %s", part.name)
		}
	}
	if s.Model != nil {
		if err := nn.CheckStateDict(s.Model, f.model); err != nil {
			return err
		}
	}
	if s.Optimizer != nil {
		names, err := parameterNames(s)
		if err != nil {
			return err
		}
		if names != f.parameters {
			return fmt.Errorf("its optimizer has the parameters %q, this one %q", strings.Split(f.parameters, "\n"), strings.Split(names, "\n"))
		}
	}
	return nil
}
