package rows

import "github.com/mmcloughlin/avo/reg"

// softmaxes writes the functions over contiguous rows.
func softmaxes(k *kit) {
	k.softmax()
	k.softmaxPart()
	k.logSum()
	k.shift()
	k.rowMax()
	k.rowExp()
	k.rowScale()
	k.expScale()
}

// largest returns the largest element of the row at x in all lanes. NaN counts
// where it comes last alone: whoever needs it finds it in the sum.
func (r row) largest(x reg.Register) reg.VecVirtual {
	m := r.Vecs(4)
	for _, v := range m {
		r.Move(r.fixed["negInf"], v)
	}
	r.over(len(m), func(p place) {
		v := p.load(x)
		p.fill(v, r.fixed["negInf"])
		r.max(v, m[p.i], m[p.i])
	})
	top := merge(m, func(a, b reg.VecVirtual) { r.max(a, b, a) })
	r.maxOf(top)
	return top
}

// exps returns the sum of exp(x - top) in all lanes.
func (r row) exps(x reg.Register, top reg.VecVirtual) reg.VecVirtual {
	s := r.Vecs(2)
	for _, v := range s {
		r.Zero(v)
	}
	r.over(len(s), func(p place) {
		v := p.load(x)
		r.Sub(v, top, v)
		e := r.exp(v, false)
		p.clear(e)
		r.Add(e, s[p.i], s[p.i])
	})
	sum := merge(s, func(a, b reg.VecVirtual) { r.Add(b, a, a) })
	r.sumOf(sum)
	return sum
}

func (r row) scaleBy(out reg.Register, f reg.VecVirtual) {
	r.over(4, func(p place) {
		v := p.load(out)
		r.Mul(v, f, v)
		p.store(v, out)
	})
}

// next moves pointers to their next row.
func (r row) next(pointers ...reg.Register) {
	for _, p := range pointers {
		r.C.ADDQ(r.n, p)
	}
}

// A turn is the work on three rows at once: the exponentials of one, the largest
// element of the next, and the scaling of the one before. What waits for memory, or
// for the end of a sum, waits while the exponentials are computed. The last row is its
// own next; the first is the one before it, whose scaled results are written over.
type turn struct {
	out, x   reg.Register // of the row; out may be x
	next     reg.Register // of the next row's elements
	before   reg.Register // the results of the row before; may be out
	top, f   reg.VecVirtual
	sum, max reg.VecVirtual // what there is at the end, in all lanes
}

// take does a turn over the row.
func (r row) take(t *turn) {
	s, m := r.Vecs(2), r.Vecs(2)
	for i := range s {
		r.Zero(s[i])
		r.Move(r.fixed["negInf"], m[i])
	}
	r.over(len(s), func(p place) {
		v, next, before := p.load(t.x), p.load(t.next), p.load(t.before)
		p.fetch(t.next)
		p.fetch(t.out)
		p.fill(next, r.fixed["negInf"])
		r.max(next, m[p.i], m[p.i])
		r.Mul(before, t.f, before)
		p.store(before, t.before)
		r.Sub(v, t.top, v)
		e := r.exp(v, false)
		p.clear(e)
		r.Add(e, s[p.i], s[p.i])
		p.store(e, t.out)
	})
	t.sum, t.max = s[0], m[0]
	r.Add(s[1], s[0], s[0])
	r.sumOf(s[0])
	r.max(m[0], m[1], m[0])
	r.maxOf(m[0])
}

func (k *kit) softmax() {
	k.begin("softmax", "func(rows, n int, out, x *%s)", "computes softmax of each of rows, at least one, contiguous rows of n elements, at most 2048.")
	rows, r, out, x := k.Arg("rows"), k.rowOf(), k.Arg("out"), k.Arg("x")
	k.holdExp(false)
	k.hold("negInf")
	t := turn{out: out, x: x, next: k.C.GP64(), before: k.C.GP64(), top: r.largest(x), f: k.Vec()}
	k.Zero(t.f)
	k.C.MOVQ(out, t.before)
	k.times(rows, func() {
		k.C.MOVQ(x, t.next)
		k.C.CMPQ(rows, imm(1))
		last := k.label("last")
		k.C.JEQ(ref(last))
		k.C.ADDQ(r.n, t.next)
		k.C.Label(last)
		r.take(&t)
		k.Div(k.fixed["one"], t.sum, t.f)
		k.Move(t.max, t.top)
		k.C.MOVQ(out, t.before)
		r.next(out, x)
	})
	r.scaleBy(t.before, t.f)
	k.End()
}

