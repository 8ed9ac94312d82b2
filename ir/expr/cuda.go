package expr

import (
	"math"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// CUDATypes are the C++ types that a printed expression uses for T and Real.
type CUDATypes struct{ T, Real string }

// CUDA prints the expression as CUDA C++ over namespace sinter of kernels/num.cuh.
// Operands and parameters are variables of their names, index is a long long.
// Products are not fused with sums because kernels are compiled with
// --fmad=false.
func (g *Graph) CUDA(types CUDATypes) Code {
	p := &printer{g: g, lang: &cuda{g, types}}
	return p.code()
}

// cuda spells values in CUDA C++. What C++ leaves open, as sums of integers that overflow,
// is a function of namespace sinter, so that all backends agree.
type cuda struct {
	g     *Graph
	types CUDATypes
}

// CUDAType returns the C++ type of values of kind k.
func (t CUDATypes) CUDAType(k Kind) string {
	switch k {
	case BoolKind:
		return "bool"
	case IntKind:
		return "long long"
	case RealKind:
		return t.Real
	}
	return t.T
}

func (l *cuda) constant(v *Value) string {
	s := v.Const
	typ := l.types.CUDAType(v.Kind)
	switch {
	case s.Category() == ir.CategoryBool:
		return literal(s)
	case v.Kind == IntKind:
		return strconv.FormatInt(s.Int(), 10) + "LL"
	case s.Category() == ir.CategoryInt:
		return typ + "(" + literal(s) + ")"
	}
	f := s.Float()
	real := typ
	if l.g.KindDType(v.Kind).IsComplex() {
		real = l.types.Real
	}
	text := real + "(" + literal(s) + ")"
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

func (l *cuda) name(v *Value) string { return v.Name }

func (l *cuda) call(v *Value, args []part) part {
	dt := l.g.KindDType(v.Args[0].Kind)
	if op, ok := infix[v.Name]; ok && cudaNative(v.Name, dt) {
		// C++ binds & | ^ and the comparisons differently from Go: always open them.
		left, right := args[0].in(precAtom), args[1].in(precAtom)
		switch v.Name {
		case "add", "sub", "mul", "div":
			left, right = args[0].in(op.prec), args[1].in(op.prec+1)
		}
		text := left + " " + op.text + " " + right
		if l.narrow(v) {
			return part{text: l.types.CUDAType(v.Kind) + "(" + text + ")", prec: precAtom}
		}
		return part{text: text, prec: op.prec}
	}
	if _, ok := prefix[v.Name]; ok && cudaNative(v.Name, dt) {
		op := map[string]string{"neg": "-", "lnot": "!", "not": "~"}[v.Name]
		text := op + args[0].in(precAtom)
		if l.narrow(v) {
			return part{text: l.types.CUDAType(v.Kind) + "(" + text + ")", prec: precAtom}
		}
		return part{text: text, prec: precUnary}
	}
	var texts []string
	for _, a := range args {
		texts = append(texts, a.text)
	}
	list := strings.Join(texts, ", ")
	typ := l.types.CUDAType(v.Kind)
	switch v.Name {
	case "where":
		return part{text: "(" + args[0].in(precAtom) + " ? " + args[1].in(precAtom) + " : " + args[2].in(precAtom) + ")", prec: precAtom}
	case "cast", "cast_real", "int":
		return part{text: "sinter::cast<" + typ + ">(" + list + ")", prec: precAtom}
	case "complex":
		return part{text: typ + "(" + list + ")", prec: precAtom}
	case "uniform", "normal":
		return part{text: "sinter::" + v.Name + "<" + typ + ">(" + list + ", index)", prec: precAtom}
	case "random_bits":
		return part{text: "sinter::random_bits(" + list + ", index)", prec: precAtom}
	}
	return part{text: "sinter::" + v.Name + "(" + list + ")", prec: precAtom}
}

// narrow reports whether C++ computes v in int and must convert it back.
func (l *cuda) narrow(v *Value) bool {
	dt := l.g.KindDType(v.Kind)
	return dt.IsInt() && dt.Size() < 4
}

// cudaNative reports whether C++'s own operator has the language's meaning: it
// leaves overflow of int and long long undefined.
func cudaNative(fn string, dt ir.DType) bool {
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
