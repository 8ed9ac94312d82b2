package emit

import (
	"github.com/dave/jennifer/jen"
)

// forwarder is one method of Tensor, or one function, that hands on to the core
// handle.
type forwarder struct {
	name, doc string
	function  bool // not a method
	params    []jen.Code
	types     []jen.Code // type parameters
	results   []jen.Code
	body      []jen.Code
}

// handle emits the Tensor type and its methods that are not operators.
func (e *emitter) handle() {
	f := e.goFile(e.spec.Package, "handle.go", "")
	f.tensorTypes()
	for _, list := range [][]forwarder{metadataForwarders(), scopeForwarders(), valueForwarders(), fillForwarders(), movingForwarders()} {
		f.forwarders(list)
	}
	f.done()
	f = e.goFile(e.spec.Package, "autograd.go", "")
	f.backwardOptions()
	f.forwarders(gradForwarders())
	f.engineOperators()
	f.done()
}

func (f *goFile) forwarders(list []forwarder) {
	for _, w := range list {
		f.doc(w.name + " " + w.doc)
		fn := f.Func()
		if !w.function {
			fn = fn.Params(jen.Id("t").Id("Tensor"))
		}
		fn = fn.Id(w.name)
		if len(w.types) > 0 {
			fn = fn.Types(w.types...)
		}
		fn = fn.Params(w.params...)
		switch len(w.results) {
		case 0:
		case 1:
			fn = fn.Add(w.results[0])
		default:
			fn = fn.Params(w.results...)
		}
		fn.Block(w.body...)
		f.Line()
	}
}

// reservedMethods are the names of Tensor's methods that are not operators, and
// reservedFuncs those of the package's other declarations.
func reservedNames() (methods, funcs []string) {
	methods = []string{"Handle"}
	funcs = []string{"Tensor", "Wrap", "Scalar", "DType", "Device", "Element", "Half", "BF16", "BackwardOption", "Retain", "CreateGraph", "WithGradient",
		"FormatOptions", "TransferOption", "NonBlocking", "ScopeGuard", "DefaultFormat", "Defaults"}
	for _, list := range [][]forwarder{metadataForwarders(), scopeForwarders(), valueForwarders(), fillForwarders(), movingForwarders(), gradForwarders()} {
		for _, w := range list {
			if w.function {
				funcs = append(funcs, w.name)
			} else {
				methods = append(methods, w.name)
			}
		}
	}
	for _, d := range dtypeConst {
		funcs = append(funcs, d)
	}
	return methods, funcs
}

// The pieces that forwarders are made of.

func h() code                         { return jen.Id("t").Dot("h") }
func handleOf(x string) code          { return jen.Id(x).Dot("Handle").Call() }
func ret(c code) []jen.Code           { return []jen.Code{jen.Return(c)} }
func wrapped(c code) []jen.Code       { return ret(jen.Id("Wrap").Call(c)) }
func types(cs ...jen.Code) []jen.Code { return cs }

func publicT() code    { return jen.Id("Tensor") }
func publicInts() code { return jen.Index().Int() }

