package onnx

import (
	"fmt"
	"maps"
	"strings"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/onnx/internal/standard"
)

// node makes the steps of one node.
func (g *graph) node(n *format.Node, at *names) error {
	if g.b.steps++; g.b.steps > maxSteps {
		return fmt.Errorf("%w: the model expands to more than %d nodes", ErrFormat, maxSteps)
	}
	in := make([]int, len(n.Inputs))
	for i, name := range n.Inputs {
		p, ok := -1, name == ""
		if !ok {
			p, ok = at.find(name)
		}
		if !ok {
			return fmt.Errorf("%w: input %q is nowhere computed before", ErrFormat, name)
		}
		in[i] = p
	}
	for len(in) > 0 && in[len(in)-1] < 0 {
		in = in[:len(in)-1]
	}
	attributes, err := at.bind(n.Attributes)
	if err != nil {
		return err
	}
	out, err := g.call(n, in, attributes, at)
	if err != nil {
		return err
	}
	for i, name := range n.Outputs {
		if name == "" || i >= len(out) {
			continue
		}
		if err := at.define(name, out[i]); err != nil {
			return err
		}
	}
	return nil
}

// bind returns the attributes of a node by name, those of the function's call in place of
// references to them.
func (at *names) bind(list []*format.Attribute) (map[string]*format.Attribute, error) {
	out := make(map[string]*format.Attribute, len(list))
	for _, a := range list {
		if _, ok := out[a.Name]; ok {
			return nil, fmt.Errorf("%w: two attributes %q", ErrFormat, a.Name)
		}
		if a.Ref == "" {
			out[a.Name] = a
		} else if of, ok := at.attributes[a.Ref]; ok {
			out[a.Name] = of
		}
	}
	return out, nil
}

// call makes the steps of an operator or a function and returns the places of its
// results.
func (g *graph) call(n *format.Node, in []int, attributes map[string]*format.Attribute, at *names) ([]int, error) {
	key := functionKey{domain(n.Domain), n.Operator, n.Overload}
	if f, ok := g.b.functions[key]; ok {
		opsets := at.opsets
		if len(f.Opsets) > 0 {
			opsets = withOpsets(map[string]int{}, f)
		}
		return g.expand(f, n, in, attributes, at, opsets)
	}
	name := n.Operator
	if key.domain != "" {
		name = key.domain + "." + name
	}
	g.b.nodes[name]++
	made := &node{graph: g, at: at, file: n, opset: at.opsets[key.domain], in: in, attributes: attributes}
	if f := g.b.own[name]; f != nil && key.domain != "" {
		made.spec = customSpec(key)
		k, reason := made.custom(f)
		if reason != "" {
			return g.missing(n, at, reason), nil
		}
		return g.step(made, k)
	}
	spec, known := standard.Find(key.domain, n.Operator, made.opset)
	switch {
	case !known:
		return g.missing(n, at, "there is no such operator"), nil
	case spec == nil:
		return g.missing(n, at, "the operator is newer than this opset"), nil
	case spec.Deprecated:
		return g.missing(n, at, "the operator was removed in this opset"), nil
	}
	made.spec = spec
	if lower, ok := loweringOf(key.domain, n.Operator); ok {
		made.lower = lower
		return g.lower(made)
	}
	return g.body(made)
}

// withOpsets adds the opsets that a function's nodes are of.
func withOpsets(opsets map[string]int, f *format.Function) map[string]int {
	for _, o := range f.Opsets {
		opsets[domain(o.Domain)] = int(o.Version)
	}
	return opsets
}

// body makes the steps of an operator that the standard defines by a function.
func (g *graph) body(n *node) ([]int, error) {
	message, of, err := n.spec.Body(n.opset)
	if err != nil {
		return nil, err
	}
	if message == nil {
		return g.missing(n.file, n.at, "the operator is not there"), nil
	}
	f, err := format.ReadFunction(message)
	if err != nil {
		return nil, err
	}
	opsets := withOpsets(maps.Clone(n.at.opsets), f)
	if _, ok := opsets[""]; !ok {
		opsets[""] = of
	}
	for _, a := range n.spec.Attributes { // the function's own defaults
		if _, given := n.attributes[a.Name]; !given && a.HasDefault {
			n.attributes[a.Name] = defaultOf(a)
		}
	}
	return g.expand(f, n.file, n.in, n.attributes, n.at, opsets)
}

