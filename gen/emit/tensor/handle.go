package tensor

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
)

// forwarder is one method of Tensor, or one function, that hands on to the core
// handle.
type forwarder struct {
	name, doc string
	options   []string // that it takes
	function  bool     // not a method
	params    []jen.Code
	types     []jen.Code // type parameters
	results   []jen.Code
	body      []jen.Code
}

// handle emits the Tensor type and its methods that are not operators.
func (e *emitter) handle() {
	f := e.goFile(e.Spec.Package, "handle.go", "")
	f.tensorTypes()
	for _, list := range [][]forwarder{metadataForwarders(), scopeForwarders(), valueForwarders(), fillForwarders(), movingForwarders()} {
		f.forwarders(list)
	}
	f.Done()
	e.index()
	f = e.goFile(e.Spec.Package, "autograd.go", "")
	f.passOptions()
	f.forwarders(gradForwarders())
	f.engineOperators()
	f.Done()
}

func (f *goFile) forwarders(list []forwarder) {
	for _, w := range list {
		f.Doc(strings.TrimSpace(w.name + " " + w.doc + "\n\n" + optionsLine(w.options)))
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
	funcs = []string{"Tensor", "Wrap", "Scalar", "DType", "Device", "Element", "Half", "BF16", "Option", "On", "RequireGrad", "Pinned", "Retain", "CreateGraph", "WithGradient",
		"Precision", "MaxElements", "EdgeItems", "LineWidth", "NonBlocking", "ScopeGuard", "Defaults"}
	for _, list := range [][]forwarder{metadataForwarders(), scopeForwarders(), valueForwarders(), fillForwarders(), movingForwarders(), gradForwarders()} {
		for _, w := range list {
			if w.function {
				funcs = append(funcs, w.name)
			} else {
				methods = append(methods, w.name)
			}
		}
	}
	methods, funcs = append(methods, indexMethods...), append(append(funcs, indexNames...), sentinelNames()...)
	for _, d := range unit.DTypeConst {
		funcs = append(funcs, d)
	}
	return methods, funcs
}

// The pieces that forwarders are made of.

func h() code { return jen.Id("t").Dot("h") }

func handleOf(x string) code { return jen.Id(x).Dot("Handle").Call() }

func ret(c code) []jen.Code { return []jen.Code{jen.Return(c)} }

func wrapped(c code) []jen.Code { return ret(jen.Id("Wrap").Call(c)) }

func publicT() code { return jen.Id("Tensor") }

func publicInts() code { return jen.Index().Int() }

// tensorTypes prints Tensor, its conversions and the names it needs.
func (f *goFile) tensorTypes() {
	f.Comment("// Importing the package makes the program's backends known, and what unsigned integers\n// are computed by. It calls no driver.")
	f.Func().Id("init").Params().Block(
		jen.Qual(gofile.AllPath, "Install").Call(),
		gofile.CoreName("SetIntegers").Call(gofile.CoreName("IntegerOps").Add(gofile.Rows(integerOps()...))))
	f.Line()
	f.Doc("A Tensor is a handle on strided elements of one dtype on one device, or on an error. The zero Tensor carries an error. Copies of a Tensor are the same tensor.\n\nAny number of goroutines may read a tensor. Writing (in-place forms, Release, RequireGrad, backward passes that end in the same leaf) is the caller's to order.\n\nA call that should have changed a tensor's elements and failed (an in-place form, a function of package out that was given it, CopyFrom) returns the error and leaves it in the handle, too: what is then computed from the tensor carries it, and what takes elements out returns it, until Err has read it. So a mistake is found although the call's result was passed over; who goes on after such an error calls Err first. A form that failed has changed no element, and other handles on them know nothing of it.")
	f.Type().Id("Tensor").Struct(jen.Id("h").Add(gofile.TensorType()))
	f.Line()
	f.Doc("Wrap returns the tensor of a core handle.")
	f.Func().Id("Wrap").Params(jen.Id("h").Add(gofile.TensorType())).Id("Tensor").Block(jen.Return(jen.Id("Tensor").Values(jen.Id("h"))))
	f.Line()
	f.Doc("Handle returns the core handle, for packages that build on the runtime.")
	f.Func().Params(jen.Id("t").Id("Tensor")).Id("Handle").Params().Add(gofile.TensorType()).Block(
		jen.If(h().Op("==").Nil()).Block(jen.Return(gofile.CoreName("Absent").Call())),
		jen.Return(h()))
	f.Line()
	f.Doc("A Scalar is a Go number or bool: bool, an integer, float32, float64, complex64, complex128, Half or BF16. Anything else makes the operator it is given to fail.")
	f.Type().Id("Scalar").Op("=").Any()
	f.Line()
	f.Doc("A DType is the type of a tensor's elements, ir.DType. Its String() is its name, such as float32, and Size() how many bytes an element takes. IsFloat(), IsInt() and IsComplex() tell kinds apart; bool is none of them. Unsigned() integers have no negative numbers. Differentiable() reports whether tensors of it can require a gradient. Compute() is the dtype that arithmetic on it is done in, Real() that of a complex number's parts, Complex() the one whose parts have it, and Category() is its rank in promotion. Carried() reports whether it is uint16, uint32 or uint64, which signed integers carry: Bits() is the one of the same size, Holder() the one that holds its values. IntRange() is the least and the largest integer that it holds, of uint64 the largest int64.")
	f.Type().Id("DType").Op("=").Add(gofile.IRName("DType"))
	f.Line()
	f.Doc("Defaults are the device of new tensors, the zero one being the CPU, and the dtype of floats, float32 where it is not given.")
	f.Type().Id("Defaults").Struct(
		jen.Id("Device").Qual(gofile.DevicePath, "Device").Comment("the zero Device is the CPU"),
		jen.Id("Float").Id("DType").Comment("of floats; where it is not given, float32"))
	f.Line()
	f.errors()
	f.Line()
	f.Doc("An Element is a Go type that tensors hold.")
	f.Type().Id("Element").Interface(jen.Qual(gofile.CorePath, "Element"))
	f.Line()
	f.Doc("A Half holds an IEEE 754 binary16 number, a BF16 a bfloat16 one. Float32() is its value. They are ir.Half and ir.BF16; ir.HalfFrom and ir.BF16From round a number to one.")
	f.Type().Defs(
		jen.Id("Half").Op("=").Add(gofile.IRName("Half")),
		jen.Id("BF16").Op("=").Add(gofile.IRName("BF16")))
	f.Line()
	f.Doc("The dtypes.")
	var consts []jen.Code
	for d := range len(unit.DTypeConst) {
		if d > 0 {
			name := unit.DTypeConst[dtypeAt(d)]
			consts = append(consts, jen.Id(name).Id("DType").Op("=").Add(gofile.IRName(name)))
		}
	}
	f.Const().Defs(consts...)
	f.Line()
}

// integerOps are the fields of core.IntegerOps.
func integerOps() []jen.Code {
	var items []jen.Code
	for _, field := range []struct{ name, op string }{
		{"And", "BitwiseAnd"}, {"Or", "BitwiseOr"}, {"Xor", "BitwiseXor"}, {"Add", "Add"}, {"Sub", "Sub"}, {"Mul", "Mul"}, {"FloorDivide", "FloorDivide"},
		{"ShiftRight", "BitwiseRightShift"}, {"Lt", "Lt"}, {"Ge", "Ge"}, {"Ne", "Ne"}, {"Where", "Where"}, {"Clamp", "Clamp"},
	} {
		items = append(items, gofile.Field(field.name, jen.Qual(unit.StdPath("ops"), field.op+"Op").Call()))
	}
	return items
}

func metadataForwarders() []forwarder {
	plain := func(name, doc string, result code) forwarder {
		return forwarder{name: name, doc: doc, results: gofile.Codes(result), body: ret(h().Dot(name).Call())}
	}
	clone := func(name, doc string) forwarder {
		return forwarder{name: name, doc: doc, results: gofile.Codes(publicInts()), body: ret(jen.Qual("slices", "Clone").Call(h().Dot(name).Call()))}
	}
	return []forwarder{
		{name: "Err", doc: "returns the error the tensor carries, or nil. That of a call which should have changed t's elements is read once: then t is as before that call.",
			results: gofile.Codes(jen.Error()), body: ret(h().Dot("TakeErr").Call())},
		clone("Shape", "returns the extents along each axis; none for a scalar and for an error."),
		clone("Strides", "returns the steps between elements along each axis, in elements."),
		plain("Rank", "returns the number of axes.", jen.Int()),
		{name: "Size", doc: "returns the extent of one axis; negative axes count from the back. It is 0 for an axis that t does not have.",
			params: gofile.Codes(jen.Id("axis").Int()), results: gofile.Codes(jen.Int()),
			body: ret(gofile.ShapesName("Size").Call(h().Dot("Shape").Call(), jen.Id("axis")))},
		plain("NumElements", "returns the number of elements.", jen.Int()),
		plain("DType", "returns the type of the elements.", jen.Id("DType")),
		plain("Device", "returns where the elements are.", jen.Qual(gofile.DevicePath, "Device")),
		plain("IsContiguous", "reports whether the elements are row-major without gaps.", jen.Bool()),
		plain("IsPinned", "reports whether the elements are in page-locked host memory.", jen.Bool()),
		plain("Version", "returns how many times the storage was changed in place.", jen.Int64()),
		{name: "SharesStorage", doc: "reports whether t and u are views of the same storage.", params: gofile.Codes(jen.Id("u").Add(publicT())),
			results: gofile.Codes(jen.Bool()), body: ret(h().Dot("SharesStorage").Call(jen.Id("u").Dot("h")))},
		{name: "Release", doc: "gives up this handle; the storage goes back when no other handle and no gradient needs it. Using t afterwards is an error. Tensors that are never released are released by the collector.",
			body: gofile.Codes(h().Dot("Release").Call())},
		{name: "DefaultType", doc: "returns the dtype of floating-point values and results that nothing else decides: float32, unless the calling goroutine is in a WithDefaults.", function: true,
			results: gofile.Codes(jen.Id("DType")), body: ret(gofile.CoreName("DefaultFloat").Call())},
	}
}

// ifNil emits what is done where the function of the given name is nil.
func ifNil(name string, then jen.Code) jen.Code {
	return jen.If(jen.Id(name).Op("==").Nil()).Block(then)
}

func valueForwarders() []forwarder {
	element := gofile.Codes(jen.Id("T").Id("Element"))
	given := gofile.Codes(jen.Id("T").Id("Element").Op("|").Int())
	itemAs := func(name, doc string, result code, get string) forwarder {
		zero := jen.Lit(0)
		return forwarder{name: name, doc: doc, results: gofile.Codes(result, jen.Error()), body: gofile.Codes(
			jen.List(jen.Id("s"), jen.Err()).Op(":=").Add(gofile.CoreName("Item")).Call(handleOf("t")),
			jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(zero, jen.Err())),
			jen.Return(jen.Id("s").Dot(get).Call(), jen.Nil()))}
	}
	return []forwarder{
		itemAs("Item", "returns the value of a tensor of one element as a float64, after waiting for it.", jen.Float64(), "Float"),
		{name: "ItemInt", doc: "returns the value of a tensor of one element as an int64, truncated towards zero, after waiting for it. An integer above the largest int64 is an error.",
			results: gofile.Codes(jen.Int64(), jen.Error()), body: ret(gofile.CoreName("ItemInt").Call(handleOf("t")))},
		itemAs("ItemComplex", "returns the value of a tensor of one element as a complex128, after waiting for it.", jen.Complex128(), "Complex"),
		{name: "String", doc: "formats the tensor: its elements in brackets, then what is not the default.", results: gofile.Codes(jen.String()), body: ret(h().Dot("String").Call())},
		{name: "Format", options: formatOptions, doc: "is String with other widths, as the options say.", params: gofile.Codes(jen.Id("opts").Op("...").Id("Option")),
			results: gofile.Codes(jen.String()), body: ret(h().Dot("FormatWith").Call(jen.Id("opts")))},
		{name: "From", function: true, types: given,
			doc:    "returns a tensor with a copy of data, row-major. It has the given shape, or is a vector where none is given; the number of values must be the shape's. Values of type int become int64.",
			params: gofile.Codes(jen.Id("data").Index().Id("T"), jen.Id("shape").Op("...").Int()), results: gofile.Codes(publicT()),
			body: wrapped(gofile.CoreName("From").Call(jen.Id("data"), jen.Qual("slices", "Clone").Call(jen.Id("shape")), jen.Op("*").Add(gofile.CoreName("DefaultPlacement").Call())))},
		{name: "FromSlice", function: true, types: given, options: creationNames(), doc: "is From with the shape as a slice and options that say where and as what the tensor is created. A nil shape makes a vector.",
			params: gofile.Codes(jen.Id("data").Index().Id("T"), jen.Id("shape").Index().Int(), jen.Id("opts").Op("...").Id("Option")), results: gofile.Codes(publicT()),
			body: append(placed("from", jen.Nil()),
				jen.Return(jen.Id("Wrap").Call(gofile.CoreName("From").Call(jen.Id("data"), jen.Qual("slices", "Clone").Call(jen.Id("shape")), jen.Op("*").Id("place")))))},
		{name: "NewTensor", function: true, options: creationNames(), types: given, doc: "returns a tensor with a copy of data, row-major, that has the device and dtype of like, and the given shape; a nil shape makes a vector. Options say otherwise.",
			params: gofile.Codes(jen.Id("like").Add(publicT()), jen.Id("data").Index().Id("T"), jen.Id("shape").Index().Int(), jen.Id("opts").Op("...").Id("Option")), results: gofile.Codes(publicT()),
			body: append(append(gofile.Codes(
				jen.If(jen.Id("bad").Op(":=").Add(gofile.CoreName("FirstError")).Call(handleOf("like")), jen.Id("bad").Op("!=").Nil()).Block(jen.Return(jen.Id("Wrap").Call(jen.Id("bad"))))),
				placed("new_tensor", handleOf("like"))...),
				jen.Return(jen.Id("Wrap").Call(gofile.CoreName("From").Call(jen.Id("data"), jen.Qual("slices", "Clone").Call(jen.Id("shape")), jen.Op("*").Id("place")))))},
		{name: "FromScalar", function: true, options: creationNames(), doc: "returns a tensor without axes that holds v. Its dtype follows v: bool, int64, the default float or the complex dtype made of it, unless an option names one.",
			params: gofile.Codes(jen.Id("v").Id("Scalar"), jen.Id("opts").Op("...").Id("Option")), results: gofile.Codes(publicT()),
			body: append(placed("from_scalar", jen.Nil()),
				jen.List(jen.Id("n"), jen.Err()).Op(":=").Add(gofile.IRName("ScalarOf")).Call(jen.Id("v")),
				jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Id("Wrap").Call(gofile.CoreName("Failed").Call(jen.Err())))),
				jen.If(jen.Id("place").Dot("DType").Op("==").Add(gofile.IRName("Invalid"))).Block(
					jen.Id("place").Dot("DType").Op("=").Id("n").Dot("DType").Call(gofile.CoreName("DefaultFloat").Call())),
				jen.Return(jen.Id("Wrap").Call(jen.Qual(unit.StdPath("ops"), "Full").Call(jen.Index().Int().Values(), jen.Id("n"), jen.Id("place")))))},
		{name: "Data", function: true, types: element, doc: "returns a copy of the elements, row-major, after waiting for them. T must be the Go type of t's dtype.",
			params: gofile.Codes(jen.Id("t").Add(publicT())), results: gofile.Codes(jen.Index().Id("T"), jen.Error()),
			body: ret(gofile.CoreName("Data").Types(jen.Id("T")).Call(handleOf("t")))},
		{name: "FromBytes", function: true, options: creationNames(), doc: "returns a tensor with a copy of the given row-major elements of dtype d in this machine's byte order.",
			params: gofile.Codes(jen.Id("raw").Index().Byte(), jen.Id("d").Id("DType"), jen.Id("shape").Index().Int(), jen.Id("opts").Op("...").Id("Option")), results: gofile.Codes(publicT()),
			body: append(placed("from_bytes", jen.Nil()),
				jen.Return(jen.Id("Wrap").Call(gofile.CoreName("FromBytes").Call(jen.Id("raw"), jen.Id("d"), jen.Qual("slices", "Clone").Call(jen.Id("shape")), jen.Op("*").Id("place")))))},
		{name: "Bytes", doc: "returns a copy of the elements, row-major, in this machine's byte order, after waiting for them.",
			results: gofile.Codes(jen.Index().Byte(), jen.Error()), body: ret(gofile.CoreName("Bytes").Call(handleOf("t")))},
	}
}

