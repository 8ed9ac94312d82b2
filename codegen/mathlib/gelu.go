package mathlib

import (
	"math"

	"github.com/sinter-go/sinter/codegen/lane"
)

// activations are functions of neural networks that the language composes of others, and
// which are much faster on their own.
func activations() []Func {
	return []Func{
		{Name: "gelu", Type: lane.F32, Arity: 1, ULP: 16, Method: "exp of square, rational", full: unary(gelu32)},
	}
}

// gelu32 is x times the probability that a standard normal variable is below x, which
// is e^(-a²/2)·R(a) for the distance a of a negative x from 0, and 1 less that for a
// positive one, where R is a rational function. The exponent is reduced to -r/2 with
// r = a² + n·2·log 2, as in erfc.
func gelu32(p prog, x lane.V) lane.V {
	if p.set == AVX512 {
		return p.geluOfTable32(x)
	}
	const hi, lo = 0x1.62e4p+0, 0x1.7f7d1cf79abcap-19 // of 2·log 2
	a := p.Min(p.c(14.2), p.Abs(x))
	spare := 25.0 // as in expNeg
	n, k := p.whole(p.Mul(a, a), -math.Log2E/2, 127+spare)
	r := p.FMA(n, p.c(lo), p.FMA(a, a, p.Mul(n, p.c(hi))))
	// e^(-r/2) for |r| <= log 2, to 2^-22.4.
	e := p.horner(r, 1, -0x1p-1, 0x1.fffdfap-4, -0x1.556184p-6, 0x1.573196p-9, -0x1.0a3c42p-12)
	low := math.Exp2(-spare)
	// e^(x²/2)·erfc(x/√2)/2 up to 14.5, to 2^-21.
	above := p.horner(a, 0x1.fffff2p-2*low, 0x1.739740p-2*low, 0x1.ebbf7ap-4*low, 0x1.195968p-6*low)
	below := p.horner(a, 1, 0x1.860c80p+0, 0x1.e971c8p-1, 0x1.33f53cp-2, 0x1.60a85cp-5)
	tail := p.Mul(p.Mul(e, p.float(k)), p.Div(above, below))
	return p.Mul(x, p.Select(p.Cmp(lane.LT, x, p.c(0)), tail, p.Sub(p.c(1), tail)))
}

// geluStep is the width of the intervals of geluTable32.
const geluStep = 117.0 / 256

// geluOfTable32 has the probability beyond a distance as the fourth power of a
// polynomial in |x| - k·geluStep, where k is the nearest of 0 to 31: the root varies so
// much less that few powers are enough for its whole range.
func (p prog) geluOfTable32(x lane.V) lane.V {
	k, rest := p.nearest(p.MinMag(x, p.c(31.4*geluStep)), geluStep)
	root := p.piece(k, rest, geluTable32...)
	square := p.Mul(root, root)
	tail := p.Mul(square, square)
	return p.Mul(x, p.Select(p.Cmp(lane.LT, x, p.c(0)), tail, p.Sub(p.c(1), tail)))
}

