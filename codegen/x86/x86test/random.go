package x86test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sinter-go/sinter/codegen/lane"
)

// randomSeeds make programs that between them spill values and masks, fold spilled
// values, mix types, and call functions.
var randomSeeds = []uint64{12, 30, 166, 346}

// random is a program that is being made of random operations.
type random struct {
	*lane.Prog
	rng   *rand.Rand
	types []lane.Type
	pool  map[lane.Type][]lane.V
	calls bool
}

// Random is a program of random operations on up to three types, every value of
// which depends on the seed alone. NaN never becomes an integer's bits, since which
// NaN an operation gives is not specified.
func Random(seed uint64) *lane.Prog {
	r := &random{Prog: &lane.Prog{}, rng: rand.New(rand.NewPCG(seed, 77)), pool: map[lane.Type][]lane.V{}, calls: seed%3 == 0}
	all := append(slices.Clone(floats), ints...)
	for range 1 + r.rng.IntN(3) {
		r.types = append(r.types, all[r.rng.IntN(len(all))])
	}
	for i := range 1 + r.rng.IntN(8) {
		r.put(r.Arg(i, r.typ()))
	}
	for i := range 2 {
		r.put(r.Scalar(i, r.typ()))
	}
	for range 20 + r.rng.IntN(220) {
		t := r.typ()
		if t.IsFloat() {
			r.put(r.floatOp(t))
		} else {
			r.put(r.intOp(t))
		}
		r.put(r.anyOp(t))
	}
	for range 1 + r.rng.IntN(3) {
		r.Out(r.pick(r.typ()))
	}
	return r.Prog
}

func (r *random) typ() lane.Type { return r.types[r.rng.IntN(len(r.types))] }

func (r *random) has(t lane.Type) bool { return slices.Contains(r.types, t) }

func (r *random) put(v lane.V) {
	if t := r.Type(v); t != lane.Invalid {
		r.pool[t] = append(r.pool[t], v)
	}
}

// pick is a value of a type, more often a recent one, now and then a constant.
func (r *random) pick(t lane.Type) lane.V {
	list := r.pool[t]
	switch {
	case t.IsMask() && len(list) == 0:
		return r.ConstBits(t, 1)
	case len(list) == 0 || !t.IsMask() && r.rng.IntN(8) == 0:
		if t.IsFloat() {
			return r.ConstF(t, float64(r.rng.IntN(16))/4-2)
		}
		return r.ConstI(t, int64(r.rng.IntN(256)-128))
	case len(list) > 3 && r.rng.IntN(3) > 0:
		return list[len(list)-1-r.rng.IntN(3)]
	}
	return list[r.rng.IntN(len(list))]
}

// anyOp is an operation that all types have, or a conversion, or none.
func (r *random) anyOp(t lane.Type) lane.V {
	a, b := r.pick(t), r.pick(t)
	switch r.rng.IntN(12) {
	case 0:
		return r.Add(a, b)
	case 1:
		return r.Sub(a, b)
	case 2:
		return r.Mul(a, b)
	case 3:
		return r.Min(a, b)
	case 4:
		return r.Max(a, b)
	case 5, 6:
		return r.Cmp(lane.Pred(r.rng.IntN(6)), a, b)
	case 7, 8:
		return r.Select(r.pick(r.typ().Mask()), a, b)
	case 9:
		return r.maskOp(t.Mask())
	case 10:
		return r.convert(a, t, r.typ())
	}
	if r.has(lane.U8) {
		return r.FromMask(r.pick(t.Mask()))
	}
	return 0
}

func (r *random) maskOp(t lane.Type) lane.V {
	a, b := r.pick(t), r.pick(t)
	switch r.rng.IntN(4) {
	case 0:
		return r.MaskAnd(a, b)
	case 1:
		return r.MaskOr(a, b)
	case 2:
		return r.MaskXor(a, b)
	}
	return r.MaskNot(a)
}

func (r *random) convert(a lane.V, t, to lane.Type) lane.V {
	switch {
	case to.IsFloat() == t.IsFloat() && to.Size() > t.Size():
		return r.Widen(a, to)
	case to.IsFloat() == t.IsFloat() && to.Size() < t.Size():
		return r.Narrow(a, to)
	case t.Size() < 4 || to.Size() != t.Size() || to.IsFloat() == t.IsFloat():
		return 0
	case t.IsFloat():
		return r.FToITrunc(a)
	}
	return r.IToF(a)
}

func (r *random) floatOp(t lane.Type) lane.V {
	a, b, c := r.pick(t), r.pick(t), r.pick(t)
	switch r.rng.IntN(8) {
	case 0:
		return r.FMA(a, b, c)
	case 1:
		return r.FNMA(a, b, c)
	case 2:
		return r.FMS(a, b, c)
	case 3:
		return r.Div(a, b)
	case 4:
		return r.Round(a, lane.Rounding(r.rng.IntN(4)))
	case 5:
		return r.Sqrt(a)
	case 6:
		if r.calls && r.rng.IntN(3) == 0 {
			return r.Call("testExp", a)
		}
	case 7:
		if r.calls && r.rng.IntN(3) == 0 {
			return r.Call("testHalf", a, b)
		}
	}
	return 0
}

func (r *random) intOp(t lane.Type) lane.V {
	a, b, n := r.pick(t), r.pick(t), r.rng.IntN(8*t.Size())
	switch r.rng.IntN(8) {
	case 0:
		return r.And(a, b)
	case 1:
		return r.Or(a, b)
	case 2:
		return r.Xor(a, b)
	case 3:
		return r.AndNot(a, b)
	case 4:
		return r.Shl(a, n)
	case 5:
		return r.Shr(a, n)
	case 6:
		return r.Sar(a, n)
	}
	return r.ShrV(a, b)
}

// randoms are the programs of randomSeeds.
func (l *list) randoms() {
	for _, seed := range randomSeeds {
		*l = append(*l, Case{Name: fmt.Sprintf("random%d", seed), Prog: Random(seed)})
	}
}