// What printing, copies and backward passes take, as Tensor.FormatWith, TransferOf and
// BackwardOf of package core read it.
var (
	formatOptions   = []string{"Precision (4)", "MaxElements (1000)", "EdgeItems (3)", "LineWidth (80)"}
	transferOptions = []string{"NonBlocking"}
	backwardOptions = []string{"Retain", "CreateGraph", "WithGradient"}
)

func movingForwarders() []forwarder {
	return []forwarder{
		{name: "To", options: transferOptions, doc: "returns t on device d; t itself when it is there. The copy is differentiable. A copy between host and accelerator is complete when the call returns, unless NonBlocking is given.",
			params:  gofile.Codes(jen.Id("d").Qual(gofile.DevicePath, "Device"), jen.Id("opts").Op("...").Id("Option")),
			results: gofile.Codes(publicT()),
			body: append(transfer("to", jen.Id("Wrap").Call(gofile.CoreName("Failed").Call(jen.Err()))),
				wrapped(gofile.CoreName("To").Call(handleOf("t"), jen.Id("d"), jen.Id("how")))...)},
		{name: "CPU", doc: "returns t in host memory; t itself when it is there.", results: gofile.Codes(publicT()),
			body: ret(jen.Id("t").Dot("To").Call(jen.Qual(gofile.DevicePath, "CPU")))},
		{name: "CopyFrom", options: transferOptions, doc: "writes src to t, converting dtype and crossing devices as needed; src broadcasts to t's shape.",
			params: gofile.Codes(jen.Id("src").Add(publicT()), jen.Id("opts").Op("...").Id("Option")), results: gofile.Codes(jen.Error()),
			body: append(transfer("copy_from", gofile.CoreName("NotWritten").Call(handleOf("t"), jen.Err())),
				ret(gofile.CoreName("CopyFrom").Call(handleOf("t"), handleOf("src"), jen.Id("how"), jen.Qual(unit.StdPath("ops"), "SumTo")))...)},
		{name: "RecordStream", doc: "notes that work given to s uses t's memory, which then is not given to others before that work is done, even if t is released. It is for tensors used on another stream than the one they were made on.",
			params: gofile.Codes(jen.Id("s").Qual(gofile.StreamPath, "Stream")), results: gofile.Codes(jen.Error()),
			body: ret(handleOf("t").Dot("RecordStream").Call(jen.Id("s")))},
		{name: "DevicePointer", doc: "returns the address of t's first element on an accelerator, for a program's own code on the device; 0 where t has no elements. The elements lie as Strides says. The memory stays t's and is valid until t is released. Work that the program gives to another stream than t's must be ordered by it, with WaitStream or an event, and told by RecordStream where t may be released before it is done. What it writes does not count for Version. A host tensor has no such address, which is an error: take its elements with Data or Bytes.",
			results: gofile.Codes(jen.Uintptr(), jen.Error()), body: ret(handleOf("t").Dot("DevicePointer").Call())},
		{name: "FromDevicePointer", function: true, doc: "returns a contiguous tensor of dtype dt and the given shape, no axes where none is given, over memory of d, an accelerator, that begins at ptr. The memory is the program's: it keeps it until the tensor, its views and the gradients that need them are released and their work is done. It is never freed or reused here, and is no part of the memory figures. The work that fills it must come before the first use on the calling goroutine's current stream. Tensors made apart over one memory are not seen to overlap. A device that is no accelerator, and a ptr that is 0 or no multiple of the element size, are errors, which the tensor carries; whether ptr is memory of d is not checked.",
			params:  gofile.Codes(jen.Id("d").Qual(gofile.DevicePath, "Device"), jen.Id("ptr").Uintptr(), jen.Id("dt").Id("DType"), jen.Id("shape").Op("...").Int()),
			results: gofile.Codes(publicT()),
			body:    wrapped(gofile.CoreName("FromDevicePointer").Call(jen.Id("d"), jen.Id("ptr"), jen.Id("dt"), jen.Id("shape")))},
		{name: "PinMemory", doc: "returns a copy of a host tensor in memory that is page-locked for copies to accelerators of d's kind, or without d of the kind there is; t itself when it is. Such memory is costly to get and is taken from all programs of the machine: use it for what is copied often.",
			params: gofile.Codes(jen.Id("d").Op("...").Qual(gofile.DevicePath, "Device")), results: gofile.Codes(publicT()),
			body: wrapped(gofile.CoreName("Pin").Call(handleOf("t"), gofile.CoreName("PinKind").Call(jen.Id("d"))))},
	}
}

