package rows

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lines writes the functions of points, each of which has some taps: lines of n elements
// in an image, with a weight. A tap is 16 bytes: the number of its line's first element,
// then the weight. The points' own lines are step bytes apart.
func lines(k *kit) {
	k.linesMix()
	k.linesSpread()
	k.linesDots()
}

const tapBytes = 16

// points is what the functions have in common.
type points struct {
	row
	count, taps, step, list, image reg.GPVirtual
}

func (k *kit) pointsOf() points {
	return points{k.rowOf(), k.Arg("points"), k.Arg("taps"), k.Arg("step"), k.Arg("list"), k.Arg("image")}
}

// each writes body for the taps of a point, with the address of its line and of its weight.
func (p points) each(body func(line reg.Register, weight operand.Mem)) {
	tap, left, line := p.C.GP64(), p.C.GP64(), p.C.GP64()
	p.C.MOVQ(p.list, tap)
	p.C.MOVQ(p.taps, left)
	p.times(left, func() {
		p.C.MOVQ(mem(tap), line)
		p.C.LEAQ(operand.Mem{Base: p.image, Index: line, Scale: uint8(p.Elem())}, line)
		body(line, operand.Mem{Base: tap, Disp: 8})
		p.C.ADDQ(imm(tapBytes), tap)
	})
}

// all writes body for every point, whose own line is at the register line.
func (p points) all(line reg.GPVirtual, body func()) {
	p.times(p.count, func() {
		body()
		bytes := p.C.GP64()
		p.C.MOVQ(p.taps, bytes)
		p.C.SHLQ(operand.U8(4), bytes)
		p.C.ADDQ(bytes, p.list)
		p.C.ADDQ(p.step, line)
	})
}

func (k *kit) linesMix() {
	k.begin("mix", "func(points, n, taps, step int, to, image *%s, list *byte)",
		"writes to the line of each point the sum of its taps' lines times their weights, in order.")
	p, to := k.pointsOf(), k.Arg("to")
	p.all(to, func() {
		p.steps(2, func(all []place) {
			sums := k.Vecs(len(all))
			for _, v := range sums {
				k.Zero(v)
			}
			p.each(func(line reg.Register, weight operand.Mem) {
				w := k.Vec()
				k.Broadcast(weight, w)
				for i, at := range all {
					v := at.load(line)
					k.Mul(w, v, v)
					k.Add(v, sums[i], sums[i])
				}
			})
			for i, at := range all {
				at.store(sums[i], to)
			}
		})
	})
	k.End()
}

func (k *kit) linesSpread() {
	k.begin("spread", "func(points, n, taps, step int, from, image *%s, list *byte)",
		"adds the line of each point, times the taps' weights, to their lines. The lines of a point's taps differ.")
	p, from := k.pointsOf(), k.Arg("from")
	p.all(from, func() {
		p.steps(2, func(all []place) {
			own := each(all, func(at place) reg.VecVirtual { return at.load(from) })
			p.each(func(line reg.Register, weight operand.Mem) {
				w := k.Vec()
				k.Broadcast(weight, w)
				for i, at := range all {
					v, sum := k.Vec(), at.load(line)
					k.Mul(own[i], w, v)
					k.Add(v, sum, sum)
					at.store(sum, line)
				}
			})
		})
	})
	k.End()
}

func (k *kit) linesDots() {
	k.begin("dots", "func(points, n, taps, step int, line, image, out *%s, list *byte)",
		"writes the product of the line of each point with that of each of its taps. Weights mean nothing.")
	p, own, out := k.pointsOf(), k.Arg("line"), k.Arg("out")
	p.all(own, func() {
		p.each(func(line reg.Register, _ operand.Mem) {
			sum := k.Vec()
			k.Zero(sum)
			p.over(1, func(at place) {
				v, x := at.load(own), at.load(line)
				k.FMA(v, x, sum)
			})
			k.sumOf(sum)
			k.first(sum, mem(out))
			k.C.ADDQ(imm(k.Elem()), out)
		})
	})
	k.End()
}
