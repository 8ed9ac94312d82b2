package conv

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
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
		from[b] = k.C.GP64()
	}
	k.C.Label("block")
	next, places, left, p := k.Arg("offsets"), k.Arg("places"), k.Arg("n"), k.C.GP64()
	place, v, greater, known := k.Vec(), k.Vec(), k.Vec(), k.Vec()
	k.C.MOVQ(operand.Mem{Base: next}, p)
	broadcastInt(k, operand.Mem{Base: places}, place)
	for b := range maximaBlocks {
		k.C.MOVQ(operand.Mem{Base: pieces, Disp: 24 * b}, from[b])
		k.C.ADDQ(src, from[b])
		k.Move(at(from[b], p), best[b])
		k.C.VMOVUPS(place, index[b])
	}
	k.C.Label("place")
	k.C.ADDQ(operand.Imm(8), next)
	k.C.ADDQ(operand.Imm(8), places)
	k.C.DECQ(left)
	k.C.JE(operand.LabelRef("found"))
	k.C.MOVQ(operand.Mem{Base: next}, p)
	broadcastInt(k, operand.Mem{Base: places}, place)
	for b := range maximaBlocks {
		k.Move(at(from[b], p), v)
		larger(k, v, place, best[b], index[b], [2]reg.VecVirtual{greater, known})
	}
	k.C.JMP(operand.LabelRef("place"))
	k.C.Label("found")
	values, indices, steps := k.Arg("values"), k.Arg("indices"), k.Arg("steps")
	for b := range maximaBlocks {
		compare(k, equal, low, best[b], v)
		k.C.VORPS(v, found, found)
		k.C.MOVQ(operand.Mem{Base: pieces, Disp: 24*b + 8}, p)
		k.Move(best[b], at(values, p))
		k.C.VPBROADCASTQ(operand.Mem{Base: pieces, Disp: 24*b + 16}, v)
		storeIndices(k, v, index[b], [2]reg.VecVirtual{greater, known}, steps, indices, p)
	}
	k.C.ADDQ(operand.Imm(24*maximaBlocks), pieces)
	k.C.SUBQ(operand.Imm(maximaBlocks), count)
	k.C.JNE(operand.LabelRef("block"))
	result := k.C.GP32()
	signs(k, found, result)
	k.C.Store(result.As64(), k.C.ReturnIndex(0))
	k.End()
}

// larger has the elements of v, and their place in index, be the best where they are larger or
// the first NaN. It spoils spare.
func larger(k *wide.Kit, v, place, best, index reg.VecVirtual, spare [2]reg.VecVirtual) {
	greater, known := spare[0], spare[1]
	compare(k, notAtMost, v, best, greater)
	compare(k, ordered, best, best, known) // NaN stays
	k.C.VANDPS(known, greater, greater)
	blend(k, greater, v, best)
	blend(k, greater, place, index)
}

// storeIndices stores the indices of a vector of values, p bytes behind the first of all values:
// index, with the vector's own in all lanes of first and the lanes' in steps. It spoils index and
// spare.
func storeIndices(k *wide.Kit, first, index reg.VecVirtual, spare [2]reg.VecVirtual, steps, indices, p reg.GPVirtual) {
	if k.Double {
		k.C.VPADDQ(first, index, index)
		k.C.VPADDQ(operand.Mem{Base: steps}, index, index)
		k.C.VMOVUPS(index, at(indices, p))
		return
	}
	k.C.VPMOVSXDQ(index.AsX(), spare[0])
	k.C.VEXTRACTI128(operand.Imm(1), index, index.AsX())
	k.C.VPMOVSXDQ(index.AsX(), spare[1])
	for i, half := range spare {
		k.C.VPADDQ(first, half, half)
		k.C.VPADDQ(operand.Mem{Base: steps, Disp: 32 * i}, half, half)
		k.C.VMOVUPS(half, operand.Mem{Base: indices, Index: p, Scale: 2, Disp: 32 * i})
	}
}

// signs sets the bits of result to the sign bits of v's lanes.
func signs(k *wide.Kit, v reg.VecVirtual, result reg.GPVirtual) {
	if k.Double {
		k.C.VMOVMSKPD(v, result)
		return
	}
	k.C.VMOVMSKPS(v, result)
}

