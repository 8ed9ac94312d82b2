package onnx

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/onnx/internal/standard"
	"github.com/sinter-go/sinter/runtime/option"
)

// An Operator computes the nodes of a custom operator: from operands, of which one that is left
// out is the zero Tensor, and the attributes of the node to its results, as many as the node
// has at least. It is called for every run that becomes no program, and once for every program,
// so that what it does is what operators of package tensor, or of a schema of the program's own,
// do; it must not change or release operands.
type Operator func(in []tensor.Tensor, a Attributes) ([]tensor.Tensor, error)

// Attributes are what a node of a custom operator says, by name: int64, float32, string,
// tensor.Tensor, and lists of the first three.
type Attributes map[string]any

// Int returns an attribute that is an integer, missing where there is none.
func (a Attributes) Int(name string, missing int) int {
	if v, ok := a[name].(int64); ok {
		return int(v)
	}
	return missing
}

// Float returns an attribute that is a number, missing where there is none.
func (a Attributes) Float(name string, missing float64) float64 {
	switch v := a[name].(type) {
	case float32:
		return float64(v)
	case int64:
		return float64(v)
	}
	return missing
}

// Operators has nodes of custom domains computed by functions, which are named by domain and
// operator, as in "com.example.Clamp". It is an option of Load, LoadFS and LoadBytes.
func Operators(all map[string]Operator) tensor.Option { return option.Value("Operators", all) }

// customSpec returns the row that the table would have: any operands, any results.
func customSpec(key functionKey) *standard.Operator {
	formal := []standard.Formal{{Name: "operand", Variadic: true}}
	return &standard.Operator{Domain: key.domain, Name: key.name, Inputs: formal, Outputs: formal}
}

// custom returns the kernel that calls f, or why the node is refused.
func (n *node) custom(f Operator) (kernel, string) {
	attributes := Attributes{}
	for name, a := range n.attributes {
		switch a.Kind {
		case format.KindInt:
			attributes[name] = a.Int
		case format.KindFloat:
			attributes[name] = a.Float
		case format.KindString:
			attributes[name] = a.String
		case format.KindInts:
			attributes[name] = slices.Clone(a.Ints)
		case format.KindFloats:
			attributes[name] = slices.Clone(a.Floats)
		case format.KindStrings:
			attributes[name] = slices.Clone(a.Strings)
		case format.KindTensor:
			v, err := n.graph.b.tensor(a.Tensor)
			if err != nil {
				return nil, fmt.Sprintf("attribute %q: %v", name, err)
			}
			attributes[name] = v.t
		default:
			return nil, fmt.Sprintf("attribute %q is %s", name, a.Kind)
		}
	}
	return func(c *call) error {
		in := make([]tensor.Tensor, len(c.in))
		for i, v := range c.in {
			if v != nil && v.form == formSequence {
				return fmt.Errorf("%w: operand %d is a sequence", ErrUnsupported, i)
			}
			if in[i] = c.t(i); v != nil && v.constant != nil { // whose own tensor keeps no error of what f does
				in[i] = in[i].Detach()
			}
		}
		out, err := f(in, attributes)
		if err != nil {
			return err
		}
		if len(out) < len(c.out) {
			return fmt.Errorf("%d results, the node has %d", len(out), len(c.out))
		}
		for i := range c.out {
			if err := c.put(i, out[i]); err != nil {
				return err
			}
		}
		return nil
	}, ""
}
