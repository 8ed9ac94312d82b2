package emit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// reference emits docs/operators.md.
func (e *emitter) reference() {
	var b strings.Builder
	methods := ""
	if e.std {
		methods = " Functions whose first argument is a tensor are methods too."
	}
	fmt.Fprintf(&b, "<!-- %s -->\n\n# Operators\n\n", e.target.Header())
	fmt.Fprintf(&b, "Every operator of package `%s`, by group. Dtypes are those that operands have after promotion.%s\n\n", e.spec.Package, methods)
	groups := slices.DeleteFunc(slices.Clone(e.groups), func(g *group) bool { return !slices.ContainsFunc(g.ops, public) })
	for _, g := range groups {
		fmt.Fprintf(&b, "- [%s](#%s)\n", g.name, strings.ReplaceAll(strings.ToLower(g.name), " ", "-"))
	}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", g.name, oneLine(g.doc))
		for _, op := range g.ops {
			if public(op) && !e.derivedOps[op] {
				e.entry(&b, op)
			}
		}
	}
	e.add(path.Join(e.docsDir, "operators.md"), []byte(b.String()))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// entry writes the reference of one operator.
func (e *emitter) entry(b *strings.Builder, op *schema.Op) {
	fmt.Fprintf(b, "\n### %s\n\n", op.GoName)
	fmt.Fprintf(b, "```go\n%s\n```\n\n", strings.Join(e.signatures(op), "\n"))
	fmt.Fprintf(b, "`%s`\n\n", schemaForm(op))
	fmt.Fprintf(b, "%s %s\n\n", op.GoName, oneLine(op.Doc))
	fmt.Fprintf(b, "- Dtypes: %s.\n", dtypeWords(op.DTypes))
	for _, d := range op.Differs {
		fmt.Fprintf(b, "- Differs from PyTorch for %s: %s.\n", dtypeWords(d.DTypes), d.Why)
	}
	fmt.Fprintf(b, "- Gradient: %s.\n", gradWords(op))
	for _, line := range bodyLines(op) {
		fmt.Fprintf(b, "- %s\n", line)
	}
	if !e.onCUDA(op) {
		fmt.Fprintf(b, "- Runs on the CPU alone.\n")
	}
	if notes := tagWords(op.Tags); notes != "" {
		fmt.Fprintf(b, "- %s\n", notes)
	}
}

// signatures lists the public functions of op in Go.
func (e *emitter) signatures(op *schema.Op) []string {
	forms := []form{{e: e, op: op, name: op.GoName}}
	if hasScalarForm(op) {
		forms = append(forms, form{e: e, op: op, name: op.GoName + "Scalar", scalars: true})
	}
	var out []string
	for _, fm := range forms {
		out = append(out, fm.signature())
		if hasOut(op) {
			fm.suffix = "Out"
			out = append(out, fm.signature())
		}
	}
	if hasInPlace(op) {
		fm := form{e: e, op: op, name: op.GoName, suffix: "InPlace", method: e.std}
		out = append(out, fm.signature())
	}
	return out
}

// signature prints a form's declaration.
func (fm form) signature() string {
	params := unqualified(fm.params().text())
	s := "func "
	if fm.method {
		s += "(" + fm.receiver + " Tensor) "
	}
	s += fm.name + fm.suffix + "(" + params + ") "
	if fm.suffix != "" {
		return s + "error"
	}
	op := fm.op
	switch {
	case op.Results[0].List:
		return s + "[]Tensor"
	case len(op.Results) == 1:
		return s + "Tensor"
	}
	var names []string
	for _, r := range op.Results {
		names = append(names, local(r.Name))
	}
	return s + "(" + strings.Join(names, ", ") + " Tensor)"
}

// unqualified drops package names, which a reader of the docs knows.
func unqualified(s string) string {
	for _, p := range []string{"core.", "ir.", "tensor."} {
		s = strings.ReplaceAll(s, p, "")
	}
	return oneLine(s)
}