// geluTable32 are the coefficients of the root at k·geluStep + t by power of t and by k,
// to 2^-23.8 of the probability.
var geluTable32 = [][]float64{
	{
		0x1.ae89fap-1, 0x1.823b2ep-1, 0x1.4da7p-1, 0x1.14987ap-1, 0x1.b6f3f2p-2, 0x1.4cc3ap-2, 0x1.e15998p-3, 0x1.4bce86p-3,
		0x1.b3a55p-4, 0x1.103368p-4, 0x1.439aacp-5, 0x1.6ddd94p-6, 0x1.894444p-7, 0x1.91ccf6p-8, 0x1.86217p-9, 0x1.67ee0ap-10,
		0x1.3b7bfap-11, 0x1.06b078p-12, 0x1.9f8786p-14, 0x1.38260ep-15, 0x1.bd66e2p-17, 0x1.2dc73ep-18, 0x1.8455e2p-20, 0x1.da8694p-22,
		0x1.134b9ap-23, 0x1.2f4c38p-25, 0x1.3d44cap-27, 0x1.3b1bfp-29, 0x1.292394p-31, 0x1.0a04fap-33, 0x1.c436a6p-36, 0x1.6ce828p-38,
	},
	{
		-0x1.5787fcp-3, -0x1.aca35ap-3, -0x1.e60c22p-3, -0x1.fa1a84p-3, -0x1.e7a73ep-3, -0x1.b542cap-3, -0x1.6e608ap-3, -0x1.1fbf74p-3,
		-0x1.a8a5fap-4, -0x1.26e8fap-4, -0x1.820ep-5, -0x1.dccf76p-6, -0x1.160ce8p-6, -0x1.327048p-7, -0x1.3f50fap-8, -0x1.3abeccp-9,
		-0x1.259488p-10, -0x1.0337dep-11, -0x1.b16fep-13, -0x1.5733f2p-14, -0x1.016e08p-15, -0x1.6de516p-17, -0x1.eccf88p-19, -0x1.3a870ep-20,
		-0x1.7c8af8p-22, -0x1.b47224p-24, -0x1.da8c22p-26, -0x1.e9337ap-28, -0x1.de2ca2p-30, -0x1.bb34aap-32, -0x1.858e94p-34, -0x1.44b7eap-36,
	},
	{
		-0x1.982132p-5, -0x1.41bffp-5, -0x1.5b08fp-6, -0x1.3dbf2cp-13, 0x1.3b6c7cp-6, 0x1.12b3a6p-5, 0x1.502728p-5, 0x1.57e692p-5,
		0x1.36d5bcp-5, 0x1.fd0332p-6, 0x1.7eb816p-6, 0x1.0a729ep-6, 0x1.59658cp-7, 0x1.a26b5ap-8, 0x1.dafd92p-9, 0x1.fa53f4p-10,
		0x1.fb9fb2p-11, 0x1.df3f02p-12, 0x1.aa7fcap-13, 0x1.6613d6p-14, 0x1.1bcfb4p-15, 0x1.a8f716p-17, 0x1.2cacb2p-18, 0x1.924088p-20,
		0x1.fcf534p-22, 0x1.309d54p-23, 0x1.590cbp-25, 0x1.71f3fep-27, 0x1.7785f2p-29, 0x1.68f012p-31, 0x1.488d84p-33, 0x1.1b484cp-35,
	},
	{
		-0x1.46dd1p-8, 0x1.68fb52p-7, 0x1.e6558cp-7, 0x1.f41d12p-7, 0x1.9d192p-7, 0x1.06e6e6p-7, 0x1.8319ecp-9, -0x1.67c4a6p-10,
		-0x1.1644aap-8, -0x1.6ab944p-8, -0x1.6a94f2p-8, -0x1.35dbcp-8, -0x1.d79aep-9, -0x1.4611a4p-9, -0x1.9e6604p-10, -0x1.e79366p-11,
		-0x1.0aded4p-11, -0x1.10c3bcp-12, -0x1.04fc0ap-13, -0x1.d478f6p-15, -0x1.8b05d8p-16, -0x1.3955dap-17, -0x1.d415c6p-19, -0x1.4984dcp-20,
		-0x1.b59224p-22, -0x1.122db4p-23, -0x1.446e52p-25, -0x1.6aa4eap-27, -0x1.7f123p-29, -0x1.7e8822p-31, -0x1.69396cp-33, -0x1.42a51p-35,
	},
	{
		0x1.f8e354p-4, 0x1.8014f2p-9, 0x1.356e08p-10, -0x1.684436p-11, -0x1.145488p-9, -0x1.6b1142p-9, -0x1.5cd49cp-9, -0x1.06f276p-9,
		-0x1.277608p-10, -0x1.46ff7p-12, 0x1.18b75ep-12, 0x1.29b776p-11, 0x1.4dd078p-11, 0x1.267308p-11, 0x1.bef99ap-12, 0x1.2e9a78p-12,
		0x1.743f32p-13, 0x1.a49092p-14, 0x1.b776aap-15, 0x1.aac72cp-16, 0x1.8289e8p-17, 0x1.475f2ep-18, 0x1.03cc1ep-19, 0x1.82ff54p-21,
		0x1.0ee08p-22, 0x1.64be78p-24, 0x1.ba68cep-26, 0x1.028278p-27, 0x1.1ce07ep-29, 0x1.283258p-31, 0x1.22b564p-33, 0x1.0d72e2p-35,
	},
	{
		-0x1.86e716p-1, -0x1.517636p-11, -0x1.b7cdd2p-11, -0x1.8ae6acp-11, -0x1.ea08a4p-12, -0x1.d3f6ccp-14, 0x1.8ce512p-13, 0x1.791b8p-12,
		0x1.96fa38p-12, 0x1.47f868p-12, 0x1.91be6cp-13, 0x1.3ab9bcp-14, -0x1.0f3d1cp-17, -0x1.aee95ap-15, -0x1.079ad2p-14, -0x1.d26f02p-15,
		-0x1.595182p-15, -0x1.c1de1cp-16, -0x1.080abap-16, -0x1.1b1064p-17, -0x1.177d32p-18, -0x1.ff4042p-20, -0x1.b2ed38p-21, -0x1.59332p-22,
		-0x1.0039b8p-23, -0x1.6460fep-25, -0x1.d11e62p-27, -0x1.1d2876p-28, -0x1.48d758p-30, -0x1.64f4b4p-32, -0x1.6d006p-34, -0x1.5fceep-36,
	},
	{
		0x1.35f392p+1, -0x1.03e55ep-13, -0x1.2845cp-16, 0x1.3825c4p-14, 0x1.060cd4p-13, 0x1.07e6a4p-13, 0x1.72c6acp-14, 0x1.27498ap-15,
		-0x1.877e6cp-17, -0x1.48ee8ep-15, -0x1.7f685cp-15, -0x1.395d0cp-15, -0x1.8006aap-16, -0x1.376c18p-17, -0x1.9663b2p-27, 0x1.2e5d1ap-18,
		0x1.73a716p-18, 0x1.3d0956p-18, 0x1.beeb92p-19, 0x1.13628cp-19, 0x1.308b48p-20, 0x1.32a892p-21, 0x1.1bbb0cp-22, 0x1.e5675cp-24,
		0x1.818f88p-25, 0x1.1d5106p-26, 0x1.8a6514p-28, 0x1.fe33cep-30, 0x1.355632p-31, 0x1.60133ep-33, 0x1.788918p-35, 0x1.7abf7cp-37,
	},
	{
		-0x1.827ab8p+1, 0x1.081cbcp-15, 0x1.13614ap-15, 0x1.858b66p-16, 0x1.071774p-17, -0x1.c6a5e4p-18, -0x1.03a2e2p-16, -0x1.167d04p-16,
		-0x1.913554p-17, -0x1.55fbd6p-18, 0x1.a071cep-21, 0x1.0e184ep-18, 0x1.38ce44p-18, 0x1.e9c3e6p-19, 0x1.19ae32p-19, 0x1.9bb08ep-21,
		-0x1.cbbb7ap-25, -0x1.abcb7ep-22, -0x1.d7cf6ep-22, -0x1.72d73p-22, -0x1.e44fd8p-23, -0x1.14d24p-23, -0x1.1bf516p-24, -0x1.0912eep-25,
		-0x1.c6652ap-27, -0x1.67c59ap-28, -0x1.084974p-29, -0x1.69705ap-31, -0x1.cd4c3ep-33, -0x1.1346a4p-34, -0x1.33b97p-36, -0x1.42a43ep-38,
	},
}

