package nn

import "github.com/sinter-go/sinter/generated/tensor"

// A Sequential applies its modules in order.
type Sequential struct {
	Modules []Module `nn:"inline"`
}

// NewSequential returns the composition of the given modules, first to last.
func NewSequential(modules ...Module) *Sequential { return &Sequential{Modules: modules} }

// Forward applies the modules in order.
func (s *Sequential) Forward(x tensor.Tensor) tensor.Tensor {
	for _, m := range s.Modules {
		x = m.Forward(x)
	}
	return x
}

// A Func is a module without parameters, such as nn.Func(tensor.Tensor.Relu).
type Func func(x tensor.Tensor) tensor.Tensor

// Forward calls f.
func (f Func) Forward(x tensor.Tensor) tensor.Tensor { return f(x) }

// ReLU returns max(x, 0) as a module.
func ReLU() Module { return Func(func(x tensor.Tensor) tensor.Tensor { return x.Relu() }) }

// Flatten joins all axes but the first.
func Flatten() Module {
	return Func(func(x tensor.Tensor) tensor.Tensor { return x.Flatten(tensor.Start(1)) })
}

// A Dropout zeroes elements with probability P in training and scales the others
// by 1/(1-P); in evaluation it does nothing.
type Dropout struct {
	P          float64
	evaluation bool
}

// NewDropout returns a dropout layer.
func NewDropout(p float64) *Dropout { return &Dropout{P: p} }

// Forward drops elements of x.
func (d *Dropout) Forward(x tensor.Tensor) tensor.Tensor {
	if d.evaluation || d.P == 0 {
		return x
	}
	return x.Dropout(d.P)
}

func (d *Dropout) setTraining(on bool) { d.evaluation = !on }