func gradForwarders() []forwarder {
	tensors := func() code { return jen.Index().Id("Tensor") }
	return []forwarder{
		{name: "RequireGrad", doc: "makes t a leaf that collects its gradient, and returns t, or a tensor that carries the error.", results: gofile.Codes(publicT()),
			body: gofile.Codes(
				jen.If(jen.Err().Op(":=").Add(handleOf("t")).Dot("SetRequiresGrad").Call(jen.True()), jen.Err().Op("!=").Nil()).Block(
					jen.Return(jen.Id("Wrap").Call(gofile.CoreName("Failed").Call(jen.Err())))),
				jen.Return(jen.Id("t")))},
		{name: "SetRequireGrad", doc: "makes a leaf collect its gradient, or stop doing so.", params: gofile.Codes(jen.Id("on").Bool()), results: gofile.Codes(jen.Error()),
			body: ret(handleOf("t").Dot("SetRequiresGrad").Call(jen.Id("on")))},
		{name: "RequiresGrad", doc: "reports whether gradients flow to t.", results: gofile.Codes(jen.Bool()), body: ret(h().Dot("RequiresGrad").Call())},
		{name: "IsLeaf", doc: "reports whether t was not made by a recorded operator.", results: gofile.Codes(jen.Bool()), body: ret(h().Dot("IsLeaf").Call())},
		{name: "GradFn", doc: "returns the name of the operator that made t, or nothing for a leaf.", results: gofile.Codes(jen.String()), body: ret(h().Dot("GradFn").Call())},
		{name: "Grad", doc: "returns the gradient accumulated for a leaf, or for a tensor whose gradient is retained, and whether there is one.", results: gofile.Codes(publicT(), jen.Bool()),
			body: gofile.Codes(
				jen.Id("g").Op(":=").Add(h()).Dot("Grad").Call(),
				jen.Return(jen.Id("Wrap").Call(jen.Id("g")), jen.Id("g").Op("!=").Nil()))},
		{name: "SetGrad", doc: "replaces the accumulated gradient. It must have t's shape, dtype and device.", params: gofile.Codes(jen.Id("g").Add(publicT())), results: gofile.Codes(jen.Error()),
			body: ret(handleOf("t").Dot("SetGrad").Call(handleOf("g")))},
		{name: "ZeroGrad", doc: "removes the accumulated gradient.", results: gofile.Codes(jen.Error()), body: ret(handleOf("t").Dot("SetGrad").Call(jen.Nil()))},
		{name: "RetainGrad", doc: "makes backward passes keep the gradient of a tensor that is not a leaf.", results: gofile.Codes(jen.Error()), body: ret(handleOf("t").Dot("RetainGrad").Call())},
		{name: "RegisterHook", doc: "has f called with the gradient of t in every backward pass, before it is used or stored; what f returns takes its place, unless it is the zero Tensor. The returned function removes the hook.",
			params:  gofile.Codes(jen.Id("f").Func().Params(jen.Id("grad").Add(publicT())).Add(publicT())),
			results: gofile.Codes(jen.Id("remove").Func().Params(), jen.Id("err").Error()),
			body: gofile.Codes(
				ifNil("f", jen.Return(handleOf("t").Dot("RegisterHook").Call(jen.Nil()))),
				jen.Return(handleOf("t").Dot("RegisterHook").Call(jen.Func().Params(jen.Id("g").Add(gofile.TensorType())).Add(gofile.TensorType()).Block(
					jen.Return(jen.Id("f").Call(jen.Id("Wrap").Call(jen.Id("g"))).Dot("h"))))))},
		{name: "Detach", doc: "returns a tensor on the same elements that has no part in differentiation.", results: gofile.Codes(publicT()), body: wrapped(handleOf("t").Dot("Detach").Call())},
		{name: "Backward", options: backwardOptions, doc: "computes the gradients of t with respect to all leaves it was made from and adds them to theirs. t must have one element, unless WithGradient gives its own gradient. When it returns an error no gradient was changed.",
			params: gofile.Codes(jen.Id("opts").Op("...").Id("Option")), results: gofile.Codes(jen.Error()),
			body: append(backwardPass(),
				jen.Return(gofile.CoreName("Backward").Call(jen.Index().Add(gofile.TensorType()).Values(handleOf("t")), jen.Id("grads"), jen.Id("how"))))},
		{name: "Gradients", function: true, options: backwardOptions, doc: "returns the gradients of outputs with respect to inputs, which need not be leaves, and changes no tensor's gradient. Each output must have one element, unless WithGradient gives gradients for all. The gradient with respect to an input that no output depends on is the zero Tensor.",
			params:  gofile.Codes(jen.List(jen.Id("outputs"), jen.Id("inputs")).Add(tensors()), jen.Id("opts").Op("...").Id("Option")),
			results: gofile.Codes(tensors(), jen.Error()),
			body: append(backwardPass(jen.Nil()),
				jen.List(jen.Id("gs"), jen.Err()).Op(":=").Add(gofile.CoreName("Gradients")).Call(
					jen.Id("handles").Call(jen.Id("outputs")), jen.Id("grads"), jen.Id("handles").Call(jen.Id("inputs")), jen.Id("how")),
				jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
				jen.Return(jen.Id("wrapAll").Call(jen.Id("gs")), jen.Nil()))},
		{name: "GradEnabled", function: true, doc: "reports whether operators of the calling goroutine are recorded for differentiation.", results: gofile.Codes(jen.Bool()),
			body: ret(gofile.CoreName("GradEnabled").Call())},
	}
}

