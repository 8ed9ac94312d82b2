package tensor

import (
	"slices"
	"strings"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// facts are what the documentation of every operator states: dtypes, the result's shape,
// gradients, errors, what else to know, options. With scalars they are those of the form that
// takes numbers.
func (e *emitter) facts(op *schema.Op, scalars bool) []string {
	var out []string
	add := func(title, text string) {
		if text != "" {
			out = append(out, title+text+".")
		}
	}
	add("Dtypes: ", unit.DtypeWords(op.DTypes))
	add("Shape: ", e.shapeWords(op, scalars))
	add("Gradient: ", gradientWords(op, scalars))
	add("Errors: ", e.errorWords(op, scalars))
	for _, n := range []struct {
		tag  ir.Tag
		text string
	}{
		{ir.TagView, "The result shares its operand's elements"},
		{ir.TagSeeded, "Draws from the random state"},
		{ir.TagSyncs, "Waits for a value on the host"},
		{ir.TagNondeterministic, "May differ from run to run on an accelerator"},
	} {
		if op.Tags&n.tag != 0 {
			add("", n.text)
		}
	}
	if options := optionsFact(op); options != "" {
		out = append(out, options)
	}
	return out
}

// optionsFact lists the options that op takes, with their defaults; "" where it takes none.
func optionsFact(op *schema.Op) string {
	var names []string
	for _, p := range optionsOf(op) {
		names = append(names, optionName(p)+defaultWords(p))
	}
	if op.Factory() {
		names = append(names, creationNames()...)
	}
	return optionsLine(names)
}

// optionsLine is the sentence of documentation that names the options a function takes.
func optionsLine(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "Options: " + strings.Join(names, ", ") + "."
}

// creationNames are the options of factories.
func creationNames() []string {
	var names []string
	for _, c := range creation {
		names = append(names, c.name)
	}
	return names
}

// lossReductions are what losses do with their elements.
var lossReductions = []string{"none", "mean", "sum"}

// shapeWords says what shape the result has: as it follows from the operator's kind or its
// parts, or as the schema says. "" is for operators of other modules whose schema does not.
func (e *emitter) shapeWords(op *schema.Op, scalars bool) string {
	operands := slices.DeleteFunc(op.Operands(), func(p *schema.Param) bool {
		return p.Type != schema.Tensor || scalars && p.OrScalar
	})
	has := func(is func(p *schema.Param) bool) bool { return slices.ContainsFunc(op.Params, is) }
	switch {
	case op.Result != "":
		return e.prose(op, op.Result)
	case op.Factory() && has(func(p *schema.Param) bool { return p.Name == "shape" && p.Type == schema.Ints }):
		return "the one given"
	case op.Factory():
		return ""
	case has(func(p *schema.Param) bool { return p.Name == "reduction" && slices.Equal(p.Enum, lossReductions) }):
		return "no axes, or with ReductionNone that of the elements"
	case len(operands) > 0 && has(func(p *schema.Param) bool { return p.Name == "keepdim" }):
		axes := "the axes in dim, which"
		if has(func(p *schema.Param) bool { return p.Name == "dim" && p.Type == schema.Int }) {
			axes = "axis dim, which"
		}
		return "that of " + unit.Local(operands[0].Name) + " without " + axes + " KeepDim keeps with extent 1"
	}
	return composed(op, operands)
}

// gradientWords names the operands that have a gradient.
func gradientWords(op *schema.Op, scalars bool) string {
	names := unit.Differentiable(op)
	if scalars {
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.ContainsFunc(op.Params, func(p *schema.Param) bool { return p.Name == name && p.OrScalar })
		})
	}
	if len(names) == 0 {
		return "none"
	}
	for i, name := range names {
		names[i] = operandName(op, name)
	}
	return strings.Join(names, ", ")
}
