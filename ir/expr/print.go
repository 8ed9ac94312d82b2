package expr

import (
	"strconv"
	"strings"
)

// A Code is a graph as source text: definitions of shared parts, in order, and the
// expressions' values.
type Code struct {
	Lets    []Let
	Results []string
}

// A Let defines a name that later parts use.
type Let struct {
	Name, Expr string
	Kind       Kind
}

// Binding strengths of parts that no operator of Go's makes: those go from 1 to 5.
const (
	Unary = 6 // an operator before its operand
	Atom  = 7 // a name, a literal, a call, what is in parentheses
)

// A Language spells values as source text; Print decides on shared parts.
type Language interface {
	Constant(v *Value) string
	// Name spells the name of an operand, an argument or another value from outside.
	Name(name string) string
	// Call spells a function of printed arguments and tells its binding strength.
	Call(v *Value, args []Part) Part
}

// A Part is printed source with its binding strength and the value that it is.
type Part struct {
	Text  string
	Prec  int
	Value *Value
}

// In returns the part as an operand of what binds with strength outer, in parentheses
// where the part binds less. No parenthesis is emitted that is not needed, for people
// read what is emitted.
func (p Part) In(outer int) string {
	if p.Prec < outer {
		return "(" + p.Text + ")"
	}
	return p.Text
}

// Print returns the graph as source of a language: of Go (Go), of CUDA C++ (package
// codegen/cpp) or of a backend's own.
func (g *Graph) Print(lang Language) Code {
	p := &printer{lang: lang, done: map[*Value]Part{}, names: g.outside()}
	var results []string
	for _, root := range g.Roots {
		results = append(results, p.value(root).Text)
	}
	return Code{p.lets, results}
}

// A printer writes a graph as source of one language. What is used more than once becomes
// a variable, in the order of computation; all else is written where it is used.
type printer struct {
	lang Language
	lets []Let
	done map[*Value]Part
	// names has those of values from outside.
	names map[string]bool
}

// value prints a value and, where it has several uses, names it. Names and constants are
// repeated instead: they cost nothing.
func (p *printer) value(v *Value) Part {
	if q, ok := p.done[v]; ok {
		return q
	}
	var q Part
	switch v.Op {
	case OpConst:
		q = Part{p.lang.Constant(v), Atom, v}
		if strings.HasPrefix(q.Text, "-") {
			q.Prec = Unary
		}
	case OpName:
		q = Part{p.lang.Name(v.Name), Atom, v}
	default:
		args := make([]Part, len(v.Args))
		for i, a := range v.Args {
			args[i] = p.value(a)
		}
		q = p.lang.Call(v, args)
		q.Value = v
		if v.Uses > 1 {
			name := p.free("t" + strconv.Itoa(len(p.lets)))
			p.lets = append(p.lets, Let{name, q.Text, v.Kind})
			q = Part{name, Atom, v}
		}
	}
	p.done[v] = q
	return q
}

// free returns name, or where a value from outside has it a name that a schema cannot give: none ends
// with an underscore.
func (p *printer) free(name string) string {
	if p.names[name] { // also of t_0, which is t0 in Go
		return name + "_"
	}
	return name
}

// outside has the names of values that g does not compute, without underscores.
func (g *Graph) outside() map[string]bool {
	names := map[string]bool{}
	for _, v := range g.Values {
		if v.Op == OpName {
			names[strings.ReplaceAll(v.Name, "_", "")] = true
		}
	}
	return names
}