// placed prints the reading of creation options to place, in a function called name that
// returns a tensor.
func placed(name string, like code) []jen.Code {
	return gofile.Codes(
		jen.List(jen.Id("place"), jen.Err()).Op(":=").Add(gofile.CoreName("PlacementOf")).Call(jen.Id("opts"), like),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Id("Wrap").Call(gofile.CoreName("Failed").Call(jen.Qual("fmt", "Errorf").Call(jen.Lit(name+": %w"), jen.Err()))))))
}

// transfer prints the reading of a copy's options to how, in the function called name;
// failed is what is returned where they are wrong.
func transfer(name string, failed code) []jen.Code {
	return gofile.Codes(
		jen.List(jen.Id("how"), jen.Err()).Op(":=").Add(gofile.CoreName("TransferOf")).Call(jen.Lit(name), jen.Id("opts")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(failed)))
}

// backwardPass prints the reading of a backward pass's options to grads and how, in a
// function whose results before the error are given.
func backwardPass(results ...jen.Code) []jen.Code {
	return gofile.Codes(
		jen.List(jen.Id("how"), jen.Id("grads"), jen.Err()).Op(":=").Add(gofile.CoreName("BackwardOf")).Call(jen.Id("opts"), jen.Op("&").Id("engineOperators")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(append(results, jen.Err())...)))
}

