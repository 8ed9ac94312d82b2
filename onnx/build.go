package onnx

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/onnx/internal/standard"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// Limits of what a model may expand to.
const (
	maxSteps  = 1 << 20 // nodes, functions expanded
	maxCalls  = 64      // functions in functions
	oldest    = 7       // opset of the standard's operators
	foldLimit = 1 << 24 // elements that a node may make when its operands are known at load
	// leastMapped is how many bytes a tensor has at least that stays in the file: of a smaller
	// one the copy takes less than the page that it lies in.
	leastMapped = 4096
)

// A program is a graph as a list of steps over numbered places. Places hold the values of
// names; the constants are there before the first step.
type program struct {
	places    int
	constants []held
	inputs    []int
	captures  []capture // values of the graph around this one
	outputs   []int
	steps     []step
	release   [][]int // by step, places that no later step reads
}

// held is a value that a place has from the start.
type held struct {
	place int
	value *value
}

// A capture is a place of the graph around, and the one here that has its value.
type capture struct{ outer, inner int }

// A step calls an operator.
type step struct {
	node    *node
	kernel  kernel
	in, out []int // places; -1 for none
	// mapping is what it computes where that is not what its node says.
	mapping *mapping
}

type functionKey struct{ domain, name, overload string }

// A builder makes a program of a file.
type builder struct {
	file      *format.Model
	own       map[string]Operator // of custom domains
	keep      any                 // what the model's file stays for
	fetch     func(map[string]string) ([]byte, any, error)
	device    device.Device
	opsets    map[string]int
	functions map[functionKey]*format.Function
	refused   []Unsupported
	nodes     map[string]int
	steps     int
	bytes     int64
	count     int
}

// A graph is a program while it is made.
type graph struct {
	*program
	b      *builder
	around *names // where the names of the graph around are, nil for the whole model
	known  map[int]*value
	elems  map[int]format.Elem
}

// names are the places of names in a graph, or in the body of a function.
type names struct {
	g          *graph
	places     map[string]int
	attributes map[string]*format.Attribute // of the function's call
	opsets     map[string]int
	calls      int
	path       string // the function, for messages
}

// model makes the model.
func (b *builder) model() (*Model, error) {
	for _, o := range b.file.Opsets {
		b.opsets[domain(o.Domain)] = int(o.Version)
	}
	if v, newest := b.opsets[""], standard.Newest(""); v < oldest && b.uses("") || v > newest {
		return nil, fmt.Errorf("%w: operators of opset %d; %d to %d are known", ErrUnsupported, v, oldest, newest)
	}
	for _, f := range b.file.Functions {
		b.functions[functionKey{domain(f.Domain), f.Name, f.Overload}] = f
	}
	m := &Model{Producer: b.file.Producer + " " + b.file.ProducerVersion, Opset: b.opsets[""], Metadata: b.file.Metadata,
		device: tensor.Defaults{Device: b.device}, nodes: b.nodes}
	g, at := b.graph(nil)
	err := tensor.NoGrad(func() error { return g.fill(b.file.Graph, at) })
	switch {
	case err != nil:
		return nil, err
	case len(b.refused) > 0:
		return nil, &UnsupportedError{b.refused}
	}
	m.program, m.parameters, m.bytes = g.program, b.count, b.bytes
	initial := map[string]bool{}
	for _, t := range b.file.Graph.Initializers {
		initial[t.Name] = true
	}
	for _, v := range b.file.Graph.Inputs {
		in := valueOf(v)
		in.Optional = initial[v.Name]
		m.inputs = append(m.inputs, in)
	}
	for _, v := range b.file.Graph.Outputs {
		m.outputs = append(m.outputs, valueOf(v))
	}
	return m, nil
}

// uses reports whether a node of the model is of a domain.
func (b *builder) uses(of string) bool {
	return slices.ContainsFunc(b.file.Graph.Nodes, func(n *format.Node) bool { return domain(n.Domain) == of })
}

