package ops

import (
	"maps"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// saves prints which operands and results a backward function reads, or nil.
func (e *emitter) saves(op *schema.Op) code {
	names := map[string]bool{}
	for i := range op.Grads {
		maps.Copy(names, e.gradReads(op, &op.Grads[i]))
	}
	var out code
	add := func(c code) {
		if out == nil {
			out = c
		} else {
			out = out.Op("|").Add(c)
		}
	}
	for i, p := range op.Operands() {
		switch {
		case !names[p.Name] || p.Name == "dy": // dy is the result's gradient
		case p.Type == schema.TensorList:
			add(gofile.CoreName("SaveAllIn"))
		default:
			add(gofile.CoreName("SaveIn").Call(jen.Lit(i)))
		}
	}
	for i, r := range op.Results {
		if names[r.Name] {
			add(gofile.CoreName("SaveOut").Call(jen.Lit(i)))
		}
	}
	return out
}

// gradReads returns the names whose values the gradient of one operand needs.
func (e *emitter) gradReads(op *schema.Op, g *schema.Grad) map[string]bool {
	names := map[string]bool{}
	switch {
	case g.None:
	case g.Block != nil:
		return reads(g.Block)
	case g.Derived != nil:
		for _, x := range g.Derived {
			for _, n := range namesIn(x) {
				names[n] = true
			}
		}
	case g.ByRule && op.Kind == ir.Reduction:
		return e.reductionReads(op, g.Operand.Name)
	}
	return names
}

// backward prints the backward function of an operator that has one of its own:
//
//	func <name>Backward(grad *core.Grad) {
//		dy := grad.Dy(0)
//		<operands, results and arguments that gradients read>
//		if grad.Needs(0) {
//			grad.Set(0, <gradient>)
//		}
//	}
func (f *goFile) backward(op *schema.Op) {
	if !f.e.differentiable(op) {
		return
	}
	var parts []*gradPart
	for i := range op.Grads {
		if g := &op.Grads[i]; !g.None {
			parts = append(parts, f.e.gradPart(op, g))
		}
	}
	if body := f.e.together(op, parts); body != nil {
		f.backwardFunc(op, body)
		return
	}
	shared := map[string]int{}
	for _, part := range parts {
		for n := range part.names {
			shared[n]++
		}
	}
	narrow := func(_ string, x code) code { return x }
	if len(parts) == 1 {
		narrow = parts[0].widen
	}
	body := f.e.gradLocals(op, func(n string) bool { return shared[n] > 1 || shared[n] == 1 && len(parts) == 1 }, narrow)
	for _, part := range parts {
		own := f.e.gradLocals(op, func(n string) bool { return part.names[n] && shared[n] == 1 && len(parts) > 1 }, part.widen)
		if len(parts) == 1 { // a node is only recorded where some gradient is wanted
			body = append(body, part.body...)
			continue
		}
		own = append(part.shadows(slices.DeleteFunc(tensorsOf(op), func(n string) bool { return !part.names[n] || shared[n] == 1 })), own...)
		needs := jen.Id("grad").Dot("Needs").Call(jen.Lit(part.operand))
		if part.list {
			body = append(body, append(own, part.body...)...)
			continue
		}
		body = append(body, jen.If(needs).Block(append(own, part.body...)...))
	}
	f.backwardFunc(op, body)
	for _, part := range parts {
		if part.helper != nil {
			f.Add(part.helper)
			f.Line()
		}
	}
}

func (f *goFile) backwardFunc(op *schema.Op, body []jen.Code) {
	f.Comment(backwardName(op) + " is the gradient of " + op.Name + ".")
	f.Func().Id(backwardName(op)).Params(jen.Id("grad").Op("*").Add(gofile.CoreName("Grad"))).Block(body...)
	f.Line()
}

// gradPart is the gradient of one operand.
type gradPart struct {
	operand int
	list    bool
	names   map[string]bool // what body reads: dy, operands, results, arguments
	body    []jen.Code      // ends by setting the gradient
	helper  code            // a function of its own, or nil

	wide    wideness
	spoiled map[string]bool // what is read wide, if anything is
	lists   map[string]bool // lists among these
}

// gradLocals prints the definitions of the wanted names, in a fixed order. Tensors are
// given to widen with their names.
func (e *emitter) gradLocals(op *schema.Op, want func(name string) bool, widen func(name string, x code) code) []jen.Code {
	var body []jen.Code
	for i, r := range op.Results {
		name := op.DyOf(r)
		dy := widen(name, jen.Id("grad").Dot("Dy").Call(jen.Lit(i)))
		switch {
		case !want(name):
		case comparedToNil(op, name):
			body = append(body, jen.Var().Id(unit.Local(name)).Add(gofile.TensorType()),
				jen.If(jen.Id("grad").Dot("HasDy").Call(jen.Lit(i))).Block(jen.Id(unit.Local(name)).Op("=").Add(dy)))
		default:
			body = append(body, jen.Id(unit.Local(name)).Op(":=").Add(dy))
		}
	}
	for i, p := range op.Operands() {
		if want(p.Name) && p.Name != "dy" {
			get := jen.Id("grad").Dot("In").Call(jen.Lit(i))
			if p.Type == schema.TensorList {
				get = jen.Id("listIn").Call(jen.Id("grad"), jen.Lit(i))
			}
			body = append(body, jen.Id(unit.Local(p.Name)).Op(":=").Add(widen(p.Name, get)))
		}
	}
	for i, r := range op.Results {
		if want(r.Name) {
			body = append(body, jen.Id(unit.Local(r.Name)).Op(":=").Add(widen(r.Name, jen.Id("grad").Dot("Out").Call(jen.Lit(i)))))
		}
	}
	for _, p := range op.Attrs() {
		if want(p.Name) {
			body = append(body, jen.Id(unit.Local(p.Name)).Op(":=").Add(e.AttrRead(op, p, jen.Id("grad").Dot("Attr").Call(jen.Lit(p.Attr)))))
		}
	}
	return body
}

// comparedToNil reports whether some gradient of op asks if name, the gradient of
// a result, is there. Any other is zeros where it is not.
func comparedToNil(op *schema.Op, name string) (found bool) {
	for i := range op.Grads {
		if op.Grads[i].Block == nil {
			continue
		}
		walkBlock(op.Grads[i].Block, func(v, parent *schema.Value) {
			found = found || v.Kind == schema.NameValue && v.Name == name && parent != nil && comparesNil(parent)
		})
	}
	return found
}

// comparesNil reports whether v is a comparison with nil.
func comparesNil(v *schema.Value) bool {
	return v.Kind == schema.BinaryValue && slices.ContainsFunc(v.Args, func(a schema.Value) bool {
		return a.Kind == schema.LiteralValue && a.Literal.Nil
	})
}

func (e *emitter) gradPart(op *schema.Op, g *schema.Grad) *gradPart {
	part := &gradPart{operand: g.Operand.Operand, list: g.Operand.Type == schema.TensorList, spoiled: map[string]bool{}, lists: map[string]bool{}}
	for _, p := range op.Operands() {
		part.lists[p.Name] = p.Type == schema.TensorList
	}
	switch {
	case g.Block != nil:
		e.blockGrad(op, g, part)
	case op.Kind == ir.Reduction:
		e.reductionGrad(op, g, part)
	default:
		e.derivedGrad(op, g, part)
	}
	return part
}

// set prints grad.Set for one operand. A gradient written in the schema may
// still have the shape and dtype of the broadcast and promoted operands.
func (e *emitter) set(op *schema.Op, part *gradPart, dx code) code {
	i := jen.Lit(part.operand)
	if e.mustFit(op) || part.wide != asIs {
		dx = jen.Id("fit").Call(jen.Id("grad"), i.Clone(), dx)
	}
	return jen.Id("grad").Dot("Set").Call(i, dx)
}

// mustFit reports whether operands may be broadcast or promoted, or converted to a dtype that
// the program asks for.
func (e *emitter) mustFit(op *schema.Op) bool {
	if op.Kind == ir.ViewBody {
		return false
	}
	asked := slices.ContainsFunc(op.Params, func(p *schema.Param) bool { return p.Type == schema.DType })
	return op.Promote != ir.PromoteNone || len(op.Operands()) > 1 || asked
}

// blockGrad prints a gradient that the schema gives: in place where it is one
// expression, else as a function of its own.
func (e *emitter) blockGrad(op *schema.Op, g *schema.Grad, part *gradPart) {
	p := &block{e: e, op: op, backward: true}
	stmts := p.statements(g.Block)
	names := reads(g.Block)
	part.wide = e.wide(op, e.roundings(op, g.Block, true))
	e.spoiled(g.Block, part.spoiled)
	part.onlyTensors(op)
	if !part.list && len(stmts) == 1 {
		part.names = names
		if e.usesPlace(g.Block) {
			names[p.placeName()] = true
		}
		part.body = []jen.Code{e.set(op, part, p.value(g.Block.Stmts[0].Values[0]))}
		return
	}
	part.names = map[string]bool{}
	if e.usesPlace(g.Block) {
		names[p.placeName()] = true
	}
	name := unit.Lower(op.GoName) + "Grad" + schema.GoName(g.Operand.Name)
	if e.goNames[name] {
		name += "Of"
	}
	result := gofile.TensorType()
	if part.list {
		result = jen.Index().Add(gofile.TensorType())
	}
	defs := e.gradLocals(op, func(n string) bool { return names[n] }, part.widen)
	part.helper = jen.Func().Id(name).Params(jen.Id("grad").Op("*").Add(gofile.CoreName("Grad"))).Add(result).Block(append(defs, stmts...)...)
	call := jen.Id(name).Call(jen.Id("grad"))
	if !part.list {
		part.body = []jen.Code{e.set(op, part, call)}
		return
	}
	dx := jen.Id("dx")
	at := jen.Id("i")
	if part.operand > 0 {
		at = jen.Lit(part.operand).Op("+").Id("i")
	}
	if e.mustFit(op) || part.wide != asIs {
		dx = jen.Id("fit").Call(jen.Id("grad"), at.Clone(), dx)
	}
	part.body = []jen.Code{jen.For(jen.List(jen.Id("i"), jen.Id("dx")).Op(":=").Range().Add(call)).Block(
		jen.Id("grad").Dot("Set").Call(at, dx))}
}

// usesPlace reports whether a block calls a factory.
func (e *emitter) usesPlace(b *schema.Block) bool {
	found := false
	walkBlock(b, func(v, _ *schema.Value) {
		found = found || v.Kind == schema.CallValue && v.Op.Factory()
	})
	return found
}

// placeName is the schema's name of the gradient that factories take the place of.
func (p *block) placeName() string { return dyNames(p.op)[0] }

// derivedGrad prints a gradient derived from an element-wise body: one fused
// operator where nothing is recorded, and otherwise the same expression as
// operators that can themselves be differentiated.
func (e *emitter) derivedGrad(op *schema.Op, g *schema.Grad, part *gradPart) {
	part.names = map[string]bool{}
	compositions, lets := make([]code, len(g.Derived)), make([][]jen.Code, len(g.Derived))
	cheap := true
	placed := e.placed(op, g)
	roundings := 0
	for i, x := range g.Derived {
		if placed {
			break
		}
		c := &composer{e: e, op: op}
		compositions[i] = c.gradient(x, g.Operand.Operand)
		lets[i] = c.lets
		cheap = cheap && c.calls <= 1
		roundings = max(roundings, c.roundings)
		for _, n := range namesIn(x) {
			part.names[n] = true
		}
		if c.likeDy {
			part.names[dyNames(op)[0]] = true
		}
	}
	part.spoilAll(op)
	part.wide = e.wide(op, min(roundings, 1))
	if len(compositions) == 1 && cheap && !placed {
		part.body = []jen.Code{e.set(op, part, compositions[0])}
		return
	}
	fused := e.fused[op][g.Operand.Name]
	var args []jen.Code
	for _, p := range fused.Params {
		args = append(args, jen.Id(unit.Local(p.Name)))
		part.names[p.Name] = true
	}
	part.spoilAll(op)
	part.wide = e.wide(op, 1)
	now := e.set(op, part, jen.Id(e.funcName(fused)).Call(args...))
	if placed {
		part.body = []jen.Code{now}
		return
	}
	steps := &gradPart{operand: part.operand, wide: e.wide(op, roundings), spoiled: part.spoiled, lists: part.lists}
	var recorded []jen.Code
	if steps.wide == always {
		recorded = steps.shadows(tensorsOf(op))
	}
	if len(compositions) == 1 {
		recorded = append(append(recorded, lets[0]...), e.set(op, steps, compositions[0]))
	} else {
		var cases []jen.Code
		for i, c := range compositions {
			n, pkg := e.EnumOf(op, op.Switch)
			cases = append(cases, jen.Case(jen.Qual(pkg, n.Value(op.Switch.Enum[i]))).Block(append(lets[i], e.set(op, steps, c))...))
		}
		recorded = append(recorded, jen.Switch(jen.Id(unit.Local(op.Switch.Name))).Block(cases...))
	}
	part.body = []jen.Code{jen.If(jen.Id("grad").Dot("Recording").Call()).Block(recorded...).Else().Block(now)}
}

func isName(x *expr.Expr, name string) bool { return x.String() == name }

// all returns all operators of the schema and those made for gradients,
// by name.
func (e *emitter) all() []*schema.Op {
	out := slices.Clone(e.Spec.Ops)
	for _, op := range e.Spec.Ops {
		for _, f := range e.fused[op] {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, unit.ByName)
	return out
}