// tensorTypes prints Tensor, its conversions and the names it needs.
func (f *goFile) tensorTypes() {
	f.Comment("// Importing the package makes the program's backends known. It calls no driver.")
	f.Func().Id("init").Params().Block(jen.Qual(allPath, "Install").Call())
	f.Line()
	f.doc("A Tensor is a handle on strided elements of one dtype on one device, or on an error. The zero Tensor carries an error. Copies of a Tensor are the same tensor.\n\nAny number of goroutines may read a tensor. Writing (in-place forms, Release, RequireGrad, backward passes that end in the same leaf) is the caller's to order.\n\nA call that should have changed a tensor's elements and failed (an in-place form, an Out form that was given it, CopyFrom) returns the error and leaves it in the handle, too: what is then computed from the tensor carries it, and what takes elements out returns it, until Err has read it. So a mistake is found although the call's result was passed over; who goes on after such an error calls Err first. A form that failed has changed no element, and other handles on them know nothing of it.")
	f.Type().Id("Tensor").Struct(jen.Id("h").Add(tensorType()))
	f.Line()
	f.doc("Wrap returns the tensor of a core handle.")
	f.Func().Id("Wrap").Params(jen.Id("h").Add(tensorType())).Id("Tensor").Block(jen.Return(jen.Id("Tensor").Values(jen.Id("h"))))
	f.Line()
	f.doc("Handle returns the core handle, for packages that build on the runtime.")
	f.Func().Params(jen.Id("t").Id("Tensor")).Id("Handle").Params().Add(tensorType()).Block(
		jen.If(h().Op("==").Nil()).Block(jen.Return(coreName("Absent").Call())),
		jen.Return(h()))
	f.Line()
	f.doc("A Scalar is a Go number or bool: bool, an integer up to int64, uint8, float32, float64, complex64, complex128, Half or BF16. Anything else makes the operator it is given to fail.")
	f.Type().Id("Scalar").Op("=").Any()
	f.Line()
	f.doc("A DType is the type of a tensor's elements.")
	f.Type().Id("DType").Op("=").Add(irName("DType"))
	f.Line()
	f.doc("Defaults are the device of new tensors, the zero one being the CPU, and the dtype of floats, float32 where it is not given.")
	f.Type().Id("Defaults").Op("=").Add(coreName("Defaults"))
	f.Line()
	f.doc("An Element is a Go type that tensors hold.")
	f.Type().Id("Element").Interface(jen.Qual(corePath, "Element"))
	f.Line()
	f.doc("A Half holds an IEEE 754 binary16 number, a BF16 a bfloat16 one.")
	f.Type().Defs(
		jen.Id("Half").Op("=").Add(irName("Half")),
		jen.Id("BF16").Op("=").Add(irName("BF16")))
	f.Line()
	f.doc("The dtypes.")
	var consts []jen.Code
	for d := range len(dtypeConst) {
		if d > 0 {
			name := dtypeConst[dtypeAt(d)]
			consts = append(consts, jen.Id(name).Op("=").Add(irName(name)))
		}
	}
	f.Const().Defs(consts...)
	f.Line()
}

