package cpu

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// vectorReference emits docs/vector-loops.md.
func (e *emitter) vectorReference(vs *vectors) {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- %s -->\n\n# Element-wise loops in assembly\n\n", e.Target.Header())
	b.WriteString("What the generator lowers of the element-wise operators, gradients among them, by compute dtype; float16 and bfloat16 compute in\n" +
		"float32. Loops that do the same share one function. What is not lowered runs as portable Go at every level.\n\n" +
		"A float32 body of up to three operands, all of its dtype, has a second function for results that no cache holds: it takes lines of\n" +
		"several pages in turn, asks for operands ahead, and stores past the caches. One of a few operations has two more, for operands and\n" +
		"results in memory as float16 and as bfloat16; one of few operations on three operands and more has one for operands behind the\n" +
		"first that have one element for all. Where a float32 body draws once, a uniform number by a seed and an offset that are scalar\n" +
		"arguments, numbers are drawn before, a block of four at once, and the function reads them as an operand.\n\n")
	lowered, partly := 0, 0
	for _, v := range vs.entries {
		switch {
		case !slices.Contains(v.loops, ""):
			lowered++
		case v.row() != nil:
			partly++
		}
	}
	fmt.Fprintf(&b, "%d of %d pairs of a body and a compute dtype have loops for AVX2 and AVX-512", lowered, len(vs.entries))
	if partly > 0 {
		fmt.Fprintf(&b, ", %d for one of them", partly)
	}
	lines := 0
	for _, n := range vs.lines {
		lines += n
	}
	fmt.Fprintf(&b, ".\nThey are %d functions in %d lines of assembly, %d lines a function; a pair adds %d lines on average.\n\n",
		len(vs.functions), lines, lines/max(len(vs.functions), 1), lines/max(lowered+partly, 1))
	b.WriteString("| group | bodies | lowered | lines of assembly |\n| --- | ---: | ---: | ---: |\n")
	for _, g := range e.Groups {
		all, have := vs.ofGroup(g)
		if all > 0 {
			fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", g.Name, all, have, vs.lines[g.Name])
		}
	}
	b.WriteString("\n## By operator\n\nComplex dtypes have loops where numbers are added, moved, or multiplied by each other, and for parts and magnitudes of complex64; they are not listed.\n\n| operator | lowered | portable | because there are no lanes for |\n| --- | --- | --- | --- |\n")
	for _, g := range e.Groups {
		for _, op := range g.Ops {
			vs.describe(&b, op)
		}
	}
	e.Add(path.Join(e.DocsDir, "vector-loops.md"), []byte(b.String()))
}

// ofGroup counts the entries of a group's operators, and those with loops for every
// instruction set.
func (vs *vectors) ofGroup(g *unit.Group) (all, lowered int) {
	for _, v := range vs.entries {
		if slices.Contains(g.Ops, v.op) {
			all++
			if !slices.Contains(v.loops, "") {
				lowered++
			}
		}
	}
	return all, lowered
}

// describe writes the line of one operator.
func (vs *vectors) describe(b *strings.Builder, op *schema.Op) {
	var have, lack, reasons []string
	add := func(list *[]string, s string) {
		if !slices.Contains(*list, s) {
			*list = append(*list, s)
		}
	}
	for _, v := range vs.entries {
		switch {
		case v.op != op || v.dtype.IsComplex():
		case !slices.Contains(v.loops, ""):
			add(&have, v.dtype.String())
		default:
			name := v.dtype.String()
			if v.row() != nil {
				name += " (AVX2)"
			}
			add(&lack, name)
			add(&reasons, v.reason)
		}
	}
	if len(have)+len(lack) > 0 {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", op.Name, shortList(have), shortList(lack), strings.Join(reasons, "; "))
	}
}

// shortList joins dtypes, classes that are complete under one name.
func shortList(names []string) string {
	var ints []string
	for _, d := range ir.ClassInt.List() {
		ints = append(ints, d.String())
	}
	for _, i := range ints {
		if !slices.Contains(names, i) {
			return strings.Join(names, ", ")
		}
	}
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(ints, n) })
	return strings.Join(append([]string{"int"}, names...), ", ")
}