// quads finds the largest elements of windows of two by two that lie side by side.
// 256 bits serve AVX-512, too, as for maxima.
func quads(k *wide.Kit) {
	name := "quads" + k.Suffix()
	function(k, name, "func(planes, rows, n, width, size, first int, values *byte, indices *int, x *byte)",
		name+" sets values to the largest elements of windows of two by two, and indices to their",
		"numbers in a plane, from first on: the first of equal ones, NaN being the largest. There are planes",
		"planes of size elements with rows of width; the windows of a plane are rows rows of n. None of these",
		"is 0.")
	p := &quartet{Kit: k, width: k.Arg("width"), at: k.C.GP64(), number: k.C.GP64(), left: k.C.GP64(), window: k.Vecs(3)}
	p.values, p.indices, p.pitch = k.Arg("values"), k.Arg("indices"), k.C.GP64()
	planes, plane, rows, row := k.Arg("planes"), k.Arg("x"), k.C.GP64(), k.C.GP64()
	one := k.C.GP64()
	k.C.MOVQ(operand.I32(1), one)
	p.broadcast(one, p.window[0])
	p.broadcast(p.width, p.window[1])
	k.C.LEAQ(operand.Mem{Base: p.width, Disp: 1}, one)
	p.broadcast(one, p.window[2])
	k.C.XORQ(p.pitch, p.pitch)
	k.C.LEAQ(operand.Mem{Base: p.pitch, Index: p.width, Scale: uint8(k.Elem())}, p.pitch)
	k.C.Label("plane")
	k.C.Load(k.C.Param("rows"), rows)
	k.C.XORQ(row, row)
	k.C.Label("row")
	k.C.Load(k.C.Param("first"), p.number)
	k.C.ADDQ(row, p.number)
	p.address(plane, row)
	k.C.Load(k.C.Param("n"), p.left)
	p.row()
	k.C.LEAQ(operand.Mem{Base: row, Index: p.width, Scale: 2}, row)
	k.C.DECQ(rows)
	k.C.JNE(operand.LabelRef("row"))
	k.C.Load(k.C.Param("size"), row)
	p.address(plane, row)
	k.C.MOVQ(p.at, plane)
	k.C.DECQ(planes)
	k.C.JNE(operand.LabelRef("plane"))
	k.End()
}

// A quartet is what quads goes along a row of windows with.
type quartet struct {
	*wide.Kit
	width, pitch    reg.GPVirtual // of rows, in elements and bytes
	at              reg.GPVirtual // the next window
	number          reg.GPVirtual // its first element's in the plane
	left            reg.GPVirtual // windows of the row
	values, indices reg.GPVirtual
	window          []reg.VecVirtual // what numbers of a window are more than its first
}

// address sets at to an element of a plane.
func (p *quartet) address(plane, element reg.GPVirtual) {
	p.C.LEAQ(operand.Mem{Base: plane, Index: element, Scale: uint8(p.Elem())}, p.at)
}

// broadcast fills a vector with an integer as wide as the elements.
func (p *quartet) broadcast(from reg.GPVirtual, to reg.VecVirtual) {
	p.C.VMOVQ(from, to.AsX())
	if p.Double {
		p.C.VPBROADCASTQ(to.AsX(), to)
		return
	}
	p.C.VPBROADCASTD(to.AsX(), to)
}

// row writes the windows of a row: as many as a vector has lanes, half of them, the
// rest.
func (p *quartet) row() {
	lanes := p.Lanes()
	p.C.Label("full")
	p.C.CMPQ(p.left, operand.Imm(uint64(lanes)))
	p.C.JLT(operand.LabelRef("half"))
	p.step(lanes)
	p.C.JMP(operand.LabelRef("full"))
	p.C.Label("half")
	p.C.CMPQ(p.left, operand.Imm(uint64(lanes/2)))
	p.C.JLT(operand.LabelRef("rest"))
	p.step(lanes / 2)
	p.C.Label("rest")
	p.C.TESTQ(p.left, p.left)
	p.C.JE(operand.LabelRef("rowDone"))
	p.rest()
	p.C.Label("rowDone")
}

// step writes n windows, all lanes of a vector or half of them, and goes on to those
// after them.
func (p *quartet) step(n int) {
	best, index := p.largest(func(row operand.Mem) (a, b reg.VecVirtual) {
		a = p.Vec()
		p.Move(row, a)
		if n < p.Lanes() {
			return a, a
		}
		b = p.Vec()
		row.Disp += p.Bytes()
		p.Move(row, b)
		return a, b
	})
	if n == p.Lanes() {
		p.Move(best, at(p.values, nil))
	} else {
		p.C.VMOVUPS(best.AsX(), at(p.values, nil))
	}
	for i, v := range p.numbers(index) {
		switch part := 4 * i; {
		case n-part >= 4:
			p.C.VMOVDQU(v, operand.Mem{Base: p.indices, Disp: 8 * part})
		case n-part == 2:
			p.C.VMOVDQU(v.AsX(), operand.Mem{Base: p.indices, Disp: 8 * part})
		}
	}
	p.C.ADDQ(operand.Imm(uint64(2*n*p.Elem())), p.at)
	p.C.ADDQ(operand.Imm(uint64(2*n)), p.number)
	p.C.ADDQ(operand.Imm(uint64(n*p.Elem())), p.values)
	p.C.ADDQ(operand.Imm(uint64(8*n)), p.indices)
	p.C.SUBQ(operand.Imm(uint64(n)), p.left)
}

