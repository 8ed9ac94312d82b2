package emit

import (
	"path"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/codegen/loops"
	lanes "github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/codegen/x86"
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
	parts   *fold
}

// foldVectors emits the assembly of the reductions with loops of their own, and the
// list that puts it into the tables. Those that cannot be lowered stay portable.
func (e *emitter) foldVectors() {
	code := x86.NewFile(path.Join(e.target.Dir, "cpu"), "cpu", "own_folds", Module+"/gen from "+e.target.Source)
	f := e.goFile("cpu", "own_folds_table_amd64.go", "")
	f.HeaderComment("//go:build amd64")
	var list []jen.Code
	seen := map[string]bool{}
	for _, own := range e.ownFolds {
		name := variantName(own.op, own.variant) + dtypeConst[own.dtype]
		if seen[name] { // operators are printed twice, once to count lines
			continue
		}
		seen[name] = true
		items := []jen.Code{
			field("Op", jen.Lit(own.op.Name)), field("Table", jen.Op("&").Id(own.op.GoName)),
			field("Variant", jen.Lit(own.at)), field("DType", dtypeName(own.dtype)),
		}
		some := false
		for _, isa := range instructionSets {
			if loops := foldLoops(code, f, own, isa); loops != nil {
				items, some = append(items, field(isa.String(), jen.Qual(vectorPath, "FoldLoops").Values(loops...))), true
			}
		}
		if some {
			list = append(list, jen.Values(items...))
		}
	}
	if len(list) == 0 {
		return
	}
	files, err := code.Files()
	if err != nil {
		e.errs = append(e.errs, err)
	}
	for _, file := range files {
		e.add(file.Path, file.Data)
	}
	f.Anon(vmathPath) // the functions that the loops call
	f.doc("folds are the assembly loops of the reductions.")
	f.Var().Id("folds").Op("=").Index().Qual(vectorPath, "Fold").Add(rows(list...))
	f.Line()
	f.Func().Id("init").Params().Block(jen.Qual(vectorPath, "InstallFolds").Call(jen.Id("folds")))
	f.done()
}

// foldLoops adds the assembly of one entry and returns the fields that name it, nil
// where an instruction set cannot compute it.
func foldLoops(code *x86.File, f *goFile, own ownFold, isa x86.ISA) []jen.Code {
	parts := loops.Fold{Init: own.parts.init, Map: own.parts.mapped, Combine: own.parts.comb, Operand: own.op.Params[0].Name,
		Inputs: func(g *expr.Graph) []lanes.Input { return foldInputs(own.op, g) }}
	set, err := parts.Loops(isa)
	if err != nil {
		return nil
	}
	base := variantName(own.op, own.variant) + dtypeConst[own.dtype]
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
		fields = append(fields, field("Fold", jen.Id(foldWrapper(f, base+"Fold"+isa.String(), set.Scalars))))
	}
	code.Add(rows)
	name := foldWrapper(f, base+"Rows"+isa.String(), set.Scalars)
	fields = append(fields, field("Rows", jen.Id(name)))
	if set.Merges {
		fields = append(fields, field("Merge", jen.Id(name)))
	}
	return fields
}

// foldInputs is laneInputs for the parts of a fold, where a and b are accumulators.
func foldInputs(op *schema.Op, g *expr.Graph) []lanes.Input {
	list := laneInputs(op, g)
	for i, in := range list {
		if n := map[string]int{"a": 1, "b": 2}[in.Name]; n > 0 && !hasParam(op, in.Name) {
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
			bits[i] = jen.Qual(vectorPath, scalarBits(d)).Call(jen.Id("s").Index(jen.Lit(i)))
		}
	}
	if len(bits) == 0 {
		return name
	}
	params := []jen.Code{
		jen.Id("n").Int(), jen.List(jen.Id("acc"), jen.Id("x")).Qual("unsafe", "Pointer"), jen.Id("s").Index().Add(irName("Scalar")),
	}
	f.Func().Id(name + "Loop").Params(params...).Block(
		jen.Id(name).Call(jen.Id("n"), jen.Id("acc"), jen.Id("x"), jen.Op("&").Index(jen.Lit(len(bits))).Uint64().Values(bits...)))
	f.Line()
	return name + "Loop"
}