func metadataForwarders() []forwarder {
	plain := func(name, doc string, result code) forwarder {
		return forwarder{name: name, doc: doc, results: types(result), body: ret(h().Dot(name).Call())}
	}
	clone := func(name, doc string) forwarder {
		return forwarder{name: name, doc: doc, results: types(publicInts()), body: ret(jen.Qual("slices", "Clone").Call(h().Dot(name).Call()))}
	}
	return []forwarder{
		{name: "Err", doc: "returns the error the tensor carries, or nil. That of a call which should have changed t's elements is read once: then t is as before that call.",
			results: types(jen.Error()), body: ret(h().Dot("TakeErr").Call())},
		clone("Shape", "returns the extents along each axis; none for a scalar and for an error."),
		clone("Strides", "returns the steps between elements along each axis, in elements."),
		plain("Rank", "returns the number of axes.", jen.Int()),
		{name: "Size", doc: "returns the extent of one axis; negative axes count from the back. It is 0 for an axis that t has not.",
			params: types(jen.Id("axis").Int()), results: types(jen.Int()),
			body: ret(irName("HostSize").Call(h().Dot("Shape").Call(), jen.Id("axis")))},
		plain("NumElements", "returns the number of elements.", jen.Int()),
		plain("DType", "returns the type of the elements.", jen.Id("DType")),
		plain("Device", "returns where the elements are.", jen.Qual(devicePath, "Device")),
		plain("IsContiguous", "reports whether the elements are row-major without gaps.", jen.Bool()),
		plain("IsPinned", "reports whether the elements are in page-locked host memory.", jen.Bool()),
		plain("Version", "returns how many times the storage was changed in place.", jen.Int64()),
		{name: "SharesStorage", doc: "reports whether t and u are views of the same storage.", params: types(jen.Id("u").Add(publicT())),
			results: types(jen.Bool()), body: ret(h().Dot("SharesStorage").Call(jen.Id("u").Dot("h")))},
		{name: "Release", doc: "gives up this handle; the storage goes back when no other handle and no gradient needs it. Using t afterwards is an error. Tensors that are never released are released by the collector.",
			body: types(h().Dot("Release").Call())},
		{name: "DefaultType", doc: "returns the dtype of floating-point values and results that nothing else decides: float32, unless the calling goroutine is in a WithDefaults.", function: true,
			results: types(jen.Id("DType")), body: ret(coreName("DefaultFloat").Call())},
		{name: "WithDefaults", doc: "calls f with d as the calling goroutine's defaults: where tensors are made that are told no device, and the dtype of floats that are told none. They nest, and what was in force before is again when f returns or panics. F is not called when there is no such device, or Float is no floating dtype.", function: true,
			params: types(jen.Id("d").Id("Defaults"), jen.Id("f").Func().Params()), results: types(jen.Error()),
			body: ret(coreName("WithDefaults").Call(jen.Id("d"), jen.Id("f")))},
		{name: "Scope", doc: "calls f and then releases every tensor that the calling goroutine made meanwhile, but for those that f gives to keep.", function: true,
			params: types(jen.Id("f").Func().Params(jen.Id("keep").Func().Params(jen.Op("...").Id("Tensor")))),
			body: types(ifNil("f", jen.Return()), coreName("InScope").Call(jen.Func().Params(jen.Id("s").Op("*").Add(coreName("Scope"))).Block(
				jen.Id("f").Call(jen.Func().Params(jen.Id("ts").Op("...").Id("Tensor")).Block(
					jen.Id("s").Dot("Keep").Call(jen.Id("handles").Call(jen.Id("ts")).Op("...")))))))},
	}
}

// ifNil emits what is done where the function of the given name is nil.
func ifNil(name string, then jen.Code) jen.Code {
	return jen.If(jen.Id(name).Op("==").Nil()).Block(then)
}

