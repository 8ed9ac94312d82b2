package cpu

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

const foldPath = unit.Module + "/backend/cpu/fold"

// usualFolds are the kinds of package fold by how they combine, with what they
// start from.
var usualFolds = map[string]struct {
	kind string
	init []string
}{
	"a + b":     {"Sum", []string{"0", "cast(0)"}},
	"a*b":       {"Prod", []string{"1", "cast(1)"}},
	"max(a, b)": {"Max", []string{"Lowest"}},
	"min(a, b)": {"Min", []string{"Highest"}},
	"a || b":    {"Any", []string{"false"}},
	"a && b":    {"All", []string{"true"}},
}

// usual returns the kind of package fold that the family's fold is, "" where it is
// none and has its own loops.
func (w *folder) usual(v schema.Variant) string {
	u := usualFolds[v.Combine.String()]
	if u.kind == "" || !slices.Contains(u.init, v.Init.String()) || w.op.Kind == ir.Scan && (u.kind != "Sum" && u.kind != "Prod" || !isIdentity(w.fold.Finish, "a")) {
		return ""
	}
	x := w.op.Params[0].Name
	if u.kind == "Any" || u.kind == "All" {
		if v.Map.String() == x+" != 0" && w.op.Kind == ir.Reduction {
			return u.kind
		}
		return ""
	}
	for _, d := range w.fam.dtypes {
		if d == ir.Bool || d.IsComplex() && u.kind != "Sum" && u.kind != "Prod" {
			return ""
		}
	}
	if isIdentity(w.fold.Mapped, x) {
		return u.kind
	}
	return ""
}

// usualParts prints what a usual fold has of its own: how it finishes.
func (w *folder) usualParts() {
	if !isIdentity(w.fold.Finish, "a") {
		w.scalarFunc(w.name+"Finish", w.accFamily(), w.a, w.fold.Finish)
		w.end(w.name + "End")
	}
}

// usualLoops prints the loops of a usual fold of elements of a dtype.
func (w *folder) usualLoops(kind string, x ir.DType, out code) code {
	finish := jen.Nil()
	if !isIdentity(w.fold.Finish, "a") {
		finish = w.fam.instance(w.name+"End", x)
	}
	if w.op.Kind == ir.Scan {
		return jen.Qual(foldPath, "Scans").Call(jen.Qual(foldPath, kind), gofile.DTypeName(x))
	}
	return jen.Qual(foldPath, "Loops").Call(jen.Qual(foldPath, kind), gofile.DTypeName(x), out, finish)
}
