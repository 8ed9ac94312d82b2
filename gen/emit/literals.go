package emit

import (
	"math"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/ir"
)

// floatLit prints a float64 constant.
func floatLit(f float64) code {
	switch {
	case math.IsInf(f, 1):
		return jen.Qual("math", "Inf").Call(jen.Lit(1))
	case math.IsInf(f, -1):
		return jen.Qual("math", "Inf").Call(jen.Lit(-1))
	case math.IsNaN(f):
		return jen.Qual("math", "NaN").Call()
	case f == 0 && math.Signbit(f):
		return jen.Qual("math", "Copysign").Call(jen.Lit(0), jen.Lit(-1))
	}
	return jen.Op(strconv.FormatFloat(f, 'g', -1, 64))
}

// scalarLit prints an ir.Scalar.
func scalarLit(s ir.Scalar) code {
	switch s.Category() {
	case ir.CategoryBool:
		return irName("BoolScalar").Call(jen.Lit(s.Bool()))
	case ir.CategoryInt:
		return irName("IntScalar").Call(jen.Op(strconv.FormatInt(s.Int(), 10)))
	case ir.CategoryComplex:
		c := s.Complex()
		return irName("ComplexScalar").Call(jen.Id("complex").Call(floatLit(real(c)), floatLit(imag(c))))
	}
	return irName("FloatScalar").Call(floatLit(s.Float()))
}

// dtypeSet prints a set of dtypes by the largest classes in it, then singly.
func dtypeSet(set ir.DTypeSet) code {
	if set == 0 {
		return jen.Lit(0)
	}
	classes := []struct {
		name string
		set  ir.DTypeSet
	}{
		{"ClassAll", ir.ClassAll}, {"ClassNum", ir.ClassNum}, {"ClassReal", ir.ClassReal}, {"ClassInt", ir.ClassInt},
		{"ClassFloat", ir.ClassFloat}, {"ClassComplex", ir.ClassComplex}, {"ClassBool", ir.ClassBool},
	}
	var out code
	or := func(c code) {
		if out == nil {
			out = c
		} else {
			out = out.Op("|").Add(c)
		}
	}
	for _, c := range classes {
		if set&c.set == c.set {
			or(irName(c.name))
			set &^= c.set
		}
	}
	if set != 0 {
		var list []jen.Code
		for _, d := range set.List() {
			list = append(list, dtypeName(d))
		}
		or(irName("SetOf").Call(list...))
	}
	return out
}