// passOptions prints the options of backward passes, of copies and of printing.
func (f *goFile) passOptions() {
	flag := func(name, doc string) {
		f.Doc(name + " " + doc)
		f.Func().Id(name).Params(jen.Id("on").Op("...").Bool()).Id("Option").Block(jen.Return(option("Flag").Call(jen.Lit(name), jen.Id("on"))))
		f.Line()
	}
	flag("Retain", "keeps what gradients need, so that the same graph can be walked again. It is an option of Backward and Gradients.")
	flag("CreateGraph", "records the backward pass itself, so that gradients can be differentiated. It is an option of Backward and Gradients.")
	f.Doc("WithGradient gives the gradients of the outputs that a pass starts from, one for each. It is an option of Backward and Gradients.")
	f.Func().Id("WithGradient").Params(jen.Id("grads").Op("...").Id("Tensor")).Id("Option").Block(
		jen.If(jen.Len(jen.Id("grads")).Op("==").Lit(0)).Block(jen.Return(jen.Nil())),
		jen.Return(option("Value").Call(jen.Lit("WithGradient"), jen.Id("handles").Call(jen.Id("grads")))))
	f.Line()
	for _, o := range [][2]string{
		{"Precision", "is how many digits are printed after the decimal point."},
		{"MaxElements", "is how many elements a tensor may have that is printed whole; a larger one is summarised."},
		{"EdgeItems", "is how many elements are printed at each end of an axis that is summarised."},
		{"LineWidth", "is how many characters a printed line has at most."},
	} {
		f.Doc(o[0] + " " + o[1] + " It is an option of Format.")
		f.Func().Id(o[0]).Params(jen.Id("n").Int()).Id("Option").Block(jen.Return(option("Int").Call(jen.Lit(o[0]), jen.Id("n"))))
		f.Line()
	}
	flag("NonBlocking", "lets a copy between pinned host memory and an accelerator go on after the call returns. To the host it gives a pinned tensor, whose elements are there once the accelerator's current stream has passed the copy. Memory that is not pinned is read before the call returns. It is an option of To and CopyFrom.")
}

