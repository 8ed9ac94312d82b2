package rows

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// channels writes the functions of a channel: rows of n elements, stride bytes apart
// in every operand, which have their statistics and coefficients in common.
func channels(k *kit) {
	k.channelMoments()
	k.channelNormal()
	k.channelSums()
	k.channelGrad(false)
	k.channelGrad(true)
}

// A channel is the extent of one: so many rows.
type channel struct {
	row
	rows, stride reg.GPVirtual
}

// channelOf makes the channel of arguments rows, n and stride.
func (k *kit) channelOf() channel {
	return channel{k.rowOf(), k.Arg("rows"), k.Arg("stride")}
}

// all writes body for the vectors of every row of operands, so many in one step.
func (c channel) all(unroll int, operands []reg.Register, body func(p place, at []reg.Register)) {
	c.down(c.rows, []reg.Register{c.stride}, operands, func(at []reg.Register) {
		c.over(unroll, func(p place) { body(p, at) })
	})
}

// unrolled is how many vectors of a row are in one step.
const unrolled = 4

// sums returns unrolled accumulators, and a function that adds them up in all lanes of
// the first.
func (c channel) sums() (acc []reg.VecVirtual, total func() reg.VecVirtual) {
	acc = c.Vecs(unrolled)
	for _, v := range acc {
		c.Zero(v)
	}
	return acc, func() reg.VecVirtual {
		sum := merge(acc, func(a, b reg.VecVirtual) { c.Add(b, a, a) })
		c.sumOf(sum)
		return sum
	}
}

func (k *kit) channelMoments() {
	k.begin("moments", "func(rows, n, stride int, inverse %s, x, mean, square *%s)",
		"writes the mean of rows rows of n elements, stride bytes apart, and the sum of the squares of their distances from it; inverse is 1/(rows*n).")
	c, x := k.channelOf(), k.Arg("x")
	inverse, about := k.scalar("inverse"), k.Vec()
	acc, total := c.sums()
	c.all(unrolled, []reg.Register{x}, func(p place, at []reg.Register) {
		k.Add(p.load(at[0]), acc[p.i], acc[p.i])
	})
	k.Mul(inverse, total(), about)
	rests, rest := c.sums() // about is off by its rounding: distances from it have a sum
	squares, square := c.sums()
	c.all(unrolled, []reg.Register{x}, func(p place, at []reg.Register) {
		v := p.load(at[0])
		k.Sub(v, about, v)
		p.clear(v)
		k.Add(v, rests[p.i], rests[p.i])
		k.FMA(v, v, squares[p.i])
	})
	sum, all := rest(), square()
	k.Mul(inverse, sum, inverse)
	k.Add(inverse, about, about)
	k.Mul(inverse, sum, sum)
	k.Sub(all, sum, all)
	k.first(about, mem(k.Arg("mean")))
	k.first(all, mem(k.Arg("square")))
	k.End()
}

func (k *kit) channelNormal() {
	k.begin("normal", "func(rows, n, stride int, mean, factor, shift %s, out, x *%s)",
		"computes (x - mean)*factor + shift of rows rows of n elements, stride bytes apart.")
	c, out, x := k.channelOf(), k.Arg("out"), k.Arg("x")
	mean, factor, shift := k.scalar("mean"), k.scalar("factor"), k.scalar("shift")
	c.all(unrolled, []reg.Register{out, x}, func(p place, at []reg.Register) {
		v, y := p.load(at[1]), k.Vec()
		k.Sub(v, mean, v)
		k.Move(shift, y)
		k.FMA(factor, v, y)
		p.store(y, at[0])
	})
	k.End()
}

func (k *kit) channelSums() {
	k.begin("sums", "func(rows, n, stride int, mean %s, dy, x, sum, product *%s)",
		"writes the sums of dy and of dy*(x - mean) of rows rows of n elements, stride bytes apart.")
	c, dy, x, mean := k.channelOf(), k.Arg("dy"), k.Arg("x"), k.scalar("mean")
	sums, sum := c.sums()
	products, product := c.sums()
	c.all(unrolled, []reg.Register{dy, x}, func(p place, at []reg.Register) {
		g, v := p.load(at[0]), p.load(at[1])
		k.Sub(v, mean, v)
		p.clear(v)
		k.Add(g, sums[p.i], sums[p.i])
		k.FMA(g, v, products[p.i])
	})
	k.first(sum(), mem(k.Arg("sum")))
	k.first(product(), mem(k.Arg("product")))
	k.End()
}

// channelGrad writes grad, or with sums what folds its result, too, as package fold does: a step is
// as many elements as there are accumulators.
func (k *kit) channelGrad(sums bool) {
	name, operands, unroll := "grad", "dx, dy, x", unrolled
	doc := "computes (dy - middle)*factor + (x - mean)*slope of rows rows of n elements, stride bytes apart."
	if sums {
		name, operands, unroll = "gradSums", "dx, dy, x, lanes", lanesBytes/k.Bytes()
		doc += " It adds the results to the accumulators at lanes, 256 bytes of them, in turn; rows are a multiple of 256 bytes."
	}
	k.begin(name, "func(rows, n, stride int, mean, middle, factor, slope %s, "+operands+" *%s)", doc)
	c, dx, dy, x := k.channelOf(), k.Arg("dx"), k.Arg("dy"), k.Arg("x")
	mean, middle, factor, slope := k.scalar("mean"), k.scalar("middle"), k.scalar("factor"), k.scalar("slope")
	var acc []reg.VecVirtual
	lane := func(i int) operand.Mem { return operand.Mem{Base: k.Arg("lanes"), Disp: i * k.Bytes()} }
	if sums {
		acc = k.Vecs(unroll)
		for i, v := range acc {
			k.Move(lane(i), v)
		}
	}
	c.all(unroll, []reg.Register{dx, dy, x}, func(p place, at []reg.Register) {
		g, v := p.load(at[1]), p.load(at[2])
		k.Sub(g, middle, g)
		k.Sub(v, mean, v)
		k.Mul(g, factor, g)
		k.FMA(v, slope, g)
		p.store(g, at[0])
		if sums {
			k.Add(g, acc[p.i], acc[p.i])
		}
	})
	for i, v := range acc {
		k.Move(v, lane(i))
	}
	k.End()
}
