package unit

import (
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// SchemaLiteral prints a parameter's default as the schema writes it.
func SchemaLiteral(p *schema.Param) string {
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

// DtypeWords lists a set of dtypes by classes, then singly.
func DtypeWords(set ir.DTypeSet) string {
	if set == ir.ClassAll {
		return "all"
	}
	var out []string
	for _, c := range []string{"bool", "int", "float", "complex"} {
		if class := ir.Classes[c]; set&class == class {
			out = append(out, c)
			set &^= class
		}
	}
	for _, d := range set.List() {
		out = append(out, d.String())
	}
	return strings.Join(out, ", ")
}
