package tensor

import (
	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
)

// lines are statements that name nothing of another package.
func lines(text string) []jen.Code { return []jen.Code{jen.Op(text)} }

// fillForwarders overwrite a tensor with numbers.
func fillForwarders() []forwarder {
	drawn := func(draw, factor, summand string) []jen.Code {
		return lines(`x := ` + draw + `(t)
defer x.Release()
_ = x.MulScalarInPlace(` + factor + `) // x carries the error
_ = x.AddScalarInPlace(` + summand + `)
return t.CopyFrom(x)`)
	}
	return []forwarder{
		{name: "FillInPlace", doc: "overwrites every element with value, which t's dtype must hold.",
			params: gofile.Codes(jen.Id("value").Id("Scalar")), results: gofile.Codes(jen.Error()),
			body: lines(`if err := t.Handle().Err(); err != nil {
	return err
}
x := FromScalar(value, OfType(t.DType()), On(t.Device()))
defer x.Release()
return t.CopyFrom(x)`)},
		{name: "NormalInPlace", doc: "overwrites t, of a floating or complex dtype, with random numbers of the normal distribution, drawn as Randn's.",
			params: gofile.Codes(jen.Id("mean").Op(",").Id("deviation").Float64()), results: gofile.Codes(jen.Error()),
			body: drawn("RandnLike", "deviation", "mean")},
		{name: "UniformInPlace", doc: "overwrites t, of a floating or complex dtype, with random numbers uniform in [low, high), drawn as Rand's.",
			params: gofile.Codes(jen.Id("low").Op(",").Id("high").Float64()), results: gofile.Codes(jen.Error()),
			body: drawn("RandLike", "high-low", "low")},
	}
}
