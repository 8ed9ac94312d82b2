package rows

import "github.com/mmcloughlin/avo/reg"

// outers writes arithmetic of rows with one number each.
func outers(k *kit) {
	for _, f := range []struct {
		name, doc string
		to        func(v, one reg.VecVirtual)
	}{
		{"outerAdd", "x + one", func(v, one reg.VecVirtual) { k.Add(one, v, v) }},
		{"outerSub", "x - one", func(v, one reg.VecVirtual) { k.Sub(v, one, v) }},
		{"outerSubFrom", "one - x", func(v, one reg.VecVirtual) { k.Sub(one, v, v) }},
		{"outerMul", "x*one", func(v, one reg.VecVirtual) { k.Mul(one, v, v) }},
		{"outerDiv", "x/one", func(v, one reg.VecVirtual) { k.Div(v, one, v) }},
		{"outerDivInto", "one/x", func(v, one reg.VecVirtual) { k.Div(one, v, v) }},
	} {
		k.outer(f.name, f.doc, f.to)
	}
}

func (k *kit) outer(name, doc string, to func(v, one reg.VecVirtual)) {
	k.begin(name, "func(rows, n, outStride, stride, step int, out, x, one *%s)",
		"computes "+doc+" of rows rows of n elements, outStride and stride bytes apart, and an element for each of them, step bytes apart. Out may be x.")
	rows, r, outStride, stride, step := k.Arg("rows"), k.rowOf(), k.Arg("outStride"), k.Arg("stride"), k.Arg("step")
	out, x, one := k.Arg("out"), k.Arg("x"), k.Arg("one")
	k.times(rows, func() {
		number := k.Vec()
		k.Broadcast(mem(one), number)
		r.over(4, func(p place) {
			v := p.load(x)
			p.fetch(out)
			to(v, number)
			p.store(v, out)
		})
		k.C.ADDQ(outStride, out)
		k.C.ADDQ(stride, x)
		k.C.ADDQ(step, one)
	})
	k.End()
}
