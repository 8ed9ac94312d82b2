package emit

import (
	"fmt"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

func dtypeAt(i int) ir.DType { return ir.DType(i) }

// checkPublicNames reports operators and options whose public Go names meet.
func (e *emitter) checkPublicNames() {
	funcs, methods := map[string]string{}, map[string]string{}
	if e.std {
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
			e.fail(op, "the Go name %s of %s is already that of %s", name, what, old)
			return
		}
		in[name] = what
	}
	for _, n := range e.publicEnums() {
		claim(n.first, funcs, n.goName, "the argument "+n.param)
		for _, v := range n.names {
			claim(n.first, funcs, n.value(v), fmt.Sprintf("the value %s of the argument %s", v, n.param))
		}
	}
	for _, o := range e.options() {
		if o.param.Type != schema.Enum {
			claim(o.op, funcs, o.ctor(), "the option "+o.param.Name)
			claim(o.op, funcs, o.typeName(), "the type of the option "+o.param.Name)
		}
	}
	for _, op := range e.spec.Ops {
		if !public(op) {
			continue
		}
		claim(op, funcs, op.GoName, "the operator "+op.Name)
		if len(optionOps(op)) > 0 {
			claim(op, funcs, optionInterface(op), "the options of "+op.Name)
		}
		if hasScalarForm(op) {
			claim(op, funcs, op.GoName+"Scalar", "the operator "+op.Name+" with a number")
		}
		if hasOut(op) {
			claim(op, funcs, op.GoName+"Out", "the out form of "+op.Name)
		}
		if e.std && hasMethod(op) {
			claim(op, methods, op.GoName, "the operator "+op.Name)
		}
	}
}
