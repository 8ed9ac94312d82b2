package onnx

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/onnx/internal/standard"
)

// A node is a call of an operator of the standard while its kernel is made: attributes
// with the table's defaults, and what is known about operands.
type node struct {
	graph      *graph
	at         *names
	file       *format.Node
	spec       *standard.Operator
	lower      lowering
	opset      int
	in         []int
	elems      []format.Elem // of the operands, 0 where unknown
	attributes map[string]*format.Attribute
	subgraphs  []*program
	captured   []int  // places that subgraphs read
	reason     string // why the node is refused
	err        error  // what is wrong with the file
}

// refuse says that the node asks for something that is not there.
func (n *node) refuse(format string, args ...any) {
	if n.reason == "" {
		n.reason = fmt.Sprintf(format, args...)
	}
}

// lacks refuses operand i where it is known to be of a dtype for which there is no code.
func (n *node) lacks(i int, without func(dt tensor.DType) bool) {
	if i < len(n.elems) && n.elems[i] != 0 && without(carriers[n.elems[i]]) {
		n.refuse("input %q is %s", n.spec.Inputs[i].Name, n.elems[i])
	}
}

// check compares the node with the table; a reason why it is refused, or nothing.
func (n *node) check() string {
	spec := n.spec
	for name, a := range n.attributes {
		of, ok := spec.Attribute(name)
		if !ok {
			return fmt.Sprintf("the operator has no attribute %q", name)
		}
		if a.Kind != format.KindUndefined && a.Kind.String() != of.Kind {
			return fmt.Sprintf("attribute %q is %s, want %s", name, a.Kind, of.Kind)
		}
	}
	for _, a := range spec.Attributes {
		if _, ok := n.attributes[a.Name]; !ok && a.Required {
			return fmt.Sprintf("attribute %q is missing", a.Name)
		}
	}
	if reason := arity("input", n.in, spec.Inputs); reason != "" {
		return reason
	}
	outs := make([]int, len(n.file.Outputs))
	for i, name := range n.file.Outputs {
		if name == "" {
			outs[i] = -1
		}
	}
	for len(outs) > len(spec.Outputs) && len(spec.Outputs) > 0 && !spec.Outputs[len(spec.Outputs)-1].Variadic {
		return fmt.Sprintf("%d outputs, the operator has %d", len(outs), len(spec.Outputs))
	}
	return n.types()
}

// arity compares operands with the formal ones.
func arity(what string, have []int, formal []standard.Formal) string {
	variadic := len(formal) > 0 && formal[len(formal)-1].Variadic
	if len(have) > len(formal) && !variadic {
		return fmt.Sprintf("%d %ss, the operator has %d", len(have), what, len(formal))
	}
	for i, f := range formal {
		if given := i < len(have) && have[i] >= 0; !given && !f.Optional && !f.Variadic {
			return fmt.Sprintf("%s %q is missing", what, f.Name)
		}
	}
	return ""
}

// formal returns the formal input or output of an index.
func formal(list []standard.Formal, i int) (standard.Formal, bool) {
	if len(list) == 0 {
		return standard.Formal{}, false
	}
	if i >= len(list) {
		i = len(list) - 1
		return list[i], list[i].Variadic
	}
	return list[i], true
}

// types compares the types of operands that are known with those of the table.
func (n *node) types() string {
	for i, e := range n.elems {
		f, ok := formal(n.spec.Inputs, i)
		if !ok || e == 0 || i >= len(n.in) || n.in[i] < 0 {
			continue
		}
		if _, ok := carriers[e]; !ok {
			return "type " + e.String()
		}
		if allowed, ok := n.spec.Types[f.Type]; ok && !contains(allowed, e) {
			return fmt.Sprintf("input %q is %s, want one of %s", f.Name, e, strings.Join(allowed, ", "))
		}
	}
	return ""
}

// contains reports whether a list of types has a tensor, or something made of tensors,
// with such elements.
func contains(allowed []string, e format.Elem) bool {
	for _, a := range allowed {
		if strings.Contains(a, "("+e.String()+")") {
			return true
		}
	}
	return false
}

