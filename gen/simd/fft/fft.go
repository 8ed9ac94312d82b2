// Package fft writes the vector functions of Fourier transforms: the butterflies of
// a pass, and what goes before and after the passes. Package backend/cpu/fft calls
// them. Points are pairs of a real and an imaginary part.
package fft

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/asm"
	"github.com/sinter-go/sinter/gen/simd/wide"
)

// Files returns the functions as assembly.
func Files(by string) ([]asm.File, error) {
	u := asm.Unit{Dir: "backend/cpu/fft", Pkg: "fft", Name: "passes", By: by}
	return u.Build(func(c *build.Context) {
		wide.Masks(c)
		wide.Each(c, func(w *wide.Kit) {
			k := kit{w}
			for _, radix := range []int{2, 3, 4, 5} {
				k.pass(radix)
			}
			if !k.AVX512 {
				k.first()
				k.split()
				k.join()
			}
			k.weigh(false)
			k.weigh(true)
		})
	})
}

// A kit writes functions over vectors of points.
type kit struct{ *wide.Kit }

// point returns the size of a point.
func (k kit) point() int { return 2 * k.Elem() }

func (k kit) pick(single, double func(...operand.Op), ops ...operand.Op) {
	if k.Double {
		double(ops...)
		return
	}
	single(ops...)
}

// exchanged returns v with real and imaginary parts exchanged.
func (k kit) exchanged(v reg.Register) reg.VecVirtual {
	to := k.Vec()
	if k.Double {
		k.C.VPERMILPD(operand.U8(0x55), v, to)
	} else {
		k.C.VPERMILPS(operand.U8(0xb1), v, to)
	}
	return to
}

// A factor is a complex number by which points are multiplied: its parts, each in
// both places of every point.
type factor struct{ re, im reg.Register }

// broadcast returns the factor at m for all points.
func (k kit) broadcast(m operand.Mem) factor {
	f := factor{k.Vec(), k.Vec()}
	k.Broadcast(m, f.re)
	k.Broadcast(m.Offset(k.Elem()), f.im)
	return f
}

// times multiplies the points of v.
func (k kit) times(v reg.VecVirtual, f factor) {
	t := k.exchanged(v)
	k.Mul(f.im, t, t)
	k.pick(k.C.VFMADDSUB132PS, k.C.VFMADDSUB132PD, f.re, t, v)
}

// timesConjugate multiplies the points of v by a factor's conjugate.
func (k kit) timesConjugate(v reg.VecVirtual, f factor) {
	t := k.exchanged(v)
	k.Mul(f.im, t, t)
	k.pick(k.C.VFMSUBADD132PS, k.C.VFMSUBADD132PD, f.re, t, v)
}

// constant returns a number in all lanes.
func (k kit) constant(v float64) reg.VecVirtual {
	to := k.Vec()
	bits, x := k.C.GP64(), k.C.XMM()
	if k.Double {
		k.C.MOVQ(operand.U64(math.Float64bits(v)), bits)
	} else {
		k.C.MOVL(operand.U32(math.Float32bits(float32(v))), bits.As32())
	}
	k.C.VMOVQ(bits, x)
	k.Broadcast(x, to)
	return to
}

// A turn adds a vector that stands a quarter of a turn from another.
type turn struct {
	kit
	ones reg.Register
}

func (k kit) turn() turn { return turn{k, k.constant(1)} }

// both returns u - i*v and u + i*v. U is lost.
func (t turn) both(u, v reg.VecVirtual) (less, more reg.VecVirtual) {
	w, less := t.exchanged(v), t.Vec()
	t.Move(u, less)
	t.pick(t.C.VFMSUBADD132PS, t.C.VFMSUBADD132PD, t.ones, w, less)
	t.pick(t.C.VFMADDSUB132PS, t.C.VFMADDSUB132PD, t.ones, w, u)
	return less, u
}

