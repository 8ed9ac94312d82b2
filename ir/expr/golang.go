package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/sinter-go/sinter/ir"
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

// GoTypes are the Go types that a printed expression uses for T and Real.
type GoTypes struct{ T, Real string }

// Go prints the expression in Go over package num. Operands and parameters are
// variables of their names, index is an int64. A product that is added is
// converted explicitly, so that no compiler fuses the two.
func (g *Graph) Go(types GoTypes) Code {
	p := &printer{g: g, lang: &golang{g, types}}
	return p.code()
}

// language spells values; the printer decides on shared parts.
type language interface {
	constant(v *Value) string
	name(v *Value) string
	// call spells a function of printed arguments and tells its binding strength.
	call(v *Value, args []part) part
}

// part is printed source with its binding strength.
type part struct {
	text string
	prec int
	v    *Value
}

// in returns the part as an operand of what binds with strength outer, in parentheses
// where the part binds less. No parenthesis is emitted that is not needed, for people
// read what is emitted.
func (p part) in(outer int) string {
	if p.prec < outer {
		return "(" + p.text + ")"
	}
	return p.text
}

// A printer writes a graph as source of one language. What is used more than once becomes
// a variable, in the order of computation; all else is written where it is used.
type printer struct {
	g    *Graph
	lang language
	lets []Let
	done map[*Value]part
}

func (p *printer) code() Code {
	p.done = map[*Value]part{}
	var results []string
	for _, root := range p.g.Roots {
		results = append(results, p.value(root).text)
	}
	return Code{p.lets, results}
}

// value prints a value and, where it has several uses, names it. Names and constants are
// repeated instead: they cost nothing.
func (p *printer) value(v *Value) part {
	if q, ok := p.done[v]; ok {
		return q
	}
	var q part
	switch v.Op {
	case OpConst:
		q = part{p.lang.constant(v), precAtom, v}
		if strings.HasPrefix(q.text, "-") {
			q.prec = precUnary
		}
	case OpName:
		q = part{p.lang.name(v), precAtom, v}
	default:
		args := make([]part, len(v.Args))
		for i, a := range v.Args {
			args[i] = p.value(a)
		}
		q = p.lang.call(v, args)
		q.v = v
		if v.Uses > 1 {
			name := "t" + strconv.Itoa(len(p.lets))
			p.lets = append(p.lets, Let{name, q.text, v.Kind})
			q = part{name, precAtom, v}
		}
	}
	p.done[v] = q
	return q
}

// golang spells values in Go: by Go's operators where they mean the same, and by the
// generic functions of package num where not.
type golang struct {
	g     *Graph
	types GoTypes
}

func (l *golang) typeOf(k Kind) string {
	switch k {
	case BoolKind:
		return "bool"
	case IntKind:
		return "int64"
	case RealKind:
		return l.types.Real
	}
	return l.types.T
}

