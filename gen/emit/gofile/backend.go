package gofile

import (
	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

// A Backend is what is emitted for one kind of device.
type Backend struct {
	Kind string // as in descriptors, and in the key kernel of entries
	// Emit adds the files that hold the operators' code, or its names.
	Emit func(u *unit.Unit)
	// Code prints what an operator's descriptor holds for the kind, nil for nothing.
	Code func(u *unit.Unit, op *schema.Op) jen.Code
}

// GoRef prints a Go function that the schema names.
func GoRef(u *unit.Unit, r schema.GoRef) *jen.Statement {
	return jen.Qual(u.Spec.Imports[r.Pkg], r.Func)
}