// engineOperators prints the operators that the engine is given.
func (f *goFile) engineOperators() {
	f.Doc("engineOperators are the operators that backward passes are made of.")
	ops := unit.StdPath("ops")
	f.Var().Id("engineOperators").Op("=").Add(gofile.CoreName("Operators")).Add(gofile.Rows(
		gofile.Field("Add", jen.Func().Params(jen.List(jen.Id("x"), jen.Id("y")).Add(gofile.TensorType())).Add(gofile.TensorType()).Block(
			jen.Return(f.e.plainCall("add", jen.Id("x"), jen.Id("y"))))),
		gofile.Field("OnesLike", jen.Func().Params(jen.Id("x").Add(gofile.TensorType())).Add(gofile.TensorType()).Block(
			jen.Return(jen.Qual(ops, "Ones").Call(jen.Id("x").Dot("Shape").Call(), gofile.CoreName("PlacementLike").Call(jen.Id("x")))))),
		gofile.Field("Clone", gofile.CoreName("Copy")),
		gofile.Field("Cat", jen.Qual(ops, "Cat")), gofile.Field("Stack", jen.Qual(ops, "Stack"))))
}

// plainCall prints the call of a standard operator with default options.
func (e *emitter) plainCall(name string, args ...jen.Code) code {
	op := e.Spec.Lookup(name)
	if op == nil {
		return jen.Qual(unit.StdPath("ops"), name).Call(args...)
	}
	for i := len(args); i < len(op.Params); i++ {
		args = append(args, e.Literal(op, op.Params[i], op.Params[i].Default))
	}
	return jen.Qual(e.OpsOf(op), op.GoName).Call(args...)
}