func valueForwarders() []forwarder {
	element := types(jen.Id("T").Id("Element"))
	itemAs := func(name, doc string, result code, get string) forwarder {
		zero := jen.Lit(0)
		return forwarder{name: name, doc: doc, results: types(result, jen.Error()), body: types(
			jen.List(jen.Id("s"), jen.Err()).Op(":=").Add(coreName("Item")).Call(handleOf("t")),
			jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(zero, jen.Err())),
			jen.Return(jen.Id("s").Dot(get).Call(), jen.Nil()))}
	}
	return []forwarder{
		itemAs("Item", "returns the value of a tensor of one element as a float64, after waiting for it.", jen.Float64(), "Float"),
		itemAs("ItemInt", "returns the value of a tensor of one element as an int64, truncated towards zero, after waiting for it.", jen.Int64(), "Int"),
		itemAs("ItemComplex", "returns the value of a tensor of one element as a complex128, after waiting for it.", jen.Complex128(), "Complex"),
		{name: "String", doc: "formats the tensor: its elements in brackets, then what is not the default.", results: types(jen.String()), body: ret(h().Dot("String").Call())},
		{name: "Format", doc: "formats the tensor as o says.", params: types(jen.Id("o").Add(coreName("FormatOptions"))),
			results: types(jen.String()), body: ret(h().Dot("Format").Call(jen.Id("o")))},
		{name: "From", function: true, types: element,
			doc:    "returns a tensor with a copy of data, row-major. It has the given shape, or is a vector where none is given; the number of values must be the shape's.",
			params: types(jen.Id("data").Index().Id("T"), jen.Id("shape").Op("...").Int()), results: types(publicT()),
			body: wrapped(coreName("From").Call(jen.Id("data"), jen.Qual("slices", "Clone").Call(jen.Id("shape")), jen.Op("*").Add(coreName("DefaultPlacement").Call())))},
		{name: "FromOn", function: true, types: element, doc: "is From with options that say where and as what the tensor is created. A nil shape makes a vector.",
			params: types(jen.Id("data").Index().Id("T"), jen.Id("shape").Index().Int(), jen.Id("opts").Op("...").Id("CreateOption")), results: types(publicT()),
			body: types(jen.Id("s").Op(":=").Id("collect").Call(jen.Id("options").Values(), jen.Id("opts")),
				jen.Return(jen.Id("Wrap").Call(coreName("From").Call(jen.Id("data"), jen.Qual("slices", "Clone").Call(jen.Id("shape")), jen.Op("*").Id("s").Dot("place").Call(jen.Nil())))))},
		{name: "NewTensor", function: true, types: element, doc: "returns a tensor with a copy of data, row-major, that has the device and dtype of like, and the given shape; a nil shape makes a vector. Options say otherwise.",
			params: types(jen.Id("like").Add(publicT()), jen.Id("data").Index().Id("T"), jen.Id("shape").Index().Int(), jen.Id("opts").Op("...").Id("CreateOption")), results: types(publicT()),
			body: types(jen.Id("s").Op(":=").Id("collect").Call(jen.Id("options").Values(), jen.Id("opts")),
				jen.If(jen.Id("bad").Op(":=").Add(coreName("FirstError")).Call(handleOf("like")), jen.Id("bad").Op("!=").Nil()).Block(jen.Return(jen.Id("Wrap").Call(jen.Id("bad")))),
				jen.Return(jen.Id("Wrap").Call(coreName("From").Call(jen.Id("data"), jen.Qual("slices", "Clone").Call(jen.Id("shape")), jen.Op("*").Id("s").Dot("place").Call(handleOf("like"))))))},
		{name: "FromScalar", function: true, doc: "returns a tensor without axes that holds v. Its dtype follows v: bool, int64, the default float or the complex dtype made of it, unless an option names one.",
			params: types(jen.Id("v").Id("Scalar"), jen.Id("opts").Op("...").Id("CreateOption")), results: types(publicT()),
			body: types(
				jen.Id("s").Op(":=").Id("collect").Call(jen.Id("options").Values(), jen.Id("opts")),
				jen.List(jen.Id("n"), jen.Err()).Op(":=").Add(irName("ScalarOf")).Call(jen.Id("v")),
				jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Id("Wrap").Call(coreName("Failed").Call(jen.Err())))),
				jen.Id("p").Op(":=").Id("s").Dot("place").Call(jen.Nil()),
				jen.If(jen.Id("p").Dot("DType").Op("==").Add(irName("Invalid"))).Block(
					jen.Id("p").Dot("DType").Op("=").Id("n").Dot("DType").Call(coreName("DefaultFloat").Call())),
				jen.Return(jen.Id("Wrap").Call(jen.Qual(stdPath("ops"), "Full").Call(jen.Index().Int().Values(), jen.Id("n"), jen.Id("p")))))},
		{name: "Data", function: true, types: element, doc: "returns a copy of the elements, row-major, after waiting for them. T must be the Go type of t's dtype.",
			params: types(jen.Id("t").Add(publicT())), results: types(jen.Index().Id("T"), jen.Error()),
			body: ret(coreName("Data").Types(jen.Id("T")).Call(handleOf("t")))},
		{name: "FromBytes", function: true, doc: "returns a tensor with a copy of the given row-major elements of dtype d in this machine's byte order.",
			params: types(jen.Id("raw").Index().Byte(), jen.Id("d").Id("DType"), jen.Id("shape").Index().Int(), jen.Id("opts").Op("...").Id("CreateOption")), results: types(publicT()),
			body: types(jen.Id("s").Op(":=").Id("collect").Call(jen.Id("options").Values(), jen.Id("opts")),
				jen.Return(jen.Id("Wrap").Call(coreName("FromBytes").Call(jen.Id("raw"), jen.Id("d"), jen.Qual("slices", "Clone").Call(jen.Id("shape")), jen.Op("*").Id("s").Dot("place").Call(jen.Nil())))))},
		{name: "Bytes", doc: "returns a copy of the elements, row-major, in this machine's byte order, after waiting for them.",
			results: types(jen.Index().Byte(), jen.Error()), body: ret(coreName("Bytes").Call(handleOf("t")))},
	}
}

