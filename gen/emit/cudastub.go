package emit

import (
	"fmt"
	"path"
	"strings"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// kernelStubs emits stubs.cuh: for every operator whose device code is written
// by hand, what it is and the struct of its arguments. There is no file where
// there is no such operator.
func (e *emitter) kernelStubs() {
	var b strings.Builder
	for _, op := range e.spec.Ops {
		if op.Kind == ir.Kernel && op.Kernel.CUDA != "" {
			kernelStub(&b, op)
		}
	}
	if b.Len() == 0 {
		return
	}
	head := "// " + e.target.Header() + "\n\n// The arguments of kernels written by hand.\n\n#pragma once\n\nnamespace sinter {\n"
	e.add(path.Join(e.kernelDir, "stubs.cuh"), []byte(head+b.String()+"\n}  // namespace sinter\n"))
}

// kernelStub prints:
//
//	// <signature>
//	// <doc>
//	// Kernels of this operator are in <file>.cu.
//	struct <Name>Args {
//	  long long dim;
//	};
func kernelStub(b *strings.Builder, op *schema.Op) {
	fmt.Fprintf(b, "\n// %s\n%s\n// Its kernels are in %s.cu.\n", schemaForm(op), wrap(op.GoName+" "+op.Doc, "// ", 100), op.Kernel.CUDA)
	fmt.Fprintf(b, "struct %sArgs {\n", op.GoName)
	for _, p := range op.Attrs() {
		for _, f := range stubFields(p) {
			fmt.Fprintf(b, "  %s;\n", f)
		}
	}
	b.WriteString("};\n")
}

// stubFields are the C++ fields of one argument. Strings stay on the host.
func stubFields(p *schema.Param) []string {
	switch p.Type {
	case schema.Int:
		return []string{"long long " + p.Name}
	case schema.Ints:
		return []string{"long long " + p.Name + "[8]", "int " + p.Name + "_count"}
	case schema.Float:
		return []string{"double " + p.Name}
	case schema.Scalar:
		return []string{"double " + p.Name + "[2]"}
	case schema.Bool:
		return []string{"bool " + p.Name}
	case schema.Enum, schema.DType:
		return []string{"int " + p.Name}
	}
	return nil
}