// A butterfly transforms as many points as the radix; these stand in vectors that
// it may change. The results are the points of the transform, not yet multiplied.
type butterfly func(x []reg.VecVirtual) []reg.VecVirtual

// butterfly returns that of a radix, with its constants in registers.
func (k kit) butterfly(radix int) butterfly {
	switch radix {
	case 2:
		return k.radix2
	case 3:
		return k.radix3()
	case 4:
		return k.radix4()
	}
	return k.radix5()
}

// plusMinus sets a to a + b and b to a - b.
func (k kit) plusMinus(a, b reg.VecVirtual) (sum, difference reg.VecVirtual) {
	sum = k.Vec()
	k.Add(a, b, sum)
	k.Sub(a, b, b)
	return sum, b
}

func (k kit) radix2(x []reg.VecVirtual) []reg.VecVirtual {
	sum, difference := k.plusMinus(x[0], x[1])
	return []reg.VecVirtual{sum, difference}
}

func (k kit) radix3() butterfly {
	turn, half, sine := k.turn(), k.constant(-0.5), k.constant(math.Sqrt(3)/2)
	return func(x []reg.VecVirtual) []reg.VecVirtual {
		t, v := k.plusMinus(x[1], x[2])
		k.Mul(sine, v, v)
		u, sum := k.Vec(), k.Vec()
		k.Move(x[0], u)
		k.FMA(half, t, u)
		k.Add(x[0], t, sum)
		less, more := turn.both(u, v)
		return []reg.VecVirtual{sum, less, more}
	}
}

func (k kit) radix4() butterfly {
	turn := k.turn()
	return func(x []reg.VecVirtual) []reg.VecVirtual {
		s, u := k.plusMinus(x[0], x[2])
		t, v := k.plusMinus(x[1], x[3])
		less, more := turn.both(u, v)
		sum, difference := k.plusMinus(s, t)
		return []reg.VecVirtual{sum, less, difference, more}
	}
}

func (k kit) radix5() butterfly {
	turn := k.turn()
	cos1, cos2 := k.constant(math.Cos(2*math.Pi/5)), k.constant(math.Cos(4*math.Pi/5))
	sin1, sin2 := k.constant(math.Sin(2*math.Pi/5)), k.constant(math.Sin(4*math.Pi/5))
	// mixed returns first + a*x + b*y.
	mixed := func(first, a, x, b, y reg.VecVirtual) reg.VecVirtual {
		to := k.Vec()
		k.Move(first, to)
		k.FMA(a, x, to)
		k.FMA(b, y, to)
		return to
	}
	return func(x []reg.VecVirtual) []reg.VecVirtual {
		s, u := k.plusMinus(x[1], x[4])
		t, v := k.plusMinus(x[2], x[3])
		p, q := mixed(x[0], cos1, s, cos2, t), mixed(x[0], cos2, s, cos1, t)
		k.Add(t, s, s)
		k.Add(x[0], s, s)
		f, g := k.Vec(), k.Vec()
		k.Mul(sin1, u, f)
		k.FMA(sin2, v, f)
		k.Mul(sin1, v, g)
		k.pick(k.C.VFMSUB231PS, k.C.VFMSUB231PD, sin2, u, g)
		y1, y4 := turn.both(p, f)
		y2, y3 := turn.both(q, g)
		return []reg.VecVirtual{s, y1, y2, y3, y4}
	}
}

// rows addresses equally spaced vectors, up to five, that begin at a base.
type rows struct {
	base, apart, thrice reg.Register
}

func (k kit) rows(base, apart reg.Register, n int) rows {
	r := rows{base: base, apart: apart}
	if n > 3 {
		thrice := k.C.GP64()
		k.C.LEAQ(operand.Mem{Base: apart, Index: apart, Scale: 2}, thrice)
		r.thrice = thrice
	}
	return r
}

