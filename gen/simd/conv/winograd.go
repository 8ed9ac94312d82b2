package conv

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/wide"
)

// Winograd's convolution with a kernel of 3 x 3 takes tiles of 4 x 4 elements of an image to
// 2 x 2 windows each. Of a tile d and a kernel g it makes 16 numbers each, V = B'dB and U = GgG',
// sums up over channels what they are multiplied elementwise, M, and has the windows A'MA:
//
//	     1  0 -1  0        1   0   0        1  1  1  0
//	B' = 0  1  1  0   G =  ½   ½   ½   A' = 0  1 -1 -1
//	     0 -1  1  0        ½  -½   ½
//	     0  1  0 -1        0   0   1
//
// Tiles that are neighbours in a row are the lanes of vectors. The 16 numbers lie in planes.

func winograd(ctx *build.Context) {
	interleaving(ctx)
	wide.Masks(ctx)
	for _, avx512 := range []bool{false, true} {
		k := &wide.Kit{C: ctx, AVX512: avx512}
		spread(k)
		gather(k)
		lineSpread(k)
		lineGather(k)
	}
}

// planes are addresses in 16 planes, four of which a base reaches: 4 planes apart.
type planes struct{ one, four, twelve reg.GPVirtual }

func newPlanes(k *wide.Kit) planes {
	p := planes{k.Arg("plane"), k.C.GP64(), k.C.GP64()}
	k.C.MOVQ(p.one, p.four)
	k.C.SHLQ(operand.Imm(2), p.four)
	k.C.LEAQ(operand.Mem{Base: p.four, Index: p.four, Scale: 2}, p.twelve)
	return p
}

// at returns place i, of 4, that a base reaches with a distance and three times that.
func fourth(base, one, three reg.Register, i int) operand.Mem {
	switch i {
	case 0:
		return operand.Mem{Base: base}
	case 3:
		return operand.Mem{Base: base, Index: three, Scale: 1}
	}
	return operand.Mem{Base: base, Index: one, Scale: uint8(i)}
}

// spread makes V of tiles.
func spread(k *wide.Kit) {
	name := "spread" + k.Suffix()
	function(k, name, "func(dst *byte, plane int, to int, src *byte, pitch int, odd int, rows int, n int)",
		name+" sets 16 planes of dst to V of rows of tiles, n vectors in each. The rows of dst are to bytes apart,",
		"the planes plane. The first row of tiles has the first four rows of src, which are pitch bytes apart, and",
		"the next one begins two rows behind it. The elements at odd places of a row lie odd bytes behind those at",
		"even ones. rows and n are at least 1.")
	dst, src := k.Arg("dst"), k.Arg("src")
	to := newPlanes(k)
	pitch, three, rows := k.Arg("pitch"), k.C.GP64(), k.Arg("rows")
	k.C.LEAQ(operand.Mem{Base: pitch, Index: pitch, Scale: 2}, three)
	d, at, even, odd := k.C.GP64(), k.C.GP64(), k.C.GP64(), k.C.GP64()
	k.C.Label("row")
	k.C.MOVQ(dst, d)
	k.C.MOVQ(src, even)
	k.C.Load(k.C.Param("odd"), odd)
	k.C.ADDQ(src, odd)
	left := k.Arg("n")
	k.C.Label("vector")
	k.C.MOVQ(d, at)
	element := func(column, row int) operand.Mem {
		m := fourth([]reg.Register{even, odd}[column%2], pitch, three, row)
		m.Disp = column / 2 * k.Elem()
		return m
	}
	for column := range 4 {
		var c [4]reg.VecVirtual // of each row dB
		for row := range c {
			c[row] = k.Vec()
			a, b := [][2]int{{0, 2}, {1, 2}, {2, 1}, {1, 3}}[column][0], [][2]int{{0, 2}, {1, 2}, {2, 1}, {1, 3}}[column][1]
			k.Move(element(a, row), c[row])
			if column == 1 {
				k.Add(element(b, row), c[row], c[row])
			} else {
				k.Sub(c[row], element(b, row), c[row])
			}
		}
		v := k.Vecs(4)
		k.Sub(c[0], c[2], v[0])
		k.Add(c[1], c[2], v[1])
		k.Sub(c[2], c[1], v[2])
		k.Sub(c[1], c[3], v[3])
		for row := range v {
			k.Move(v[row], fourth(at, to.four, to.twelve, row))
		}
		if column < 3 {
			k.C.ADDQ(to.one, at)
		}
	}
	for _, p := range []reg.GPVirtual{d, even, odd} {
		k.C.ADDQ(operand.Imm(uint64(k.Bytes())), p)
	}
	k.C.DECQ(left)
	k.C.JNE(operand.LabelRef("vector"))
	distance := k.Arg("to")
	k.C.ADDQ(distance, dst)
	k.C.LEAQ(operand.Mem{Base: src, Index: pitch, Scale: 2}, src)
	k.C.DECQ(rows)
	k.C.JNE(operand.LabelRef("row"))
	k.End()
}