func movingForwarders() []forwarder {
	return []forwarder{
		{name: "To", doc: "returns t on device d; t itself when it is there. The copy is differentiable. A copy between host and accelerator is complete when the call returns, unless NonBlocking is given.",
			params:  types(jen.Id("d").Qual(devicePath, "Device"), jen.Id("opts").Op("...").Id("TransferOption")),
			results: types(publicT()),
			body:    wrapped(coreName("To").Call(handleOf("t"), jen.Id("d"), jen.Id("transferOptions").Call(jen.Id("opts"))))},
		{name: "CPU", doc: "returns t in host memory; t itself when it is there.", results: types(publicT()),
			body: ret(jen.Id("t").Dot("To").Call(jen.Qual(devicePath, "CPU")))},
		{name: "ToType", doc: "returns t converted to dtype d; t itself when it has it. Floats become integers by truncation that saturates.",
			params: types(jen.Id("d").Id("DType")), results: types(publicT()),
			body: wrapped(coreName("Cast").Call(handleOf("t"), jen.Id("d")))},
		{name: "CopyFrom", doc: "writes src to t, converting dtype and crossing devices as needed; src broadcasts to t's shape.",
			params: types(jen.Id("src").Add(publicT()), jen.Id("opts").Op("...").Id("TransferOption")), results: types(jen.Error()),
			body: ret(coreName("CopyFrom").Call(handleOf("t"), handleOf("src"), jen.Id("transferOptions").Call(jen.Id("opts")), jen.Qual(stdPath("ops"), "SumTo")))},
		{name: "RecordStream", doc: "notes that work given to s uses t's memory, which then is not given to others before that work is done, even if t is released. It is for tensors used on another stream than the one they were made on.",
			params: types(jen.Id("s").Qual(streamPath, "Stream")), results: types(jen.Error()),
			body: ret(handleOf("t").Dot("RecordStream").Call(jen.Id("s")))},
		{name: "DevicePointer", doc: "returns the address of t's first element on an accelerator, for a program's own code on the device; 0 where t has no elements. The elements lie as Strides says. The memory stays t's and is valid until t is released. Work that the program gives to another stream than t's must be ordered by it, with WaitStream or an event, and told by RecordStream where t may be released before it is done. What it writes does not count for Version. A host tensor has no such address, which is an error: take its elements with Data or Bytes.",
			results: types(jen.Uintptr(), jen.Error()), body: ret(handleOf("t").Dot("DevicePointer").Call())},
		{name: "FromDevicePointer", function: true, doc: "returns a contiguous tensor of dtype dt and the given shape, no axes where none is given, over memory of d, an accelerator, that begins at ptr. The memory is the program's: it keeps it until the tensor, its views and the gradients that need them are released and their work is done. It is never freed or reused here, and is no part of the memory figures. The work that fills it must come before the first use on the calling goroutine's current stream. Tensors made apart over one memory are not seen to overlap. A device that is no accelerator, and a ptr that is 0 or no multiple of the element size, are errors, which the tensor carries; whether ptr is memory of d is not checked.",
			params:  types(jen.Id("d").Qual(devicePath, "Device"), jen.Id("ptr").Uintptr(), jen.Id("dt").Id("DType"), jen.Id("shape").Op("...").Int()),
			results: types(publicT()),
			body:    wrapped(coreName("FromDevicePointer").Call(jen.Id("d"), jen.Id("ptr"), jen.Id("dt"), jen.Id("shape")))},
		{name: "PinMemory", doc: "returns a copy of a host tensor in memory that is page-locked for copies to accelerators of d's kind, or without d of the kind there is; t itself when it is. Such memory is costly to get and is taken from all programs of the machine: use it for what is copied often.",
			params: types(jen.Id("d").Op("...").Qual(devicePath, "Device")), results: types(publicT()),
			body: wrapped(coreName("Pin").Call(handleOf("t"), coreName("PinKind").Call(jen.Id("d"))))},
	}
}