func (r rows) at(i int) operand.Mem {
	switch i {
	case 0:
		return operand.Mem{Base: r.base}
	case 3:
		return operand.Mem{Base: r.base, Index: r.thrice, Scale: 1}
	}
	return operand.Mem{Base: r.base, Index: r.apart, Scale: uint8(i)}
}

// next goes back to the label vector until offset at has been that of the last one,
// which may overlap the one before.
func (k kit) next(at, last reg.GPVirtual) {
	k.C.ADDQ(operand.U8(k.Bytes()), at)
	k.C.CMPQ(at, last)
	k.C.JLE(operand.LabelRef("vector"))
	k.C.SUBQ(operand.U8(k.Bytes()), at)
	k.C.CMPQ(at, last)
	k.C.MOVQ(last, at)
	k.C.JLT(operand.LabelRef("vector"))
}

// pass writes butterflies whose points lie one after the other: count of them, each
// for span bytes. The last vector of a span may overlap the one before.
func (k kit) pass(radix int) {
	k.Func(fmt.Sprintf("radix%d", radix), "func(y, x, w *byte, width, apart, span, count int)",
		"transforms points of x that are apart bytes from each other and writes them to y, width bytes from each other and multiplied by "+
			"the factors at w, for span bytes, at least a vector. It does so count times: x advances by width, y past what was written, w by its factors.")
	k.C.Pragma("noescape")
	y, x, w := k.Arg("y"), k.Arg("x"), k.Arg("w")
	width, apart := k.Arg("width"), k.Arg("apart")
	f := k.butterfly(radix)
	last, at, from, to := k.Arg("span"), k.C.GP64(), k.C.GP64(), k.C.GP64()
	k.C.SUBQ(operand.U8(k.Bytes()), last)
	in, out := k.rows(from, apart, radix), k.rows(to, width, radix)
	advance := k.C.GP64()
	k.C.IMUL3Q(operand.U8(radix), width, advance)
	count := k.Arg("count")

	k.C.Label("butterfly")
	factorAt := func(i int) factor { return k.broadcast(operand.Mem{Base: w, Disp: (i - 1) * k.point()}) }
	held := make([]factor, radix)
	if radix < 5 {
		for i := 1; i < radix; i++ {
			held[i] = factorAt(i)
		}
	}
	k.C.XORQ(at, at)
	k.C.Label("vector")
	k.C.LEAQ(operand.Mem{Base: x, Index: at, Scale: 1}, from)
	k.C.LEAQ(operand.Mem{Base: y, Index: at, Scale: 1}, to)
	points := k.Vecs(radix)
	for i, v := range points {
		k.Move(in.at(i), v)
	}
	for i, v := range f(points) {
		if i > 0 {
			by := held[i]
			if by.re == nil {
				by = factorAt(i)
			}
			k.times(v, by)
		}
		k.Move(v, out.at(i))
	}
	k.next(at, last)

	k.C.ADDQ(width, x)
	k.C.ADDQ(advance, y)
	k.C.ADDQ(operand.U32(uint32((radix-1)*k.point())), w)
	k.C.DECQ(count)
	k.C.JNE(operand.LabelRef("butterfly"))
	k.End()
}

