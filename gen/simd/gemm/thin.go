package gemm

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ThinRows is how many rows kernels for thin products have at most.
const ThinRows = 3

// Offsets of the fields of thin, the structure in backend/cpu/gemm/thin.go.
const (
	thinB = 8 * iota
	thinBRow
	thinX
	thinXRow
	thinY
	thinYRow
	thinCount
	thinGroups
	thinLast
)

// dotRows is how many rows of a matrix one kernel multiplies with vectors at once.
const dotRows = 4

// depth returns how many rows of B an update takes at once for so many rows of A.
func (s isa) depth(rows int) int {
	if s.mask {
		return 8
	}
	return [...]int{0, 8, 4, 3}[rows]
}

// thin emits the kernels for products of few rows.
func (k *kernel) thin() {
	for x := 1; x <= ThinRows; x++ {
		k.dot(dotRows, x)
		k.dot(1, x)
		k.update(x, k.s.depth(x))
		k.update(x, 1)
	}
}

func (s isa) dotName(rows, x int) string {
	return fmt.Sprintf("dot%dx%d%s%s", rows, x, s.dtype, s.level)
}

func (s isa) updateName(x, depth int) string {
	return fmt.Sprintf("update%dx%d%s%s", x, depth, s.dtype, s.level)
}

func (k *kernel) start(name string) {
	k.c.Function(name)
	k.c.Attributes(attr.NOSPLIT)
	k.c.Pragma("noescape")
	k.c.SignatureExpr("func(t *byte)")
	k.c.Load(k.c.Param("t"), regTile)
}

// lastMask sets the mask of the last vector, in k.last or K1.
func (k *kernel) lastMask(off int, last reg.VecPhysical) {
	c := k.c
	c.MOVQ(at(regTile, off), reg.RCX)
	if k.s.mask {
		c.MOVL(operand.I32(-1), reg.EAX)
		c.BZHIL(reg.ECX, reg.EAX, reg.EAX)
		c.KMOVW(reg.EAX, reg.K1)
		return
	}
	k.last = last
	c.LEAQ(table("laneMasks"), reg.RAX)
	if k.s.size == 8 {
		c.SHLQ(operand.U8(1), reg.RCX)
	}
	c.NEGQ(reg.RCX)
	k.load(operand.Mem{Base: reg.RAX, Index: reg.RCX, Scale: 4, Disp: 32}, k.last)
}

func (k *kernel) loadLast(from operand.Mem, to reg.VecPhysical) {
	if k.s.mask {
		k.loadZ(from, reg.K1, to)
	} else {
		k.maskMove(from, k.last, to)
	}
}

// A dot is a kernel of products of rows of B with x vectors being emitted: the sums
// of one group of rows after the other. The vectors are padded with zeros.
type dot struct {
	*kernel
	rows, x, unroll int
	bytes           int           // of a vector
	from, vectors   []operand.Mem // the rows of B and the vectors
}

// General registers of a dot.
var (
	dotB, dotX         = reg.R8, reg.RSI
	dotBRow, dotXRow   = reg.R10, reg.RDX
	dotBRow3           = reg.R11
	dotFirst, dotY     = reg.R12, reg.R13 // of the group
	dotLeft, dotGroups = reg.RCX, reg.R9
)

func (k *kernel) dot(rows, x int) {
	d := &dot{kernel: k, rows: rows, x: x, unroll: 1, bytes: k.s.lanes * k.s.size}
	for rows*x*d.unroll < 8 {
		d.unroll *= 2
	}
	d.from = rowsFrom(dotB, dotBRow, dotBRow3, dotB, 4)
	d.vectors = []operand.Mem{at(dotX, 0), indexed(dotX, dotXRow, 1), indexed(dotX, dotXRow, 2)}
	c := k.c
	k.start(k.s.dotName(rows, x))
	c.MOVQ(at(regTile, thinBRow), dotBRow)
	c.LEAQ(indexed(dotBRow, dotBRow, 2), dotBRow3)
	c.MOVQ(at(regTile, thinXRow), dotXRow)
	c.MOVQ(at(regTile, thinB), dotFirst)
	c.MOVQ(at(regTile, thinY), dotY)
	c.MOVQ(at(regTile, thinGroups), dotGroups)
	c.Label("group")
	c.MOVQ(dotFirst, dotB)
	c.MOVQ(at(regTile, thinX), dotX)
	for i := range d.sums() {
		k.zero(k.s.vector(i))
	}
	d.whole()
	d.last()
	d.result()
	c.IMUL3Q(operand.I32(rows), dotBRow, reg.RAX)
	c.ADDQ(reg.RAX, dotFirst)
	c.ADDQ(operand.I32(rows*k.s.size), dotY)
	c.DECQ(dotGroups)
	c.JNZ(operand.LabelRef("group"))
	end(c)
}

