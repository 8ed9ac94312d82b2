package cpu

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
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

// aloneLoops are the tables of loops of a reduction each of whose states is a usual fold of
// its one operand, by state; nil for another reduction. Pieces are of any length, so that
// sums and products, which have an order, are none.
func aloneLoops(op *schema.Op) (tables []jen.Code) {
	fold := op.Variants[0].Fold
	if len(op.Variants) != 1 || len(op.Operands()) != 1 || len(fold.First) > 0 {
		return nil
	}
	for i, s := range fold.States {
		kind := usualState(op.Operands()[0].Name, fold, i)
		if kind == "" || kind == "Sum" || kind == "Prod" || s.DType != ir.Invalid {
			return nil
		}
		var entries []jen.Code
		for _, d := range unit.ComputeDTypes(op) {
			if d != ir.Bool && !d.IsComplex() {
				loops := jen.Qual(foldPath, "Loops").Call(jen.Qual(foldPath, kind), gofile.DTypeName(d), gofile.DTypeName(d), jen.Nil())
				entries = append(entries, jen.Add(gofile.DTypeName(d)).Op(":").Add(loops))
			}
		}
		tables = append(tables, jen.Values(entries...))
	}
	return tables
}

// usualState returns the kind of package fold that a state is of an operand x, "" for none.
func usualState(x string, fold *expr.Fold, i int) string {
	s := fold.States[i]
	combine := strings.NewReplacer(s.Of("a"), "a", s.Of("b"), "b").Replace(fold.Combine[i].String())
	u := usualFolds[combine]
	if u.kind == "Any" || u.kind == "All" || !slices.Contains(u.init, fold.Init[i].String()) || fold.Map[i].String() != x {
		return ""
	}
	return u.kind
}