// first writes butterflies of radix 4 for single points, a vector of butterflies at
// a time. The last vector may overlap the one before.
func (k kit) first() {
	k.Func("first4", "func(y, x, w *byte, apart, count int)",
		"transforms fours of points of x that are apart bytes from each other and writes each four to y together, multiplied by the factors at w, "+
			"where those of all second points lie together, and so on, apart bytes from each other. It does so for count butterflies, at least a vector.")
	k.C.Pragma("noescape")
	y, x, w := k.Arg("y"), k.Arg("x"), k.Arg("w")
	apart := k.Arg("apart")
	f := k.butterfly(4)
	last, at, from, by, to := k.Arg("count"), k.C.GP64(), k.C.GP64(), k.C.GP64(), k.C.GP64()
	k.C.IMUL3Q(operand.U8(k.point()), last, last)
	k.C.SUBQ(operand.U8(k.Bytes()), last)
	in, factors := k.rows(from, apart, 4), k.rows(by, apart, 3)
	k.C.XORQ(at, at)
	k.C.Label("vector")
	k.C.LEAQ(operand.Mem{Base: x, Index: at, Scale: 1}, from)
	k.C.LEAQ(operand.Mem{Base: w, Index: at, Scale: 1}, by)
	k.C.LEAQ(operand.Mem{Base: y, Index: at, Scale: 4}, to)
	points := k.Vecs(4)
	for i, v := range points {
		k.Move(in.at(i), v)
	}
	points = f(points)
	for i, v := range points[1:] {
		k.times(v, k.factors(factors.at(i)))
	}
	for i, v := range k.across(points) {
		k.Move(v, operand.Mem{Base: to, Disp: i * k.Bytes()})
	}
	k.next(at, last)
	k.End()
}

// factors returns the factors at m, one for each point.
func (k kit) factors(m operand.Mem) factor {
	f := factor{k.Vec(), k.Vec()}
	if k.Double {
		k.C.VMOVDDUP(m, f.re)
		k.C.VPERMILPD(operand.U8(0xff), m, f.im)
	} else {
		k.C.VMOVSLDUP(m, f.re)
		k.C.VMOVSHDUP(m, f.im)
	}
	return f
}

// across returns the points of four vectors in the order in which they lie across
// them.
func (k kit) across(v []reg.VecVirtual) []reg.VecVirtual {
	halves := func(a, b reg.VecVirtual) (low, high reg.VecVirtual) {
		low, high = k.Vec(), k.Vec()
		k.C.VPERM2F128(operand.U8(0x20), b, a, low)
		k.C.VPERM2F128(operand.U8(0x31), b, a, high)
		return low, high
	}
	if k.Double {
		a0, a1 := halves(v[0], v[1])
		b0, b1 := halves(v[2], v[3])
		return []reg.VecVirtual{a0, b0, a1, b1}
	}
	pairs := func(a, b reg.VecVirtual) (even, odd reg.VecVirtual) {
		even, odd = k.Vec(), k.Vec()
		k.C.VUNPCKLPD(b, a, even)
		k.C.VUNPCKHPD(b, a, odd)
		return even, odd
	}
	a, b := pairs(v[0], v[1])
	c, d := pairs(v[2], v[3])
	p0, p2 := halves(a, c)
	p1, p3 := halves(b, d)
	return []reg.VecVirtual{p0, p1, p2, p3}
}

// weigh writes what multiplies points by a number, and exchanges their parts where
// that is asked for.
func (k kit) weigh(exchange bool) {
	name, doc := "scale", "multiplies n numbers, two a point, at src and writes them to dst, which may be src."
	if exchange {
		name, doc = "exchange", "is scale with the parts of points exchanged."
	}
	k.Func(name, fmt.Sprintf("func(dst, src *byte, n int, by %s)", k.Type()), doc)
	k.C.Pragma("noescape")
	dst, src, n := k.Arg("dst"), k.Arg("src"), k.Arg("n")
	one, by := k.C.XMM(), k.Vec()
	k.C.Load(k.C.Param("by"), one)
	k.Broadcast(one, by)
	k.Map(n, []reg.GPVirtual{dst, src}, func(load func(i int) reg.VecVirtual, store func(v reg.VecVirtual, i int)) {
		v := load(1)
		if exchange {
			v = k.exchanged(v)
		}
		k.Mul(by, v, v)
		store(v, 0)
	})
	k.End()
}

// mirrored reverses the order of the points of v in place.
func (k kit) mirrored(v reg.VecVirtual) {
	if k.Double {
		k.C.VPERMPD(operand.U8(0x4e), v, v)
	} else {
		k.C.VPERMPD(operand.U8(0x1b), v, v)
	}
}