// sums returns how many vectors of sums there are, from the first register on.
func (d *dot) sums() int { return d.unroll * d.rows * d.x }

// acc returns the sums of a row of B with a vector.
func (d *dot) acc(u, r, i int) reg.VecPhysical { return d.s.vector((u*d.rows+r)*d.x + i) }

// step adds one vector of every product.
func (d *dot) step(u int) {
	disp := func(m operand.Mem) operand.Mem {
		m.Disp = u * d.bytes
		return m
	}
	held := make([]reg.VecPhysical, d.x)
	for i := range held {
		held[i] = d.s.vector(d.sums() + i)
		d.load(disp(d.vectors[i]), held[i])
	}
	w := d.s.vector(d.s.regs - 1)
	for r := range d.rows {
		if d.x == 1 {
			d.fma(disp(d.from[r]), held[0], d.acc(u, r, 0))
			continue
		}
		d.load(disp(d.from[r]), w)
		for i := range d.x {
			d.fma(held[i], w, d.acc(u, r, i))
		}
	}
}

// whole adds what fills vectors and leaves the number of other terms.
func (d *dot) whole() {
	c := d.c
	advance := func(vectors int) {
		c.ADDQ(operand.I32(vectors*d.bytes), dotB)
		c.ADDQ(operand.I32(vectors*d.bytes), dotX)
	}
	terms := operand.I32(d.unroll * d.s.lanes)
	c.MOVQ(at(regTile, thinCount), dotLeft)
	c.SUBQ(terms, dotLeft)
	c.JL(operand.LabelRef("rest"))
	c.Label("loop")
	for u := range d.unroll {
		d.step(u)
	}
	advance(d.unroll)
	c.SUBQ(terms, dotLeft)
	c.JGE(operand.LabelRef("loop"))
	c.Label("rest")
	c.ADDQ(terms, dotLeft)
	if d.unroll == 1 {
		return
	}
	c.Label("single")
	c.SUBQ(operand.I32(d.s.lanes), dotLeft)
	c.JL(operand.LabelRef("tail"))
	d.step(0)
	advance(1)
	c.JMP(operand.LabelRef("single"))
	c.Label("tail")
	c.ADDQ(operand.I32(d.s.lanes), dotLeft)
}

// last adds the terms that do not fill a vector.
func (d *dot) last() {
	d.c.TESTQ(dotLeft, dotLeft)
	d.c.JZ(operand.LabelRef("sum"))
	d.lastMask(thinLast, d.s.vector(d.sums()))
	w := d.s.vector(d.s.regs - 1)
	for r := range d.rows {
		d.loadLast(d.from[r], w)
		for i := range d.x {
			d.fma(d.vectors[i], w, d.acc(0, r, i))
		}
	}
	d.c.Label("sum")
}

// result adds the sums up and stores them.
func (d *dot) result() {
	c := d.c
	for i := d.rows * d.x; i < d.sums(); i++ {
		sum := d.s.vector(i % (d.rows * d.x))
		d.add(d.s.vector(i), sum, sum)
	}
	c.MOVQ(dotY, reg.RAX)
	for i := range d.x {
		var of []reg.VecPhysical
		for r := range d.rows {
			of = append(of, d.acc(0, r, i))
		}
		d.sum(of, at(reg.RAX, 0))
		if i < d.x-1 {
			c.ADDQ(at(regTile, thinYRow), reg.RAX)
		}
	}
}

// sum stores the sums of the lanes of four vectors, or of one.
func (k *kernel) sum(of []reg.VecPhysical, to operand.Mem) {
	c := k.c
	if k.s.mask {
		t := reg.Y31
		for i, z := range of {
			c.VEXTRACTF64X4(operand.U8(1), z, t)
			y := ys[z.ID().Index()]
			if k.s.dtype == "F32" {
				c.VADDPS(t, y, y)
			} else {
				c.VADDPD(t, y, y)
			}
			of[i] = y
		}
	}
	x := func(v reg.VecPhysical) reg.Register { return v.(reg.Vec).AsX() }
	last := reg.Y15
	if k.s.dtype == "F32" {
		if len(of) == 4 {
			c.VHADDPS(of[1], of[0], of[0])
			c.VHADDPS(of[3], of[2], of[2])
			c.VHADDPS(of[2], of[0], of[0])
		} else {
			c.VHADDPS(of[0], of[0], of[0])
			c.VHADDPS(of[0], of[0], of[0])
		}
		c.VEXTRACTF128(operand.U8(1), of[0], last.AsX())
		c.VADDPS(last.AsX(), x(of[0]), x(of[0]))
		if len(of) == 4 {
			c.VMOVUPS(x(of[0]), to)
		} else {
			c.VMOVSS(x(of[0]), to)
		}
		return
	}
	for i := 0; i < len(of); i += 2 {
		v := of[i]
		c.VHADDPD(of[min(i+1, len(of)-1)], v, v)
		c.VEXTRACTF128(operand.U8(1), v, last.AsX())
		c.VADDPD(last.AsX(), x(v), x(v))
		to.Disp = 8 * i
		if len(of) == 4 {
			c.VMOVUPD(x(v), to)
		} else {
			c.VMOVSD(x(v), to)
		}
	}
}

