package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/sinter-go/sinter/ir"
)

// GoTypes are the Go types that a printed expression uses for T and Real.
type GoTypes struct{ T, Real string }

// Go prints the expression in Go over package num. Operands and parameters are
// variables of their names, index is an int64. A product that is added is
// converted explicitly, so that no compiler fuses the two.
func (g *Graph) Go(types GoTypes) Code {
	return g.Print(&golang{g, types})
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

// Name is what it is: no schema has a name that means something in Go.
func (l *golang) Name(name string) string { return name }

// Constant spells a number with all its digits, which Go rounds to the type it is
// instantiated with. There are no literals for infinities, NaN and -0.
func (l *golang) Constant(v *Value) string {
	s := v.Const
	typ := l.typeOf(v.Kind)
	switch s.Category() {
	case ir.CategoryBool, ir.CategoryInt:
		return Literal(s)
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

// goConst reports whether a Part is an untyped Go constant.
func goConst(p Part) bool {
	return p.Value != nil && p.Value.Op == OpConst && !strings.Contains(p.Text, "(")
}

// Call spells a function of printed arguments.
func (l *golang) Call(v *Value, args []Part) Part {
	dt := l.g.KindDType(v.Args[0].Kind)
	if op, ok := infix[v.Name]; ok && l.native(v.Name, dt) {
		return l.binary(v, op.text, op.prec, args)
	}
	if op, ok := prefix[v.Name]; ok {
		return Part{Text: op + args[0].In(Unary+1), Prec: Unary}
	}
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.Text
		counted := v.Name == "shl" || v.Name == "shr" // have two types, each inferred
		if goConst(a) && (counted || allGoConst(args)) && l.g.KindDType(a.Value.Kind) != ir.Bool {
			texts[i] = l.typeOf(a.Value.Kind) + "(" + a.Text + ")"
		}
	}
	list := strings.Join(texts, ", ")
	from, to := l.g.KindDType(v.Args[0].Kind), l.g.KindDType(v.Kind)
	switch v.Name {
	case "cast", "cast_real", "int":
		if to == ir.Bool {
			return Part{Text: args[0].In(infix["ne"].prec+1) + " != 0", Prec: infix["ne"].prec}
		}
		return Part{Text: l.conversion(args[0], from, to, v.Kind), Prec: Atom}
	case "where":
		if allGoConst(args[1:]) && to != ir.Bool {
			texts[1] = l.typeOf(v.Kind) + "(" + args[1].Text + ")"
		}
		return Part{Text: "num.Where(" + strings.Join(texts, ", ") + ")", Prec: Atom}
	case "real", "imag":
		if from.IsComplex() {
			return Part{Text: v.Name + "(" + list + ")", Prec: Atom}
		}
	case "complex":
		return Part{Text: "complex(" + list + ")", Prec: Atom}
	case "uniform", "normal":
		return Part{Text: "num." + prefixOf(to) + goName(v.Name) + "[" + l.typeOf(v.Kind) + "](" + list + ", index)", Prec: Atom}
	case "random_bits":
		return Part{Text: "num.RandomBits(" + list + ", index)", Prec: Atom}
	case "abs", "angle":
		if from.IsComplex() {
			return Part{Text: "num.C" + goName(v.Name) + "[" + l.typeOf(v.Kind) + "](" + list + ")", Prec: Atom}
		}
	}
	return Part{Text: "num." + prefixOf(from) + goName(v.Name) + "(" + list + ")", Prec: Atom}
}

func allGoConst(args []Part) bool {
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
func (l *golang) binary(v *Value, op string, prec int, args []Part) Part {
	left, right := args[0].In(prec), args[1].In(prec+1)
	if v.Name == "add" || v.Name == "sub" {
		left, right = l.unfused(args[0], left), l.unfused(args[1], right)
	}
	if goConst(args[0]) && goConst(args[1]) && v.Kind != BoolKind {
		left = l.typeOf(args[0].Value.Kind) + "(" + args[0].Text + ")"
	}
	sep := " "
	if prec == 5 {
		sep = ""
	}
	return Part{Text: left + sep + op + sep + right, Prec: prec}
}

// unfused wraps a product in a conversion, which rounds it.
func (l *golang) unfused(p Part, text string) string {
	if p.Value.Op == OpCall && p.Value.Name == "mul" && p.Prec < Atom && !l.g.KindDType(p.Value.Kind).IsInt() {
		return l.typeOf(p.Value.Kind) + "(" + p.Text + ")"
	}
	return text
}

// conversion spells a change of kind. Go leaves open what a float out of an integer's
// range becomes, so that goes through a function that saturates.
func (l *golang) conversion(a Part, from, to ir.DType, k Kind) string {
	typ := l.typeOf(k)
	switch {
	case from == ir.Bool:
		return "num.FromBool[" + typ + "](" + a.Text + ")"
	case to.IsComplex():
		return l.types.T + "(complex(" + l.types.Real + "(" + a.Text + "), 0))"
	case from.IsFloat() && to.IsInt():
		return "num.ToInt[" + typ + "](" + a.Text + ")"
	}
	return typ + "(" + a.Text + ")"
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
