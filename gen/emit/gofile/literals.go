package gofile

import (
	"math"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// Extent prints a number that may depend on the bench's size, z.
func Extent(x schema.Extent) code {
	if x.Name == "" {
		return jen.Lit(x.Factor)
	}
	size := jen.Id("z").Dot(schema.GoName(x.Name))
	if x.Factor == 1 {
		return size
	}
	return jen.Lit(x.Factor).Op("*").Add(size)
}

// ExtentList prints numbers that may depend on the bench's size, one by one.
func ExtentList(list []schema.Extent) (out []jen.Code) {
	for _, x := range list {
		out = append(out, Extent(x))
	}
	return out
}

func extents(list []schema.Extent) code { return jen.Index().Int().Values(ExtentList(list)...) }

// FloatLit prints a float64 constant.
func FloatLit(f float64) code {
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

// ScalarLit prints an ir.Scalar.
func ScalarLit(s ir.Scalar) code {
	switch s.Category() {
	case ir.CategoryBool:
		return IRName("BoolScalar").Call(jen.Lit(s.Bool()))
	case ir.CategoryInt:
		return IRName("IntScalar").Call(jen.Op(strconv.FormatInt(s.Int(), 10)))
	case ir.CategoryComplex:
		c := s.Complex()
		return IRName("ComplexScalar").Call(jen.Id("complex").Call(FloatLit(real(c)), FloatLit(imag(c))))
	}
	return IRName("FloatScalar").Call(FloatLit(s.Float()))
}

// DTypeSet prints a set of dtypes by the largest classes in it, then singly.
func DTypeSet(set ir.DTypeSet) code {
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
			or(IRName(c.name))
			set &^= c.set
		}
	}
	if set != 0 {
		var list []jen.Code
		for _, d := range set.List() {
			list = append(list, DTypeName(d))
		}
		or(IRName("SetOf").Call(list...))
	}
	return out
}
