package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

const cudaDoc = `Package cuda names the device code of the operators: for each the module, a file of the kernels directory, and the prefix of its kernels' names.`

// hasCUDA reports whether device code is emitted or named for op.
func (e *emitter) hasCUDA(op *schema.Op) bool {
	switch op.Kind {
	case ir.Elementwise, ir.Reduction, ir.Scan:
		return true
	case ir.Kernel:
		return op.Kernel.CUDA != ""
	}
	return false
}

// module names the kernels file that holds op's device code.
func (e *emitter) module(op *schema.Op) string {
	if op.Kind == ir.Kernel {
		return op.Kernel.CUDA
	}
	return fileName(op.Group)
}

// cudaPackage emits the table of device code names.
func (e *emitter) cudaPackage() {
	f := e.goFile("cuda", "doc.go", cudaDoc)
	f.done()
	e.perGroup("cuda", func(f *goFile, op *schema.Op) {
		if !e.hasCUDA(op) {
			return
		}
		f.doc(op.GoName + " names the device code of " + op.Name + ".")
		f.Var().Id(op.GoName).Op("=").Add(irName("CUDAKernels")).Values(
			field("Module", jen.Lit(e.module(op))), field("Symbol", jen.Lit(op.Name)))
		f.Line()
	})
}
