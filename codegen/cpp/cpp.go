// Package cpp prints scalar expressions as CUDA C++, for kernels of the generator and of
// running programs. It knows neither operators nor how sources are compiled.
package cpp

import (
	"math"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// Types are the C++ types that a printed expression uses for T and Real.
type Types struct{ T, Real string }

// Print returns the expressions of g as CUDA C++ over namespace sinter of kernels/num.cuh.
// Operands and parameters are variables of their names, index is a long long.
// Products are not fused with sums because kernels are compiled with
// --fmad=false.
func (t Types) Print(g *expr.Graph) expr.Code { return g.Print(&language{g, t}) }

// language spells values in CUDA C++. What C++ leaves open, as sums of integers that overflow,
// is a function of namespace sinter, so that all backends agree.
type language struct {
	g     *expr.Graph
	types Types
}

// Of returns the C++ type of values of kind k.
func (t Types) Of(k expr.Kind) string {
	switch k {
	case expr.BoolKind:
		return "bool"
	case expr.IntKind:
		return "long long"
	case expr.RealKind:
		return t.Real
	}
	return t.T
}

// Name spells a name as functors do.
func (l *language) Name(name string) string { return Name(name) }

// Constant spells a number in the type that its kind has.
func (l *language) Constant(v *expr.Value) string {
	s := v.Const
	typ := l.types.Of(v.Kind)
	switch {
	case s.Category() == ir.CategoryBool:
		return expr.Literal(s)
	case v.Kind == expr.IntKind:
		return strconv.FormatInt(s.Int(), 10) + "LL"
	case s.Category() == ir.CategoryInt:
		return typ + "(" + expr.Literal(s) + ")"
	}
	f := s.Float()
	real := typ
	if l.g.KindDType(v.Kind).IsComplex() {
		real = l.types.Real
	}
	text := real + "(" + expr.Literal(s) + ")"
	switch {
	case math.IsInf(f, 1):
		text = "sinter::infinity<" + real + ">()"
	case math.IsInf(f, -1):
		text = "(-sinter::infinity<" + real + ">())"
	case math.IsNaN(f):
		text = "sinter::quiet_nan<" + real + ">()"
	}
	if real != typ {
		text = typ + "(" + text + ")"
	}
	return text
}

// Call spells a function of printed arguments.
func (l *language) Call(v *expr.Value, args []expr.Part) expr.Part {
	dt := l.g.KindDType(v.Args[0].Kind)
	if op, prec, ok := expr.Infix(v.Name); ok && native(v.Name, dt) {
		// C++ binds & | ^ and the comparisons differently from Go: always open them.
		left, right := args[0].In(expr.Atom), args[1].In(expr.Atom)
		switch v.Name {
		case "add", "sub", "mul", "div":
			left, right = args[0].In(prec), args[1].In(prec+1)
		}
		text := left + " " + op + " " + right
		if l.narrow(v) {
			return expr.Part{Text: l.types.Of(v.Kind) + "(" + text + ")", Prec: expr.Atom}
		}
		return expr.Part{Text: text, Prec: prec}
	}
	if op := prefix(v.Name); op != "" && native(v.Name, dt) {
		text := op + args[0].In(expr.Atom)
		if l.narrow(v) {
			return expr.Part{Text: l.types.Of(v.Kind) + "(" + text + ")", Prec: expr.Atom}
		}
		return expr.Part{Text: text, Prec: expr.Unary}
	}
	var texts []string
	for _, a := range args {
		texts = append(texts, a.Text)
	}
	list := strings.Join(texts, ", ")
	typ := l.types.Of(v.Kind)
	switch v.Name {
	case "where":
		return expr.Part{Text: "(" + args[0].In(expr.Atom) + " ? " + args[1].In(expr.Atom) + " : " + args[2].In(expr.Atom) + ")", Prec: expr.Atom}
	case "cast", "cast_real", "int":
		return expr.Part{Text: "sinter::cast<" + typ + ">(" + list + ")", Prec: expr.Atom}
	case "complex":
		return expr.Part{Text: typ + "(" + list + ")", Prec: expr.Atom}
	case "uniform", "normal":
		return expr.Part{Text: "sinter::" + v.Name + "<" + typ + ">(" + list + ", index)", Prec: expr.Atom}
	case "random_bits":
		return expr.Part{Text: "sinter::random_bits(" + list + ", index)", Prec: expr.Atom}
	}
	return expr.Part{Text: l.function(v) + "(" + list + ")", Prec: expr.Atom}
}

// narrow reports whether C++ computes v in int and must convert it back.
func (l *language) narrow(v *expr.Value) bool {
	dt := l.g.KindDType(v.Kind)
	return dt.IsInt() && dt.Size() < 4
}

// native reports whether C++'s own operator has the language's meaning: it
// leaves overflow of int and long long undefined.
func native(fn string, dt ir.DType) bool {
	switch fn {
	case "add", "sub", "mul", "neg":
		return !dt.IsInt() || dt.Size() < 4
	case "div":
		return !dt.IsInt()
	case "rem", "shl", "shr", "andnot":
		return false
	}
	return true
}

// prefix returns C++'s operator before one operand; "" of other functions.
func prefix(fn string) string {
	switch fn {
	case "neg":
		return "-"
	case "lnot":
		return "!"
	case "not":
		return "~"
	}
	return ""
}
