package ops

import (
	"slices"
	"strings"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// halves are the dtypes that are accumulated in a wider one.
const halves = ir.DTypeSet(1<<ir.Float16 | 1<<ir.BFloat16)

// rounds reports whether an operator may round what it stores as a 16-bit float. One
// that moves elements, chooses among them or makes positions or truths of them does not.
// Compositions round once, whatever they are made of.
func (e *emitter) rounds(op *schema.Op) bool {
	if known, ok := e.rounding[op]; ok {
		return known
	}
	found := e.findRounds(op)
	e.rounding[op] = found
	return found
}

func (e *emitter) findRounds(op *schema.Op) bool {
	if op.DTypes&halves == 0 || op.Kind != ir.Composition && (discrete(op) || op.Results[0].Acc) {
		return false
	}
	inexact := func(schema.Variant) bool { return false }
	operand := func(name string) bool {
		return slices.ContainsFunc(op.Operands(), func(p *schema.Param) bool { return p.Name == name })
	}
	switch op.Kind {
	case ir.ViewBody:
		return false
	case ir.Opaque:
		return op.Tags&ir.TagExact == 0
	case ir.Composition:
		if op.GoCompose != nil {
			return slices.ContainsFunc(op.GoCompose.With, e.rounds)
		}
		return slices.ContainsFunc(op.Compose, func(b schema.Block) bool { return e.roundings(op, &b, false) > 0 })
	case ir.Elementwise:
		inexact = func(v schema.Variant) bool {
			return op.Promote != ir.PromoteOption && slices.ContainsFunc(v.Exprs, func(x *expr.Expr) bool { return !x.Exact(operand) })
		}
	case ir.Reduction, ir.Scan:
		inexact = func(v schema.Variant) bool {
			folded := func(name string) bool {
				return name == "a" || name == "b" || strings.Contains(name, ".") || operand(name)
			}
			parts := []*expr.Expr{v.Map, v.Combine, v.Finish}
			if v.Fold != nil {
				parts = slices.Concat(v.Fold.Map, v.Fold.Combine, v.Fold.Finish)
			}
			return slices.ContainsFunc(parts, func(x *expr.Expr) bool { return !x.Exact(folded) })
		}
	}
	return slices.ContainsFunc(op.Variants, inexact)
}

// discrete reports whether every result of op is a position or a truth.
func discrete(op *schema.Op) bool {
	return op.Promote == ir.PromoteCompare || op.DTypes&(ir.ClassFloat|ir.ClassComplex) == 0 || !slices.ContainsFunc(op.Results, func(r schema.Result) bool { return !isDiscrete(r) })
}

func isDiscrete(r schema.Result) bool { return r.DType == ir.Bool || r.DType.IsInt() }

// roundings returns how many operators in a row may round on the way from the operands
// of a block of op to what it returns, at most. To decide by numbers that were rounded
// counts as one more. fits says that whatever the block returns is rounded to the dtype that
// is wanted of it, as gradients are: what it makes of sums that were not rounded is not
// rounded on the way then.
func (e *emitter) roundings(op *schema.Op, b *schema.Block, fits bool) int {
	w := &rounder{e: e, fits: fits, names: map[string]passed{}}
	for _, p := range op.Operands() {
		w.names[p.Name] = passed{discrete: isDiscrete(schema.Result{DType: p.Fixed})}
	}
	for _, r := range op.Results {
		w.names[r.Name] = passed{discrete: isDiscrete(r)}
	}
	w.statements(ofHalves(b))
	return w.most
}

// ofHalves returns the statements of b that run where operands are 16-bit floats.
func ofHalves(b *schema.Block) []schema.Stmt {
	var out []schema.Stmt
	for i := range b.Stmts {
		s := b.Stmts[i]
		if s.If == nil {
			out = append(out, s)
			continue
		}
		switch holds, known := ofFloats(s.If); {
		case !known:
			out = append(out, s)
		case holds:
			return append(append(out, s.Body...), schema.Stmt{Return: true, Values: s.Values, Pos: s.Pos})
		}
	}
	return out
}

// ofFloats returns what a condition is for operands that are real floats, if that is all
// it depends on.
func ofFloats(v *schema.Value) (holds, known bool) {
	switch {
	case v.Kind == schema.HostValue && v.Name == "is_float":
		return true, true
	case v.Kind == schema.HostValue && (v.Name == "is_complex" || v.Name == "is_int" || v.Name == "is_bool"):
		return false, true
	case v.Kind == schema.UnaryValue && v.Name == "!":
		holds, known = ofFloats(&v.Args[0])
		return !holds, known
	case v.Kind == schema.BinaryValue && (v.Name == "&&" || v.Name == "||"):
		x, xKnown := ofFloats(&v.Args[0])
		y, yKnown := ofFloats(&v.Args[1])
		decides := v.Name == "||"
		if xKnown && x == decides || yKnown && y == decides {
			return decides, true
		}
		return !decides, xKnown && yKnown
	}
	return false, false
}

// passed is what lies between operands and a value.
type passed struct {
	roundings int
	discrete  bool // it is a position or a truth, and so is what integers are made of it
	wide      bool // it is in the dtype of sums, and its last rounding, which is counted, comes at the end
}

// rounder walks a block.
type rounder struct {
	e     *emitter
	fits  bool // what it returns is rounded at the end, if it was not before
	names map[string]passed
	most  int // of returned values
}

func (w *rounder) statements(stmts []schema.Stmt) {
	for i := range stmts {
		s := &stmts[i]
		w.statements(s.Body)
		for j := range s.Values {
			v := w.value(&s.Values[j])
			if s.Return || s.If != nil {
				w.most = max(w.most, v.roundings)
				continue
			}
			for k, name := range s.Names {
				w.names[name] = v
				if results := s.Values[j].Op; len(s.Names) > 1 && results != nil {
					w.names[name] = v.as(results.Results[k])
				}
			}
		}
	}
}

// as returns what passed for one of several results.
func (v passed) as(r schema.Result) passed {
	if isDiscrete(r) && !v.discrete {
		v.discrete = true
		if v.roundings > 0 {
			v.roundings++
		}
	}
	return v
}

func (w *rounder) value(v *schema.Value) passed {
	switch v.Kind {
	case schema.NameValue:
		return w.names[v.Name]
	case schema.HostValue:
		return passed{}
	case schema.ConvertValue:
		return passed{discrete: whole(v)}
	}
	all := passed{discrete: true}
	tensors := 0
	var narrow int // of those that are not wide
	for i := range v.Args {
		a := w.value(&v.Args[i])
		all.roundings = max(all.roundings, a.roundings)
		if all.wide = all.wide || a.wide; !a.wide {
			narrow = max(narrow, a.roundings)
		}
		switch v.Args[i].Type {
		case schema.Tensor, schema.TensorList, schema.Several:
			tensors++
			all.discrete = all.discrete && a.discrete
		}
	}
	all.discrete = all.discrete && tensors > 0
	switch {
	case v.Kind == schema.SelectValue:
		r := v.Op.Results
		if v.Op == nil {
			r = v.Args[0].Op.Results
		}
		return all.as(r[slices.IndexFunc(r, func(r schema.Result) bool { return r.Name == v.Name })])
	case v.Kind != schema.CallValue:
		return all
	case all.discrete && v.Op.Promote != ir.PromoteArithFloat && v.Op.Promote != ir.PromoteOption:
		return all // integers are made of integers
	}
	all.discrete = false
	switch {
	case all.wide: // and so is what is made of it
		all.roundings = max(all.roundings, narrow+1)
	case w.e.rounds(v.Op) || v.Op.Results[0].Acc:
		all.roundings++
		all.wide = w.fits && v.Op.Results[0].Acc
	}
	if discrete(v.Op) {
		return all.as(v.Op.Results[0])
	}
	return all
}

// shares reports whether a tensor is used more than once on the way to a result, so that
// its gradient is the sum of several, each of which may be rounded.
func (e *emitter) shares(b *schema.Block) bool {
	uses := map[string]int{}
	found := false
	var count func(v *schema.Value, sign int)
	count = func(v *schema.Value, sign int) {
		switch {
		case v.Kind == schema.HostValue || v.Kind == schema.BinaryValue || v.Kind == schema.CallValue && (v.Op.NoGrad || discrete(v.Op)):
			return
		case v.Kind == schema.NameValue && (v.Type == schema.Tensor || v.Type == schema.TensorList):
			uses[v.Name] += sign
			found = found || uses[v.Name] > 1
		}
		for i := range v.Args {
			count(&v.Args[i], sign)
		}
	}
	var walk func(stmts []schema.Stmt, sign int)
	walk = func(stmts []schema.Stmt, sign int) {
		for i := range stmts {
			s := &stmts[i]
			walk(s.Body, sign)
			for j := range s.Values {
				count(&s.Values[j], sign)
			}
			if s.If != nil { // what follows is another way
				walk(s.Body, -sign)
				for j := range s.Values {
					count(&s.Values[j], -sign)
				}
			}
		}
	}
	walk(ofHalves(b), 1)
	return found
}

// readsRounded reports whether the gradient of op is made of results as they were rounded
// to 16 bits: its own, or those of its parts.
func (e *emitter) readsRounded(op *schema.Op) bool {
	if op.NoGrad || len(e.widened(op)) > 0 {
		return false
	}
	if op.Kind == ir.Composition && !e.differentiable(op) {
		return slices.ContainsFunc(unit.PartsOf(op), e.readsRounded)
	}
	return slices.ContainsFunc(op.Grads, func(g schema.Grad) bool {
		names := e.gradReads(op, &g)
		return slices.ContainsFunc(op.Results, func(r schema.Result) bool { return names[r.Name] && r.DType == ir.Invalid && !r.Acc })
	})
}

// whole reports whether v is a number of the host that is an integer in any call.
func whole(v *schema.Value) bool {
	switch {
	case v.Kind == schema.ConvertValue:
		return whole(&v.Args[0])
	case v.Kind == schema.LiteralValue && v.Type == schema.Scalar:
		return v.Literal.Scalar.Category() <= ir.CategoryInt
	}
	return v.Type == schema.Int || v.Type == schema.Bool
}

// widened returns the operands that op, a composition, is applied to in the dtype that
// 16-bit floats are accumulated in: none where it rounds once at most. Operands that are
// nothing but factors of products in that dtype stay as they are.
func (e *emitter) widened(op *schema.Op) []*schema.Param {
	if op.Kind != ir.Composition || op.DTypes&halves == 0 || op.RoundsOnce || !e.rounds(op) {
		return nil
	}
	if op.GoCompose != nil {
		return floats(op)
	}
	spoiled := map[string]bool{}
	rounded := false
	for i := range op.Compose {
		rounded = rounded || e.roundings(op, &op.Compose[i], false) > 1 || !op.NoGrad && e.shares(&op.Compose[i])
		e.spoiled(&op.Compose[i], spoiled)
	}
	if !rounded {
		return nil
	}
	if len(op.Operands()) == 0 {
		e.Fail(op, "its elements are rounded more than once; make it one expr")
	}
	return slices.DeleteFunc(floats(op), func(p *schema.Param) bool { return !spoiled[p.Name] })
}

// floats returns the operands of op that may be of 16 bits.
func floats(op *schema.Op) []*schema.Param {
	return slices.DeleteFunc(op.Operands(), func(p *schema.Param) bool { return p.Fixed != ir.Invalid })
}

// spoiled adds to names those in b, of operands and others, that something is computed
// of besides products that accumulate: these multiply factors of 16 bits as they are.
func (e *emitter) spoiled(b *schema.Block, names map[string]bool) {
	e.spoiledIn(ofHalves(b), names)
}

// spoiledIn walks statements from the last, so that the uses of a name come before its
// definition.
func (e *emitter) spoiledIn(stmts []schema.Stmt, names map[string]bool) {
	for _, s := range slices.Backward(stmts) {
		defines := !s.Return && s.If == nil
		used := !defines || slices.ContainsFunc(s.Names, func(n string) bool { return names[n] })
		for j := range s.Values {
			e.spoil(&s.Values[j], used, names)
		}
		e.spoiledIn(s.Body, names)
	}
}

// spoil walks a value that is a factor alone unless used says otherwise.
func (e *emitter) spoil(v *schema.Value, used bool, names map[string]bool) {
	switch v.Kind {
	case schema.NameValue:
		names[v.Name] = names[v.Name] || used
		return
	case schema.HostValue:
		return
	case schema.CallValue:
		switch {
		case v.Op.Results[0].Acc:
			used = false
		case !onlyViews(v.Op):
			used = true
		}
	}
	for i := range v.Args {
		e.spoil(&v.Args[i], used, names)
	}
}

// onlyViews reports whether op makes views of its operand, real or conjugated.
func onlyViews(op *schema.Op) bool {
	if op.Kind == ir.Composition && op.GoCompose == nil {
		return !slices.ContainsFunc(unit.PartsOf(op), func(part *schema.Op) bool { return !onlyViews(part) })
	}
	return op.Kind == ir.ViewBody || op.Name == "conj_physical" || op.Promote == ir.PromoteOption
}
