package cpu

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/bodies"
	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// accTypes are the Go types of the accumulator, where the operand has types.
func accTypes(p *bodies.Fold, d ir.DType, types expr.GoTypes) expr.GoTypes {
	if p.Acc == d {
		return types
	}
	return expr.GoTypes{T: goTypes[p.Acc], Real: goTypes[p.Acc.Real()]}
}

// foldText is what distinguishes the functions of one fold by dtype.
func foldText(p *bodies.Fold, d ir.DType, types expr.GoTypes) string {
	at := accTypes(p, d, types)
	return fmt.Sprint(printedText(p.Mapped, types), printedText(p.Init, at), printedText(p.Comb, at), printedText(p.Finish, at))
}

// folder prints the loops of one family of a reduction or scan.
type folder struct {
	*goFile
	op   *schema.Op
	name string
	fam  *family
	fold *bodies.Fold
	x, a expr.GoTypes // of operand and accumulator
}

// folds prints a reduction or a scan.
func (f *goFile) folds(op *schema.Op) {
	var table []jen.Code
	for at, v := range op.Variants {
		parts := map[ir.DType]*bodies.Fold{}
		for _, d := range unit.ComputeDTypes(op) {
			p, err := bodies.CheckFold(v, d)
			if err != nil {
				f.e.Fail(op, "%v", err)
				return
			}
			if op.Kind == ir.Scan && v.Finish.Uses("count") {
				f.e.Fail(op, "scan: finish cannot read count: every prefix has its own")
				return
			}
			parts[d] = p
		}
		fams := families(unit.ComputeDTypes(op), func(d ir.DType, types expr.GoTypes) string { return foldText(parts[d], d, types) })
		base := variantName(op, v)
		var entries []jen.Code
		for _, fam := range fams {
			d := fam.dtypes[0]
			w := &folder{f, op, base + fam.suffix, fam, parts[d], fam.types(), accTypes(parts[d], d, fam.types())}
			kind := w.usual(v)
			if kind != "" {
				w.usualParts()
			} else {
				f.Comment("// " + w.name + ": init " + v.Init.String() + ", map " + v.Map.String() + ", combine " + v.Combine.String() + ", finish " + v.Finish.String())
				w.all(v)
			}
			for _, d := range fam.dtypes {
				acc, out := gofile.DTypeName(parts[d].Acc), gofile.DTypeName(parts[d].Finish.Result())
				loops := fam.instance(w.name+"Loops", d).Call(acc, out)
				if kind != "" {
					loops = w.usualLoops(kind, d, out)
				} else {
					f.e.ownFolds = append(f.e.ownFolds, ownFold{op, v, at, d, parts[d]})
				}
				entries = append(entries, jen.Add(gofile.DTypeName(d)).Op(":").Add(loops))
			}
		}
		table = append(table, jen.Values(entries...))
	}
	f.Doc(op.GoName + " holds the loops of " + op.Name + ", by variant and compute dtype.")
	assembly := ""
	if slices.ContainsFunc(f.e.ownFolds, func(own ownFold) bool { return own.op == op }) {
		assembly = "FoldVectors"
	}
	f.table(op, gofile.Field("Folds", tableType(jen.Op("*").Add(jen.Qual(gofile.VectorPath, "FoldFuncs"))).Add(gofile.Rows(table...))), assembly, "MakeFold", "Folds")
}

// all prints the scalar functions, the loops, and the function that collects them.
func (w *folder) all(v schema.Variant) {
	if !isIdentity(w.fold.Mapped, w.op.Params[0].Name) {
		w.scalarFunc(w.name+"Map", w.fam, w.x, w.fold.Mapped)
	}
	w.scalarFunc(w.name+"Combine", w.accFamily(), w.a, w.fold.Comb)
	if !isIdentity(w.fold.Finish, "a") {
		w.scalarFunc(w.name+"Finish", w.accFamily(), w.a, w.fold.Finish)
	}
	items := []jen.Code{gofile.Field("Acc", jen.Id("acc")), gofile.Field("Out", jen.Id("out"))}
	add := func(fieldName, fn string, print func(string)) {
		print(w.name + fn)
		item := jen.Id(w.name + fn)
		if w.fam.generic {
			item = item.Types(jen.Id("T"))
		}
		items = append(items, gofile.Field(fieldName, item))
	}
	add("Init", "Start", w.start)
	if w.rounds(v) {
		add("Fold", "Fold", w.laneLoop)
	} else {
		add("Fold", "Fold", w.foldLoop)
	}
	add("Rows", "Rows", w.rowsLoop)
	add("Merge", "Merge", w.merge)
	add("Finish", "End", w.end)
	if w.op.Kind == ir.Scan {
		add("Run", "Run", w.run)
	}
	w.fn(w.name+"Loops", []jen.Code{jen.List(jen.Id("acc"), jen.Id("out")).Add(gofile.IRName("DType"))}, jen.Op("*").Add(jen.Qual(gofile.VectorPath, "FoldFuncs")),
		jen.Return(jen.Op("&").Add(jen.Qual(gofile.VectorPath, "FoldFuncs")).Add(gofile.Rows(items...))))
}