func gradForwarders() []forwarder {
	tensors := func() code { return jen.Index().Id("Tensor") }
	return []forwarder{
		{name: "RequireGrad", doc: "makes t a leaf that collects its gradient, and returns t, or a tensor that carries the error.", results: types(publicT()),
			body: types(
				jen.If(jen.Err().Op(":=").Add(handleOf("t")).Dot("SetRequiresGrad").Call(jen.True()), jen.Err().Op("!=").Nil()).Block(
					jen.Return(jen.Id("Wrap").Call(coreName("Failed").Call(jen.Err())))),
				jen.Return(jen.Id("t")))},
		{name: "SetRequireGrad", doc: "makes a leaf collect its gradient, or stop doing so.", params: types(jen.Id("on").Bool()), results: types(jen.Error()),
			body: ret(handleOf("t").Dot("SetRequiresGrad").Call(jen.Id("on")))},
		{name: "RequiresGrad", doc: "reports whether gradients flow to t.", results: types(jen.Bool()), body: ret(h().Dot("RequiresGrad").Call())},
		{name: "IsLeaf", doc: "reports whether t was not made by a recorded operator.", results: types(jen.Bool()), body: ret(h().Dot("IsLeaf").Call())},
		{name: "GradFn", doc: "returns the name of the operator that made t, or nothing for a leaf.", results: types(jen.String()), body: ret(h().Dot("GradFn").Call())},
		{name: "Grad", doc: "returns the gradient accumulated for a leaf, or for a tensor whose gradient is retained, and whether there is one.", results: types(publicT(), jen.Bool()),
			body: types(
				jen.Id("g").Op(":=").Add(h()).Dot("Grad").Call(),
				jen.Return(jen.Id("Wrap").Call(jen.Id("g")), jen.Id("g").Op("!=").Nil()))},
		{name: "SetGrad", doc: "replaces the accumulated gradient. It must have t's shape, dtype and device.", params: types(jen.Id("g").Add(publicT())), results: types(jen.Error()),
			body: ret(handleOf("t").Dot("SetGrad").Call(handleOf("g")))},
		{name: "ZeroGrad", doc: "removes the accumulated gradient.", results: types(jen.Error()), body: ret(handleOf("t").Dot("SetGrad").Call(jen.Nil()))},
		{name: "RetainGrad", doc: "makes backward passes keep the gradient of a tensor that is not a leaf.", results: types(jen.Error()), body: ret(handleOf("t").Dot("RetainGrad").Call())},
		{name: "RegisterHook", doc: "has f called with the gradient of t in every backward pass, before it is used or stored; what f returns takes its place, unless it is the zero Tensor. The returned function removes the hook.",
			params:  types(jen.Id("f").Func().Params(jen.Id("grad").Add(publicT())).Add(publicT())),
			results: types(jen.Id("remove").Func().Params(), jen.Id("err").Error()),
			body: types(
				ifNil("f", jen.Return(handleOf("t").Dot("RegisterHook").Call(jen.Nil()))),
				jen.Return(handleOf("t").Dot("RegisterHook").Call(jen.Func().Params(jen.Id("g").Add(tensorType())).Add(tensorType()).Block(
					jen.Return(jen.Id("f").Call(jen.Id("Wrap").Call(jen.Id("g"))).Dot("h"))))))},
		{name: "Detach", doc: "returns a tensor on the same elements that has no part in differentiation.", results: types(publicT()), body: wrapped(handleOf("t").Dot("Detach").Call())},
		{name: "Backward", doc: "computes the gradients of t with respect to all leaves it was made from and adds them to theirs. t must have one element, unless WithGradient gives its own gradient. When it returns an error no gradient was changed.",
			params: types(jen.Id("opts").Op("...").Id("BackwardOption")), results: types(jen.Error()),
			body: types(
				jen.Id("o").Op(":=").Id("backwardOptions").Call(jen.Id("opts")),
				jen.Return(coreName("Backward").Call(jen.Index().Add(tensorType()).Values(handleOf("t")), jen.Id("o").Dot("gradients").Call(), jen.Id("o").Dot("core"))))},
		{name: "Gradients", function: true, doc: "returns the gradients of outputs with respect to inputs, which need not be leaves, and changes no tensor's gradient. Each output must have one element, unless WithGradient gives gradients for all. The gradient with respect to an input that no output depends on is the zero Tensor.",
			params:  types(jen.List(jen.Id("outputs"), jen.Id("inputs")).Add(tensors()), jen.Id("opts").Op("...").Id("BackwardOption")),
			results: types(tensors(), jen.Error()),
			body: types(
				jen.Id("o").Op(":=").Id("backwardOptions").Call(jen.Id("opts")),
				jen.List(jen.Id("gs"), jen.Err()).Op(":=").Add(coreName("Gradients")).Call(
					jen.Id("handles").Call(jen.Id("outputs")), jen.Id("o").Dot("gradients").Call(), jen.Id("handles").Call(jen.Id("inputs")), jen.Id("o").Dot("core")),
				jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
				jen.Return(jen.Id("wrapAll").Call(jen.Id("gs")), jen.Nil()))},
		{name: "NoGrad", function: true, doc: "calls f with recording for differentiation switched off for the calling goroutine.", params: types(jen.Id("f").Func().Params()),
			body: types(coreName("NoGrad").Call(jen.Id("f")))},
		{name: "EnableGrad", function: true, doc: "calls f with recording switched on for the calling goroutine.", params: types(jen.Id("f").Func().Params()),
			body: types(coreName("EnableGrad").Call(jen.Id("f")))},
		{name: "GradEnabled", function: true, doc: "reports whether operators of the calling goroutine are recorded for differentiation.", results: types(jen.Bool()),
			body: ret(coreName("GradEnabled").Call())},
	}
}