// A gathering is gather being written.
type gathering struct {
	*wide.Kit
	from       planes
	order      [2]reg.VecVirtual // of the elements of two vectors in turns
	low, high  wide.Tail         // of a row's last two vectors
	zero, sums reg.VecVirtual    // the sum of all results times 0
	src, dst   reg.GPVirtual
	pitch      reg.GPVirtual
	lines      reg.GPVirtual // of the result that are left
}

// gather makes windows of M.
func gather(k *wide.Kit) {
	name := "gather" + k.Suffix()
	function(k, name, "func(dst *byte, pitch int, src *byte, plane int, from int, lines int, pairs int, low int, high int) (bad int)",
		name+" sets lines of dst, which are pitch bytes apart, to the windows of which src has M in 16 planes,",
		"which are plane bytes apart. Two lines are those of a row of src, which are from bytes apart. A line has pairs",
		"of vectors, and behind these low and high elements of two more vectors. Bit i of bad is set where a window",
		"of the i-th pair of lines is infinite or no number. lines is at least 1 and at most 128.")
	g := gathering{Kit: k, dst: k.C.GP64(), src: k.C.GP64(), from: newPlanes(k), pitch: k.Arg("pitch"), lines: k.Arg("lines")}
	g.low, g.high = k.Tail(k.Arg("low")), k.Tail(k.Arg("high"))
	g.turns()
	g.zero, g.sums = k.Vec(), k.Vec()
	k.Zero(g.zero)
	bad, row := k.C.GP64(), k.C.GP64()
	k.C.XORQ(bad, bad)
	k.C.XORQ(row, row)
	to, from := k.Arg("dst"), k.Arg("src")
	k.C.Label("row")
	k.Zero(g.sums)
	k.C.MOVQ(to, g.dst)
	k.C.MOVQ(from, g.src)
	left := k.Arg("pairs")
	k.C.TESTQ(left, left)
	k.C.JE(operand.LabelRef("last"))
	k.C.Label("pair")
	g.pair("whole", nil)
	k.C.ADDQ(operand.Imm(uint64(k.Bytes())), g.src)
	k.C.ADDQ(operand.Imm(uint64(2*k.Bytes())), g.dst)
	k.C.DECQ(left)
	k.C.JNE(operand.LabelRef("pair"))
	k.C.Label("last")
	low := k.Arg("low")
	k.C.TESTQ(low, low)
	k.C.JE(operand.LabelRef("end"))
	g.pair("cut", []wide.Tail{g.low, g.high})
	k.C.Label("end")
	g.exceptional(bad, row)
	k.C.INCQ(row)
	distance := k.Arg("from")
	k.C.ADDQ(distance, from)
	k.C.LEAQ(operand.Mem{Base: to, Index: g.pitch, Scale: 2}, to)
	k.C.SUBQ(operand.Imm(2), g.lines)
	k.C.JG(operand.LabelRef("row"))
	k.C.Store(bad, k.C.ReturnIndex(0))
	k.End()
}

