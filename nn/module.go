// Package nn builds models: layers, containers, initialisation, and functions that find
// a model's parameters for optimizers and checkpoints.
//
//	model := nn.NewSequential(
//		nn.NewConv2d(1, 8, 3, tensor.Padding(1)), nn.ReLU(), nn.MaxPool2d(2),
//		nn.Flatten(), nn.NewLinear(8*14*14, 10),
//	)
//	y := model.Forward(tensor.Randn([]int{32, 1, 28, 28})) // [32, 10]
//	if err := y.Err(); err != nil {
//		return err
//	}
//	fmt.Print(nn.Summary(model))
//
// The chapter docs/guide/modules.md of the guide shows more, docs/guide/training.md how
// models are trained.
//
// # Layers
//
// The New functions make layers with parameters; functions such as ReLU and MaxPool2d
// make those without. Layers are made on the CPU with Float32 parameters, unless
// tensor.On and tensor.OfType, or tensor.WithDefaults, say otherwise. Parameters are
// drawn from the calling goroutine's random generator, as PyTorch draws them. A layer with
// impossible sizes carries the error in its parameters: Forward, To and optimizers return
// it. Parameters and buffers belong to no tensor.Scope.
//
// # Models
//
// A model is a pointer to a struct of layers with a Forward method. Parameters,
// StateDict, To, Train and the like go through the exported fields of a struct, and
// through the structs, pointers, interfaces, slices, arrays and maps with string keys in
// them. They find each thing once.
//
// A parameter or buffer in an unexported field would be lost to all of them. It stands for
// a parameter that carries an error, which names the field, so that To, StateDict and
// optimizers fail. A tag `nn:"-"` leaves a field out on purpose, exported or not.
//
// # Names
//
// Names in a state dict are the fields' in snake_case, joined by dots. For the layers of
// this package they are PyTorch's. A tag `nn:"name"` gives another name, and
// `nn:"inline"` leaves the field out of the names of what is in it.
package nn

import (
	"fmt"
	"iter"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// A Module is a differentiable function of one tensor with parameters. Modules
// may be used by several goroutines at once in evaluation mode.
type Module interface {
	Forward(x tensor.Tensor) tensor.Tensor
}

// A Parameter is a tensor that is trained. Its Tensor is another one after To and
// ToType, so hold the Parameter rather than the Tensor.
type Parameter struct{ tensor.Tensor }

// A Buffer is a tensor that belongs to a model's state but is not trained.
type Buffer struct{ tensor.Tensor }

// value returns the parameter's tensor, a zero one where there is no parameter: layers
// that were not made by this package's functions lack some, and say so when they are used.
func (p *Parameter) value() (t tensor.Tensor) {
	if p != nil {
		t = p.Tensor
	}
	return t
}

// optional returns the parameter's tensor as an optional argument: a zero one, which
// stands for none, where there is no parameter.
func (p *Parameter) optional() (t tensor.Tensor) {
	if p != nil {
		t = tensor.Wrap(p.Tensor.Handle())
	}
	return t
}

func (b *Buffer) value() (t tensor.Tensor) {
	if b != nil {
		t = b.Tensor
	}
	return t
}

// NewParameter returns a parameter on t's elements, which must be of a floating
// or complex dtype.
func NewParameter(t tensor.Tensor) *Parameter {
	return &Parameter{kept(t).RequireGrad()}
}

// NewBuffer returns a buffer on t's elements.
func NewBuffer(t tensor.Tensor) *Buffer { return &Buffer{kept(t)} }

// kept returns a handle on t's elements that no scope releases.
func kept(t tensor.Tensor) (k tensor.Tensor) {
	core.OutsideScope(func() { k = t.Detach() })
	return k
}

// failed returns a tensor that carries an error of the package.
func failed(format string, args ...any) tensor.Tensor {
	return tensor.Wrap(core.Failed(fmt.Errorf("nn: "+format, args...)))
}

// given returns l, or where it is nil a zero layer.
func given[T any](l *T) *T {
	if l == nil {
		l = new(T)
	}
	return l
}

// missing stands for a result of a layer that is nil.
func missing[T any](l *T) tensor.Tensor {
	return failed("a nil or zero %T; its New functions make one", l)
}

// forgive has tensors carry no error of a call that should have changed them: whoever
// calls it returns that error in another way.
func forgive(list ...tensor.Tensor) {
	for _, t := range list {
		_ = t.Err()
	}
}

// sound reports whether t carries no error, without having looked at it for the
// caller.
func sound(t tensor.Tensor) bool { return t.DType() != ir.Invalid }

// A ModeSetter behaves differently in training and in evaluation. Train and Eval
// call it on every part of a model that is one.
type ModeSetter interface{ SetTraining(on bool) }

// Named returns the parameters of m with their dotted names, in field order. A
// parameter that is in several places has the name of the first.
func Named(m any) iter.Seq2[string, *Parameter] {
	return func(yield func(string, *Parameter) bool) {
		walk(m, func(name string, part any) bool {
			p, ok := part.(*Parameter)
			return !ok || yield(name, p)
		})
	}
}

// NamedBuffers returns the buffers of m with their dotted names, in field order.
func NamedBuffers(m any) iter.Seq2[string, *Buffer] {
	return func(yield func(string, *Buffer) bool) {
		walk(m, func(name string, part any) bool {
			b, ok := part.(*Buffer)
			return !ok || yield(name, b)
		})
	}
}

// NamedModules returns m, if it is a module, and the modules in it with their
// dotted names, outer before inner.
func NamedModules(m any) iter.Seq2[string, Module] {
	return func(yield func(string, Module) bool) {
		walk(m, func(name string, part any) bool {
			inner, ok := part.(Module)
			return !ok || yield(name, inner)
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

// NumParameters returns the number of elements of all parameters.
func NumParameters(m any) int {
	n := 0
	for _, p := range Named(m) {
		n += p.NumElements()
	}
	return n
}

// Train puts the model in training mode: dropout drops and batch normalization
// uses the batch's statistics. Models start in it.
func Train(m any) { setTraining(m, true) }

// Eval puts the model in evaluation mode.
func Eval(m any) { setTraining(m, false) }

func setTraining(m any, on bool) {
	walk(m, func(_ string, part any) bool {
		if s, ok := part.(ModeSetter); ok {
			s.SetTraining(on)
		}
		return true
	})
}

// SetRequireGrad makes the parameters of m be trained, or freezes them: frozen
// ones collect no gradient, and optimizers leave them alone.
func SetRequireGrad(m any, on bool) error {
	for name, p := range Named(m) {
		if err := p.SetRequireGrad(on); err != nil {
			return fmt.Errorf("nn: %s: %w", name, err)
		}
	}
	return nil
}

// ZeroGrad removes the gradients of the model's parameters.
func ZeroGrad(m any) error {
	for name, p := range Named(m) {
		if !p.RequiresGrad() && p.Handle().Err() == nil {
			continue // frozen
		}
		if err := p.ZeroGrad(); err != nil {
			return fmt.Errorf("nn: %s: %w", name, err)
		}
	}
	return nil
}