// accFamily is the family with a type parameter only where the accumulator has
// the operand's type.
func (w *folder) accFamily() *family {
	if w.a == w.x {
		return w.fam
	}
	plain := *w.fam
	plain.generic = false
	return &plain
}

// isIdentity reports whether an expression is the one name given.
func isIdentity(g *expr.Graph, name string) bool {
	return g.Roots[0].Op == expr.OpName && g.Roots[0].Name == name
}

// fn prints a function of the family.
func (w *folder) fn(name string, params []jen.Code, result code, body ...jen.Code) {
	fn := w.Func().Id(name)
	if tp := w.fam.typeParams(); tp != nil {
		fn = fn.Types(tp...)
	}
	fn = fn.Params(params...)
	if result != nil {
		fn = fn.Add(result)
	}
	fn.Block(body...)
	w.Line()
}

func unsafePointer() code { return jen.Qual("unsafe", "Pointer") }

// outOf is the Go type of results.
func (w *folder) outOf() string { return kindType(w.fold.Finish.Roots[0].Kind, w.a) }

// foldNames are what loops of folds call their own variables beside loopNames, and the package that they call.
var foldNames = []string{"x", "before", "first", "whole", "fold", "x0", "x1", "x2", "x3", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"}

// foldLocal returns the Go name of an argument inside a loop of a fold.
func foldLocal(name string) string {
	if local := loopLocal(name); !slices.Contains(foldNames, local) {
		return local
	}
	return unit.Local(name) + "Value"
}

// setup reads the scalar arguments that some of the given graphs use.
func (w *folder) setup(graphs ...*expr.Graph) (s code, stmts []jen.Code) {
	s = jen.Id("_")
	seen := map[string]bool{}
	for _, g := range graphs {
		types := w.a
		if g == w.fold.Mapped {
			types = w.x
		}
		for _, in := range inputsOf(g) {
			if !bodies.HasParam(w.op, in.name) || bodies.OperandIndex(w.op, in.name) >= 0 || seen[in.name] {
				continue
			}
			seen[in.name] = true
			s = jen.Id("s")
			stmts = append(stmts, jen.Id(foldLocal(in.name)).Op(":=").Add(scalarRead(w.op, in, types)))
		}
	}
	return s, stmts
}

// call prints the application of one part to the values of its operands.
func (w *folder) call(fn string, g *expr.Graph, values map[string]code) code {
	var args []jen.Code
	for _, in := range inputsOf(g) {
		if v, ok := values[in.name]; ok {
			args = append(args, v.Clone())
			continue
		}
		args = append(args, jen.Id(foldLocal(in.name)))
	}
	fam := w.fam
	if g != w.fold.Mapped {
		fam = w.accFamily()
	}
	return fam.typed(w.name+fn, g).Call(args...)
}

func (w *folder) mapOf(x code) code {
	if isIdentity(w.fold.Mapped, w.op.Params[0].Name) {
		return x.Clone()
	}
	return w.call("Map", w.fold.Mapped, map[string]code{w.op.Params[0].Name: x})
}

func (w *folder) combine(a, b code) code {
	return w.call("Combine", w.fold.Comb, map[string]code{"a": a, "b": b})
}

func (w *folder) finishOf(a, count code) code {
	if isIdentity(w.fold.Finish, "a") {
		return a
	}
	return w.call("Finish", w.fold.Finish, map[string]code{"a": a, "count": count})
}

// identity prints the value that accumulators start with.
func (w *folder) identity() code {
	text := w.fold.Init.Go(w.a)
	x := goExpr(text.Results[0])
	if w.fold.Init.Roots[0].Op == expr.OpConst && w.a.T != "bool" {
		return jen.Id(w.a.T).Call(x)
	}
	return x
}

func (w *folder) start(name string) {
	s, pre := w.setup(w.fold.Init)
	if len(w.fold.Init.Go(w.a).Lets) > 0 {
		w.e.Fail(w.op, "init is too involved: want a constant or an argument")
	}
	body := append(pre, jen.Id("identity").Op(":=").Add(w.identity()),
		jen.For(jen.List(jen.Id("i"), jen.Id("a")).Op(":=").List(jen.Lit(0), sliceOf(jen.Id("acc"), w.a.T)), jen.Id("i").Op("<").Len(jen.Id("a")), jen.Id("i").Op("++")).Block(
			jen.Id("a").Index(jen.Id("i")).Op("=").Id("identity")))
	w.fn(name, []jen.Code{jen.Id("n").Int(), jen.Id("acc").Add(unsafePointer()), s.Index().Add(gofile.IRName("Scalar"))}, nil, body...)
}

// foldLoop prints a fold with four accumulators, each over a quarter of the
// elements, so that they do not wait for one another; the elements' order is
// kept, so combine need only be associative:
//
//	a0, a1, a2, a3 := *total, identity, identity, identity
//	q := n / 4
//	x0, x1, x2, x3 := x[:q], x[q:2*q], x[2*q:3*q], x[3*q:4*q]
//	for i := range x0 { a0 = combine(a0, x0[i]) ... }
//	for _, v := range x[4*q:] { a3 = combine(a3, v) }
//	*total = combine(combine(a0, a1), combine(a2, a3))
func (w *folder) foldLoop(name string) {
	s, pre := w.setup(w.fold.Init, w.fold.Mapped, w.fold.Comb)
	at := func(lo, hi string) code { return jen.Id("xs").Op("[" + lo + ":" + hi + "]") }
	var accs, starts, quarters, steps []jen.Code
	bounds := []string{"", "q", "2*q", "3*q", "4*q"}
	for i := range 4 {
		a, xi := jen.Id(fmt.Sprintf("a%d", i)), fmt.Sprintf("x%d", i)
		accs = append(accs, a)
		start := jen.Id("identity")
		if i == 0 {
			start = jen.Op("*").Id("total")
		}
		starts = append(starts, start)
		quarter := at(bounds[i], bounds[i+1])
		if i > 0 {
			quarter = quarter.Op("[:q]")
		}
		quarters = append(quarters, quarter)
		steps = append(steps, a.Clone().Op("=").Add(w.combine(a, w.mapOf(jen.Id(xi).Index(jen.Id("i"))))))
	}
	a := func(i int) code { return jen.Id(fmt.Sprintf("a%d", i)) }
	body := append([]jen.Code{
		jen.List(jen.Id("total"), jen.Id("xs")).Op(":=").List(jen.Parens(jen.Op("*").Id(w.a.T)).Call(jen.Id("acc")), sliceOf(jen.Id("x"), w.x.T)),
	}, pre...)
	body = append(body,
		jen.Id("identity").Op(":=").Add(w.identity()),
		jen.List(accs...).Op(":=").List(starts...),
		jen.Id("q").Op(":=").Id("n").Op("/").Lit(4),
		jen.Id("x0").Op(",").Id("x1").Op(",").Id("x2").Op(",").Id("x3").Op(":=").List(quarters...),
		jen.For(jen.Id("i").Op(":=").Range().Id("x0")).Block(steps...),
		jen.For(jen.List(jen.Id("_"), jen.Id("v")).Op(":=").Range().Add(at("4*q", ""))).Block(
			a(3).Op("=").Add(w.combine(a(3), w.mapOf(jen.Id("v"))))),
		jen.Op("*").Id("total").Op("=").Add(w.combine(w.combine(a(0), a(1)), w.combine(a(2), a(3)))))
	w.fn(name, w.accAndX(s), nil, body...)
}

// rounds reports whether the order of a usual way of combining shows in results, so
// that it must be the one of package fold.
func (w *folder) rounds(v schema.Variant) bool {
	kind := usualFolds[v.Combine.String()].kind
	return kind == "Sum" || kind == "Prod"
}

// laneLoop prints a fold in the order of package fold: element i goes to accumulator
// i modulo their number in 256 bytes, and halves of them are combined. Eight
// accumulators, an eighth of all apart, are folded at once; the first three halvings
// combine just these.
//
//	lanes := fold.Lanes[T]()
//	m, full := lanes/8, n/lanes*lanes
//	for j := range m {
//		a0, ..., a7 := identity, ..., identity
//		for p := j; p < full; p += lanes { a0 = combine(a0, xs[p]); a1 = combine(a1, xs[p+m]) ... }
//		if p := full+j; p < n { a0 = combine(a0, xs[p]) } ...
//		part[j] = combine(combine(combine(a0, a4), combine(a2, a6)), combine(combine(a1, a5), combine(a3, a7)))
//	}
//	for m /= 2; m > 0; m /= 2 { for j := range m { part[j] = combine(part[j], part[j+m]) } }
//	*total = combine(*total, part[0])
func (w *folder) laneLoop(name string) {
	s, pre := w.setup(w.fold.Init, w.fold.Mapped, w.fold.Comb)
	var accs, starts, steps, rest []jen.Code
	a := func(i int) code { return jen.Id(fmt.Sprintf("a%d", i)) }
	where := func(i int) code {
		return goExpr([]string{"p", "p + m", "p + 2*m", "p + 3*m", "p + 4*m", "p + 5*m", "p + 6*m", "p + 7*m"}[i])
	}
	for i := range 8 {
		accs, starts = append(accs, a(i)), append(starts, jen.Id("identity"))
		step := a(i).Op("=").Add(w.combine(a(i), w.mapOf(jen.Id("xs").Index(where(i)))))
		steps = append(steps, step)
		rest = append(rest, jen.If(where(i).Op("<").Id("n")).Block(step.Clone()))
	}
	four := func(i int) code { return w.combine(w.combine(a(i), a(i+4)), w.combine(a(i+2), a(i+6))) }
	part := func(index code) code { return jen.Id("part").Index(index) }
	body := append([]jen.Code{
		jen.List(jen.Id("total"), jen.Id("xs")).Op(":=").List(jen.Parens(jen.Op("*").Id(w.a.T)).Call(jen.Id("acc")), sliceOf(jen.Id("x"), w.x.T)),
	}, pre...)
	inner := []jen.Code{
		jen.List(accs...).Op(":=").List(starts...),
		jen.Id("p").Op(":=").Id("j"),
		jen.For(jen.Empty(), jen.Id("p").Op("<").Id("full"), jen.Id("p").Op("+=").Id("lanes")).Block(steps...),
	}
	inner = append(inner, rest...)
	inner = append(inner, part(jen.Id("j")).Op("=").Add(w.combine(four(0), four(1))))
	half := jen.Id("m").Op("/=").Lit(2)
	body = append(body,
		jen.Id("identity").Op(":=").Add(w.identity()),
		jen.Var().Id("part").Index(jen.Lit(32)).Id(w.a.T),
		jen.Id("lanes").Op(":=").Qual(foldPath, "Lanes").Types(jen.Id(w.a.T)).Call(),
		jen.List(jen.Id("m"), jen.Id("full")).Op(":=").List(jen.Id("lanes").Op("/").Lit(8), jen.Id("n").Op("/").Id("lanes").Op("*").Id("lanes")),
		jen.For(jen.Id("j").Op(":=").Range().Id("m")).Block(inner...),
		jen.For(half, jen.Id("m").Op(">").Lit(0), half.Clone()).Block(
			jen.For(jen.Id("j").Op(":=").Range().Id("m")).Block(
				part(jen.Id("j")).Op("=").Add(w.combine(part(jen.Id("j")), part(jen.Id("j").Op("+").Id("m")))))),
		jen.Op("*").Id("total").Op("=").Add(w.combine(jen.Op("*").Id("total"), part(jen.Lit(0)))))
	w.fn(name, w.accAndX(s), nil, body...)
}

// accAndX are the parameters of Fold and Rows.
func (w *folder) accAndX(s code) []jen.Code {
	return []jen.Code{jen.Id("n").Int(), jen.List(jen.Id("acc"), jen.Id("x")).Add(unsafePointer()), s.Index().Add(gofile.IRName("Scalar"))}
}

func (w *folder) rowsLoop(name string) {
	s, pre := w.setup(w.fold.Mapped, w.fold.Comb)
	i := jen.Id("i")
	body := append([]jen.Code{jen.List(jen.Id("a"), jen.Id("xs")).Op(":=").List(sliceOf(jen.Id("acc"), w.a.T), sliceOf(jen.Id("x"), w.x.T))}, pre...)
	body = append(body, jen.For(i.Clone().Op(":=").Range().Id("a")).Block(
		jen.Id("a").Index(i).Op("=").Add(w.combine(jen.Id("a").Index(i), w.mapOf(jen.Id("xs").Index(i))))))
	w.fn(name, w.accAndX(s), nil, body...)
}

func (w *folder) merge(name string) {
	s, pre := w.setup(w.fold.Comb)
	i := jen.Id("i")
	body := append([]jen.Code{jen.List(jen.Id("a"), jen.Id("other")).Op(":=").List(sliceOf(jen.Id("acc"), w.a.T), sliceOf(jen.Id("b"), w.a.T))}, pre...)
	body = append(body, jen.For(i.Clone().Op(":=").Range().Id("a")).Block(
		jen.Id("a").Index(i).Op("=").Add(w.combine(jen.Id("a").Index(i), jen.Id("other").Index(i)))))
	w.fn(name, []jen.Code{jen.Id("n").Int(), jen.List(jen.Id("acc"), jen.Id("b")).Add(unsafePointer()), s.Index().Add(gofile.IRName("Scalar"))}, nil, body...)
}

func (w *folder) end(name string) {
	s, pre := w.setup(w.fold.Finish)
	count := jen.Id("_")
	for _, in := range inputsOf(w.fold.Finish) {
		if in.name == "count" {
			count = jen.Id("count")
		}
	}
	i := jen.Id("i")
	body := append([]jen.Code{jen.List(jen.Id("results"), jen.Id("a")).Op(":=").List(sliceOf(jen.Id("out"), w.outOf()), sliceOf(jen.Id("acc"), w.a.T))}, pre...)
	if isIdentity(w.fold.Finish, "a") {
		body = append(body, jen.Copy(jen.Id("results"), jen.Id("a")))
	} else {
		body = append(body, jen.For(i.Clone().Op(":=").Range().Id("results")).Block(
			jen.Id("results").Index(i).Op("=").Add(w.finishOf(jen.Id("a").Index(i), jen.Id("count")))))
	}
	w.fn(name, []jen.Code{jen.Id("n").Int(), jen.List(jen.Id("out"), jen.Id("acc")).Add(unsafePointer()), s.Index().Add(gofile.IRName("Scalar")), count.Int64()}, nil, body...)
}

// run prints the loop of a scan over a run of elements, of which before is what lies
// ahead: each result is the run's fold so far, behind it.
func (w *folder) run(name string) {
	s, pre := w.setup(w.fold.Mapped, w.fold.Comb, w.fold.Finish)
	i := jen.Id("i")
	acc := func(p string) code { return jen.Parens(jen.Op("*").Id(w.a.T)).Call(jen.Id(p)) }
	body := append([]jen.Code{
		jen.List(jen.Id("results"), jen.Id("xs")).Op(":=").List(sliceOf(jen.Id("out"), w.outOf()), sliceOf(jen.Id("x"), w.x.T)),
		jen.List(jen.Id("total"), jen.Id("first")).Op(":=").List(acc("acc"), jen.Op("*").Add(acc("before"))),
	}, pre...)
	body = append(body,
		jen.Id("sum").Op(":=").Op("*").Id("total"),
		jen.For(i.Clone().Op(":=").Range().Id("results")).Block(
			jen.Id("sum").Op("=").Add(w.combine(jen.Id("sum"), w.mapOf(jen.Id("xs").Index(i)))),
			jen.Id("whole").Op(":=").Add(w.combine(jen.Id("first"), jen.Id("sum"))),
			jen.Id("results").Index(i).Op("=").Add(w.finishOf(jen.Id("whole"), jen.Lit(0)))),
		jen.Op("*").Id("total").Op("=").Id("sum"))
	w.fn(name, []jen.Code{jen.Id("n").Int(), jen.List(jen.Id("out"), jen.Id("acc"), jen.Id("before"), jen.Id("x")).Add(unsafePointer()), s.Index().Add(gofile.IRName("Scalar"))}, nil, body...)
}