// conjugation returns the signs of imaginary parts.
func (k kit) conjugation() reg.VecVirtual {
	bits, x, y := k.C.GP64(), k.C.XMM(), k.C.YMM()
	k.C.MOVQ(operand.U64(1<<63), bits)
	k.C.VMOVQ(bits, x)
	if !k.Double {
		k.C.VPBROADCASTQ(x, y)
		return y
	}
	k.C.VPSLLDQ(operand.U8(8), x, x)
	k.C.VINSERTI128(operand.U8(1), x, x.AsY(), y)
	return y
}

// mirror writes a loop over the points of a spectrum from both ends: body turns
// vectors a and b, b in the order of a and conjugated, into two others that are
// written in their places.
func (k kit) mirror(name, doc string, body func(conjugation reg.VecVirtual) func(a, b reg.VecVirtual, w factor) (low, high reg.VecVirtual)) {
	k.Func(name, fmt.Sprintf("func(toLow, toHigh, low, high, w *byte, count int, by %s)", k.Type()), doc+
		" It does so for count vectors; the pointers to what lies higher go down. By multiplies all.")
	k.C.Pragma("noescape")
	toLow, toHigh := k.Arg("toLow"), k.Arg("toHigh")
	low, high, w := k.Arg("low"), k.Arg("high"), k.Arg("w")
	count := k.Arg("count")
	one, by := k.C.XMM(), k.Vec()
	k.C.Load(k.C.Param("by"), one)
	k.Broadcast(one, by)
	conjugation := k.conjugation()
	f := body(conjugation)

	k.C.Label("vector")
	a, b := k.Vec(), k.Vec()
	k.Move(operand.Mem{Base: low}, a)
	k.Move(operand.Mem{Base: high}, b)
	k.mirrored(b)
	k.C.VXORPS(conjugation, b, b)
	k.Mul(by, a, a)
	k.Mul(by, b, b)
	x, y := f(a, b, k.factors(operand.Mem{Base: w}))
	k.mirrored(y)
	k.Move(x, operand.Mem{Base: toLow})
	k.Move(y, operand.Mem{Base: toHigh})
	for _, p := range []reg.GPVirtual{low, toLow, w} {
		k.C.ADDQ(operand.U8(k.Bytes()), p)
	}
	for _, p := range []reg.GPVirtual{high, toHigh} {
		k.C.SUBQ(operand.U8(k.Bytes()), p)
	}
	k.C.DECQ(count)
	k.C.JNE(operand.LabelRef("vector"))
	k.End()
}

// split writes what makes of the transform of pairs of real points that of all.
func (k kit) split() {
	k.mirror("split", "makes of the transform of pairs of real points, twice over, that of the points: w has the factors of those pairs that lie lower.",
		func(conjugation reg.VecVirtual) func(a, b reg.VecVirtual, w factor) (low, high reg.VecVirtual) {
			return func(a, b reg.VecVirtual, w factor) (low, high reg.VecVirtual) {
				even, odd := k.plusMinus(a, b)
				odd = k.exchanged(odd)
				k.C.VXORPS(conjugation, odd, odd)
				k.times(odd, w)
				low, high = k.plusMinus(even, odd)
				k.C.VXORPS(conjugation, high, high)
				return low, high
			}
		})
}

// join writes the inverse of split.
func (k kit) join() {
	k.mirror("join", "makes of the transform of real points that of pairs of them, twice over and with parts exchanged: w has the factors of those that lie lower.",
		func(conjugation reg.VecVirtual) func(a, b reg.VecVirtual, w factor) (low, high reg.VecVirtual) {
			turn := k.turn()
			return func(a, b reg.VecVirtual, w factor) (low, high reg.VecVirtual) {
				even, odd := k.plusMinus(a, b)
				k.timesConjugate(odd, w)
				less, more := turn.both(even, odd)
				k.C.VXORPS(conjugation, less, less)
				return k.exchanged(more), k.exchanged(less)
			}
		})
}