// pair computes the windows of a vector of tiles, and of two lines stores a pair of vectors
// each, or what tails have of them.
func (g *gathering) pair(name string, tails []wide.Tail) {
	at := g.C.GP64()
	g.C.MOVQ(g.src, at)
	var y [2][2]reg.VecVirtual
	for column := range 4 {
		m := g.Vecs(4)
		for row := range m {
			g.Move(fourth(at, g.from.four, g.from.twelve, row), m[row])
		}
		if column < 3 {
			g.C.ADDQ(g.from.one, at)
		}
		s := g.Vecs(2) // A'M
		g.Add(m[0], m[1], s[0])
		g.Add(m[2], s[0], s[0])
		g.Sub(m[1], m[2], s[1])
		g.Sub(s[1], m[3], s[1])
		for line := range s {
			switch column {
			case 0:
				y[line][0] = s[line]
			case 1:
				y[line][1] = g.Vec()
				g.Move(s[line], y[line][1])
				g.Add(y[line][0], s[line], y[line][0])
			case 2:
				g.Add(y[line][0], s[line], y[line][0])
				g.Sub(y[line][1], s[line], y[line][1])
			case 3:
				g.Sub(y[line][1], s[line], y[line][1])
			}
		}
	}
	for line := range y {
		g.merge(&y[line])
		to := operand.Mem{Base: g.dst}
		if line > 0 {
			g.C.CMPQ(g.lines, operand.Imm(1))
			g.C.JE(operand.LabelRef(name))
			to.Index, to.Scale = g.pitch, 1
		}
		for i, v := range y[line] {
			to.Disp = i * g.Bytes()
			if tails == nil {
				g.Move(v, to)
				g.FMA(g.zero, v, g.sums)
				continue
			}
			tails[i].Store(v, to)
			g.FMA(g.zero, tails[i].Only(v), g.sums)
		}
	}
	g.C.Label(name)
}

// turns reads the order that merge has its elements in, where it takes one.
func (g *gathering) turns() {
	if !g.AVX512 {
		return
	}
	for i := range g.order {
		g.order[i] = g.C.ZMM()
		g.C.VMOVUPS(operand.NewDataAddr(operand.NewStaticSymbol(turns), 64*i), g.order[i])
	}
}

// merge puts the elements of two vectors in turns.
func (g *gathering) merge(v *[2]reg.VecVirtual) {
	a, b := g.Vec(), g.Vec()
	if g.AVX512 {
		g.Move(v[0], a)
		g.C.VPERMT2PS(v[1], g.order[0], a)
		g.C.VPERMT2PS(v[1], g.order[1], v[0])
		*v = [2]reg.VecVirtual{a, v[0]}
		return
	}
	g.C.VUNPCKLPS(v[1], v[0], a)
	g.C.VUNPCKHPS(v[1], v[0], b)
	g.C.VPERM2F128(operand.Imm(0x20), b, a, v[0])
	g.C.VPERM2F128(operand.Imm(0x31), b, a, v[1])
}

// exceptional sets the row's bit of bad where the sum is no number.
func (g *gathering) exceptional(bad, row reg.GPVirtual) {
	const unordered = 3
	found := g.C.GP32()
	if g.AVX512 {
		mask := g.C.K()
		g.C.VCMPPS(operand.Imm(unordered), g.sums, g.sums, mask)
		g.C.KMOVW(mask, found)
	} else {
		g.C.VCMPPS(operand.Imm(unordered), g.sums, g.sums, g.sums)
		g.C.VMOVMSKPS(g.sums, found)
	}
	g.C.TESTL(found, found)
	g.C.JE(operand.LabelRef("numbers"))
	g.C.BTSQ(row, bad)
	g.C.Label("numbers")
}

const turns = "turns"

// interleaving adds the table of the order in which two vectors have their elements in turns.
func interleaving(ctx *build.Context) {
	ctx.StaticGlobal(turns)
	ctx.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 32 {
		ctx.AddDatum(4*i, operand.U32(uint32(i/2+i%2*16)))
	}
}
