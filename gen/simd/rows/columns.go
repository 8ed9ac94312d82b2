package rows

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columns writes the functions that work along columns: rows of x are stride bytes
// apart, and accumulators, one for each of n columns, stay in registers from the
// first row to the last. A caller gives few rows at once, so that memory is read in
// a few streams rather than along columns.
func columns(k *kit) {
	k.columnMax()
	k.columnExp(true)
	k.columnExp(false)
	k.columnScale()
	k.columnShift()
}

// down writes a loop over rows, of which body sees pointers to the row.
func (k *kit) down(rows reg.GPVirtual, strides []reg.Register, pointers []reg.Register, body func(at []reg.Register)) {
	at := make([]reg.Register, len(pointers))
	for i, from := range pointers {
		r := k.C.GP64()
		k.C.MOVQ(from, r)
		at[i] = r
	}
	n := k.C.GP64()
	k.C.MOVQ(rows, n)
	k.times(n, func() {
		body(at)
		for i, r := range at {
			k.C.ADDQ(strides[i%len(strides)], r)
		}
	})
}

// each applies f to every place.
func each(all []place, f func(p place) reg.VecVirtual) []reg.VecVirtual {
	v := make([]reg.VecVirtual, len(all))
	for i, p := range all {
		v[i] = f(p)
	}
	return v
}

func (k *kit) columnMax() {
	k.begin("columnTops", "func(rows, n, stride int, x, tops *%s)", "raises tops to the largest element of each of n columns; NaN is not one.")
	rows, r, stride, x, tops := k.Arg("rows"), k.rowOf(), k.Arg("stride"), k.Arg("x"), k.Arg("tops")
	r.steps(4, func(all []place) {
		top := each(all, func(p place) reg.VecVirtual { return p.load(tops) })
		k.down(rows, []reg.Register{stride}, []reg.Register{x}, func(at []reg.Register) {
			for i, p := range all {
				k.max(p.load(at[0]), top[i], top[i])
			}
		})
		for i, p := range all {
			p.store(top[i], tops)
		}
	})
	k.End()
}

func (k *kit) columnExp(store bool) {
	arguments, name, doc := "x, tops, sums", "columnSumExp", "adds"
	if store {
		arguments, name, doc = "out, x, tops, sums", "columnExp", "writes, and adds"
	}
	k.begin(name, "func(rows, n, stride int, "+arguments+" *%s)", doc+" to sums, exp(x - top) of the elements of n columns, whose tops no x is above.")
	rows, r, stride, x, tops, sums := k.Arg("rows"), k.rowOf(), k.Arg("stride"), k.Arg("x"), k.Arg("tops"), k.Arg("sums")
	pointers := []reg.Register{x}
	if store {
		pointers = append(pointers, k.Arg("out"))
	}
	k.holdExp(false)
	r.over(1, func(p place) {
		top, sum := p.load(tops), p.load(sums)
		k.down(rows, []reg.Register{stride}, pointers, func(at []reg.Register) {
			v := p.load(at[0])
			k.Sub(v, top, v)
			e := k.exp(v, false)
			k.Add(e, sum, sum)
			if store {
				p.store(e, at[1])
			}
		})
		p.store(sum, sums)
	})
	k.End()
}

func (k *kit) columnScale() {
	k.begin("columnScale", "func(rows, n, stride int, out, f *%s)", "multiplies the elements of n columns by the column's f.")
	rows, r, stride, out, f := k.Arg("rows"), k.rowOf(), k.Arg("stride"), k.Arg("out"), k.Arg("f")
	r.over(1, func(p place) {
		by := p.load(f)
		k.down(rows, []reg.Register{stride}, []reg.Register{out}, func(at []reg.Register) {
			v := p.load(at[0])
			k.Mul(by, v, v)
			p.store(v, at[0])
		})
	})
	k.End()
}

func (k *kit) columnShift() {
	k.begin("columnShift", "func(rows, n, stride int, out, x, a, b *%s)", "computes (x - a) - b with the column's a and b.")
	rows, r, stride := k.Arg("rows"), k.rowOf(), k.Arg("stride")
	out, x, a, b := k.Arg("out"), k.Arg("x"), k.Arg("a"), k.Arg("b")
	r.over(1, func(p place) {
		va, vb := p.load(a), p.load(b)
		k.down(rows, []reg.Register{stride}, []reg.Register{x, out}, func(at []reg.Register) {
			v := p.load(at[0])
			k.Sub(v, va, v)
			k.Sub(v, vb, v)
			p.store(v, at[1])
		})
	})
	k.End()
}

func mem(base reg.Register) operand.Mem { return operand.Mem{Base: base} }