// constant spells a number with all its digits, which Go rounds to the type it is
// instantiated with. There are no literals for infinities, NaN and -0.
func (l *golang) constant(v *Value) string {
	s := v.Const
	typ := l.typeOf(v.Kind)
	switch s.Category() {
	case ir.CategoryBool, ir.CategoryInt:
		return literal(s)
	}
	f := s.Float()
	real := typ
	if l.g.KindDType(v.Kind).IsComplex() {
		real = l.types.Real
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	switch {
	case math.IsNaN(f):
		text = "num.NaN[" + real + "]()"
	case math.IsInf(f, 1):
		text = "num.Inf[" + real + "](1)"
	case math.IsInf(f, -1):
		text = "num.Inf[" + real + "](-1)"
	case f == 0 && math.Signbit(f): // Go's constants have no such zero
		text = "num.Copysign[" + real + "](0, -1)"
	default:
		return text
	}
	if real != typ {
		text = "complex(" + text + ", 0)"
	}
	return text
}

func (l *golang) name(v *Value) string { return v.Name }

// goConst reports whether a part is an untyped Go constant.
func goConst(p part) bool {
	return p.v != nil && p.v.Op == OpConst && !strings.Contains(p.text, "(")
}

func (l *golang) call(v *Value, args []part) part {
	dt := l.g.KindDType(v.Args[0].Kind)
	if op, ok := infix[v.Name]; ok && l.native(v.Name, dt) {
		return l.binary(v, op.text, op.prec, args)
	}
	if op, ok := prefix[v.Name]; ok {
		return part{text: op + args[0].in(precUnary+1), prec: precUnary}
	}
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.text
		counted := v.Name == "shl" || v.Name == "shr" // have two types, each inferred
		if goConst(a) && (counted || allGoConst(args)) && l.g.KindDType(a.v.Kind) != ir.Bool {
			texts[i] = l.typeOf(a.v.Kind) + "(" + a.text + ")"
		}
	}
	list := strings.Join(texts, ", ")
	from, to := l.g.KindDType(v.Args[0].Kind), l.g.KindDType(v.Kind)
	switch v.Name {
	case "cast", "cast_real", "int":
		if to == ir.Bool {
			return part{text: args[0].in(infix["ne"].prec+1) + " != 0", prec: infix["ne"].prec}
		}
		return part{text: l.conversion(args[0], from, to, v.Kind), prec: precAtom}
	case "where":
		if allGoConst(args[1:]) && to != ir.Bool {
			texts[1] = l.typeOf(v.Kind) + "(" + args[1].text + ")"
		}
		return part{text: "num.Where(" + strings.Join(texts, ", ") + ")", prec: precAtom}
	case "real", "imag":
		if from.IsComplex() {
			return part{text: v.Name + "(" + list + ")", prec: precAtom}
		}
	case "complex":
		return part{text: "complex(" + list + ")", prec: precAtom}
	case "uniform", "normal":
		return part{text: "num." + prefixOf(to) + goName(v.Name) + "[" + l.typeOf(v.Kind) + "](" + list + ", index)", prec: precAtom}
	case "random_bits":
		return part{text: "num.RandomBits(" + list + ", index)", prec: precAtom}
	case "abs", "angle":
		if from.IsComplex() {
			return part{text: "num.C" + goName(v.Name) + "[" + l.typeOf(v.Kind) + "](" + list + ")", prec: precAtom}
		}
	}
	return part{text: "num." + prefixOf(from) + goName(v.Name) + "(" + list + ")", prec: precAtom}
}

func allGoConst(args []part) bool {
	for _, a := range args {
		if !goConst(a) {
			return false
		}
	}
	return true
}

// prefixOf distinguishes the families of functions in package num.
func prefixOf(dt ir.DType) string {
	switch dt.Category() {
	case ir.CategoryInt:
		return "I"
	case ir.CategoryComplex:
		return "C"
	}
	return ""
}

// native reports whether Go's own operator has the language's meaning.
func (l *golang) native(fn string, dt ir.DType) bool {
	switch fn {
	case "div", "rem":
		return dt.IsFloat() && fn == "div" || dt.IsComplex()
	case "shl", "shr":
		return false
	}
	return true
}

// binary spells an operator. Two literals would be an untyped constant expression, which
// Go computes with any number of digits: one of them gets the type, so that it is rounded
// as everywhere else.
func (l *golang) binary(v *Value, op string, prec int, args []part) part {
	left, right := args[0].in(prec), args[1].in(prec+1)
	if v.Name == "add" || v.Name == "sub" {
		left, right = l.unfused(args[0], left), l.unfused(args[1], right)
	}
	if goConst(args[0]) && goConst(args[1]) && v.Kind != BoolKind {
		left = l.typeOf(args[0].v.Kind) + "(" + args[0].text + ")"
	}
	sep := " "
	if prec == 5 {
		sep = ""
	}
	return part{text: left + sep + op + sep + right, prec: prec}
}

// unfused wraps a product in a conversion, which rounds it.
func (l *golang) unfused(p part, text string) string {
	if p.v.Op == OpCall && p.v.Name == "mul" && p.prec < precAtom && !l.g.KindDType(p.v.Kind).IsInt() {
		return l.typeOf(p.v.Kind) + "(" + p.text + ")"
	}
	return text
}

// conversion spells a change of kind. Go leaves open what a float out of an integer's
// range becomes, so that goes through a function that saturates.
func (l *golang) conversion(a part, from, to ir.DType, k Kind) string {
	typ := l.typeOf(k)
	switch {
	case from == ir.Bool:
		return "num.FromBool[" + typ + "](" + a.text + ")"
	case to.IsComplex():
		return l.types.T + "(complex(" + l.types.Real + "(" + a.text + "), 0))"
	case from.IsFloat() && to.IsInt():
		return "num.ToInt[" + typ + "](" + a.text + ")"
	}
	return typ + "(" + a.text + ")"
}

// goName returns the function's name in package num, without the prefix of its
// family.
func goName(fn string) string {
	if f := functions[fn]; f != nil && f.goName != "" {
		return f.goName
	}
	var b strings.Builder
	for _, word := range strings.Split(fn, "_") {
		r := []rune(word)
		fmt.Fprintf(&b, "%c%s", unicode.ToUpper(r[0]), string(r[1:]))
	}
	return b.String()
}
