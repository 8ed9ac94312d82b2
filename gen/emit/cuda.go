package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

const cudaDoc = `Package cuda names the device code of the operators: for each the module, a file of the kernels directory, and the prefix of its kernels' names.`

// hasCUDA reports whether device code is emitted for op.
func (e *emitter) hasCUDA(op *schema.Op) bool {
	switch op.Kind {
	case ir.Elementwise, ir.Joint, ir.Reduction, ir.Scan:
		return true
	}
	return false
}

// launches reports whether op's device code is launched by a function of its own.
func launches(op *schema.Op) bool { return op.Kind == ir.Kernel && op.Kernel.CUDA.Func != "" }

// cudaPackage emits the table of device code names.
func (e *emitter) cudaPackage() {
	f := e.goFile("cuda", "doc.go", cudaDoc)
	f.done()
	e.modules = map[*schema.Op]string{}
	for _, g := range e.groups {
		for _, part := range e.cudaParts(g) {
			for _, op := range part.ops {
				e.modules[op] = part.module
			}
		}
	}
	e.perGroup("cuda", func(f *goFile, op *schema.Op) {
		if !e.hasCUDA(op) {
			return
		}
		f.doc(op.GoName + " names the device code of " + op.Name + ".")
		items := []jen.Code{field("Module", jen.Lit(e.modules[op])), field("Symbol", jen.Lit(op.Name))}
		if !e.std {
			items = append(items, field("Source", jen.Qual(e.pkg("kernels"), "Source")))
		}
		f.Var().Id(op.GoName).Op("=").Add(irName("CUDAKernels")).Values(items...)
		f.Line()
	})
	e.embedKernels()
}

const kernelsDoc = `Package kernels embeds the CUDA C++ of the operators: emitted functors and kernels over the loop templates of the standard operators.`

// embedKernels emits the package that holds a user's CUDA sources; the standard
// ones are embedded by a file written by hand, beside the templates.
func (e *emitter) embedKernels() {
	if e.std || !slices.ContainsFunc(e.spec.Ops, func(op *schema.Op) bool { return e.hasCUDA(op) || launches(op) }) {
		return
	}
	f := e.goFile("kernels", "kernels.go", kernelsDoc)
	f.doc("Source holds the files of this directory: those emitted and those written by hand.")
	f.Comment("//")
	f.Comment("//go:embed *")
	f.Var().Id("Source").Qual("embed", "FS")
	f.done()
}
