package nn

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
)

// A Sequential applies its modules in order.
type Sequential struct {
	Modules []Module `nn:"inline"`
}

// NewSequential returns the composition of the given modules, first to last.
func NewSequential(modules ...Module) *Sequential { return &Sequential{Modules: modules} }

// Forward applies the modules in order.
func (s *Sequential) Forward(x tensor.Tensor) tensor.Tensor {
	if s == nil {
		return missing(s)
	}
	for i, m := range s.Modules {
		if v := reflect.ValueOf(m); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return failed("module %d of a Sequential is nil (%T)", i, m)
		}
		x = m.Forward(x)
	}
	return x
}

// String lists the modules.
func (s *Sequential) String() string {
	list := given(s).Modules
	parts := make([]string, len(list))
	for i, m := range list {
		parts[i] = describe(m)
	}
	return "Sequential(" + strings.Join(parts, ", ") + ")"
}

// A Func is a module without parameters, such as nn.Func(tensor.Tensor.Exp).
type Func func(x tensor.Tensor) tensor.Tensor

// Forward calls f.
func (f Func) Forward(x tensor.Tensor) tensor.Tensor {
	if f == nil {
		return failed("a Func is nil; it takes a function of one tensor")
	}
	return f(x)
}

// String names what can be known of f.
func (f Func) String() string { return "Func" }

// fixed is a module without parameters that has a name.
type fixed struct {
	name string
	f    func(x tensor.Tensor) tensor.Tensor
}

func (m fixed) Forward(x tensor.Tensor) tensor.Tensor { return m.f(x) }
func (m fixed) String() string                        { return m.name }

// Identity returns a module that returns its operand.
func Identity() Module { return fixed{"Identity", func(x tensor.Tensor) tensor.Tensor { return x }} }

// Flatten returns a module that joins all axes but the first.
func Flatten() Module {
	return fixed{"Flatten", func(x tensor.Tensor) tensor.Tensor { return x.Flatten(tensor.Start(1)) }}
}

// A Dropout zeroes elements with probability P in training and divides the others
// by 1-P; in evaluation it does nothing.
type Dropout struct {
	P          float64 // from 0 to 1
	evaluation bool
}

// NewDropout returns a dropout layer.
func NewDropout(p float64) *Dropout { return &Dropout{P: p} }

// Forward drops elements of x.
func (d *Dropout) Forward(x tensor.Tensor) tensor.Tensor {
	if d == nil {
		return missing(d)
	}
	if d.evaluation || d.P == 0 {
		return x
	}
	return x.Dropout(d.P)
}

// SetTraining chooses whether Forward drops elements.
func (d *Dropout) SetTraining(on bool) {
	d = given(d)
	d.evaluation = !on
}

// String describes the layer.
func (d *Dropout) String() string {
	d = given(d)
	return fmt.Sprintf("Dropout(p=%g)", d.P)
}