// domain returns the one name of the standard's domain, which has two.
func domain(name string) string {
	if name == "ai.onnx" {
		return ""
	}
	return name
}

// valueOf returns what a file says about an input or an output.
func valueOf(v *format.Value) Value {
	out := Value{Name: v.Name, Type: "unknown"}
	if v.Type == nil {
		return out
	}
	out.Type, out.form, out.elem = typeName(v.Type), v.Type.Form, v.Type.Elem
	if v.Type.Form != format.FormTensor {
		return out
	}
	out.DType = carriers[v.Type.Elem]
	if out.Known = v.Type.Ranks; out.Known {
		for _, a := range v.Type.Axes {
			if a.Name == "?" { // what some programs write for no name
				a.Name = ""
			}
			out.Axes = append(out.Axes, Axis{Extent: int(a.Extent), Name: a.Name})
		}
	}
	return out
}

// typeName returns a type as the standard writes it, but for the word tensor.
func typeName(t *format.Type) string {
	switch {
	case t == nil:
		return "unknown"
	case t.Form == format.FormTensor:
		return t.Elem.String()
	case t.Form == format.FormSequence:
		return "seq(" + typeName(t.Of) + ")"
	case t.Form == format.FormOptional:
		return "optional(" + typeName(t.Of) + ")"
	}
	return "unknown"
}

// graph returns an empty graph inside another one.
func (b *builder) graph(around *names) (*graph, *names) {
	g := &graph{program: &program{}, b: b, around: around, known: map[int]*value{}, elems: map[int]format.Elem{}}
	at := &names{g: g, places: map[string]int{}, opsets: b.opsets}
	if around != nil {
		at.attributes, at.opsets, at.calls, at.path = around.attributes, around.opsets, around.calls, around.path
	}
	return g, at
}

// place returns a new place.
func (g *graph) place() int {
	g.places++
	return g.places - 1
}

// constant gives a new place a value.
func (g *graph) constant(v *value) int {
	p := g.place()
	g.constants, g.known[p], g.elems[p] = append(g.constants, held{p, v}), v, v.elem
	return p
}

// find returns the place of a name, which may be one of a graph around this one.
func (at *names) find(name string) (int, bool) {
	if p, ok := at.places[name]; ok {
		return p, true
	}
	if at.g.around == nil || at.g.around == at {
		return 0, false
	}
	outer, ok := at.g.around.find(name)
	if !ok {
		return 0, false
	}
	g, from := at.g, at.g.around.g
	var p int
	if v, ok := from.known[outer]; ok {
		p = g.constant(v)
	} else {
		p = g.place()
		g.captures = append(g.captures, capture{outer, p})
		g.elems[p] = from.elems[outer]
	}
	at.places[name] = p
	return p, true
}

// define gives a name, which must be new, a place.
func (at *names) define(name string, p int) error {
	if _, ok := at.places[name]; ok {
		return fmt.Errorf("%w: two values are called %q", ErrFormat, name)
	}
	at.places[name] = p
	return nil
}