// lower makes the step of an operator that has a lowering.
func (g *graph) lower(n *node) ([]int, error) {
	n.elems = make([]format.Elem, len(n.in))
	for i, p := range n.in {
		n.elems[i] = g.elems[p]
	}
	if reason := n.check(); reason != "" {
		return g.missing(n.file, n.at, reason), nil
	}
	k := n.lower.make(n)
	if n.err != nil {
		return nil, n.err
	}
	if n.reason != "" {
		return g.missing(n.file, n.at, n.reason), nil
	}
	return g.step(n, k)
}

// missing notes that a node is not supported, and returns places for its results.
func (g *graph) missing(n *format.Node, at *names, reason string) []int {
	g.b.refuse(at, n, reason)
	out := make([]int, len(n.Outputs))
	for i := range out {
		out[i] = g.place()
	}
	return out
}

// step adds a step, or where its operands are known, computes its results.
func (g *graph) step(made *node, k kernel) ([]int, error) {
	s := step{node: made, kernel: k, in: made.in}
	results := make([]int, len(made.file.Outputs))
	if values, ok := g.fold(made, s); ok {
		for i := range results {
			if i < len(values) && values[i] != nil {
				results[i] = g.constant(values[i])
			} else {
				results[i] = g.place()
			}
		}
		return results, nil
	}
	for i, name := range made.file.Outputs {
		results[i] = -1
		if name != "" {
			results[i] = g.place()
			g.elems[results[i]] = made.result(i)
		}
	}
	s.out = results
	g.steps = append(g.steps, s)
	return results, nil
}

// fold computes a step whose operands are all constants. One that fails, or that makes
// too much, is left for the run.
func (g *graph) fold(made *node, s step) (out []*value, ok bool) {
	if made.lower.random || len(made.subgraphs) > 0 {
		return nil, false
	}
	c := call{step: &s, dev: g.b.device, limit: foldLimit, out: make([]*value, len(made.file.Outputs))}
	for _, p := range made.in {
		v := (*value)(nil)
		if p >= 0 {
			if v = g.known[p]; v == nil {
				return nil, false
			}
		}
		c.in = append(c.in, v)
	}
	err := tensor.Scope(func() error {
		if err := c.run(); err != nil {
			return err
		}
		for i, v := range c.out {
			if v == nil || v.form != formTensor {
				if v != nil {
					ok = true
				}
				continue
			}
			if v.constant == nil {
				t := v.t
				if v.borrowed || t.Device() != tensorCPU {
					t = t.CPU().Clone()
				}
				tensor.Keep(t)
				c.out[i] = constantValue(t, v.elem)
			}
		}
		return nil
	})
	if err != nil || ok { // ok: a sequence, which no place keeps
		return nil, false
	}
	return c.out, true
}

// expand makes the steps of a function's nodes.
func (g *graph) expand(f *format.Function, n *format.Node, in []int, attributes map[string]*format.Attribute, at *names, opsets map[string]int) ([]int, error) {
	inner := &names{g: g, places: map[string]int{}, attributes: maps.Clone(attributes), opsets: opsets, calls: at.calls + 1, path: strings.TrimPrefix(at.path+"/"+f.Name, "/")}
	switch {
	case inner.calls > maxCalls:
		return nil, fmt.Errorf("%w: functions call each other more than %d deep", ErrFormat, maxCalls)
	case len(in) > len(f.Inputs):
		return nil, fmt.Errorf("%w: %d inputs for the function %q, which has %d", ErrFormat, len(in), f.Name, len(f.Inputs))
	}
	for _, a := range f.Defaults {
		if _, ok := inner.attributes[a.Name]; !ok {
			inner.attributes[a.Name] = a
		}
	}
	for i, name := range f.Inputs {
		p := -1
		if i < len(in) {
			p = in[i]
		}
		if p < 0 {
			p = g.constant(noValue)
		}
		if err := inner.define(name, p); err != nil {
			return nil, err
		}
	}
	if err := g.list(f.Nodes, inner); err != nil {
		return nil, err
	}
	out := make([]int, len(n.Outputs))
	for i := range out {
		if i >= len(f.Outputs) {
			return nil, fmt.Errorf("%w: %d outputs of the function %q, which has %d", ErrFormat, len(out), f.Name, len(f.Outputs))
		}
		p, ok := inner.find(f.Outputs[i])
		if !ok {
			return nil, fmt.Errorf("%w: function %q: the output %q is nowhere computed", ErrFormat, f.Name, f.Outputs[i])
		}
		out[i] = p
	}
	return out, nil
}
