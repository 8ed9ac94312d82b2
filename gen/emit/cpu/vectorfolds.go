package cpu

import (
	"path"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/codegen/loops"
	lanes "github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/gen/emit/bodies"
	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// An ownFold is an entry of a reduction's table whose loops are the schema's own
// rather than those of package fold.
type ownFold struct {
	op      *schema.Op
	variant schema.Variant
	at      int // the variant's index
	dtype   ir.DType
	parts   *bodies.Fold
}

// foldVectors emits the assembly of the reductions with loops of their own, and the
// list that puts it into the tables. Those that cannot be lowered stay portable.
func (e *emitter) foldVectors() {
	code := x86.NewFile(path.Join(e.Target.Dir, "cpu"), "cpu", "own_folds", unit.Module+"/gen from "+e.Target.Source)
	f := e.goFile("cpu", "own_folds_table_amd64.go", "")
	f.HeaderComment("//go:build amd64")
	var order []*schema.Op
	lists := map[*schema.Op][]jen.Code{}
	seen := map[string]bool{}
	for _, own := range e.ownFolds {
		name := variantName(own.op, own.variant) + unit.DTypeConst[own.dtype]
		if seen[name] { // operators are printed twice, once to count lines
			continue
		}
		seen[name] = true
		if _, known := lists[own.op]; !known {
			order, lists[own.op] = append(order, own.op), nil
		}
		items := []jen.Code{
			gofile.Field("Variant", jen.Lit(own.at)), gofile.Field("DType", gofile.DTypeName(own.dtype)),
		}
		some := false
		for _, isa := range instructionSets {
			if loops := foldLoops(code, f, own, isa); loops != nil {
				items, some = append(items, gofile.Field(isa.String(), jen.Qual(gofile.VectorPath, "FoldLoops").Values(loops...))), true
			}
		}
		if some {
			lists[own.op] = append(lists[own.op], jen.Values(items...))
		}
	}
	if len(order) == 0 {
		return
	}
	if !code.Empty() {
		files, err := code.Files()
		if err != nil {
			e.Errs = append(e.Errs, err)
		}
		for _, file := range files {
			e.Add(file.Path, file.Data)
		}
	}
	f.Anon(vmathPath) // the functions that the loops call
	for _, op := range order {
		e.list(f, op, "FoldVectors", "Fold", lists[op])
	}
	f.Done()
}

// foldLoops adds the assembly of one entry and returns the fields that name it, nil
// where an instruction set cannot compute it.
func foldLoops(code *x86.File, f *goFile, own ownFold, isa x86.ISA) []jen.Code {
	parts := loops.Fold{Init: own.parts.Init, Map: own.parts.Mapped, Combine: own.parts.Comb, Operand: own.op.Params[0].Name,
		Inputs: func(g *expr.Graph) []lanes.Input { return foldInputs(own.op, g) }}
	set, err := parts.Loops(isa)
	if err != nil {
		return nil
	}
	base := variantName(own.op, own.variant) + unit.DTypeConst[own.dtype]
	rows, err := set.Rows(base + "Rows")
	if err != nil {
		return nil
	}
	var fields []jen.Code
	if set.Reorders {
		all, err := set.Fold(base + "Fold")
		if err != nil {
			return nil
		}
		code.Add(all)
		fields = append(fields, gofile.Field("Fold", jen.Id(foldWrapper(f, base+"Fold"+isa.String(), set.Scalars))))
	}
	code.Add(rows)
	name := foldWrapper(f, base+"Rows"+isa.String(), set.Scalars)
	fields = append(fields, gofile.Field("Rows", jen.Id(name)))
	if set.Merges {
		fields = append(fields, gofile.Field("Merge", jen.Id(name)))
	}
	return fields
}

// foldInputs is laneInputs for the parts of a fold, where a and b are accumulators.
func foldInputs(op *schema.Op, g *expr.Graph) []lanes.Input {
	list := laneInputs(op, g)
	for i, in := range list {
		if n := map[string]int{"a": 1, "b": 2}[in.Name]; n > 0 && !bodies.HasParam(op, in.Name) {
			list[i].Scalar, list[i].Index = false, n-1
		}
	}
	return list
}

// foldWrapper returns the name of a Go function that is a fold's loop: the assembly
// itself, or one that converts its arguments.
func foldWrapper(f *goFile, name string, scalars []ir.DType) string {
	bits := make([]jen.Code, len(scalars))
	for i, d := range scalars {
		bits[i] = jen.Lit(0)
		if d != ir.Invalid {
			bits[i] = jen.Qual(gofile.VectorPath, scalarBits(d)).Call(jen.Id("s").Index(jen.Lit(i)))
		}
	}
	if len(bits) == 0 {
		return name
	}
	params := []jen.Code{
		jen.Id("n").Int(), jen.List(jen.Id("acc"), jen.Id("x")).Qual("unsafe", "Pointer"), jen.Id("s").Index().Add(gofile.IRName("Scalar")),
	}
	f.Func().Id(name + "Loop").Params(params...).Block(
		jen.Id(name).Call(jen.Id("n"), jen.Id("acc"), jen.Id("x"), jen.Op("&").Index(jen.Lit(len(bits))).Uint64().Values(bits...)))
	f.Line()
	return name + "Loop"
}
