package gemm

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// General registers of a kernel. The tile's registers hold, in bytes, the address
// of the group's first row of A at the current term and of its fifth, and 1, 3 and
// 5 times the distance of rows, which reach every row as base + index * scale.
var (
	regTile         = reg.RDI
	regA0, regA5    = reg.R8, reg.R9
	regRow, regRow3 = reg.R10, reg.R11
	regRow5, regCol = reg.R12, reg.R13
	regB, regBRow   = reg.RSI, reg.RDX
	regK            = reg.RCX
	regC, regCRow   = reg.RAX, reg.RBX

	// While the sums run: what is asked for ahead of its use, and by how much that
	// moves on with each term; the row of the result that is asked for next, and how
	// many terms are left until then.
	regAhead, regAheadStep = reg.RAX, reg.RBX
	regTo, regUntil        = reg.R14, reg.R15
)

// Indices of a kernel's now.
const (
	nowA = iota
	nowC
	nowSrc
	nowGroups
	nowAhead
)

const (
	// prefetchTerms is how long sums are for which the result's tile is prefetched
	// at once.
	prefetchTerms = 96
	// rowsAhead is how many rows of B before its use a panel's row is fetched.
	rowsAhead = 8
	// bytesAhead is how far ahead rows of A are fetched that are read once.
	bytesAhead = 512
)

// distances say how many terms there may be from one row of the result that is asked
// for to the next, as many as the sums have.
var distances = []int{8, 2, 1}

// A kernel is a micro-kernel being emitted: for groups of rows of A, one after
// the other, it multiplies with a panel of B and adds what there is to add.
type kernel struct {
	c *build.Context
	s isa
	shape

	fma, load, add, broadcast, store func(...operand.Op)
	maskMove                         func(mxy, xy, mxy1 operand.Op) // AVX2
	loadZ                            func(m, k, z operand.Op)       // AVX-512

	now  [5]operand.Mem // what changes from group to group, in the frame
	left operand.Mem    // rows of the result to ask for, in the frame, and the terms between them
	each operand.Mem
	acc  [][]reg.VecPhysical   // by row and vector
	more [][][]reg.VecPhysical // other sums, of terms that take turns; they are added up at the end
	temp []reg.VecPhysical     // the others
	last reg.VecPhysical       // AVX2: mask of the last vector
}

func newKernel(c *build.Context, s isa, t shape) *kernel {
	k := &kernel{c: c, s: s, shape: t}
	if s.dtype == "F32" {
		k.fma, k.load, k.add, k.broadcast, k.store, k.maskMove, k.loadZ = c.VFMADD231PS, c.VMOVUPS, c.VADDPS, c.VBROADCASTSS, c.VMOVUPS, c.VMASKMOVPS, c.VMOVUPS_Z
	} else {
		k.fma, k.load, k.add, k.broadcast, k.store, k.maskMove, k.loadZ = c.VFMADD231PD, c.VMOVUPD, c.VADDPD, c.VBROADCASTSD, c.VMOVUPD, c.VMASKMOVPD, c.VMOVUPD_Z
	}
	n := 0
	for range t.rows {
		row := make([]reg.VecPhysical, t.vectors)
		for v := range row {
			row[v] = s.vector(n)
			n++
		}
		k.acc = append(k.acc, row)
	}
	if t.edge && !s.mask {
		k.last = s.vector(n)
		n++
	}
	for ; n < s.regs; n++ {
		k.temp = append(k.temp, s.vector(n))
	}
	return k
}

