// Package cuda emits what GPUs run: CUDA sources made of functors over the loop
// templates, and their names for descriptors. It knows nothing of launches, tensors
// or gradients.
package cuda

import (
	"path"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/codegen/ptx"
	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

// Backend is CUDA.
var Backend = gofile.Backend{Kind: "cuda", Emit: Emit, Code: code}

// code prints the names of an operator's device code, or the function that launches it.
func code(u *unit.Unit, op *schema.Op) jen.Code {
	var fields []jen.Code
	switch {
	case unit.HasCUDA(op):
		fields = append(fields, gofile.Field("Module", jen.Lit(module(u, op))), gofile.Field("Symbol", jen.Lit(op.Name)))
	case unit.Launches(op):
		fields = append(fields, gofile.Field("Launch", gofile.GoRef(u, op.Kernel["cuda"])))
	default:
		return nil
	}
	if !u.Std {
		fields = append(fields, gofile.Field("Source", jen.Qual(u.Pkg("kernels"), "Source")))
	}
	return jen.Op("&").Qual(gofile.CodePath, "Kernels").Values(fields...)
}

// Emit adds the device code of u.
func Emit(u *unit.Unit) {
	e := &emitter{&gofile.Emitter{Unit: u}}
	e.kernelSources()
	e.embedKernels()
	if e.Std {
		e.Add(path.Join(e.KernelDir, "functions", "functions.cu"), ptx.Source("// "+e.Target.Header()))
	}
}

// emitter writes the device code's files.
type emitter struct{ *gofile.Emitter }

const kernelsDoc = `Package kernels embeds the CUDA C++ of the operators: emitted functors and kernels over the loop templates of the standard operators.`

// embedKernels emits the package that holds a user's CUDA sources; the standard
// ones are embedded by a file written by hand, beside the templates.
func (e *emitter) embedKernels() {
	if e.Std || !slices.ContainsFunc(e.Spec.Ops, func(op *schema.Op) bool { return unit.HasCUDA(op) || unit.Launches(op) }) {
		return
	}
	f := e.NewFile("kernels", "kernels.go", kernelsDoc)
	f.Doc("Source holds the files of this directory: those emitted and those written by hand.")
	f.Comment("//")
	f.Comment("//go:embed *")
	f.Var().Id("Source").Qual("embed", "FS")
	f.Done()
}