// Idiom returns the function that a program computes, if it is one of which the
// language composes others: the program is then to be replaced with that function's.
func Idiom(p *lane.Prog) (Func, bool) {
	if len(p.Args()) != 1 || len(p.Outs()) != 1 {
		return Func{}, false
	}
	name, x := idiom(p, p.Outs()[0])
	if name == "" || p.Node(x).Op != lane.OpArg {
		return Func{}, false
	}
	return Lookup(name, p.Type(x))
}

// Idioms returns a program with calls of functions where p composes them, and whether
// it does: a part of a program gives what it gives alone.
func Idioms(p *lane.Prog) (*lane.Prog, bool) {
	return p.WithCalls(func(v lane.V) (string, lane.V) { return idiom(p, v) })
}

// idiom returns the function that a value is composed of, and what of; no name if there
// is none.
func idiom(p *lane.Prog, v lane.V) (string, lane.V) {
	n := p.Node(v)
	if n.Op != lane.OpMul || n.Type != lane.F32 {
		return "", 0
	}
	var q lane.Prog
	arg := q.Arg(0, lane.F32)
	composed := q.Mul(q.Mul(q.ConstF32(0.5), arg), q.Call("erfc", q.Mul(q.Neg(arg), q.ConstF32(math.Sqrt2/2))))
	for _, half := range n.Args[:2] {
		if p.Node(half).Op != lane.OpMul {
			continue
		}
		factors := p.Node(half).Args
		for _, x := range factors[:2] {
			if same(p, v, &q, composed, x) {
				return "gelu", x
			}
		}
	}
	return "", 0
}

// same reports whether two values are computed alike, products in either order, where
// x stands for the argument of q.
func same(p *lane.Prog, v lane.V, q *lane.Prog, w, x lane.V) bool {
	a, b := p.Node(v), q.Node(w)
	if b.Op == lane.OpArg {
		return v == x
	}
	if a.Op != b.Op || a.Type != b.Type || a.Imm != b.Imm || a.Name != b.Name {
		return false
	}
	alike := func(order ...int) bool {
		for i, j := range order {
			if (a.Args[i] == 0) != (b.Args[j] == 0) || a.Args[i] != 0 && !same(p, a.Args[i], q, b.Args[j], x) {
				return false
			}
		}
		return true
	}
	return alike(0, 1, 2) || (a.Op == lane.OpMul || a.Op == lane.OpXor) && alike(1, 0, 2)
}
