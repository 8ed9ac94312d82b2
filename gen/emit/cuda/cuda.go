// Package cuda emits what GPUs run: CUDA sources made of functors over the loop
// templates, and the Go tables that name them. It knows nothing of launches, tensors
// or gradients.
package cuda

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

// Backend is CUDA.
var Backend = gofile.Backend{Kind: "cuda", Emit: Emit, Code: code}

// code prints the names of an operator's device code, or the function that launches it.
func code(u *unit.Unit, op *schema.Op) jen.Code {
	switch {
	case unit.HasCUDA(op):
		return jen.Op("&").Qual(u.Pkg("cuda"), op.GoName)
	case unit.Launches(op):
		launch := []jen.Code{gofile.Field("Launch", gofile.GoRef(u, op.Kernel["cuda"]))}
		if !u.Std {
			launch = append(launch, gofile.Field("Source", jen.Qual(u.Pkg("kernels"), "Source")))
		}
		return jen.Op("&").Add(gofile.IRName("CUDAKernels")).Values(launch...)
	}
	return nil
}

// Emit adds the device code of u and its names.
func Emit(u *unit.Unit) {
	e := &emitter{Emitter: &gofile.Emitter{Unit: u}}
	e.cudaPackage()
	e.kernelSources()
}

// emitter writes the device code's files.
type emitter struct {
	*gofile.Emitter
	modules map[*schema.Op]string // CUDA source of every operator whose device code is emitted
}

const cudaDoc = `Package cuda names the device code of the operators: for each the module, a file of the kernels directory, and the prefix of its kernels' names.`

// cudaPackage emits the table of device code names.
func (e *emitter) cudaPackage() {
	f := e.NewFile("cuda", "doc.go", cudaDoc)
	f.Done()
	e.modules = map[*schema.Op]string{}
	for _, g := range e.Groups {
		for _, part := range e.cudaParts(g) {
			for _, op := range part.ops {
				e.modules[op] = part.module
			}
		}
	}
	e.PerGroup("cuda", func(f *gofile.File, op *schema.Op) {
		if !unit.HasCUDA(op) {
			return
		}
		f.Doc(op.GoName + " names the device code of " + op.Name + ".")
		items := []jen.Code{gofile.Field("Module", jen.Lit(e.modules[op])), gofile.Field("Symbol", jen.Lit(op.Name))}
		if !e.Std {
			items = append(items, gofile.Field("Source", jen.Qual(e.Pkg("kernels"), "Source")))
		}
		f.Var().Id(op.GoName).Op("=").Add(gofile.IRName("CUDAKernels")).Values(items...)
		f.Line()
	})
	e.embedKernels()
}

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
