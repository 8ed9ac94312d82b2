package loops

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// real returns the graph that is lowered, and how many of its elements one of the body's
// is. Lanes hold no complex numbers, but sums are those of the parts, and a complex64
// that is only moved is an integer. Others are returned as they are.
func (b *Body) real() (*expr.Graph, int) {
	g := b.Graph
	t, n := ir.Int64, 1
	switch {
	case !g.T.IsComplex():
		return g, 1
	case all(g, func(v *expr.Value) bool { return b.partwise(v) }):
		t, n = g.T.Real(), 2
	case g.T != ir.Complex64 || !all(g, moved):
		return g, 1
	}
	r, err := b.Check(t)
	if err != nil || len(r.Values) != len(g.Values) {
		return g, 1
	}
	return r, n
}

func all(g *expr.Graph, f func(v *expr.Value) bool) bool {
	return !slices.ContainsFunc(g.Values, func(v *expr.Value) bool { return !f(v) })
}

// partwise reports whether the parts of v follow from those of its arguments, each
// alone.
func (b *Body) partwise(v *expr.Value) bool {
	switch v.Op {
	case expr.OpConst:
		return zero(v)
	case expr.OpName:
		return v.Kind == expr.TKind && b.operand(v.Name) >= 0
	}
	return v.Kind == expr.TKind && (v.Name == "add" || v.Name == "sub" || v.Name == "neg")
}

// moved reports whether v is one of its arguments.
func moved(v *expr.Value) bool {
	switch v.Op {
	case expr.OpConst:
		return zero(v)
	case expr.OpName:
		return v.Kind == expr.TKind || v.Kind == expr.BoolKind
	}
	return v.Name == "where"
}

// zero reports whether all bits of a constant are zero.
func zero(v *expr.Value) bool { return v.Kind == expr.TKind && v.Const.String() == "0" }

// operand is the place of a name among the operands, -1 if it is none.
func (b *Body) operand(name string) int {
	for _, in := range b.Inputs {
		if in.Name == name && !in.Scalar {
			return in.Index
		}
	}
	return -1
}

// complexLoop returns the loop of a body that reads the parts of complex numbers beside
// each other, nil where there is none.
func (b *Body) complexLoop(isa x86.ISA) *Loop {
	if len(b.Graph.Roots) > 1 {
		return nil
	}
	if p := b.complexParts(isa); p != nil {
		if streams(p) {
			isa = x86.AVX2
		}
		return &Loop{ISA: isa, Prog: p, Each: 1}
	}
	p, ok := b.complexProduct()
	if !ok {
		return nil
	}
	if p.Double {
		isa = x86.AVX2
	}
	return &Loop{ISA: isa, Product: &p, Each: 1}
}

// complexProduct returns what g multiplies where it is a product of two operands,
// or of one and another's conjugate; ok says whether it is.
func (b *Body) complexProduct() (p x86.Product, ok bool) {
	g := b.Graph
	if !g.T.IsComplex() || g.Roots[0].Op != expr.OpCall || g.Roots[0].Name != "mul" {
		return p, false
	}
	x, y := g.Roots[0].Args[0], g.Roots[0].Args[1]
	if y.Op == expr.OpCall && y.Name == "conj" {
		p.Conj, y = true, y.Args[0]
	}
	for _, v := range []*expr.Value{x, y} {
		if v.Op != expr.OpName || v.Kind != expr.TKind || b.operand(v.Name) < 0 {
			return p, false
		}
	}
	p.X, p.Y, p.Double = b.operand(x.Name), b.operand(y.Name), g.T == ir.Complex128
	return p, true
}

// complexPair returns the program of a g that is the complex64 with two operands as its parts; nil
// for others.
func (b *Body) complexPair() *lane.Prog {
	v := b.Graph.Roots[0]
	if b.Graph.T != ir.Complex64 || v.Op != expr.OpCall || v.Name != "complex" {
		return nil
	}
	p, parts := &lane.Prog{}, [2]lane.V{}
	for i, x := range v.Args {
		if x.Op != expr.OpName || x.Kind != expr.RealKind || b.operand(x.Name) < 0 {
			return nil
		}
		parts[i] = p.Widen(p.Arg(b.operand(x.Name), lane.I32), lane.I64)
	}
	p.Out(p.Or(p.And(parts[0], p.ConstI(lane.I64, math.MaxUint32)), p.Shl(parts[1], 32)))
	return p
}

// complexParts returns the program of a g that is one part of a complex64, its conjugate
// or its magnitude: a complex64 is an integer in it. It is nil for others.
func (b *Body) complexParts(isa x86.ISA) *lane.Prog {
	g := b.Graph
	v := g.Roots[0]
	if p := b.complexPair(); p != nil {
		return p
	}
	if g.T != ir.Complex64 || v.Op != expr.OpCall || len(v.Args) != 1 || v.Args[0].Op != expr.OpName || v.Args[0].Kind != expr.TKind {
		return nil
	}
	p := &lane.Prog{}
	x := p.Arg(b.operand(v.Args[0].Name), lane.I64)
	first, second := func() lane.V { return p.Narrow(x, lane.I32) }, func() lane.V { return p.Narrow(p.Shr(x, 32), lane.I32) }
	switch v.Name {
	case "conj":
		p.Out(p.Xor(x, p.ConstI(lane.I64, math.MinInt64)))
	case "real":
		p.Out(first())
	case "imag":
		p.Out(second())
	case "abs":
		p.Out(caller(isa, true)(p, "hypot", p.Bits(first(), lane.F32), p.Bits(second(), lane.F32)))
	default:
		return nil
	}
	return p
}
