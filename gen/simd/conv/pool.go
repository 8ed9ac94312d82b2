package conv

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/wide"
)

// Predicates of comparisons, none of which signals.
const (
	equal     = 0x00
	ordered   = 0x07
	notAtMost = 0x16 // true of what is not ordered
)

// maximaBlocks is how many vectors maxima takes at once.
const maximaBlocks = 2

// maxima finds the largest elements of windows and their places. 256 bits serve
// AVX-512, too: memory is what it waits for.
func maxima(k *wide.Kit) {
	name := "maxima" + k.Suffix()
	function(k, name, "func(values *byte, indices *int, src *byte, pieces *int, count int, offsets *int, places *int, n int, steps *int, low *byte) (lowest int)",
		name+" sets count vectors of values to the largest elements of windows: of those at n offsets",
		"from src the first of equal ones, NaN being the largest. Its index is the number in places that",
		"belongs to the offset, which has 31 bits, plus the vector's, plus the lane's in steps. pieces has",
		"three numbers for each vector: where it lies in src and in values, in bytes, and what is added to",
		"its indices. lowest is not 0 if an element of a result equals low. count is even, and n at least 1.")
	src, pieces, count := k.Arg("src"), k.Arg("pieces"), k.Arg("count")
	low, found := k.Vec(), k.Vec()
	k.Broadcast(operand.Mem{Base: k.Arg("low")}, low)
	k.Zero(found)
	from, best, index := make([]reg.GPVirtual, maximaBlocks), k.Vecs(maximaBlocks), k.Vecs(maximaBlocks)
	for b := range from {
		from[b] = k.GP64()
	}
	k.Label("block")
	next, places, left, p := k.Arg("offsets"), k.Arg("places"), k.Arg("n"), k.GP64()
	place, v, greater, known := k.Vec(), k.Vec(), k.Vec(), k.Vec()
	k.MOVQ(operand.Mem{Base: next}, p)
	broadcastInt(k, operand.Mem{Base: places}, place)
	for b := range maximaBlocks {
		k.MOVQ(operand.Mem{Base: pieces, Disp: 24 * b}, from[b])
		k.ADDQ(src, from[b])
		k.Move(at(from[b], p), best[b])
		k.VMOVUPS(place, index[b])
	}
	k.Label("place")
	k.ADDQ(operand.Imm(8), next)
	k.ADDQ(operand.Imm(8), places)
	k.DECQ(left)
	k.JE(operand.LabelRef("found"))
	k.MOVQ(operand.Mem{Base: next}, p)
	broadcastInt(k, operand.Mem{Base: places}, place)
	for b := range maximaBlocks {
		k.Move(at(from[b], p), v)
		compare(k, notAtMost, v, best[b], greater)
		compare(k, ordered, best[b], best[b], known) // NaN stays
		k.VANDPS(known, greater, greater)
		blend(k, greater, v, best[b])
		blend(k, greater, place, index[b])
	}
	k.JMP(operand.LabelRef("place"))
	k.Label("found")
	values, indices, steps := k.Arg("values"), k.Arg("indices"), k.Arg("steps")
	for b := range maximaBlocks {
		compare(k, equal, low, best[b], v)
		k.VORPS(v, found, found)
		k.MOVQ(operand.Mem{Base: pieces, Disp: 24*b + 8}, p)
		k.Move(best[b], at(values, p))
		k.VPBROADCASTQ(operand.Mem{Base: pieces, Disp: 24*b + 16}, v)
		if k.Double {
			k.VPADDQ(v, index[b], index[b])
			k.VPADDQ(operand.Mem{Base: steps}, index[b], index[b])
			k.VMOVUPS(index[b], at(indices, p))
			continue
		}
		k.VPMOVSXDQ(index[b].AsX(), greater)
		k.VEXTRACTI128(operand.Imm(1), index[b], index[b].AsX())
		k.VPMOVSXDQ(index[b].AsX(), known)
		for i, half := range []reg.VecVirtual{greater, known} {
			k.VPADDQ(v, half, half)
			k.VPADDQ(operand.Mem{Base: steps, Disp: 32 * i}, half, half)
			k.VMOVUPS(half, operand.Mem{Base: indices, Index: p, Scale: 2, Disp: 32 * i})
		}
	}
	k.ADDQ(operand.Imm(24*maximaBlocks), pieces)
	k.SUBQ(operand.Imm(maximaBlocks), count)
	k.JNE(operand.LabelRef("block"))
	result := k.GP32()
	if k.Double {
		k.VMOVMSKPD(found, result)
	} else {
		k.VMOVMSKPS(found, result)
	}
	k.Store(result.As64(), k.ReturnIndex(0))
	k.End()
}

// broadcastInt fills a vector with an integer as wide as the elements.
func broadcastInt(k *wide.Kit, from operand.Mem, to reg.VecVirtual) {
	if k.Double {
		k.VPBROADCASTQ(from, to)
		return
	}
	k.VPBROADCASTD(from, to)
}

// compare sets to to what a predicate says of b and a: "a is not at most b" and the
// like.
func compare(k *wide.Kit, predicate uint64, a, b, to reg.Register) {
	if k.Double {
		k.VCMPPD(operand.Imm(predicate), b, a, to)
		return
	}
	k.VCMPPS(operand.Imm(predicate), b, a, to)
}

// blend sets those elements of to that the mask has to from's.
func blend(k *wide.Kit, mask, from, to reg.Register) {
	if k.Double {
		k.VBLENDVPD(mask, from, to, to)
		return
	}
	k.VBLENDVPS(mask, from, to, to)
}

// divide divides elements by others.
func divide(k *wide.Kit) {
	name := "divide" + k.Suffix()
	function(k, name, "func(n int, x *byte, y *byte, to *byte)", name+" sets n elements of to to those of x, divided by those of y.")
	at := []reg.GPVirtual{k.Arg("x"), k.Arg("y"), k.Arg("to")}
	k.Map(k.Arg("n"), at, func(load func(int) reg.VecVirtual, store func(reg.VecVirtual, int)) {
		x := load(0)
		k.Div(x, load(1), x)
		store(x, 2)
	})
	k.End()
}

// add adds elements to others.
func add(k *wide.Kit) {
	name := "add" + k.Suffix()
	function(k, name, "func(n int, x *byte, to *byte)", name+" adds n elements of x to those of to.")
	at := []reg.GPVirtual{k.Arg("x"), k.Arg("to")}
	k.Map(k.Arg("n"), at, func(load func(int) reg.VecVirtual, store func(reg.VecVirtual, int)) {
		sum := load(1)
		k.Add(load(0), sum, sum)
		store(sum, 1)
	})
	k.End()
}
