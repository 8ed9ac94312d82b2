package rows

import "github.com/mmcloughlin/avo/reg"

func norms(k *kit) {
	k.layerNorm(false)
	k.layerNorm(true)
	k.rmsNorm(false)
	k.rmsNorm(true)
	k.spread()
	k.square()
	k.normal(false)
	k.normal(true)
}

// fold sums term of every vector of a row into all lanes. Term gives zero in lanes
// beyond the row.
func (r row) fold(x reg.Register, term func(p place, v, sum reg.VecVirtual)) reg.VecVirtual {
	s := r.Vecs(4)
	for _, v := range s {
		r.Zero(v)
	}
	r.over(len(s), func(p place) { term(p, p.load(x), s[p.i]) })
	sum := merge(s, func(a, b reg.VecVirtual) { r.Add(b, a, a) })
	r.sumOf(sum)
	return sum
}

// deviations sums x - pivot.
func (r row) deviations(x reg.Register, pivot reg.VecVirtual) reg.VecVirtual {
	return r.fold(x, func(p place, v, sum reg.VecVirtual) {
		r.Sub(v, pivot, v)
		p.clear(v)
		r.Add(v, sum, sum)
	})
}

// squares sums ((x - a) - b)^2, or x^2 without a and b.
func (r row) squares(x reg.Register, a, b reg.VecVirtual) reg.VecVirtual {
	return r.fold(x, func(p place, v, sum reg.VecVirtual) {
		if a != nil {
			r.Sub(v, a, v)
			r.Sub(v, b, v)
			p.clear(v)
		}
		r.FMA(v, v, sum)
	})
}

// rstd returns 1/sqrt(sum*inverse + eps).
func (k *kit) rstd(sum, inverse, eps reg.VecVirtual) reg.VecVirtual {
	k.Mul(inverse, sum, sum)
	k.Add(eps, sum, sum)
	k.Sqrt(sum, sum)
	k.Div(k.fixed["one"], sum, sum)
	return sum
}

// put stores ((x - a) - b)*f*weight + bias; what is nil is left out.
func (r row) put(out, x reg.Register, a, b, f reg.VecVirtual, weight, bias reg.Register) {
	r.over(2, func(p place) {
		v := p.load(x)
		if a != nil {
			r.Sub(v, a, v)
			r.Sub(v, b, v)
		}
		r.Mul(v, f, v)
		switch {
		case bias != nil:
			w, c := p.load(weight), p.load(bias)
			r.FMA(w, v, c)
			v = c
		case weight != nil:
			r.Mul(p.load(weight), v, v)
		}
		p.store(v, out)
	})
}

func (k *kit) layerNorm(affine bool) {
	name, arguments, doc := "layerNorm", "out, x", "(x - mean)*rstd"
	if affine {
		name, arguments, doc = "layerNormAffine", "out, x, weight, bias", "(x - mean)*rstd*weight + bias"
	}
	k.begin(name, "func(rows, n int, inverse, eps %s, "+arguments+", means, rstds *%s)",
		"computes "+doc+" of each of rows contiguous rows of n elements, where inverse is 1/n.")
	rows, r, out, x, means, rstds := k.Arg("rows"), k.rowOf(), k.Arg("out"), k.Arg("x"), k.Arg("means"), k.Arg("rstds")
	var weight, bias reg.Register
	if affine {
		weight, bias = k.Arg("weight"), k.Arg("bias")
	}
	inverse, eps := k.scalar("inverse"), k.scalar("eps")
	k.hold("one")
	k.times(rows, func() {
		pivot, mean := k.Vec(), k.Vec() // the mean is the first element plus a small number
		k.Broadcast(mem(x), pivot)
		rest := r.deviations(x, pivot)
		k.Mul(inverse, rest, rest)
		k.Add(rest, pivot, mean)
		k.first(mean, mem(means))
		rstd := k.rstd(r.squares(x, pivot, rest), inverse, eps)
		k.first(rstd, mem(rstds))
		r.put(out, x, pivot, rest, rstd, weight, bias)
		r.next(out, x)
		k.C.ADDQ(imm(k.Elem()), means)
		k.C.ADDQ(imm(k.Elem()), rstds)
	})
	k.End()
}

func (k *kit) rmsNorm(affine bool) {
	name, arguments, doc := "rmsNorm", "out, x", "x*rstd"
	if affine {
		name, arguments, doc = "rmsNormAffine", "out, x, weight", "x*rstd*weight"
	}
	k.begin(name, "func(rows, n int, inverse, eps %s, "+arguments+", rstds *%s)",
		"computes "+doc+" of each of rows contiguous rows of n elements, where inverse is 1/n.")
	rows, r, out, x, rstds := k.Arg("rows"), k.rowOf(), k.Arg("out"), k.Arg("x"), k.Arg("rstds")
	var weight reg.Register
	if affine {
		weight = k.Arg("weight")
	}
	inverse, eps := k.scalar("inverse"), k.scalar("eps")
	k.hold("one")
	k.times(rows, func() {
		rstd := k.rstd(r.squares(x, nil, nil), inverse, eps)
		k.first(rstd, mem(rstds))
		r.put(out, x, nil, nil, rstd, weight, nil)
		r.next(out, x)
		k.C.ADDQ(imm(k.Elem()), rstds)
	})
	k.End()
}

func (k *kit) spread() {
	k.begin("deviations", "func(n int, pivot %s, x, sum *%s)", "writes the sum of x - pivot.")
	r, x, sum := k.rowOf(), k.Arg("x"), k.Arg("sum")
	k.first(r.deviations(x, k.scalar("pivot")), mem(sum))
	k.End()
}

func (k *kit) square() {
	k.begin("squares", "func(n int, a, b %s, x, sum *%s)", "writes the sum of the squares of (x - a) - b.")
	r, x, sum := k.rowOf(), k.Arg("x"), k.Arg("sum")
	k.first(r.squares(x, k.scalar("a"), k.scalar("b")), mem(sum))
	k.End()
}

func (k *kit) normal(affine bool) {
	name, arguments, doc := "normal", "out, x", ""
	if affine {
		name, arguments, doc = "normalAffine", "out, x, weight, bias", "*weight + bias"
	}
	k.begin(name, "func(n int, a, b, f %s, "+arguments+" *%s)", "computes ((x - a) - b)*f"+doc+" for n elements.")
	r, out, x := k.rowOf(), k.Arg("out"), k.Arg("x")
	var weight, bias reg.Register
	if affine {
		weight, bias = k.Arg("weight"), k.Arg("bias")
	}
	r.put(out, x, k.scalar("a"), k.scalar("b"), k.scalar("f"), weight, bias)
	k.End()
}
