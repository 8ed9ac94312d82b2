// Package docs emits the index of the operators as Markdown. It knows nothing of how
// they are computed.
package docs

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// Emit adds docs/operators.md to u.
func Emit(u *unit.Unit) { (&emitter{u}).index() }

// emitter writes the index.
type emitter struct{ *unit.Unit }

// notes are what a letter in the last column stands for.
var notes = []struct {
	letter string
	text   string
	holds  func(op *schema.Op) bool
}{
	{"v", "the result shares its operand's storage", tagged(ir.TagView)},
	{"r", "draws from the random state", tagged(ir.TagSeeded)},
	{"w", "may write to an operand", tagged(ir.TagWrites)},
	{"h", "waits for a value on the host", tagged(ir.TagSyncs)},
	{"t", "follows the TF32 flags", tagged(ir.TagTF32)},
	{"n", "may differ from run to run on an accelerator", tagged(ir.TagNondeterministic)},
	{"c", "runs on the CPU alone", func(op *schema.Op) bool { return !onCUDA(op) }},
}

func tagged(tag ir.Tag) func(op *schema.Op) bool {
	return func(op *schema.Op) bool { return op.Tags&tag != 0 }
}

// index emits docs/operators.md: a table for each group, a line for each operator.
func (e *emitter) index() {
	var b strings.Builder
	methods := ""
	if e.Std {
		methods = " Functions whose first argument is a tensor are methods too."
	}
	fmt.Fprintf(&b, "<!-- %s -->\n\n# Operators\n\n", e.Target.Header())
	fmt.Fprintf(&b, "The operators of package `%s`, by group.%s `go doc` has the arguments and options of each.\n\n", e.Spec.Package, methods)
	fmt.Fprintf(&b, "- *Dtypes* are those that operands have after promotion. What takes int32 and int64 takes [uint16, uint32 and uint64](guide/tensors.md#unsigned-integers).\n- *Gradient* names the operands that have one.\n")
	if e.Std {
		fmt.Fprintf(&b, "- *PyTorch* is the counterpart there; where the column is empty, it is the function or method of the same name.\n")
	}
	var letters []string
	for _, n := range notes {
		letters = append(letters, n.letter+": "+n.text)
	}
	fmt.Fprintf(&b, "- *Notes*: %s.\n\n", strings.Join(letters, "; "))
	groups := slices.DeleteFunc(slices.Clone(e.Groups), func(g *unit.Group) bool { return !slices.ContainsFunc(g.Ops, unit.Public) })
	for _, g := range groups {
		fmt.Fprintf(&b, "- [%s](#%s)\n", g.Name, strings.ReplaceAll(strings.ToLower(g.Name), " ", "-"))
	}
	for _, g := range groups {
		e.table(&b, g)
	}
	e.Add(path.Join(e.DocsDir, "operators.md"), []byte(b.String()))
}

// table writes the lines of a group, and below them what differs from PyTorch.
func (e *emitter) table(b *strings.Builder, g *unit.Group) {
	titles := []string{"operator", "what it does", "dtypes", "gradient", "notes"}
	if e.Std {
		titles = slices.Insert(titles, 4, "PyTorch")
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| %s |\n|%s\n", g.Name, unit.OneLine(g.Doc), strings.Join(titles, " | "), strings.Repeat(" --- |", len(titles)))
	var differs []string
	for _, op := range g.Ops {
		if !unit.Public(op) || e.DerivedOps[op] {
			continue
		}
		cells := []string{"`" + op.GoName + "`", cell(summary(op.Doc)), unit.DtypeWords(op.DTypes), strings.Join(unit.Differentiable(op), ", "), letters(op)}
		if e.Std {
			cells = slices.Insert(cells, 4, strings.ReplaceAll(counterpart(op), "|", `\|`))
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		for _, d := range op.Differs {
			differs = append(differs, fmt.Sprintf("- `%s` differs from PyTorch for %s: %s.\n", op.GoName, unit.DtypeWords(d.DTypes), d.Why))
		}
	}
	if len(differs) > 0 {
		b.WriteString("\n" + strings.Join(differs, ""))
	}
}

// cell makes text fit into a table, with what Markdown would read as its own escaped.
func cell(text string) string { return escape.Replace(text) }

var escape = strings.NewReplacer("|", `\|`, "*", `\*`, "<", `\<`)

// summary returns the first sentence of a description, without its verb's period.
func summary(doc string) string {
	first, _, _ := strings.Cut(unit.OneLine(doc), ". ")
	return strings.TrimSuffix(first, ".")
}

// counterpart returns what PyTorch calls op, or nothing for a function of the same
// name.
func counterpart(op *schema.Op) string {
	for _, row := range op.Bench {
		if row.PyTorch == "" {
			continue
		}
		if name, _, _ := strings.Cut(row.PyTorch, "("); name == op.Name {
			return ""
		}
		return "`" + row.PyTorch + "`"
	}
	return "none"
}

// letters returns op's notes.
func letters(op *schema.Op) string {
	var out []string
	for _, n := range notes {
		if n.holds(op) {
			out = append(out, n.letter)
		}
	}
	return strings.Join(out, " ")
}

// onCUDA reports whether op runs on CUDA devices: by device code that is emitted or
// launched by a function of its own, as a view, or by operators that do. A hidden
// kernel without one is what compositions take on the CPU alone.
func onCUDA(op *schema.Op) bool {
	switch {
	case op.Fallback != nil && onCUDA(op.Fallback):
		return true
	case !op.On("cuda"):
		return false
	}
	switch op.Kind {
	case ir.ViewBody:
		return true
	case ir.Composition:
		return !slices.ContainsFunc(unit.PartsOf(op), func(part *schema.Op) bool {
			own := part.Kind == ir.Opaque && part.Tags&ir.TagHidden != 0
			return !own && !onCUDA(part)
		})
	}
	return unit.HasCUDA(op) || unit.Launches(op)
}
