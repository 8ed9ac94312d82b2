// Package onnx loads and runs models in the ONNX format.
//
//	model, err := onnx.Load("model.onnx")
//	...
//	out, err := model.Run(ctx, map[string]tensor.Tensor{"x": x})
//	...
//	fmt.Println(out["y"])
//
// A model is read, checked, and every operator of it found, when it is loaded: what is
// not supported is one error then, which names all of it. Shapes are computed on the host,
// what depends on parameters alone is computed once, and the rest runs on the device that
// the model was loaded for. A Model may be used from many goroutines.
//
// The package knows the meaning of ONNX's operators by those of package tensor. It has no
// kernels, and knows nothing of training.
package onnx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// ErrFormat is wrapped by errors about files that are not valid.
const ErrFormat = format.ErrFormat

// ErrUnsupported is wrapped by errors about valid models that ask for what is not here.
const ErrUnsupported ir.Error = "not supported"

// ErrInput is wrapped by errors about the tensors that a model is given.
const ErrInput ir.Error = "input does not fit the model"

// A Model is what a file says, ready to run.
type Model struct {
	Producer string            // the program that wrote it, and its version
	Opset    int               // the version of the standard's operators that it means
	Metadata map[string]string // what the file says about itself

	inputs, outputs []Value
	program         *program
	plans           plans
	device          tensor.Defaults
	files           mappings
	nodes           map[string]int
	parameters      int
	bytes           int64
}

// A Value is an input or an output of a model.
type Value struct {
	Name string
	Type string // as the standard calls it: float, int64, seq(float)
	// DType is that of the tensors which hold it. A type that tensors do not have, such
	// as int4, is held in a wider one.
	DType    tensor.DType
	Axes     []Axis // of a tensor, where Known
	Known    bool
	Optional bool // an input with a value of its own
	form     format.Form
	elem     format.Elem
}

// An Axis is an extent, or where that varies, a negative one and perhaps a name. Axes
// with one name have one extent.
type Axis struct {
	Extent int
	Name   string
}

// String returns a value as it is written in a signature: "x float [n, 3]".
func (v Value) String() string {
	if !v.Known {
		return v.Name + " " + v.Type
	}
	axes := make([]string, len(v.Axes))
	for i, a := range v.Axes {
		switch {
		case a.Extent >= 0:
			axes[i] = fmt.Sprint(a.Extent)
		case a.Name != "":
			axes[i] = a.Name
		default:
			axes[i] = "?"
		}
	}
	return v.Name + " " + v.Type + " [" + strings.Join(axes, ", ") + "]"
}

// or returns m, or a model of nothing where there is none.
func (m *Model) or() *Model {
	if m == nil {
		return &Model{}
	}
	return m
}

// Inputs returns what Run takes, in the order of the file.
func (m *Model) Inputs() []Value { return slices.Clone(m.or().inputs) }

// Outputs returns what Run gives, in the order of the file.
func (m *Model) Outputs() []Value { return slices.Clone(m.or().outputs) }

// Operators returns how often the file has each operator, functions expanded.
func (m *Model) Operators() map[string]int {
	out := map[string]int{}
	for k, v := range m.or().nodes {
		out[k] = v
	}
	return out
}

// Parameters returns how many numbers the file holds, and in how many bytes.
func (m *Model) Parameters() (count int, bytes int64) { return m.or().parameters, m.or().bytes }

// An Unsupported is what one node asks for that is not here.
type Unsupported struct {
	Node     string // its name, or that of its first output
	Operator string // with its domain, where that is not the standard's
	Opset    int
	Reason   string
}

// String returns it as a line of the error.
func (u Unsupported) String() string {
	return fmt.Sprintf("%s of opset %d (node %q): %s", u.Operator, u.Opset, u.Node, u.Reason)
}

// An UnsupportedError is the error of Load that lists all that is not supported. It
// wraps ErrUnsupported.
type UnsupportedError struct{ All []Unsupported }

// Error lists one line for each operator and reason, with the number of nodes.
func (e *UnsupportedError) Error() string {
	if e == nil {
		return "onnx: " + ErrUnsupported.Error()
	}
	type kind struct {
		operator, reason string
		opset            int
	}
	count, first := map[kind]int{}, map[kind]Unsupported{}
	var order []kind
	for _, u := range e.All {
		k := kind{u.Operator, u.Reason, u.Opset}
		if count[k]++; count[k] == 1 {
			first[k] = u
			order = append(order, k)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "onnx: %v: %d nodes", ErrUnsupported, len(e.All))
	for _, k := range order {
		fmt.Fprintf(&b, "\n%s", first[k])
		if n := count[k]; n > 1 {
			fmt.Fprintf(&b, ", and %d more", n-1)
		}
	}
	return b.String()
}

// Unwrap returns ErrUnsupported.
func (e *UnsupportedError) Unwrap() error { return ErrUnsupported }
