package mathlib

import (
	"math"

	"github.com/sinter-go/sinter/gen/simd/lane"
)

// activations are functions of neural networks that the language composes of others, and
// which are much faster on their own.
var activations = []Func{
	{Name: "gelu", Type: lane.F32, Arity: 1, ULP: 16, Method: "exp of square, rational", full: unary(gelu32)},
}

// gelu32 is x times the probability that a standard normal variable is below x, which
// is e^(-a²/2)·R(a) for the distance a of a negative x from 0, and 1 less that for a
// positive one, where R is a rational function. The exponent is reduced to -r/2 with
// r = a² + n·2·log 2, as in erfc.
func gelu32(p prog, x lane.V) lane.V {
	const hi, lo = 0x1.62e4p+0, 0x1.7f7d1cf79abcap-19 // of 2·log 2
	a := p.Min(p.c(14.2), p.Abs(x))
	spare := 25.0 // as in expNeg
	n, k := p.whole(p.Mul(a, a), -math.Log2E/2, 127+spare)
	r := p.FMA(n, p.c(lo), p.FMA(a, a, p.Mul(n, p.c(hi))))
	// e^(-r/2) for |r| <= log 2, to 2^-22.4.
	e := p.horner(r, 1, -0x1p-1, 0x1.fffdfap-4, -0x1.556184p-6, 0x1.573196p-9, -0x1.0a3c42p-12)
	low := 1.0
	if p.set == AVX512 {
		e = p.Scale2(e, n)
	} else {
		e, low = p.Mul(e, p.float(k)), math.Exp2(-spare)
	}
	// e^(x²/2)·erfc(x/√2)/2 up to 14.5, to 2^-21.
	above := p.horner(a, 0x1.fffff2p-2*low, 0x1.739740p-2*low, 0x1.ebbf7ap-4*low, 0x1.195968p-6*low)
	below := p.horner(a, 1, 0x1.860c80p+0, 0x1.e971c8p-1, 0x1.33f53cp-2, 0x1.60a85cp-5)
	tail := p.Mul(e, p.quotient(above, below))
	return p.Mul(x, p.Select(p.Cmp(lane.LT, x, p.c(0)), tail, p.Sub(p.c(1), tail)))
}

// Idiom returns the function that a program computes, if it is one of which the
// language composes others: the program is then to be replaced with that function's.
func Idiom(p *lane.Prog) (Func, bool) {
	if len(p.Args()) != 1 || len(p.Outs()) != 1 || p.Args()[0] != lane.F32 {
		return Func{}, false
	}
	var q lane.Prog
	x := q.Arg(0, lane.F32)
	composed := q.Mul(q.Mul(q.ConstF32(0.5), x), q.Call("erfc", q.Mul(q.Neg(x), q.ConstF32(math.Sqrt2/2))))
	if same(p, p.Outs()[0], &q, composed) {
		return Lookup("gelu", lane.F32)
	}
	return Func{}, false
}

// same reports whether two values are computed alike, products in either order.
func same(p *lane.Prog, v lane.V, q *lane.Prog, w lane.V) bool {
	a, b := p.Node(v), q.Node(w)
	if a.Op != b.Op || a.Type != b.Type || a.Imm != b.Imm || a.Name != b.Name {
		return false
	}
	alike := func(order ...int) bool {
		for i, j := range order {
			if (a.Args[i] == 0) != (b.Args[j] == 0) || a.Args[i] != 0 && !same(p, a.Args[i], q, b.Args[j]) {
				return false
			}
		}
		return true
	}
	return alike(0, 1, 2) || (a.Op == lane.OpMul || a.Op == lane.OpXor) && alike(1, 0, 2)
}
