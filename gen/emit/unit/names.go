package unit

import (
	"slices"
	"strings"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// PlacedNames are what an expression can read that depends on the place of an
// element or on the compute dtype.
var PlacedNames = []string{"index", "uniform", "normal", "random_bits"}

// OneLine joins the lines of a text.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// fileName turns a group's name into a file's base name.
func fileName(group string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return '_'
		}
		return r
	}, strings.ToLower(group))
}

// taken are names that emitted functions use for themselves.
var taken = []string{"grad", "opts", "dst", "place", "err", "apply", "body", "result", "t"}

// Local returns the Go name of a parameter or a defined value: camelCase.
func Local(name string) string {
	s := Lower(schema.GoName(name))
	if slices.Contains(taken, s) {
		s += "Arg"
	}
	return s
}

// Lower makes an exported Go name unexported.
func Lower(s string) string {
	n := 0
	for n < len(s) && 'A' <= s[n] && s[n] <= 'Z' {
		n++
	}
	if n > 1 && n < len(s) { // DType, but MatMul
		n--
	}
	return strings.ToLower(s[:n]) + s[n:]
}

var DTypeConst = map[ir.DType]string{
	ir.Invalid: "Invalid", ir.Bool: "Bool", ir.Uint8: "Uint8", ir.Int8: "Int8", ir.Int16: "Int16", ir.Int32: "Int32",
	ir.Int64: "Int64", ir.Float16: "Float16", ir.BFloat16: "BFloat16", ir.Float32: "Float32", ir.Float64: "Float64",
	ir.Complex64: "Complex64", ir.Complex128: "Complex128",
	ir.Uint16: "Uint16", ir.Uint32: "Uint32", ir.Uint64: "Uint64",
}

// PartName names the i-th file of those that hold what base stands for.
func PartName(base string, i int) string {
	if i == 0 {
		return base
	}
	return base + "_" + string(rune('a'+i))
}

// FirstSentence returns the beginning of a doc text.
func FirstSentence(doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	if i := strings.Index(doc, ". "); i >= 0 {
		return doc[:i+1]
	}
	return doc
}