func (k *kernel) emit() {
	c := k.c
	c.Function(k.s.name(k.shape))
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.SignatureExpr("func(t *byte)")
	c.Load(c.Param("t"), regTile)
	for i, off := range []int{offA, offC, offSrc, offGroups, offAhead} {
		k.now[i] = c.AllocLocal(8)
		c.MOVQ(at(regTile, off), reg.RAX)
		if i == nowAhead {
			c.ADDQ(at(regTile, offAheadAt), reg.RAX)
		}
		c.MOVQ(reg.RAX, k.now[i])
	}
	if k.spreads() {
		k.left, k.each = c.AllocLocal(8), c.AllocLocal(8)
	}
	k.prologue()
	c.Label("group")
	c.MOVQ(k.now[nowA], regA0)
	if k.rows > 7 {
		c.LEAQ(indexed(regA0, regRow5, 1), regA5)
	}
	c.MOVQ(at(regTile, offB), regB)
	for _, acc := range append([][][]reg.VecPhysical{k.acc}, k.more...) {
		for _, row := range acc {
			for _, r := range row {
				k.zero(r)
			}
		}
	}
	c.MOVQ(at(regTile, offK), regK)
	k.prefetchC()
	if k.looksAhead() {
		c.MOVQ(k.now[nowAhead], regAhead)
		c.MOVQ(at(regTile, offAheadStep), regAheadStep)
	}
	k.terms()
	if k.looksAhead() {
		c.MOVQ(regAhead, k.now[nowAhead])
	}
	k.result()
	k.next()
	c.VZEROUPPER()
	c.RET()
}

func (k *kernel) zero(r reg.VecPhysical) {
	if k.s.mask {
		k.c.VPXORD(r, r, r)
	} else {
		k.c.VPXOR(r, r, r)
	}
}

// prologue loads what all groups share.
func (k *kernel) prologue() {
	c := k.c
	c.MOVQ(at(regTile, offARow), regRow)
	c.MOVQ(at(regTile, offACol), regCol)
	c.MOVQ(at(regTile, offBRow), regBRow)
	if k.rows > 3 {
		c.LEAQ(indexed(regRow, regRow, 2), regRow3)
	}
	if k.rows > 5 {
		c.LEAQ(indexed(regRow, regRow, 4), regRow5)
	}
	if !k.edge {
		return
	}
	c.MOVQ(at(regTile, offLast), regK)
	if k.s.mask {
		c.MOVL(operand.I32(-1), reg.EAX)
		c.BZHIL(reg.ECX, reg.EAX, reg.EAX)
		c.KMOVW(reg.EAX, reg.K1)
		return
	}
	// The mask of n lanes ends n elements after the table's middle.
	c.LEAQ(table("laneMasks"), regC)
	if k.s.size == 8 {
		c.SHLQ(operand.U8(1), regK)
	}
	c.NEGQ(regK)
	k.load(operand.Mem{Base: regC, Index: regK, Scale: 4, Disp: 32}, k.last)
}

// looksAhead reports whether the kernel asks for its next row of B, and for what
// comes after its panel: the larger ones do, which have the time, where the last
// cache is far away.
func (k *kernel) looksAhead() bool { return k.s.mask && k.rows*k.vectors >= 6 }

// spreads reports whether it asks for the result's tile while it adds.
func (k *kernel) spreads() bool { return k.looksAhead() && k.vectors == 2 }

// prefetchC asks for the result's tile where the sums are long enough for it to
// come in time.
func (k *kernel) prefetchC() {
	c := k.c
	if k.rows*k.vectors < 6 || k.spreads() {
		return
	}
	c.CMPQ(regK, operand.U8(prefetchTerms))
	c.JL(operand.LabelRef("start"))
	c.MOVQ(k.now[nowC], regC)
	c.MOVQ(at(regTile, offCRow), regCRow)
	for r := range k.rows {
		k.fetch(regC)
		if r < k.rows-1 {
			c.ADDQ(regCRow, regC)
		}
	}
	c.Label("start")
}

// fetch asks for a row of a panel.
func (k *kernel) fetch(from reg.Register) {
	for d := 0; d < k.vectors*k.s.lanes*k.s.size; d += 64 {
		k.c.PREFETCHT0(at(from, d))
	}
}

