package tensor

import (
	"fmt"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

func dtypeAt(i int) ir.DType { return ir.DType(i) }

// checkPublicNames reports operators and options whose public Go names meet.
func (e *emitter) checkPublicNames() {
	funcs, methods := map[string]string{}, map[string]string{}
	if e.Std {
		m, fn := reservedNames()
		for _, n := range m {
			methods[n] = "a method of every tensor"
		}
		for _, n := range fn {
			funcs[n] = "a declaration of every package of tensors"
		}
	}
	claim := func(op *schema.Op, in map[string]string, name, what string) {
		if old, ok := in[name]; ok {
			e.Fail(op, "the Go name %s of %s is already that of %s", name, what, old)
			return
		}
		in[name] = what
	}
	for _, n := range e.publicEnums() {
		claim(n.First, funcs, n.GoName, "the argument "+n.Param)
		for _, v := range n.Names {
			claim(n.First, funcs, n.Value(v), fmt.Sprintf("the value %s of the argument %s", v, n.Param))
		}
	}
	for _, o := range e.ownOptions() {
		if o.param.Type != schema.Enum {
			claim(o.op, funcs, optionName(o.param), "the option "+o.param.Name)
		}
	}
	for _, op := range e.Spec.Ops {
		if !unit.Public(op) {
			continue
		}
		claim(op, funcs, op.GoName, "the operator "+op.Name)
		if unit.HasScalarForm(op) {
			claim(op, funcs, op.GoName+"Scalar", "the operator "+op.Name+" with a number")
		}
		if e.Std && unit.HasMethod(op) {
			claim(op, methods, op.GoName, "the operator "+op.Name)
		}
	}
}