// backwardOptions prints the options of backward passes and of transfers.
func (f *goFile) backwardOptions() {
	f.doc("A BackwardOption adjusts a backward pass: Retain, CreateGraph or WithGradient.")
	f.Type().Id("BackwardOption").Struct(jen.Id("apply").Func().Params(jen.Op("*").Id("backwardPass")))
	f.Line()
	f.Type().Id("backwardPass").Struct(
		jen.Id("core").Add(coreName("BackwardOptions")),
		jen.Id("grads").Index().Id("Tensor"))
	f.Line()
	f.Func().Id("backwardOptions").Params(jen.Id("opts").Index().Id("BackwardOption")).Op("*").Id("backwardPass").Block(
		jen.Id("p").Op(":=").Op("&").Id("backwardPass").Values(field("core", coreName("BackwardOptions").Values(field("Ops", jen.Op("&").Id("engineOperators"))))),
		jen.For(jen.List(jen.Id("_"), jen.Id("o")).Op(":=").Range().Id("opts")).Block(
			jen.If(jen.Id("o").Dot("apply").Op("!=").Nil()).Block(jen.Id("o").Dot("apply").Call(jen.Id("p")))),
		jen.Return(jen.Id("p")))
	f.Line()
	f.doc("gradients returns the handles of the gradients given, nil for none.")
	f.Func().Params(jen.Id("p").Op("*").Id("backwardPass")).Id("gradients").Params().Index().Add(tensorType()).Block(
		jen.If(jen.Id("p").Dot("grads").Op("==").Nil()).Block(jen.Return(jen.Nil())),
		jen.Return(jen.Id("handles").Call(jen.Id("p").Dot("grads"))))
	f.Line()
	set := func(name, doc string, params []jen.Code, stmts ...jen.Code) {
		f.doc(name + " " + doc)
		f.Func().Id(name).Params(params...).Id("BackwardOption").Block(
			jen.Return(jen.Id("BackwardOption").Values(jen.Func().Params(jen.Id("p").Op("*").Id("backwardPass")).Block(stmts...))))
		f.Line()
	}
	set("Retain", "keeps what gradients need, so that the same graph can be walked again.", nil,
		jen.Id("p").Dot("core").Dot("Retain").Op("=").True())
	set("CreateGraph", "records the backward pass itself, so that gradients can be differentiated.", nil,
		jen.Id("p").Dot("core").Dot("CreateGraph").Op("=").True())
	set("WithGradient", "gives the gradients of the outputs the pass starts from, one for each.", types(jen.Id("grads").Op("...").Id("Tensor")),
		jen.Id("p").Dot("grads").Op("=").Id("grads"))
	f.doc("A TransferOption adjusts a copy between devices.")
	f.Type().Id("TransferOption").Struct(jen.Id("nonBlocking").Bool())
	f.Line()
	f.doc("NonBlocking lets a copy between pinned host memory and an accelerator go on after the call returns. To the host it gives a pinned tensor, whose elements are there once the accelerator's current stream has passed the copy. Memory that is not pinned is read before the call returns.")
	f.Var().Id("NonBlocking").Op("=").Id("TransferOption").Values(field("nonBlocking", jen.True()))
	f.Line()
	f.Func().Id("transferOptions").Params(jen.Id("opts").Index().Id("TransferOption")).Params(jen.Id("t").Add(coreName("TransferOptions"))).Block(
		jen.For(jen.List(jen.Id("_"), jen.Id("o")).Op(":=").Range().Id("opts")).Block(
			jen.Id("t").Dot("NonBlocking").Op("=").Id("t").Dot("NonBlocking").Op("||").Id("o").Dot("nonBlocking")),
		jen.Return(jen.Id("t")))
	f.Line()
}

