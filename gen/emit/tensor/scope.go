package tensor

import (
	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
)

// scopeForwarders are the functions that call a function in another state of the calling
// goroutine. Each has a form for a function that returns a value as well.
func scopeForwarders() []forwarder {
	t := jen.Id("T")
	f := jen.Id("f").Func().Params()
	plain := func(name, doc, body string) forwarder {
		return forwarder{name: name, doc: doc, function: true, params: gofile.Codes(f.Clone().Error()), results: gofile.Codes(jen.Error()), body: gofile.Codes(ifNil("f", jen.Return(jen.Nil())), jen.Op(body))}
	}
	value := func(of, more, body string) forwarder {
		return forwarder{name: of + "Value", doc: "is " + of + " for a function that returns a value." + more, function: true,
			types:  gofile.Codes(jen.Id("T").Any()),
			params: gofile.Codes(f.Clone().Params(t, jen.Error())), results: gofile.Codes(jen.Id("value").Add(t), jen.Err().Error()), body: gofile.Codes(ifNil("f", jen.Return(jen.Id("value"), jen.Nil())), jen.Op(body))}
	}
	forward := func(of string) string {
		return "err = " + of + "(func() (err error) {\nvalue, err = f()\nreturn err\n})\nreturn value, err"
	}
	inMode := func(name, what string) []forwarder {
		return []forwarder{
			plain(name, "calls f with recording for differentiation switched "+what+" for the calling goroutine, and returns f's error.", `var err error
core.`+name+`(func() { err = f() })
return err`),
			value(name, "", forward(name)),
		}
	}
	list := []forwarder{
		plain("Scope", "calls f and then releases every tensor that the calling goroutine made meanwhile, except for those given to Keep. It returns f's error. Values that gradients still need stay.", `var err error
core.InScope(func(*core.Scope) { err = f() })
return err`),
		value("Scope", " A value that is a Tensor, or a slice or map of these, is kept.", `err = Scope(func() (err error) {
value, err = f()
switch made := any(value).(type) {
case Tensor:
	Keep(made)
case []Tensor:
	Keep(made...)
case map[string]Tensor:
	for _, t := range made {
		Keep(t)
	}
}
return err
})
return value, err`),
		{name: "Keep", doc: "excepts tensors from the release at the end of the Scope that the calling goroutine is in. They are then the enclosing Scope's, if there is one.", function: true,
			params: gofile.Codes(jen.Id("ts").Op("...").Id("Tensor")), body: lines("for _, t := range ts {\nif t.h != nil {\ncore.Keep(t.h)\n}\n}")},
	}
	list = append(list, inMode("NoGrad", "off")...)
	list = append(list, inMode("EnableGrad", "on")...)
	return append(list, forwarder{name: "WithDefaults", function: true,
		doc:    "calls f with d as the calling goroutine's defaults: where tensors are made that are told no device, and the dtype of floats that are told none. They nest, and what was in force before is again when f returns or panics. It returns f's error, or that there is no such device or Float is no floating dtype, and then f is not called.",
		params: gofile.Codes(jen.Id("d").Id("Defaults"), f.Clone().Error()), results: gofile.Codes(jen.Error()),
		body: ret(gofile.CoreName("WithDefaults").Call(gofile.CoreName("Defaults").Call(jen.Id("d")), jen.Id("f")))})
}