// aAddress returns where row r of the group is at the current term.
func aAddress(r int) operand.Mem {
	switch r {
	case 0:
		return at(regA0, 0)
	case 1, 2, 4, 8:
		return indexed(regA0, regRow, uint8(r))
	case 3, 6, 12:
		return indexed(regA0, regRow3, uint8(r/3))
	case 5, 10:
		return indexed(regA0, regRow5, uint8(r/5))
	case 7, 9, 13:
		return indexed(regA5, regRow, uint8(r-5))
	}
	return indexed(regA5, regRow3, 2) // 11
}

// terms adds up the products.
func (k *kernel) terms() {
	c := k.c
	if k.spreads() {
		k.spread()
		return
	}
	unroll := k.unroll()
	if unroll > 1 {
		c.SUBQ(operand.U8(unroll), regK)
		c.JL(operand.LabelRef("rest"))
	}
	c.Label("loop")
	for u := range unroll {
		for r := u; r < k.rows && k.streams(); r += unroll {
			m := aAddress(r)
			m.Disp = bytesAhead
			c.PREFETCHT0(m)
		}
		k.term(u)
	}
	if unroll == 1 {
		c.DECQ(regK)
		c.JNZ(operand.LabelRef("loop"))
		return
	}
	c.SUBQ(operand.U8(unroll), regK)
	c.JGE(operand.LabelRef("loop"))
	c.Label("rest")
	c.ADDQ(operand.U8(unroll), regK)
	c.JZ(operand.LabelRef("done"))
	c.Label("single")
	k.term(0)
	c.DECQ(regK)
	c.JNZ(operand.LabelRef("single"))
	c.Label("done")
}

// spread adds up the products and asks for the result's tile row by row meanwhile:
// all rows at once would keep the operands waiting. Where there are fewer terms than
// rows it does not ask.
func (k *kernel) spread() {
	c := k.c
	for _, n := range distances {
		c.MOVQ(operand.I32(n), regUntil)
		c.SUBQ(operand.I32(n*k.rows), regK)
		c.JGE(operand.LabelRef("asking"))
		c.ADDQ(operand.I32(n*k.rows), regK)
	}
	c.MOVQ(operand.I32(0), k.left)
	c.MOVQ(regK, regUntil)
	c.JMP(operand.LabelRef("loop"))
	c.Label("asking")
	c.MOVQ(regUntil, k.each)
	c.MOVQ(operand.I32(k.rows), k.left)
	c.MOVQ(k.now[nowC], regTo)
	c.Label("row")
	k.fetch(regTo)
	c.ADDQ(at(regTile, offCRow), regTo)
	c.MOVQ(k.each, regUntil)
	c.Label("loop")
	k.term(0)
	c.DECQ(regUntil)
	c.JNZ(operand.LabelRef("loop"))
	c.SUBQ(operand.U8(1), k.left)
	c.JG(operand.LabelRef("row"))
	c.JL(operand.LabelRef("done"))
	c.MOVQ(regK, regUntil) // the terms after the last row's
	c.TESTQ(regK, regK)
	c.JNZ(operand.LabelRef("loop"))
	c.Label("done")
}

// streams reports whether the kernel fetches rows of A: where B is narrow they are
// what it reads most of, once.
func (k *kernel) streams() bool { return k.looksAhead() && k.vectors == 1 }

// unroll returns how many terms a round of the loop adds: where it fetches rows of A,
// not more than a cache line has.
func (k *kernel) unroll() int {
	if k.streams() {
		return 8
	}
	n := 1
	for n < 4 && k.rows*k.vectors*n < 24 {
		n *= 2
	}
	return n
}

