// Package ref emits the table of the reference's kernels, of the operators that have no
// formula. It stands apart from the descriptors, so that only programs that simulate
// devices or test operators hold these kernels. It knows nothing of how they are run.
package ref

import (
	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// Kind is the key of entries that names the reference's kernels.
const Kind = "ref"

// Backend is the reference.
var Backend = gofile.Backend{
	Kind: Kind, Emit: Emit, Code: func(*unit.Unit, *schema.Op) jen.Code { return nil },
}

const doc = `Package ref is the reference's kernels of the operators that have no formula, for programs that simulate devices or test operators.`

// Emit adds the table, for a schema that has such operators.
func Emit(u *unit.Unit) {
	e := &gofile.Emitter{Unit: u}
	var rows []jen.Code
	for _, g := range u.Groups {
		for _, op := range g.Ops {
			if op.Kind == ir.Opaque {
				rows = append(rows, jen.Qual(u.OpsPath(), op.GoName+"Op").Call().Op(":").Add(gofile.GoRef(u, op.Kernel[Kind])))
			}
		}
	}
	if rows == nil {
		return
	}
	f := e.NewFile("ref", "ref.go", doc)
	f.Doc("Kernels returns the reference's kernels by descriptor.")
	table := jen.Map(jen.Op("*").Add(gofile.IRName("Op"))).Add(gofile.IRName("KernelFunc"))
	f.Func().Id("Kernels").Params().Add(table).Block(jen.Return(table.Clone().Add(gofile.Rows(rows...))))
	f.Done()
}