// An update is a kernel being emitted that adds depth rows of B, times factors, to
// x rows of y, and then the next rows, as many times as there are groups.
type update struct {
	*kernel
	x, depth int
	sums     []reg.VecPhysical
	ys       []operand.Mem
}

// General registers of an update, beside those that reach rows of B.
var (
	updateX, updateFactors = reg.RSI, reg.R13 // moving, and where the group's begin
	updateY, updateYRow    = reg.RBX, reg.RDX
	updateLeft             = reg.RCX
)

func (k *kernel) update(x, depth int) {
	u := &update{kernel: k, x: x, depth: depth}
	u.ys = []operand.Mem{at(updateY, 0), indexed(updateY, updateYRow, 1), indexed(updateY, updateYRow, 2)}[:x]
	for i := range x {
		u.sums = append(u.sums, k.s.vector(x*depth+i))
	}
	c := k.c
	k.start(k.s.updateName(x, depth))
	k.lastMask(thinLast, k.s.vector(min(x*depth+x+1, k.s.regs-1)))
	first, groups := c.AllocLocal(8), c.AllocLocal(8)
	c.MOVQ(at(regTile, thinB), regA0)
	c.MOVQ(regA0, first)
	c.MOVQ(at(regTile, thinGroups), reg.RAX)
	c.MOVQ(reg.RAX, groups)
	c.MOVQ(at(regTile, thinX), updateFactors)
	c.MOVQ(at(regTile, thinYRow), updateYRow)
	c.MOVQ(at(regTile, thinBRow), regRow)
	c.LEAQ(indexed(regRow, regRow, 2), regRow3)
	c.LEAQ(indexed(regRow, regRow, 4), regRow5)
	c.Label("group")
	u.factors()
	c.MOVQ(first, regA0)
	c.LEAQ(indexed(regA0, regRow5, 1), regA5)
	c.MOVQ(at(regTile, thinY), updateY)
	c.MOVQ(at(regTile, thinCount), updateLeft)
	u.columns()
	c.ADDQ(operand.I32(depth*k.s.size), updateFactors)
	c.IMUL3Q(operand.I32(depth), regRow, reg.RAX)
	c.ADDQ(reg.RAX, first)
	c.DECQ(groups)
	c.JNZ(operand.LabelRef("group"))
	end(c)
}

func (u *update) factor(i, p int) reg.VecPhysical { return u.s.vector(i*u.depth + p) }

// factors broadcasts the group's factors.
func (u *update) factors() {
	u.c.MOVQ(updateFactors, updateX)
	for i := range u.x {
		for p := range u.depth {
			u.broadcast(at(updateX, p*u.s.size), u.factor(i, p))
		}
		if i < u.x-1 {
			u.c.ADDQ(at(regTile, thinXRow), updateX)
		}
	}
}

// columns adds the group's rows.
func (u *update) columns() {
	c := u.c
	lanes, bytes := operand.I32(u.s.lanes), operand.I32(u.s.lanes*u.s.size)
	c.SUBQ(lanes, updateLeft)
	c.JL(operand.LabelRef("rest"))
	c.Label("loop")
	u.addRows(func(m operand.Mem, v reg.VecPhysical) { u.load(m, v) })
	for i, sum := range u.sums {
		u.store(sum, u.ys[i])
	}
	for _, r := range []reg.Register{regA0, regA5, updateY} {
		c.ADDQ(bytes, r)
	}
	c.SUBQ(lanes, updateLeft)
	c.JGE(operand.LabelRef("loop"))
	c.Label("rest")
	c.ADDQ(lanes, updateLeft)
	c.JZ(operand.LabelRef("done"))
	u.addRows(u.loadLast)
	for i, sum := range u.sums {
		if u.s.mask {
			u.store(sum, reg.K1, u.ys[i])
		} else {
			u.maskMove(sum, u.last, u.ys[i])
		}
	}
	c.Label("done")
}

// addRows adds one vector of the rows.
func (u *update) addRows(load func(operand.Mem, reg.VecPhysical)) {
	for i, sum := range u.sums {
		load(u.ys[i], sum)
	}
	b := u.s.vector(u.x*u.depth + u.x)
	for p := range u.depth {
		load(aAddress(p), b)
		for i, sum := range u.sums {
			u.fma(b, u.factor(i, p), sum)
		}
	}
}
