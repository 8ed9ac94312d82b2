package emit

import "github.com/dave/jennifer/jen"

// lines are statements that name nothing of another package.
func lines(text string) []jen.Code { return []jen.Code{jen.Op(text)} }

// scopeForwarders are the forms of Scope whose function can fail.
func scopeForwarders() []forwarder {
	keep := func() code { return jen.Id("keep").Func().Params(jen.Op("...").Id("Tensor")) }
	t := jen.Id("T")
	return []forwarder{
		{name: "ScopeErr", doc: "is Scope for a function that may fail, and returns its error.", function: true,
			params: types(jen.Id("f").Func().Params(keep()).Error()), results: types(jen.Error()),
			body: lines(`var err error
if f != nil {
	Scope(func(keep func(...Tensor)) { err = f(keep) })
}
return err`)},
		{name: "ScopeValue", doc: "is Scope for a function with a result, which may fail. A result that is a Tensor or a []Tensor is kept without being given to keep.", function: true,
			types: types(jen.Id("T").Any()), params: types(jen.Id("f").Func().Params(keep()).Params(t, jen.Error())), results: types(t, jen.Error()),
			body: lines(`var out T
var err error
if f == nil {
	return out, nil
}
Scope(func(keep func(...Tensor)) {
	out, err = f(keep)
	switch kept := any(out).(type) {
	case Tensor:
		keep(kept)
	case []Tensor:
		keep(kept...)
	}
})
return out, err`)},
	}
}

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
			params: types(jen.Id("value").Id("Scalar")), results: types(jen.Error()),
			body: lines(`if err := t.Handle().Err(); err != nil {
	return err
}
x := FromScalar(value, OfType(t.DType()), On(t.Device()))
defer x.Release()
return t.CopyFrom(x)`)},
		{name: "NormalInPlace", doc: "overwrites t, of a floating or complex dtype, with random numbers of the normal distribution, drawn as Randn's.",
			params: types(jen.Id("mean").Op(",").Id("deviation").Float64()), results: types(jen.Error()),
			body: drawn("RandnLike", "deviation", "mean")},
		{name: "UniformInPlace", doc: "overwrites t, of a floating or complex dtype, with random numbers uniform in [low, high), drawn as Rand's.",
			params: types(jen.Id("low").Op(",").Id("high").Float64()), results: types(jen.Error()),
			body: drawn("RandLike", "high-low", "low")},
	}
}