// engineOperators prints the operators that the engine is given.
func (f *goFile) engineOperators() {
	f.doc("engineOperators are the operators that backward passes are made of.")
	ops := stdPath("ops")
	f.Var().Id("engineOperators").Op("=").Add(coreName("Operators")).Add(rows(
		field("Add", jen.Func().Params(jen.List(jen.Id("x"), jen.Id("y")).Add(tensorType())).Add(tensorType()).Block(
			jen.Return(f.e.plainCall("add", jen.Id("x"), jen.Id("y"))))),
		field("OnesLike", jen.Func().Params(jen.Id("x").Add(tensorType())).Add(tensorType()).Block(
			jen.Return(jen.Qual(ops, "Ones").Call(jen.Id("x").Dot("Shape").Call(), coreName("PlacementLike").Call(jen.Id("x")))))),
		field("Clone", coreName("Copy"))))
}

// plainCall prints the call of a standard operator with default options.
func (e *emitter) plainCall(name string, args ...jen.Code) code {
	op := e.spec.Lookup(name)
	if op == nil {
		return jen.Qual(stdPath("ops"), name).Call(args...)
	}
	for i := len(args); i < len(op.Params); i++ {
		args = append(args, e.literal(op, op.Params[i], op.Params[i].Default))
	}
	return jen.Qual(e.opsOf(op), op.GoName).Call(args...)
}
