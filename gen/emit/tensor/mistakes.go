package tensor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// errorWords says what op refuses besides what every operator does, which the package says
// once: kinds of mistakes, as they follow from its dtypes, operands and arguments, and then
// what its body checks by name.
func (e *emitter) errorWords(op *schema.Op, scalars bool) string {
	var kinds []string
	add := func(when bool, kind string) {
		if when && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	operands := op.Operands()
	first, lacks := "the tensors", " do not have"
	if len(operands) > 0 && operands[0].Type == schema.Tensor {
		first, lacks = unit.Local(operands[0].Name), " does not have"
	}
	tensors := 0
	for _, p := range operands {
		if !(scalars && p.OrScalar) {
			tensors++
		}
	}
	for _, text := range refusedDTypes(op) {
		add(true, text)
	}
	loss := slices.ContainsFunc(op.Params, func(p *schema.Param) bool { return p.Name == "reduction" })
	several := tensors > 1 || tensors == 1 && operands[0].Type == schema.TensorList
	if several {
		if broadcasts := op.Kind == ir.Elementwise || strings.Contains(composed(op, operands), "broadcast"); broadcasts && !loss {
			add(true, "shapes that do not broadcast")
		} else {
			add(true, "shapes that do not fit")
		}
	}
	for _, p := range op.Params {
		ints := p.Type == schema.Int || p.Type == schema.Ints
		switch {
		case p.Operand >= 0:
			add((p.Name == "index" || p.Name == "indices") && p.DTypes == ir.ClassIndex, "an index out of range")
			add(p.Name == "target" && p.DTypes == ir.ClassLabel, "a class out of range")
		case ints && slices.Contains(axisNames, p.Name):
			add(true, "an axis that "+first+lacks)
		case ints && op.Factory() && !p.Option && p.Draws == ir.DrawsNothing:
			add(p.Name == "shape" || p.Name != "low" && p.Name != "high", "a negative extent")
		case ints && p.Draws == ir.DrawsNothing && !op.Factory() && (p.Type == schema.Ints || !p.Option):
			add(true, "arguments that do not fit the shape of "+first)
		}
	}
	checks := e.checks(op)
	// Where there is nothing else, a body that is neither of elements nor along given axes has
	// a shape that it needs.
	needs := op.Kind == ir.Opaque || op.GoCompose != nil || len(checks) > 0
	add(needs && !several && tensors > 0 && !slices.ContainsFunc(kinds, func(k string) bool { return strings.Contains(k, first) }) && len(checks) == 0,
		"a shape that does not fit")
	add(op.EmptyFail, "no elements")
	text := strings.Join(kinds, ", ")
	switch {
	case text == "" && len(checks) == 0:
		return "none of its own"
	case text == "":
		return checks[0] + joined(checks[1:])
	}
	return text + joined(checks)
}

// refusedDTypes says which dtypes op's operands may not have: those that promotion does not
// lead to one of op's, and those that an operand of its own dtypes does not take.
func refusedDTypes(op *schema.Op) (out []string) {
	taken := op.DTypes
	if op.Promote == ir.PromoteArithFloat || op.Promote == ir.PromoteSumAcc {
		taken |= ir.ClassBool | ir.ClassInt
	}
	promoted := slices.ContainsFunc(op.Operands(), func(p *schema.Param) bool { return p.Fixed == ir.Invalid })
	if refused := ir.ClassAll &^ taken; refused != 0 && promoted {
		out = append(out, listed(strings.Split(unit.DtypeWords(refused), ", "))+" operands")
	}
	for _, p := range op.Operands() {
		if p.Fixed != ir.Invalid && p.DTypes != 0 && p.DTypes != ir.ClassAll {
			taken := strings.ReplaceAll(listed(strings.Split(unit.DtypeWords(p.DTypes), ", ")), " and ", " or ")
			out = append(out, operandName(op, p.Name)+" that is not "+taken)
		}
	}
	return out
}

// axisNames are what arguments are called that name axes.
var axisNames = []string{"dim", "dims", "dim0", "dim1", "source", "destination", "start", "end", "x_dims", "y_dims"}

// joined makes sentences of clauses, behind one.
func joined(clauses []string) string {
	var b strings.Builder
	for _, c := range clauses {
		b.WriteString(". " + strings.ToUpper(c[:1]) + c[1:])
	}
	return b.String()
}

// checks are the clauses that op's body refuses operands by, with the names that Go has.
func (e *emitter) checks(op *schema.Op) []string {
	var out []string
	say := func(clause string) {
		clause = e.prose(op, clause)
		if !slices.Contains(out, clause) {
			out = append(out, clause)
		}
	}
	desc := ir.Op{Attrs: op.Attributes()}
	for i := range desc.Attrs {
		desc.Attrs[i].Name = operandName(op, desc.Attrs[i].Name)
	}
	var wants []string
	for _, r := range op.Require {
		wants = append(wants, strings.ReplaceAll(r.In(&desc), " || ", " or "))
	}
	if len(wants) > 0 {
		say("it must be that " + listed(wants))
	}
	var look func(v *schema.Value)
	look = func(v *schema.Value) {
		for i := range v.Args {
			look(&v.Args[i])
		}
		if v.Kind != schema.CallValue || v.Op.View == nil || v.Op.View.Pkg != "" || len(v.Args) < 2 || v.Args[1].Kind != schema.LiteralValue {
			return
		}
		name, lit := v.Args[0].Name, v.Args[1].Literal
		axes := plural(int(lit.Scalar.Int()), "axis", "axes")
		switch v.Op.View.Func {
		case "RefuseView":
			say(lit.Str)
		case "RefuseOfView":
			say(lit.Str + " " + v.Args[2].Literal.Str)
		case "RankView":
			if v.Args[0].Kind == schema.NameValue {
				say(fmt.Sprintf("%s must have %s", name, axes))
			}
		case "LeastRankView":
			if v.Args[0].Kind == schema.NameValue {
				say(fmt.Sprintf("%s must have %s or more", name, axes))
			}
		}
	}
	var block func(stmts []schema.Stmt)
	block = func(stmts []schema.Stmt) {
		for i := range stmts {
			s := &stmts[i]
			block(s.Body)
			for j := range s.Values {
				look(&s.Values[j])
			}
		}
	}
	for i := range op.Compose {
		block(op.Compose[i].Stmts)
	}
	return out
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "one " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
