package rows

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// values are the constants by name, for float32 and float64: exp(x) is 2^n times a
// polynomial of r = x - n*ln2, where n comes from adding magic, whose last bits
// then hold it. Coefficients c2 and up follow 1 + r; those of float32 keep the
// relative error below 3.2e-9, those of float64 are Taylor's.
var values = map[string][2]float64{
	"one": {1, 1}, "log2e": {math.Log2E, math.Log2E}, "magic": {1.5 * (1 << 23), 1.5 * (1 << 52)},
	"ln2hi": {0.693359375, 6.93147180369123816490e-01}, "ln2lo": {-2.12194440e-4, 1.90821492927058770002e-10},
	"lowest": {-104, -746}, "highest": {89, 710}, // beyond, exp is 0 and infinite
	"least": {1.5*(1<<23) - 126, 1.5*(1<<52) - 1022}, "most": {1.5*(1<<23) + 127, 1.5*(1<<52) + 1023},
	"c2": {0.49999994, 1. / 2}, "c3": {0.166665196, 1. / 6}, "c4": {0.0416684002, 1. / 24}, "c5": {0.00836885162, 1. / 120},
	"c6": {0.00138143206, 1. / 720}, "c7": {0, 1. / 5040}, "c8": {0, 1. / 40320}, "c9": {0, 1. / 362880}, "c10": {0, 1. / 3628800},
	"c11": {0, 1. / 39916800}, "c12": {0, 1. / 479001600}, "c13": {0, 1. / 6227020800},
	"negInf": {math.Inf(-1), math.Inf(-1)}, "posInf": {math.Inf(1), math.Inf(1)}, "nan": {math.NaN(), math.NaN()},
	"sign": {math.Copysign(0, -1), math.Copysign(0, -1)},
}

// order is the order of the constants in a file.
var order = []string{"one", "log2e", "magic", "ln2hi", "ln2lo", "lowest", "highest", "least", "most",
	"c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12", "c13", "negInf", "posInf", "nan", "sign"}

// data adds what the functions of a file read to it: each constant used, 32 bytes
// wide, and the masks of tails.
func data(ctx *build.Context, used map[string]bool) {
	add := func(name string, words ...uint64) {
		ctx.StaticGlobal(name)
		ctx.DataAttributes(attr.RODATA | attr.NOPTR)
		for i, w := range words {
			ctx.AddDatum(8*i, operand.U64(w))
		}
	}
	ones := ^uint64(0)
	add("tails", ones, ones, ones, ones, 0, 0, 0, 0)
	for _, name := range order {
		if used[name+"F32"] {
			w := uint64(math.Float32bits(float32(values[name][0])))
			w |= w << 32
			add(name+"F32", w, w, w, w)
		}
		if used[name+"F64"] {
			w := math.Float64bits(values[name][1])
			add(name+"F64", w, w, w, w)
		}
	}
}

func at(name string) operand.Mem {
	return operand.NewDataAddr(operand.NewStaticSymbol(name), 0)
}

func (k *kit) data(name string) operand.Mem {
	name += k.Suffix()[:3]
	k.used[name] = true
	return at(name)
}

// hold loads constants into registers, for the rest of the function.
func (k *kit) hold(names ...string) {
	for _, name := range names {
		v := k.Vec()
		k.Broadcast(k.data(name), v)
		k.fixed[name] = v
	}
}

// constant returns a constant as an operand: its register, or else, with AVX2
// alone, memory.
func (k *kit) constant(name string) operand.Op {
	if v, ok := k.fixed[name]; ok {
		return v
	}
	return k.data(name)
}

// holdExp loads what exp needs. General also takes arguments above zero.
func (k *kit) holdExp(general bool) {
	k.hold("lowest", "magic")
	if general {
		k.hold("highest")
	}
	if !k.AVX512 {
		k.hold("one")
		return
	}
	k.hold("one", "log2e", "ln2hi", "ln2lo")
	for i := 2; i <= k.degree(); i++ {
		k.hold(order[7+i])
	}
}

// degree is that of exp's polynomial.
func (k *kit) degree() int { return k.pickInt(6, 13) }

// exp returns e to the x, which is lost. Unless general, x is at most zero, or NaN.
func (k *kit) exp(x reg.VecVirtual, general bool) reg.VecVirtual {
	magic := k.fixed["magic"]
	k.max(k.fixed["lowest"], x, x)
	if general {
		k.min(k.fixed["highest"], x, x)
	}
	z, n, p := k.Vec(), k.Vec(), k.Vec()
	k.Move(magic, z)
	k.FMA(k.constant("log2e"), x, z)
	k.Sub(z, magic, n)
	k.pick(k.C.VFNMADD231PS, k.C.VFNMADD231PD, k.constant("ln2hi"), n, x)
	k.pick(k.C.VFNMADD231PS, k.C.VFNMADD231PD, k.constant("ln2lo"), n, x)
	k.Move(k.constant(order[7+k.degree()]), p)
	for i := k.degree() - 1; i >= 2; i-- {
		k.pick(k.C.VFMADD213PS, k.C.VFMADD213PD, k.constant(order[7+i]), x, p)
	}
	k.pick(k.C.VFMADD213PS, k.C.VFMADD213PD, k.constant("one"), x, p)
	k.pick(k.C.VFMADD213PS, k.C.VFMADD213PD, k.constant("one"), x, p)
	if k.AVX512 {
		k.pick(k.C.VSCALEFPS, k.C.VSCALEFPD, n, p, p)
		return p
	}
	k.scale(z, p, general)
	return p
}

// scale multiplies p by 2^n in two steps, so that subnormal results are right,
// where z is magic + n and lost. The factors are floats: p times them keeps NaN.
func (k *kit) scale(z, p reg.VecVirtual, general bool) {
	near, rest := k.Vec(), k.Vec()
	k.pick(k.C.VMAXPS, k.C.VMAXPD, k.constant("least"), z, near)
	if general {
		k.pick(k.C.VMINPS, k.C.VMINPD, k.constant("most"), near, near)
	}
	k.pick(k.C.VPSUBD, k.C.VPSUBQ, near, z, rest)
	for _, f := range []reg.VecVirtual{near, rest} {
		k.pick(k.C.VPSLLD, k.C.VPSLLQ, operand.U8(k.pickInt(23, 52)), f, f)
		k.pick(k.C.VPADDD, k.C.VPADDQ, k.constant("one"), f, f)
		k.Mul(f, p, p)
	}
}