// result returns the type of the elements of a result as far as the table says it, or of a
// Cast its attribute; 0 where they do not.
func (n *node) result(i int) format.Elem {
	if n.spec.Domain == "" && n.spec.Name == "Cast" {
		return n.elem("to")
	}
	f, ok := formal(n.spec.Outputs, i)
	if !ok {
		return 0
	}
	if name, ok := strings.CutPrefix(f.Type, "tensor("); ok {
		return elemOf(strings.TrimSuffix(name, ")"))
	}
	for k := range n.in {
		if in, ok := formal(n.spec.Inputs, k); ok && in.Type == f.Type && k < len(n.elems) && n.elems[k] != 0 && (!in.Variadic || in.Alike) {
			return n.elems[k]
		}
	}
	return 0
}

// elemOf returns the type with the standard's name.
func elemOf(name string) format.Elem {
	for e := range carriers {
		if e.String() == name {
			return e
		}
	}
	return 0
}

// wants reports whether result i is asked for.
func (n *node) wants(i int) bool { return i < len(n.file.Outputs) && n.file.Outputs[i] != "" }

// given reports whether an attribute is in the file.
func (n *node) given(name string) bool { return n.attributes[name] != nil }

// attribute returns an attribute, or the table's default for it, or an empty one.
func (n *node) attribute(name string) *format.Attribute {
	if a := n.attributes[name]; a != nil {
		return a
	}
	if a, ok := n.spec.Attribute(name); ok && a.HasDefault {
		return defaultOf(a)
	}
	return &format.Attribute{Name: name}
}

func (n *node) int(name string) int          { return int(n.attribute(name).Int) }
func (n *node) flag(name string) bool        { return n.attribute(name).Int != 0 }
func (n *node) float(name string) float64    { return float64(n.attribute(name).Float) }
func (n *node) string(name string) string    { return n.attribute(name).String }
func (n *node) strings(name string) []string { return n.attribute(name).Strings }

func (n *node) ints(name string) []int {
	var out []int
	for _, v := range n.attribute(name).Ints {
		out = append(out, int(v))
	}
	return out
}

func (n *node) floats(name string) []float64 {
	var out []float64
	for _, v := range n.attribute(name).Floats {
		out = append(out, float64(v))
	}
	return out
}

// oneOf returns an attribute that must be one of some words.
func (n *node) oneOf(name string, words ...string) string {
	got := n.string(name)
	for _, w := range words {
		if got == w {
			return got
		}
	}
	n.refuse("attribute %q is %q, want one of %s", name, got, strings.Join(words, ", "))
	return got
}

// elem returns an attribute that is a type of elements.
func (n *node) elem(name string) format.Elem {
	e := format.Elem(n.int(name))
	if _, ok := carriers[e]; !ok {
		n.refuse("type %s", e)
	}
	return e
}

// defaultOf returns the attribute that holds where a node has none.
func defaultOf(a standard.Attribute) *format.Attribute {
	out := &format.Attribute{Name: a.Name}
	list := strings.Split(a.Default, ",")
	switch a.Kind {
	case "INT":
		out.Kind = format.KindInt
		out.Int, _ = strconv.ParseInt(a.Default, 10, 64)
	case "FLOAT":
		v, _ := strconv.ParseFloat(a.Default, 32)
		out.Kind, out.Float = format.KindFloat, float32(v)
	case "STRING":
		out.Kind, out.String = format.KindString, a.Default
	case "STRINGS":
		out.Kind, out.Strings = format.KindStrings, list
	case "INTS":
		out.Kind = format.KindInts
		for _, s := range list {
			v, _ := strconv.ParseInt(s, 10, 64)
			out.Ints = append(out.Ints, v)
		}
	case "FLOATS":
		out.Kind = format.KindFloats
		for _, s := range list {
			v, _ := strconv.ParseFloat(s, 32)
			out.Floats = append(out.Floats, float32(v))
		}
	}
	return out
}
