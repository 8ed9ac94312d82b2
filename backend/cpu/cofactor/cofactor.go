// Package cofactor multiplies many float32 without leaving the range of numbers: accumulators are
// float64 between 1 and 2 in magnitude, and their exponents are counted apart. It divides such
// products by their factors. It knows nothing of layouts.
//
// A product is in the order of the calls, bit for bit, at every level.
package cofactor

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/loop"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

const (
	fraction = 52
	bias     = 1023
	mask     = 1<<11 - 1 // of an exponent
)

// atOnce is how many elements an accumulator takes in at once: the product of an accumulator and so
// many float32 of any size is a normal number.
const atOnce = 4

// A Loops is the loops of a level.
type Loops struct{ takeIn, others, othersOf loop.Func }

// Of returns the loops of a level.
func Of(level simd.Level) *Loops {
	if l := vectors.At(level); l.takeIn != nil {
		return &l
	}
	return &Loops{takeIn, others, othersOf}
}

// A lanes is accumulators beside each other. It is made by newLanes.
type lanes struct {
	*Loops
	products  []float64
	exponents []int64
	args      [2 + atOnce + 2]unsafe.Pointer
}

// newLanes returns n accumulators, which are 1.
func (l *Loops) newLanes(n int) *lanes {
	a := &lanes{Loops: l, products: make([]float64, n), exponents: make([]int64, n)}
	a.args[0], a.args[1] = unsafe.Pointer(&a.products[0]), unsafe.Pointer(&a.exponents[0])
	a.args[2+atOnce], a.args[3+atOnce] = a.args[0], a.args[1]
	a.clear()
	return a
}

// clear makes the accumulators 1.
func (a *lanes) clear() {
	for i := range a.products {
		a.products[i], a.exponents[i] = 1, 0
	}
}

// take multiplies each of the first n accumulators by atOnce elements, which are stride elements
// apart from x on; x has n + (atOnce-1)*stride.
func (a *lanes) take(n int, x []float32, stride int) {
	_ = x[(atOnce-1)*stride+n-1]
	for i := range atOnce {
		a.args[2+i] = unsafe.Pointer(&x[i*stride])
	}
	a.takeIn(n, a.args[:], nil, 0)
}

// at returns accumulator i after taken calls of take. It is not Plain where an element was zero,
// infinite or NaN.
func (a *lanes) at(i, taken int) Product {
	return Product{a.products[i], a.exponents[i] - int64(taken)*bias}
}

// fold returns the product of all accumulators after taken calls of take; their number is a power
// of two.
func (a *lanes) fold(taken int) Product {
	all, e := a.products, int64(0)
	for _, x := range a.exponents {
		e += x
	}
	e -= int64(taken) * bias * int64(len(all))
	for n := len(all) / 2; n > 0; n /= 2 { // at most 2^512: they are below 2 each
		for i := range n {
			all[i] *= all[i+n]
		}
	}
	return Product{1, 0}.Times(Product{all[0], e})
}

// A Product is a number of any magnitude: Factor, from 1 to below 2, times 2 to the power Exponent.
type Product struct {
	Factor   float64
	Exponent int64
}

// one is 1.
var one = Product{1, 0}

// Plain reports whether it is a number, and not zero.
func (p Product) Plain() bool { return p.Factor == p.Factor }

// Times returns p times q, whose factor may be any normal number; it is not Plain where that is none.
func (p Product) Times(q Product) Product {
	bits := math.Float64bits(p.Factor * q.Factor)
	e := int64(bits >> fraction & mask)
	if e == 0 || e == mask {
		return Product{math.NaN(), 0}
	}
	return Product{math.Float64frombits(bits&^(mask<<fraction) | bias<<fraction), p.Exponent + q.Exponent + e - bias}
}

// beyond is the exponent from which on a product divided by any float32 is infinite or zero as one.
const beyond = 400

// Float64 returns what a float32 that divides the product has the same quotient of, as float32:
// the product, or an infinity or a zero of its sign.
func (p Product) Float64() float64 {
	switch {
	case p.Exponent > beyond:
		return math.Copysign(math.Inf(1), p.Factor)
	case p.Exponent < -beyond:
		return math.Copysign(0, p.Factor)
	}
	return p.Factor * math.Float64frombits(uint64(bias+p.Exponent)<<fraction)
}

// A Divider divides products by their factors. It is made by NewDivider, for one goroutine.
type Divider struct {
	*Loops
	args [4]unsafe.Pointer
	one  [2]uint64
}

// NewDivider returns one.
func (l *Loops) NewDivider() *Divider { return &Divider{Loops: l} }

// Others sets each out to the quotient of all and x, times g, element by element.
func (d *Divider) Others(out, x []float32, all []float64, g []float32) {
	n := len(out)
	if n < loop.Fewest {
		x, all, g = x[:n], all[:n], g[:n]
		for i := range out {
			out[i] = g[i] * float32(all[i]/float64(x[i]))
		}
		return
	}
	_, _, _ = x[n-1], all[n-1], g[n-1]
	d.args = [4]unsafe.Pointer{unsafe.Pointer(&out[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&all[0]), unsafe.Pointer(&g[0])}
	d.others(n, d.args[:], nil, 0)
}

// OthersOf is Others with one product and one gradient.
func (d *Divider) OthersOf(out, x []float32, all float64, g float32) {
	if len(out) < loop.Fewest {
		for i, v := range x[:len(out)] {
			out[i] = g * float32(all/float64(v))
		}
		return
	}
	d.one = [2]uint64{loop.Bits(all), loop.Bits(g)}
	for ; len(out) > 0; out, x = out[min(len(out), loop.Longest):], x[min(len(x), loop.Longest):] {
		n := min(len(out), loop.Longest)
		_ = x[n-1]
		d.args[0], d.args[1] = unsafe.Pointer(&out[0]), unsafe.Pointer(&x[0])
		d.othersOf(n, d.args[:2], &d.one[0], 0)
	}
}

func takeIn(n int, p []unsafe.Pointer, _ *uint64, _ int64) {
	products, exponents := unsafe.Slice((*float64)(p[0]), n), unsafe.Slice((*int64)(p[1]), n)
	var x [atOnce][]float32
	for i := range x {
		x[i] = unsafe.Slice((*float32)(p[2+i]), n)
	}
	for i, f := range products {
		a, b := float64(x[0][i])*float64(x[1][i]), float64(x[2][i])*float64(x[3][i])
		bits := math.Float64bits(f * float64(a*b))
		e := int64(bits >> fraction & mask)
		products[i] = math.Float64frombits(bits&^(mask<<fraction) | bias<<fraction)
		if e == 0 || e == mask {
			products[i] = math.Float64frombits(0x7ff8 << 48)
		}
		exponents[i] += e
	}
}

func others(n int, p []unsafe.Pointer, _ *uint64, _ int64) {
	out, x := unsafe.Slice((*float32)(p[0]), n), unsafe.Slice((*float32)(p[1]), n)
	all, g := unsafe.Slice((*float64)(p[2]), n), unsafe.Slice((*float32)(p[3]), n)
	for i := range out {
		out[i] = g[i] * float32(all[i]/float64(x[i]))
	}
}

func othersOf(n int, p []unsafe.Pointer, scalars *uint64, _ int64) {
	out, x := unsafe.Slice((*float32)(p[0]), n), unsafe.Slice((*float32)(p[1]), n)
	s := (*[2]uint64)(unsafe.Pointer(scalars))
	all, g := math.Float64frombits(s[0]), math.Float32frombits(uint32(s[1]))
	for i := range out {
		out[i] = g * float32(all/float64(x[i]))
	}
}