// fill makes the program of a graph.
func (g *graph) fill(file *format.Graph, at *names) error {
	taken := map[string]bool{}
	for _, v := range file.Inputs {
		if taken[v.Name] {
			return fmt.Errorf("%w: two inputs are called %q", ErrFormat, v.Name)
		}
		taken[v.Name] = true
		p := g.place()
		if v.Type != nil && v.Type.Form == format.FormTensor {
			g.elems[p] = v.Type.Elem
			if _, ok := carriers[v.Type.Elem]; !ok {
				g.b.refuse(at, &format.Node{Name: v.Name, Operator: "input"}, "type "+v.Type.Elem.String())
			}
		} else if v.Type != nil && v.Type.Form == format.FormOther {
			g.b.refuse(at, &format.Node{Name: v.Name, Operator: "input"}, "a map, a sparse tensor or an opaque value")
		}
		g.inputs = append(g.inputs, p)
		if err := at.define(v.Name, p); err != nil {
			return err
		}
	}
	if err := g.initialize(file, at, taken); err != nil {
		return err
	}
	for _, name := range file.Sparse {
		g.b.refuse(at, &format.Node{Name: name, Operator: "graph"}, "a sparse initializer")
		if _, taken := at.places[name]; !taken {
			at.places[name] = g.place()
		}
	}
	if err := g.list(file.Nodes, at); err != nil {
		return err
	}
	for _, v := range file.Outputs {
		p, ok := at.find(v.Name)
		if !ok {
			return fmt.Errorf("%w: the output %q is nowhere computed", ErrFormat, v.Name)
		}
		g.outputs = append(g.outputs, p)
	}
	if len(g.b.refused) == 0 {
		g.rewrite()
		g.prune()
	}
	g.lifetimes()
	return nil
}

// initialize makes the constants of a graph. One that has the name of an input is the
// value which the input has where none is given.
func (g *graph) initialize(file *format.Graph, at *names, inputs map[string]bool) error {
	for _, t := range file.Initializers {
		v, err := g.b.tensor(t)
		if err != nil {
			return fmt.Errorf("initializer %q: %w", t.Name, err)
		}
		if inputs[t.Name] {
			g.constants = append(g.constants, held{at.places[t.Name], v})
			continue
		}
		if err := at.define(t.Name, g.constant(v)); err != nil {
			return err
		}
	}
	return nil
}

// tensor returns the constant that a file holds.
func (b *builder) tensor(t *format.Tensor) (*value, error) {
	raw, shape, keep, err := contents(t, b.keep, b.fetch)
	if err != nil {
		return nil, err
	}
	if keep != nil && len(raw) < leastMapped {
		raw, keep = bytes.Clone(raw), nil
	}
	if keep == nil { // raw is the tensor's own
		keep = &raw
	}
	x := tensor.Wrap(core.Fixed(raw, carriers[t.Elem], shape, keep)) // to change it in place is an error
	if err := x.Err(); err != nil {
		return nil, err
	}
	b.count += x.NumElements()
	b.bytes += int64(len(raw))
	return constantValue(x, t.Elem), nil
}

// list makes the steps of nodes.
func (g *graph) list(nodes []*format.Node, at *names) error {
	for _, n := range nodes {
		if err := g.node(n, at); err != nil {
			name := n.Name
			if name == "" && len(n.Outputs) > 0 {
				name = n.Outputs[0]
			}
			return fmt.Errorf("%s (node %q): %w", n.Operator, name, err)
		}
	}
	return nil
}

// refuse notes what is not supported.
func (b *builder) refuse(at *names, n *format.Node, reason string) {
	u := Unsupported{Node: n.Name, Operator: n.Operator, Opset: at.opsets[domain(n.Domain)], Reason: reason}
	if u.Node == "" && len(n.Outputs) > 0 {
		u.Node = n.Outputs[0]
	}
	if d := domain(n.Domain); d != "" {
		u.Operator = d + "." + n.Operator
	}
	b.refused = append(b.refused, u)
}

// lifetimes finds the places that no step after each one reads.
func (g *graph) lifetimes() {
	last := map[int]int{}
	for i, s := range g.steps {
		for _, p := range s.in {
			last[p] = i
		}
		for _, p := range s.out { // also those that nobody reads
			last[p] = i
		}
		if s.node != nil {
			for _, p := range s.node.captured {
				last[p] = i
			}
		}
	}
	for _, p := range g.outputs {
		delete(last, p)
	}
	for _, h := range g.constants {
		delete(last, h.place)
	}
	delete(last, -1)
	g.release = make([][]int, len(g.steps))
	for _, p := range slices.Sorted(maps.Keys(last)) {
		g.release[last[p]] = append(g.release[last[p]], p)
	}
}