func (k *kit) softmaxPart() {
	k.begin("softmaxPart", "func(n int, top, f %s, out, x, next, before, sum, largest *%s)",
		"writes exp(x - top), where no x is above top, and its sum; the largest of the n elements at next; and before times f, which may be out.")
	r := k.rowOf()
	t := turn{out: k.Arg("out"), x: k.Arg("x"), next: k.Arg("next"), before: k.Arg("before"), top: k.scalar("top"), f: k.scalar("f")}
	k.holdExp(false)
	k.hold("negInf")
	r.take(&t)
	k.first(t.sum, mem(k.Arg("sum")))
	k.first(t.max, mem(k.Arg("largest")))
	k.End()
}

func (k *kit) logSum() {
	k.begin("logSum", "func(rows, n int, x, tops, sums *%s)", "writes the largest element of each row of n elements, at most 2048, and the sum of exp(x - largest).")
	rows, r, x, tops, sums := k.Arg("rows"), k.rowOf(), k.Arg("x"), k.Arg("tops"), k.Arg("sums")
	k.holdExp(false)
	k.hold("negInf")
	k.times(rows, func() {
		top := r.largest(x)
		k.first(top, mem(tops))
		k.first(r.exps(x, top), mem(sums))
		r.next(x)
		k.C.ADDQ(imm(k.Elem()), tops)
		k.C.ADDQ(imm(k.Elem()), sums)
	})
	k.End()
}

// shift is out = (x - a) - b with a and b of the row.
func (k *kit) shift() {
	k.begin("shift", "func(rows, n int, out, x, a, b *%s)", "computes (x - a) - b, with one element of a and b for each row of n elements.")
	rows, r, out, x, a, b := k.Arg("rows"), k.rowOf(), k.Arg("out"), k.Arg("x"), k.Arg("a"), k.Arg("b")
	k.times(rows, func() {
		va, vb := k.Vec(), k.Vec()
		k.Broadcast(mem(a), va)
		k.Broadcast(mem(b), vb)
		r.over(4, func(p place) {
			v := p.load(x)
			k.Sub(v, va, v)
			k.Sub(v, vb, v)
			p.store(v, out)
		})
		r.next(out, x)
		k.C.ADDQ(imm(k.Elem()), a)
		k.C.ADDQ(imm(k.Elem()), b)
	})
	k.End()
}

func (k *kit) rowMax() {
	k.begin("top", "func(n int, x, top *%s)", "writes the largest of n elements.")
	r, x, top := k.rowOf(), k.Arg("x"), k.Arg("top")
	k.hold("negInf")
	k.first(r.largest(x), mem(top))
	k.End()
}

func (k *kit) rowExp() {
	k.begin("sumExp", "func(n int, top %s, x, sum *%s)", "writes the sum of exp(x - top), where no x is above top.")
	r, x, sum := k.rowOf(), k.Arg("x"), k.Arg("sum")
	top := k.scalar("top")
	k.holdExp(false)
	k.first(r.exps(x, top), mem(sum))
	k.End()
}

func (k *kit) rowScale() {
	k.begin("scale", "func(n int, f %s, out *%s)", "multiplies n elements by f.")
	r, out := k.rowOf(), k.Arg("out")
	r.scaleBy(out, k.scalar("f"))
	k.End()
}

func (k *kit) expScale() {
	k.begin("expScale", "func(n int, a, b, f %s, out, x *%s)", "computes exp((x - a) - b)*f for n elements.")
	r, out, x := k.rowOf(), k.Arg("out"), k.Arg("x")
	a, b, f := k.scalar("a"), k.scalar("b"), k.scalar("f")
	k.holdExp(true)
	r.over(2, func(p place) {
		v := p.load(x)
		k.Sub(v, a, v)
		k.Sub(v, b, v)
		e := k.exp(v, true)
		k.Mul(e, f, e)
		p.store(e, out)
	})
	k.End()
}
