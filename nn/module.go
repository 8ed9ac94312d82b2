// Package nn builds models: layers, containers, and the walk over a model's
// parameters that optimizers and checkpoints use. It knows nothing of datasets
// or optimizers.
package nn

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// A Module is a differentiable function of one tensor with parameters. Any type
// can be one: the functions of this package find parameters, buffers and inner
// modules in the exported fields of a struct (and of the structs, pointers,
// interfaces, slices and maps in them), so a model is a struct of layers and a
// Forward method.
type Module interface {
	Forward(x tensor.Tensor) tensor.Tensor
}

// A Parameter is a tensor that is trained.
type Parameter struct{ tensor.Tensor }

// A Buffer is a tensor that belongs to a model's state but is not trained.
type Buffer struct{ tensor.Tensor }

// ErrState is wrapped when a state dict does not fit a model.
var ErrState = errors.New("state does not fit the model")

// NewParameter returns a parameter that starts as t, which is detached.
func NewParameter(t tensor.Tensor) *Parameter {
	return &Parameter{t.Detach().RequireGrad()}
}

// A switcher behaves differently in training and in evaluation.
type switcher interface{ setTraining(on bool) }

// walker visits the parts of a model, each once, in field order.
type walker struct {
	seen map[any]bool
	// visit is called with every *Parameter, *Buffer and switcher, and its
	// dotted name; false stops the walk.
	visit func(name string, part any) bool
}

func (w *walker) walk(name string, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface:
		return v.IsNil() || w.walk(name, v.Elem())
	case reflect.Pointer:
		if v.IsNil() || w.seen[v.Interface()] {
			return true
		}
		w.seen[v.Interface()] = true
		switch p := v.Interface().(type) {
		case *Parameter, *Buffer:
			return w.visit(name, p)
		case switcher:
			if !w.visit(name, p) {
				return false
			}
		}
		return w.walk(name, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && !w.walk(join(name, fieldName(f)), v.Field(i)) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if k := v.Index(i).Kind(); k != reflect.Pointer && k != reflect.Interface && k != reflect.Struct {
				return true
			}
			if !w.walk(join(name, strconv.Itoa(i)), v.Index(i)) {
				return false
			}
		}
	case reflect.Map:
		return w.walkMap(name, v)
	}
	return true
}

func (w *walker) walkMap(name string, v reflect.Value) bool {
	if v.Type().Key().Kind() != reflect.String {
		return true
	}
	for _, k := range sortedKeys(v) {
		if !w.walk(join(name, k), v.MapIndex(reflect.ValueOf(k).Convert(v.Type().Key()))) {
			return false
		}
	}
	return true
}

func walk(m any, visit func(name string, part any) bool) {
	w := &walker{seen: map[any]bool{}, visit: visit}
	w.walk("", reflect.ValueOf(m))
}

func join(prefix, name string) string {
	if prefix == "" || name == "" {
		return prefix + name
	}
	return prefix + "." + name
}

// fieldName returns the name a field has in a state dict: snake_case, and
// nothing for embedded structs and the layers of a Sequential.
func fieldName(f reflect.StructField) string {
	if f.Anonymous || f.Tag.Get("nn") == "inline" {
		return ""
	}
	if tag := f.Tag.Get("nn"); tag != "" {
		return tag
	}
	var b strings.Builder
	runes := []rune(f.Name)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && !unicode.IsUpper(runes[i-1]) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Named returns the parameters of m with their dotted names, in field order.
func Named(m any) iter.Seq2[string, *Parameter] {
	return func(yield func(string, *Parameter) bool) {
		walk(m, func(name string, part any) bool {
			p, ok := part.(*Parameter)
			return !ok || yield(name, p)
		})
	}
}

// Parameters returns the parameters of m in field order.
func Parameters(m any) []*Parameter {
	var out []*Parameter
	for _, p := range Named(m) {
		out = append(out, p)
	}
	return out
}

// NumParameters returns the number of trained elements.
func NumParameters(m any) int {
	n := 0
	for _, p := range Named(m) {
		n += p.NumElements()
	}
	return n
}

// state calls f with every tensor of m's state.
func state(m any, f func(name string, t *tensor.Tensor) error) error {
	var err error
	walk(m, func(name string, part any) bool {
		switch p := part.(type) {
		case *Parameter:
			err = f(name, &p.Tensor)
		case *Buffer:
			err = f(name, &p.Tensor)
		}
		return err == nil
	})
	return err
}

// StateDict returns the model's parameters and buffers by name. The tensors
// share storage with the model.
func StateDict(m any) map[string]tensor.Tensor {
	out := map[string]tensor.Tensor{}
	_ = state(m, func(name string, t *tensor.Tensor) error {
		out[name] = t.Detach()
		return nil
	})
	return out
}

// LoadStateDict copies values into the model's parameters and buffers. Names,
// shapes and dtypes must agree exactly; otherwise nothing is changed.
func LoadStateDict(m any, values map[string]tensor.Tensor) error {
	var problems []error
	known := map[string]bool{}
	_ = state(m, func(name string, t *tensor.Tensor) error {
		known[name] = true
		v, ok := values[name]
		switch {
		case !ok:
			problems = append(problems, fmt.Errorf("%q is missing", name))
		case v.Err() != nil:
			problems = append(problems, fmt.Errorf("%q: %w", name, v.Err()))
		case v.DType() != t.DType() || !slices.Equal(v.Shape(), t.Shape()):
			problems = append(problems, fmt.Errorf("%q is %s %v, the model has %s %v", name, v.DType(), v.Shape(), t.DType(), t.Shape()))
		}
		return nil
	})
	for name := range values {
		if !known[name] {
			problems = append(problems, fmt.Errorf("%q is not in the model", name))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("nn: %w: %w", ErrState, errors.Join(problems...))
	}
	var err error
	tensor.NoGrad(func() {
		err = state(m, func(name string, t *tensor.Tensor) error { return t.CopyFrom(values[name]) })
	})
	return err
}

// To moves the model's parameters and buffers to dev.
func To(m any, dev device.Device) error {
	return state(m, func(name string, t *tensor.Tensor) error {
		moved := t.Detach().To(dev)
		if err := moved.Err(); err != nil {
			return fmt.Errorf("nn: %s: %w", name, err)
		}
		if t.RequiresGrad() {
			moved = moved.RequireGrad()
		}
		*t = moved
		return nil
	})
}

// Train puts the model in training mode: dropout drops and normalization uses
// the batch's statistics. Models start in it.
func Train(m any) { setTraining(m, true) }

// Eval puts the model in evaluation mode.
func Eval(m any) { setTraining(m, false) }

func setTraining(m any, on bool) {
	walk(m, func(_ string, part any) bool {
		if s, ok := part.(switcher); ok {
			s.setTraining(on)
		}
		return true
	})
}

// ZeroGrad removes the gradients of the model's parameters.
func ZeroGrad(m any) error {
	for name, p := range Named(m) {
		if err := p.ZeroGrad(); err != nil {
			return fmt.Errorf("nn: %s: %w", name, err)
		}
	}
	return nil
}

func sortedKeys(v reflect.Value) []string {
	var keys []string
	for _, k := range v.MapKeys() {
		keys = append(keys, k.String())
	}
	slices.Sort(keys)
	return keys
}