// term adds one column of A times one row of B, in the given turn.
func (k *kernel) term(turn int) {
	sums := k.acc
	if n := turn % (len(k.more) + 1); n > 0 {
		sums = k.more[n-1]
	}
	b := k.temp[:k.vectors]
	as := k.temp[k.vectors:]
	for v := range b {
		k.loadB(v, b[v])
	}
	for r, acc := range sums {
		a := as[r%min(2, len(as))]
		k.broadcast(aAddress(r), a)
		for v := range acc {
			k.fma(b[v], a, acc[v])
		}
	}
	if k.looksAhead() {
		k.fetch(regAhead)
		k.c.ADDQ(regAheadStep, regAhead)
	}
	if k.looksAhead() || len(k.more) > 0 {
		for d := 0; d < k.vectors*k.s.lanes*k.s.size; d += 64 {
			m := indexed(regB, regBRow, rowsAhead)
			m.Disp = d
			k.c.PREFETCHT0(m)
		}
	}
	k.c.ADDQ(regCol, regA0)
	if k.rows > 7 {
		k.c.ADDQ(regCol, regA5)
	}
	k.c.ADDQ(regBRow, regB)
}

func (k *kernel) partial(v int) bool { return k.edge && v == k.vectors-1 }

func (k *kernel) loadB(v int, to reg.VecPhysical) {
	from := at(regB, v*k.s.lanes*k.s.size)
	switch {
	case !k.partial(v):
		k.load(from, to)
	case k.s.mask:
		k.loadZ(from, reg.K1, to)
	default:
		k.maskMove(from, k.last, to)
	}
}

// result adds the source's tile, if there is one, and stores the sums.
func (k *kernel) result() {
	c := k.c
	src, srcRow, x := regA0, regB, k.temp[0]
	for _, part := range k.more {
		for r, acc := range k.acc {
			for v := range acc {
				k.add(part[r][v], acc[v], acc[v])
			}
		}
	}
	c.MOVQ(k.now[nowC], regC)
	c.MOVQ(at(regTile, offCRow), regCRow)
	c.MOVQ(k.now[nowSrc], src)
	c.TESTQ(src, src)
	c.JZ(operand.LabelRef("store"))
	c.MOVQ(at(regTile, offSrcRow), srcRow)
	for r, acc := range k.acc {
		for v := range acc {
			from := at(src, v*k.s.lanes*k.s.size)
			switch {
			case !k.partial(v):
				k.add(from, acc[v], acc[v])
				continue
			case k.s.mask:
				k.loadZ(from, reg.K1, x)
			default:
				k.maskMove(from, k.last, x)
			}
			k.add(x, acc[v], acc[v])
		}
		if r < k.rows-1 {
			c.ADDQ(srcRow, src)
		}
	}
	c.Label("store")
	for _, acc := range k.acc {
		for v := range acc {
			to := at(regC, v*k.s.lanes*k.s.size)
			switch {
			case !k.partial(v):
				k.store(acc[v], to)
			case k.s.mask:
				k.store(acc[v], reg.K1, to)
			default:
				k.maskMove(acc[v], k.last, to)
			}
		}
		c.ADDQ(regCRow, regC)
	}
	c.MOVQ(regC, k.now[nowC])
}

// next goes on to the next group of rows.
func (k *kernel) next() {
	c := k.c
	c.MOVQ(k.now[nowSrc], regA0)
	c.TESTQ(regA0, regA0)
	c.JZ(operand.LabelRef("advance"))
	c.MOVQ(at(regTile, offSrcRow), regB)
	k.advance(regB, regA0, k.now[nowSrc])
	c.Label("advance")
	c.MOVQ(k.now[nowA], regA0)
	k.advance(regRow, regA0, k.now[nowA])
	c.DECQ(k.now[nowGroups])
	c.JNZ(operand.LabelRef("group"))
}

// advance adds the tile's rows times a stride to a pointer and keeps it.
func (k *kernel) advance(stride, pointer reg.GPPhysical, to operand.Mem) {
	k.c.IMUL3Q(operand.I32(k.rows), stride, reg.RBX)
	k.c.ADDQ(reg.RBX, pointer)
	k.c.MOVQ(pointer, to)
}
