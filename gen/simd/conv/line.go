package conv

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/wide"
)

// Winograd's convolution along one axis takes two windows of three places from four elements d of a
// line, by four numbers each:
//
//	V = d0-d2, d1+d2, d2-d1, d3-d1    windows = m0+m1+m2, m1-m2+m3
//
// Tiles that are neighbours are the lanes of vectors.

// LineUnit is how many tiles are computed together.
const LineUnit = 16

// lineSpread makes V of tiles.
func lineSpread(k *wide.Kit) {
	name := "lineSpread" + k.Suffix()
	function(k, name, "func(v0 *byte, v1 *byte, v2 *byte, v3 *byte, d0 *byte, d1 *byte, d2 *byte, d3 *byte, bytes int)",
		name+" sets v0 to v3 to V of tiles whose elements are d0 to d3, whole vectors of so many bytes, at least one.")
	var to, from [4]reg.GPVirtual
	for i, n := range []string{"0", "1", "2", "3"} {
		to[i], from[i] = k.Arg("v"+n), k.Arg("d"+n)
	}
	end, i := k.Arg("bytes"), k.C.GP64()
	k.C.XORQ(i, i)
	k.C.Label("vector")
	d, v := k.Vecs(4), k.Vecs(4)
	for j := range d {
		k.Move(at(from[j], i), d[j])
	}
	k.Sub(d[0], d[2], v[0])
	k.Add(d[1], d[2], v[1])
	k.Sub(d[2], d[1], v[2])
	k.Sub(d[3], d[1], v[3])
	for j := range v {
		k.Move(v[j], at(to[j], i))
	}
	k.C.ADDQ(operand.Imm(uint64(k.Bytes())), i)
	k.C.CMPQ(i, end)
	k.C.JNE(operand.LabelRef("vector"))
	k.End()
}

// lineGather makes windows of sums.
func lineGather(k *wide.Kit) {
	name := "lineGather" + k.Suffix()
	function(k, name, "func(dst *byte, src *byte, plane int, units int) (bad int)",
		name+" sets dst to the windows of which src has the sums in four planes, which are plane bytes apart. Bit i of",
		"bad is set where a window of the i-th unit of 16 tiles is infinite or no number. units is from 1 to 64.")
	g := gathering{Kit: k, dst: k.Arg("dst"), src: k.Arg("src")}
	g.turns()
	plane, units, three := k.Arg("plane"), k.Arg("units"), k.C.GP64()
	k.C.LEAQ(operand.Mem{Base: plane, Index: plane, Scale: 2}, three)
	g.zero, g.sums = k.Vec(), k.Vec()
	k.Zero(g.zero)
	bad, unit := k.C.GP64(), k.C.GP64()
	k.C.XORQ(bad, bad)
	k.C.XORQ(unit, unit)
	k.C.Label("unit")
	k.Zero(g.sums)
	for range LineUnit / k.Lanes() {
		m := k.Vecs(4)
		for p := range m {
			k.Move(fourth(g.src, plane, three, p), m[p])
		}
		y := [2]reg.VecVirtual{k.Vec(), k.Vec()}
		k.Add(m[1], m[0], y[0])
		k.Add(m[2], y[0], y[0])
		k.Sub(m[1], m[2], y[1])
		k.Add(m[3], y[1], y[1])
		g.merge(&y)
		for i, v := range y {
			k.Move(v, operand.Mem{Base: g.dst, Disp: i * k.Bytes()})
			k.FMA(g.zero, v, g.sums)
		}
		k.C.ADDQ(operand.Imm(uint64(k.Bytes())), g.src)
		k.C.ADDQ(operand.Imm(uint64(2*k.Bytes())), g.dst)
	}
	g.exceptional(bad, unit)
	k.C.INCQ(unit)
	k.C.CMPQ(unit, units)
	k.C.JNE(operand.LabelRef("unit"))
	k.C.Store(bad, k.C.ReturnIndex(0))
	k.End()
}