// schemaForm prints an operator's signature as the schema writes it.
func schemaForm(op *schema.Op) string {
	var parts []string
	options := false
	for _, p := range op.Params {
		if p.Option && !options {
			options = true
			parts = append(parts, "*")
		}
		s := p.Name + " " + schemaType(p)
		if p.Option && !p.Optional {
			s += " = " + schemaLiteral(p)
		}
		parts = append(parts, s)
	}
	var results []string
	named := len(op.Results) > 1 || op.Results[0].DType != ir.Invalid
	for _, r := range op.Results {
		s := "Tensor"
		if r.List {
			s = "[]Tensor"
		}
		if named {
			s = r.Name + " " + s
		}
		if r.DType != ir.Invalid {
			s += " " + r.DType.String()
		}
		if r.Acc {
			s += " acc"
		}
		results = append(results, s)
	}
	out := strings.Join(results, ", ")
	if named {
		out = "(" + out + ")"
	}
	return op.Name + "(" + strings.Join(parts, ", ") + ") -> " + out
}

func schemaType(p *schema.Param) string {
	switch {
	case p.Optional:
		return "Tensor?"
	case p.OrScalar:
		return "Tensor|Scalar"
	case p.Type == schema.Enum:
		return "enum(" + strings.Join(p.Enum, ", ") + ")"
	case p.Type == schema.Ints:
		return "[]int"
	}
	return p.Type.String()
}

func schemaLiteral(p *schema.Param) string {
	d := p.Default
	switch {
	case d.Nil:
		return "nil"
	case p.Type == schema.Ints:
		return strings.ReplaceAll(fmt.Sprint(d.Ints), " ", ", ")
	case p.Type == schema.Enum:
		return d.Str
	case p.Type == schema.String:
		return fmt.Sprintf("%q", d.Str)
	case p.Type == schema.DType:
		return d.DType.String()
	}
	return d.Scalar.String()
}

// gradWords says how an operator is differentiated.
func gradWords(op *schema.Op) string {
	if op.NoGrad {
		return "none"
	}
	var parts []string
	for i := range op.Grads {
		g := &op.Grads[i]
		how := "derived"
		switch {
		case g.None:
			how = "none"
		case g.Block != nil:
			how = "written"
		case op.Kind == ir.Composition:
			how = "by its parts"
		}
		parts = append(parts, g.Operand.Name+" "+how)
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// bodyLines print what an operator computes.
func bodyLines(op *schema.Op) []string {
	var out []string
	of := func(v schema.Variant) string {
		if v.Name == "" {
			return ""
		}
		return " (" + v.Name + ")"
	}
	for _, v := range op.Variants {
		if v.Map == nil {
			out = append(out, fmt.Sprintf("Expression%s: `%s`", of(v), v))
			continue
		}
		out = append(out, fmt.Sprintf("Fold%s: init `%s`, map `%s`, combine `%s`, finish `%s`", of(v), v.Init, v.Map, v.Combine, v.Finish))
	}
	return out
}

func tagWords(tags ir.Tag) string {
	var notes []string
	for _, t := range []struct {
		tag  ir.Tag
		text string
	}{
		{ir.TagView, "The result shares its operand's storage."},
		{ir.TagNondeterministic, "May differ from run to run on an accelerator."},
		{ir.TagSeeded, "Draws from the random state."},
		{ir.TagSyncs, "Waits for a value on the host."},
		{ir.TagWrites, "May write to an operand."},
		{ir.TagTF32, "Follows the TF32 flags."},
	} {
		if tags&t.tag != 0 {
			notes = append(notes, t.text)
		}
	}
	return strings.Join(notes, " ")
}

// onCUDA reports whether op runs on CUDA devices: by device code that is emitted or
// launched by a function of its own, as a view, or by operators that do. A hidden
// kernel without one is what compositions take on the CPU alone.
func (e *emitter) onCUDA(op *schema.Op) bool {
	switch op.Kind {
	case ir.ViewBody:
		return true
	case ir.Composition:
		return !slices.ContainsFunc(partsOf(op), func(part *schema.Op) bool {
			own := part.Kind == ir.Kernel && part.Tags&ir.TagHidden != 0
			return !own && !e.onCUDA(part)
		})
	}
	return e.hasCUDA(op) || launches(op)
}

// partsOf returns the operators that a composition calls.
func partsOf(op *schema.Op) []*schema.Op {
	var out []*schema.Op
	if op.GoCompose != nil {
		out = append(out, op.GoCompose.With...)
	}
	for i := range op.Compose {
		op.Compose[i].Walk(func(v *schema.Value) {
			if v.Kind == schema.CallValue {
				out = append(out, v.Op)
			}
		})
	}
	return out
}
