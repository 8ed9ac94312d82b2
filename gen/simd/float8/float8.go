// Package float8 writes the vector loops of package backend/cpu/float8, from lane
// programs.
package float8

import (
	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/gen/simd/asm"
)

// Files returns the loops that encode float32 and float64, by instruction set.
func Files(by string) ([]asm.File, error) {
	u := asm.Unit{Dir: "backend/cpu/float8", Pkg: "float8", Name: "encode", By: by}
	return u.Loops(asm.Loop{Name: "encode32", Prog: encode(lane.F32)}, asm.Loop{Name: "encode64", Prog: encode(lane.F64)})
}

// encode is the program from a float to its code. Its scalars are the words of
// backend/cpu/float8, in their order.
func encode(t lane.Type) *lane.Prog {
	var p lane.Prog
	word, infinity := t.Int(), uint64(0x7f800000)
	if t == lane.F64 {
		infinity = uint64(0x7ff) << 52
	}
	scalar := func(i int) lane.V { return p.Scalar(i, word) }
	x := p.Arg(0, t)
	bits := p.Bits(x, word)
	size := p.Bits(p.Abs(x), word)
	// A number that is normal as a code, too: what the fraction loses is rounded, to even
	// of two that are equally near, by what is added.
	shift := scalar(0)
	odd := p.And(p.ShrV(size, shift), p.ConstI(word, 1))
	normal := p.ShrV(p.Add(p.Add(size, scalar(1)), odd), shift)
	// Another: an addition rounds it to a multiple of the smallest number.
	magic := scalar(2)
	small := p.Sub(p.Bits(p.Add(p.Abs(x), p.Bits(magic, t)), word), magic)
	code := p.Select(p.Cmp(lane.LT, size, scalar(3)), small, normal)
	code = p.Select(p.Cmp(lane.GT, code, scalar(4)), scalar(5), code)
	sign := p.And(p.Shr(bits, 8*t.Size()-8), p.ConstI(word, 0x80))
	code = p.Select(p.Cmp(lane.LT, code, scalar(6)), code, p.Or(code, sign))
	code = p.Select(p.Cmp(lane.GT, size, p.ConstBits(word, infinity)), scalar(7), code)
	p.Out(p.Narrow(code, lane.U8))
	return &p
}
