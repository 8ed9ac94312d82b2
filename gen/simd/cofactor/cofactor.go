// Package cofactor writes the vector loops of package backend/cpu/cofactor, from lane programs.
package cofactor

import (
	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/gen/simd/asm"
)

// Files returns the loops by instruction set.
func Files(by string) ([]asm.File, error) {
	u := asm.Unit{Dir: "backend/cpu/cofactor", Pkg: "cofactor", Name: "cofactor", By: by}
	return u.Loops(
		asm.Loop{Name: "takeIn", Prog: takeIn()},
		asm.Loop{Name: "others", Prog: others(false)}, asm.Loop{Name: "othersOf", Prog: others(true)},
	)
}

const (
	exponents = 0x7ff
	fraction  = 52
)

// takeIn is the program that multiplies an accumulator, whose exponent is counted apart, by four
// elements.
func takeIn() *lane.Prog {
	var p lane.Prog
	var x [4]lane.V
	for i := range x {
		x[i] = p.Widen(p.Arg(i, lane.F32), lane.F64)
	}
	product, exponent := p.Arg(4, lane.F64), p.Arg(5, lane.I64)
	bits := p.Bits(p.Mul(product, p.Mul(p.Mul(x[0], x[1]), p.Mul(x[2], x[3]))), lane.I64)
	e := p.Shr(p.Shl(bits, 1), fraction+1)
	unit := p.Or(p.And(bits, p.ConstBits(lane.I64, 1<<63|(1<<fraction-1))), p.ConstBits(lane.I64, 0x3ff<<fraction))
	odd := p.MaskOr(p.Cmp(lane.EQ, e, p.ConstI(lane.I64, 0)), p.Cmp(lane.EQ, e, p.ConstI(lane.I64, exponents)))
	p.Out(p.Bits(p.Select(odd, p.ConstBits(lane.I64, 0x7ff8<<48), unit), lane.F64))
	p.Out(p.Add(exponent, e))
	return &p
}

// others is the program that divides the product of all by an element, and multiplies what is left
// by a gradient. Each element has a product and a gradient of its own, or all have the same.
func others(one bool) *lane.Prog {
	var p lane.Prog
	x := p.Arg(0, lane.F32)
	var all, g lane.V
	if one {
		all, g = p.Scalar(0, lane.F64), p.Scalar(1, lane.F32)
	} else {
		all, g = p.Arg(1, lane.F64), p.Arg(2, lane.F32)
	}
	p.Out(p.Mul(g, p.Narrow(p.Div(all, p.Widen(x, lane.F64)), lane.F32)))
	return &p
}
