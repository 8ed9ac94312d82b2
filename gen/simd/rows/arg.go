package rows

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The predicates of comparisons.
const (
	equal     = 0x00
	unordered = 0x03
	ordered   = 0x07
	notLE     = 0x16 // a > b, or either is NaN
	notGE     = 0x19 // a < b, or either is NaN
)

func args(k *kit) {
	for _, least := range []bool{false, true} {
		k.argRows(least)
		k.argColumns(least)
	}
}

// An extreme is what a search is for.
type extreme struct {
	name, what, identity string
	better               uint8
	pick                 func(a reg.Register, b operand.Op, to reg.Register)
}

func (k *kit) extreme(least bool) extreme {
	if least {
		return extreme{"argMin", "smallest", "posInf", notGE, k.min}
	}
	return extreme{"argMax", "largest", "negInf", notLE, k.max}
}

func (k *kit) compare(predicate uint8, b operand.Op, a, to operand.Op) {
	k.pick(k.C.VCMPPS, k.C.VCMPPD, operand.U8(predicate), b, a, to)
}

// A flags is where comparisons are gathered.
type flags struct {
	*kit
	reg reg.Register
}

func (k *kit) flags() flags {
	if k.AVX512 {
		f := k.C.K()
		k.C.KXORW(f, f, f)
		return flags{k, f}
	}
	v := k.C.YMM()
	k.Zero(v)
	return flags{k, v}
}

// compareInto adds a comparison of a and b.
func (f flags) compareInto(predicate uint8, b operand.Op, a reg.VecVirtual) {
	if f.AVX512 {
		m := f.C.K()
		f.compare(predicate, b, a, m)
		f.C.KORW(m, f.reg, f.reg)
		return
	}
	m := f.C.YMM()
	f.compare(predicate, b, a, m)
	f.C.VORPS(m, f.reg, f.reg)
}

// bits returns one bit for each lane.
func (f flags) bits() reg.GPVirtual {
	to := f.C.GP32()
	switch {
	case f.AVX512:
		f.C.KMOVW(f.reg, to)
	case f.Double:
		f.C.VMOVMSKPD(f.reg, to)
	default:
		f.C.VMOVMSKPS(f.reg, to)
	}
	return to
}

// find jumps to found, with the position in index, at the first element of the row
// that compares; the caller knows that there is one.
func (r row) find(x reg.Register, predicate uint8, with reg.VecVirtual, index reg.GPVirtual, found string) {
	r.over(1, func(p place) {
		v := p.load(x)
		b := operand.Op(v)
		if with != nil {
			b = with
		}
		f := r.flags()
		f.compareInto(predicate, b, v)
		bits, next := f.bits(), r.label("next")
		r.C.TESTL(bits, bits)
		r.C.JZ(ref(next))
		r.C.BSFL(bits, bits)
		r.C.MOVQ(p.j, index)
		r.C.SHRQ(operand.U8(r.pickInt(2, 3)), index)
		r.C.ADDQ(bits.As64(), index)
		r.C.JMP(ref(found))
		r.C.Label(next)
	})
}

func (k *kit) argRows(least bool) {
	e := k.extreme(least)
	k.begin(e.name, "func(rows, n int, x *%s, index *int64)", "writes the position of the "+e.what+" element of each of rows contiguous rows of n elements: the first of equal ones, and NaN before all.")
	rows, r, x, to := k.Arg("rows"), k.rowOf(), k.Arg("x"), k.Arg("index")
	k.hold(e.identity)
	at := k.C.GP64()
	k.times(rows, func() {
		m := k.Vecs(4)
		for _, v := range m {
			k.Move(k.fixed[e.identity], v)
		}
		nan := k.flags()
		var before reg.VecVirtual
		r.over(len(m), func(p place) {
			v := p.load(x)
			p.fill(v, k.fixed[e.identity])
			if p.i%2 == 1 { // two vectors in one comparison
				nan.compareInto(unordered, before, v)
			} else if before = v; p.last {
				nan.compareInto(unordered, v, v)
			}
			e.pick(v, m[p.i], m[p.i])
		})
		best := merge(m, func(a, b reg.VecVirtual) { e.pick(a, b, a) })
		k.horizontal(best, func(a, b reg.VecVirtual) { e.pick(a, b, a) })
		numbers, found := k.label("numbers"), k.label("found")
		bits := nan.bits()
		k.C.TESTL(bits, bits)
		k.C.JZ(ref(numbers))
		r.find(x, unordered, nil, at, found)
		k.C.Label(numbers)
		r.find(x, equal, best, at, found)
		k.C.XORQ(at, at)
		k.C.Label(found)
		k.C.MOVQ(at, mem(to))
		k.C.ADDQ(imm(8), to)
		r.next(x)
	})
	k.End()
}

// argColumns keeps the best element of each column so far and its row.
func (k *kit) argColumns(least bool) {
	e := k.extreme(least)
	k.begin(e.name+"Columns", "func(rows, n, stride, row int, x, best *%s, index *%s)",
		"takes rows of n columns, stride bytes apart and numbered from row, into best and index: the "+e.what+" element of each column and its row.")
	rows, r, stride, x, best, to := k.Arg("rows"), k.rowOf(), k.Arg("stride"), k.Arg("x"), k.Arg("best"), k.Arg("index")
	number, one := k.integer("row"), k.Vec()
	if k.AVX512 {
		k.C.VPTERNLOGD(operand.U8(0xff), one, one, one)
	} else {
		k.C.VPCMPEQD(one, one, one)
	}
	r.over(1, func(p place) {
		top, at, now := p.load(best), p.load(to), k.Vec()
		k.Move(number, now)
		k.down(rows, []reg.Register{stride}, []reg.Register{x}, func(from []reg.Register) {
			v := p.load(from[0])
			k.better(e, v, top, at, now)
			k.pick(k.C.VPSUBD, k.C.VPSUBQ, one, now, now)
		})
		p.store(top, best)
		p.store(at, to)
	})
	k.End()
}

// better takes v and its row where it is better than top: beyond it, or NaN where
// top is a number.
func (k *kit) better(e extreme, v, top, at, now reg.VecVirtual) {
	if k.AVX512 {
		m := k.C.K()
		k.compare(ordered, top, top, m)
		k.pick(k.C.VCMPPS, k.C.VCMPPD, operand.U8(e.better), top, v, m, m)
		k.pick(k.C.VMOVAPS, k.C.VMOVAPD, v, m, top)
		k.pick(k.C.VMOVDQA32, k.C.VMOVDQA64, now, m, at)
		return
	}
	m, number := k.C.YMM(), k.C.YMM()
	k.compare(e.better, top, v, m)
	k.compare(ordered, top, top, number)
	k.C.VANDPS(number, m, m)
	k.C.VBLENDVPS(m, v, top, top)
	k.C.VBLENDVPS(m, now, at, at)
}

// integer broadcasts an integer argument to lanes as wide as the element.
func (k *kit) integer(name string) reg.VecVirtual {
	v, x := k.Vec(), k.C.XMM()
	n := k.Arg(name)
	k.C.VMOVQ(n, x)
	k.pick(k.C.VPBROADCASTD, k.C.VPBROADCASTQ, x, v)
	return v
}