// rest writes the windows that are left, fewer than half of a vector: their rows are
// less than one.
func (p *quartet) rest() {
	count := p.C.GP64()
	p.C.LEAQ(operand.Mem{Base: p.left, Index: p.left, Scale: 1}, count)
	both := p.Tail(count)
	best, index := p.largest(func(row operand.Mem) (a, b reg.VecVirtual) {
		a = p.Vec()
		both.Load(row, a)
		return a, a
	})
	p.C.MOVQ(p.left, count)
	each := p.Tail(count)
	each.Store(best, at(p.values, nil))
	number := p.numbers(index)[0]
	if p.Double {
		each.Store(number, at(p.indices, nil))
	} else {
		both.Store(number, at(p.indices, nil)) // a number is as long as two elements
	}
	p.C.LEAQ(operand.Mem{Base: p.values, Index: p.left, Scale: uint8(p.Elem())}, p.values)
	p.C.LEAQ(operand.Mem{Base: p.indices, Index: p.left, Scale: 8}, p.indices)
}

// largest returns the largest elements of windows and what their numbers are more than
// that of the first element of their window. load returns both halves of the elements
// of a row.
func (p *quartet) largest(load func(row operand.Mem) (a, b reg.VecVirtual)) (best, index reg.VecVirtual) {
	greater, known := p.Vec(), p.Vec()
	index = p.Vec()
	p.Zero(index)
	for r, row := range []operand.Mem{at(p.at, nil), at(p.at, p.pitch)} {
		a, b := load(row)
		for odd := range 2 {
			v := p.Vec()
			if p.Double {
				p.C.VSHUFPD(operand.Imm(uint64(0xf*odd)), b, a, v)
			} else {
				p.C.VSHUFPS(operand.Imm(uint64(0x88+0x55*odd)), b, a, v)
			}
			if best == nil {
				best = v
				continue
			}
			compare(p.Kit, notAtMost, v, best, greater)
			compare(p.Kit, ordered, best, best, known) // NaN stays
			p.C.VANDPS(known, greater, greater)
			blend(p.Kit, greater, v, best)
			blend(p.Kit, greater, p.window[2*r+odd-1], index)
		}
	}
	p.C.VPERMPD(operand.Imm(0xd8), best, best) // both halves of a vector are from both of the row's
	p.C.VPERMPD(operand.Imm(0xd8), index, index)
	return best, index
}

// numbers returns indices from what largest returned, four in a vector.
func (p *quartet) numbers(index reg.VecVirtual) []reg.VecVirtual {
	first, all := p.C.YMM(), []reg.VecVirtual{index}
	p.C.VMOVQ(p.number, first.AsX())
	p.C.VPBROADCASTQ(first.AsX(), first)
	if !p.Double {
		all = []reg.VecVirtual{p.C.YMM(), p.C.YMM()}
		p.C.VPMOVSXDQ(index.AsX(), all[0])
		p.C.VEXTRACTI128(operand.Imm(1), index, index.AsX())
		p.C.VPMOVSXDQ(index.AsX(), all[1])
	}
	for i, v := range all {
		steps := operand.NewDataAddr(operand.NewStaticSymbol(evens), 32*i)
		p.C.VPADDQ(first, v, v)
		p.C.VPADDQ(steps, v, v)
	}
	return all
}

// evens is the table of the first eight even numbers.
const evens = "evens"

func evenNumbers(ctx *build.Context) {
	ctx.StaticGlobal(evens)
	ctx.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 8 {
		ctx.AddDatum(8*i, operand.U64(uint64(2*i)))
	}
}

// broadcastInt fills a vector with an integer as wide as the elements.
func broadcastInt(k *wide.Kit, from operand.Mem, to reg.VecVirtual) {
	if k.Double {
		k.C.VPBROADCASTQ(from, to)
		return
	}
	k.C.VPBROADCASTD(from, to)
}

// compare sets to to what a predicate says of b and a: "a is not at most b" and the
// like.
func compare(k *wide.Kit, predicate uint64, a, b, to reg.Register) {
	if k.Double {
		k.C.VCMPPD(operand.Imm(predicate), b, a, to)
		return
	}
	k.C.VCMPPS(operand.Imm(predicate), b, a, to)
}

// blend sets those elements of to that the mask has to from's.
func blend(k *wide.Kit, mask, from, to reg.Register) {
	if k.Double {
		k.C.VBLENDVPD(mask, from, to, to)
		return
	}
	k.C.VBLENDVPS(mask, from, to, to)
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
