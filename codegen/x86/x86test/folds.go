package x86test

import (
	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/x86"
)

// A FoldCase is a reduction to test as Fold and as Rows.
type FoldCase struct {
	Name string
	x86.Fold
}

// fold builds the parts of a reduction of elements of type t.
func fold(name string, t, acc lane.Type, init uint64, mapped func(p *lane.Prog, x lane.V) lane.V, combine func(p *lane.Prog, a, b lane.V) lane.V) FoldCase {
	var i, m, c lane.Prog
	i.Out(i.ConstBits(acc, init))
	m.Out(mapped(&m, m.Arg(0, t)))
	c.Out(combine(&c, c.Arg(0, acc), c.Arg(1, acc)))
	return FoldCase{name, x86.Fold{Init: &i, Map: &m, Combine: &c}}
}

// FoldCases returns reductions with accumulators in registers and in memory, as
// wide as the elements, wider and narrower.
func FoldCases() []FoldCase {
	same := func(_ *lane.Prog, x lane.V) lane.V { return x }
	widen := func(p *lane.Prog, x lane.V) lane.V { return p.Widen(x, lane.I64) }
	square := func(p *lane.Prog, x lane.V) lane.V { return p.Mul(p.Mul(x, p.Scalar(0, p.Type(x))), x) }
	nonzero := func(p *lane.Prog, x lane.V) lane.V { return p.FromMask(p.Cmp(lane.NE, x, p.ConstBits(p.Type(x), 0))) }
	inDouble := func(p *lane.Prog, x lane.V) lane.V {
		return p.Narrow(p.Add(p.Widen(x, lane.F64), p.ConstF64(1e-3)), lane.F32)
	}
	half := func(p *lane.Prog, a, b lane.V) lane.V { return p.Call("testHalf", b, a) }
	add, mul, maxi, or := (*lane.Prog).Add, (*lane.Prog).Mul, (*lane.Prog).Max, (*lane.Prog).Or
	return []FoldCase{
		fold("sumF32", lane.F32, lane.F32, 0, same, add),
		fold("sumF64", lane.F64, lane.F64, 0, same, add),
		fold("sumI16", lane.I16, lane.I64, 0, widen, add),
		fold("sumU8", lane.U8, lane.I64, 0, widen, add),
		fold("prodI32", lane.I32, lane.I32, 1, same, mul),
		fold("maxI8", lane.I8, lane.I8, 0x80, same, maxi),
		fold("maxI16", lane.I16, lane.I16, 0x8000, same, maxi),
		fold("maxF32", lane.F32, lane.F32, 0xff800000, same, maxi),
		fold("anyU8", lane.U8, lane.U8, 0, same, or),
		fold("anyF32", lane.F32, lane.U8, 0, nonzero, or),
		bits("bitsF32"),
		fold("anyF64", lane.F64, lane.U8, 0, nonzero, or),
		fold("squaresF32", lane.F32, lane.F32, 0, square, add),
		fold("doubleF32", lane.F32, lane.F32, 0, inDouble, add),
		fold("expF32", lane.F32, lane.F32, 0, ExpLike, add),
		fold("callF32", lane.F32, lane.F32, 0, func(p *lane.Prog, x lane.V) lane.V { return p.Call("testExp", x) }, add),
		fold("callBothF64", lane.F64, lane.F64, 0, func(p *lane.Prog, x lane.V) lane.V { return p.Call("testExp", x) }, half),
	}
}

// bits is a sum of floats whose identity and map are of integers.
func bits(name string) FoldCase {
	same := func(_ *lane.Prog, x lane.V) lane.V { return x }
	c := fold(name, lane.I32, lane.F32, 0, same, (*lane.Prog).Add)
	c.Init = &lane.Prog{}
	c.Init.Out(c.Init.ConstI(lane.I32, 0))
	return c
}
