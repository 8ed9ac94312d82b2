package cpp

import (
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir/expr"
)

// own is a function that stands in a header of its own, so that only sources that call it
// are made of that; call is the language's name for it.
type own struct{ call, function, header string }

// owns are the functions that stand in headers of their own.
var owns = [...]own{
	{"lgamma", "sinter::log_gamma", "gamma.cuh"},
	{"digamma", "sinter::psi", "gamma.cuh"},
	{"floordiv", "sinter::floor_quotient", "quotient.cuh"},
	{complexPower, "sinter::power", "power.cuh"},
	{uniformRemainder, "sinter::remainder_by", "remainder.cuh"},
}

// Names that the language has no words for: a power of complex numbers, and a remainder of
// int64 by a number that is the same for all elements.
const (
	complexPower     = "pow of complex numbers"
	uniformRemainder = "remainder by one number"
)

// Includes returns the directives that text needs beside num.cuh for the functions that it
// calls.
func Includes(text string) (out string) {
	var headers []string
	for _, o := range owns {
		if strings.Contains(text, o.function+"(") && !slices.Contains(headers, o.header) {
			headers = append(headers, o.header)
		}
	}
	slices.Sort(headers)
	for _, h := range headers {
		out += "#include \"" + h + "\"\n"
	}
	return out
}

// function returns the C++ function that computes a call of the language.
func (l *language) function(v *expr.Value) string {
	name := l.ownName(v)
	for i := range owns {
		if owns[i].call == name {
			return owns[i].function
		}
	}
	return "sinter::" + v.Name
}

// ownName returns what owns has a call of the language as.
func (l *language) ownName(v *expr.Value) string {
	switch {
	case v.Name == "pow" && l.g.KindDType(v.Kind).IsComplex():
		return complexPower
	case v.Name == "remainder" && v.Args[1].Kind == expr.IntKind && l.uniform(v.Args[1]):
		return uniformRemainder
	}
	return v.Name
}

// uniform reports whether v is the same for all elements: made of parameters and numbers.
func (l *language) uniform(v *expr.Value) bool {
	if v.Op == expr.OpName {
		return slices.ContainsFunc(l.g.Env.Params, func(p expr.Param) bool { return p.Name == v.Name })
	}
	return !expr.Draws(v.Name) && !slices.ContainsFunc(v.Args, func(a *expr.Value) bool { return !l.uniform(a) })
}
