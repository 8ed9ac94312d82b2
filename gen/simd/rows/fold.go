package rows

import (
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lanesBytes is the size of the accumulators of a fold: element i goes to
// accumulator i modulo their number, whatever the size of vectors.
const lanesBytes = 256

// A folding is how elements are combined. Elements of int64 are float64's in size.
type folding struct {
	name, identity string
	element        string // of pointers, where not the kit's
	doc            string
	pair           bool // an accumulator is two elements: complex numbers
	nan            bool // NaN must not get lost
	to             func(v operand.Op, acc reg.VecVirtual)
}

// foldings returns the ways of combining the kit's elements.
func (k *kit) foldings() []folding {
	add := func(v operand.Op, acc reg.VecVirtual) { k.Add(v, acc, acc) }
	f := []folding{
		{name: "sum", identity: "zero", doc: "the sum", to: add},
		{name: "pairSum", identity: "zero", doc: "the sums of the even and the odd elements", pair: true, to: add},
		{name: "prod", identity: "one", doc: "the product", to: func(v operand.Op, acc reg.VecVirtual) { k.Mul(v, acc, acc) }},
		{name: "max", identity: "negInf", doc: "the largest, NaN if there is one", nan: true, to: func(v operand.Op, acc reg.VecVirtual) { k.max(v.(reg.VecVirtual), acc, acc) }},
		{name: "min", identity: "posInf", doc: "the smallest, NaN if there is one", nan: true, to: func(v operand.Op, acc reg.VecVirtual) { k.min(v.(reg.VecVirtual), acc, acc) }},
	}
	if k.Double {
		f = append(f, folding{name: "intSum", identity: "zero", element: "int64", doc: "the sum", to: func(v operand.Op, acc reg.VecVirtual) { k.VPADDQ(v, acc, acc) }})
	}
	return f
}

// pointer returns the type of pointers to elements.
func (f folding) pointer(k *kit) string {
	if f.element != "" {
		return "*" + f.element
	}
	return "*" + k.Type()
}

func (k *kit) identity(f folding, v reg.VecVirtual) {
	if f.identity == "zero" {
		k.Zero(v)
		return
	}
	k.Move(k.fixed[f.identity], v)
}

func (k *kit) holdIdentity(f folding) {
	if f.identity != "zero" {
		k.hold(f.identity)
	}
}

func folds(k *kit) {
	for _, f := range k.foldings() {
		k.lines(f)
		if !f.pair {
			k.grid(f)
		}
	}
}

// lines folds rows by themselves.
func (k *kit) lines(f folding) {
	k.begin(f.name+"Lines", "func(rows, n, stride, ahead int, accs, x "+f.pointer(k)+")",
		"writes "+f.doc+" of each of rows rows of n elements, stride bytes apart. Element i goes to accumulator i modulo their number in 256 bytes, and halves of these are combined. Where ahead is not 0, what lies so many bytes ahead is fetched.")
	rows, r, stride, ahead, accs, x := k.Arg("rows"), k.rowOf(), k.Arg("stride"), k.Arg("ahead"), k.Arg("accs"), k.Arg("x")
	k.holdIdentity(f)
	if f.nan {
		k.hold("nan")
	}
	acc := k.Vecs(lanesBytes / k.Bytes())
	combine := func(a, b reg.VecVirtual) { f.to(b, a) }
	k.times(rows, func() {
		for _, v := range acc {
			k.identity(f, v)
		}
		var nan flags
		if f.nan {
			nan = k.flags()
		}
		at, left, last, whole := k.GP64(), k.GP64(), k.label("last"), k.label("whole")
		k.MOVQ(x, at)
		k.MOVQ(r.n, left)
		k.SUBQ(imm(lanesBytes), left)
		k.JLT(ref(last))
		near := k.label("near")
		k.TESTQ(ahead, ahead)
		k.JZ(ref(near))
		for _, fetch := range []bool{true, false} {
			loop := near
			if fetch {
				loop = k.label("far")
			}
			k.Label(loop)
			for i := 0; fetch && i < lanesBytes; i += 64 {
				k.PREFETCHT0(operand.Mem{Base: at, Index: ahead, Scale: 1, Disp: i})
			}
			k.foldRow(f, acc, nan, at)
			k.ADDQ(imm(lanesBytes), at)
			k.SUBQ(imm(lanesBytes), left)
			k.JGE(ref(loop))
			if fetch {
				k.JMP(ref(last))
			}
		}
		k.Label(last)
		k.ADDQ(imm(lanesBytes), left)
		k.JZ(ref(whole))
		r.foldRest(f, acc, nan, at, left, whole)
		k.Label(whole)
		sum := merge(slices.Clone(acc), combine)
		k.finishLine(f, sum, combine, nan, accs)
		k.ADDQ(stride, x)
	})
	k.End()
}

// foldRest folds the left bytes at a pointer, fewer than lanesBytes, and jumps to
// done.
func (r row) foldRest(f folding, acc []reg.VecVirtual, nan flags, at, left reg.GPVirtual, done string) {
	zero := r.GP64()
	r.XORQ(zero, zero)
	for i, v := range acc {
		next := r.label("next")
		p := place{row: r, j: zero, disp: i * r.Bytes()}
		r.CMPQ(left, imm(r.Bytes()))
		r.JGE(ref(next))
		p.tail = true
		x := p.load(at)
		if f.identity != "zero" {
			p.fill(x, r.fixed[f.identity])
		}
		if f.nan {
			nan.compareInto(unordered, x, x)
		}
		f.to(x, v)
		r.JMP(ref(done))
		r.Label(next)
		p.tail = false
		x = p.load(at)
		if f.nan {
			nan.compareInto(unordered, x, x)
		}
		f.to(x, v)
		r.SUBQ(imm(r.Bytes()), left)
		r.JZ(ref(done))
	}
}

// foldRow folds a row of lanesBytes bytes.
func (k *kit) foldRow(f folding, acc []reg.VecVirtual, nan flags, x reg.Register) {
	if !f.nan {
		for i, v := range acc {
			f.to(operand.Mem{Base: x, Disp: i * k.Bytes()}, v)
		}
		return
	}
	for i := 0; i < len(acc); i += 2 {
		a, b := k.Vec(), k.Vec()
		k.Move(operand.Mem{Base: x, Disp: i * k.Bytes()}, a)
		k.Move(operand.Mem{Base: x, Disp: (i + 1) * k.Bytes()}, b)
		nan.compareInto(unordered, a, b)
		f.to(a, acc[i])
		f.to(b, acc[i+1])
	}
}

func (k *kit) finishLine(f folding, sum reg.VecVirtual, combine func(a, b reg.VecVirtual), nan flags, accs reg.GPVirtual) {
	if f.pair {
		switch k.pairs(sum, combine); k.Double {
		case true:
			k.VMOVUPD(sum.AsX(), mem(accs))
		default:
			k.VMOVLPS(sum.AsX(), mem(accs))
		}
		k.ADDQ(imm(2*k.Elem()), accs)
		return
	}
	k.horizontal(sum, combine)
	if f.nan {
		number, bits := k.label("number"), nan.bits()
		k.TESTL(bits, bits)
		k.JZ(ref(number))
		k.Move(k.fixed["nan"], sum)
		k.Label(number)
	}
	k.first(sum, mem(accs))
	k.ADDQ(imm(k.Elem()), accs)
}

// grid folds rows into rows of accumulators.
func (k *kit) grid(f folding) {
	k.begin(f.name+"Grid", "func(rows, n, stride int, acc, x "+f.pointer(k)+")",
		"folds rows of n elements, stride bytes apart, into n accumulators in order.")
	rows, r, stride, acc, x := k.Arg("rows"), k.rowOf(), k.Arg("stride"), k.Arg("acc"), k.Arg("x")
	r.steps(4, func(all []place) {
		a := each(all, func(p place) reg.VecVirtual { return p.load(acc) })
		k.down(rows, []reg.Register{stride}, []reg.Register{x}, func(at []reg.Register) {
			for i, p := range all {
				k.foldInto(f, p.load(at[0]), a[i])
			}
		})
		for i, p := range all {
			p.store(a[i], acc)
		}
	})
	k.End()
}

// foldInto folds v into acc, each of which may be NaN.
func (k *kit) foldInto(f folding, v, acc reg.VecVirtual) {
	f.to(v, acc)
	if !f.nan {
		return
	}
	if k.AVX512 {
		m := k.K()
		k.compare(unordered, v, v, m)
		k.pick(k.VMOVAPS, k.VMOVAPD, v, m, acc)
		return
	}
	m := k.YMM()
	k.compare(unordered, v, v, m)
	k.VBLENDVPS(m, v, acc, acc)
}
