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
	extreme        bool // what to does with NaN needs result in the end
	flip           bool // elements and accumulators have their signs flipped in registers
	to             func(v operand.Op, acc reg.VecVirtual)
}

// foldings returns the ways of combining the kit's elements.
func (k *kit) foldings() []folding {
	add := func(v operand.Op, acc reg.VecVirtual) { k.Add(v, acc, acc) }
	f := []folding{
		{name: "sum", identity: "zero", doc: "the sum", to: add},
		{name: "pairSum", identity: "zero", doc: "the sums of the even and the odd elements", pair: true, to: add},
		{name: "prod", identity: "one", doc: "the product", to: func(v operand.Op, acc reg.VecVirtual) { k.Mul(v, acc, acc) }},
		{name: "max", identity: "posInf", doc: "the largest, NaN if there is one", extreme: true, flip: true, to: k.least},
		{name: "min", identity: "posInf", doc: "the smallest, NaN if there is one", extreme: true, to: k.least},
	}
	if k.Double {
		f = append(f, folding{name: "intSum", identity: "zero", element: "int64", doc: "the sum", to: func(v operand.Op, acc reg.VecVirtual) { k.C.VPADDQ(v, acc, acc) }})
	}
	return f
}

// least sets acc to the smaller of v and acc. Either order of a minimum gives its second operand
// where one is NaN or both are zeros, so that the bits of both together are those of NaN, or of -0
// where one is. The largest number is the smallest with its sign flipped.
func (k *kit) least(v operand.Op, acc reg.VecVirtual) {
	other := k.Vec()
	k.min(acc, v.(reg.VecVirtual), other)
	k.min(v.(reg.VecVirtual), acc, acc)
	if k.AVX512 {
		k.C.VPORD(other, acc, acc)
		return
	}
	k.C.VORPS(other, acc, acc)
}

// flipped flips the signs of v where the folding has them so.
func (k *kit) flipped(f folding, v reg.VecVirtual) reg.VecVirtual {
	switch {
	case !f.flip:
	case k.AVX512:
		k.C.VPXORD(k.fixed["sign"], v, v)
	default:
		k.C.VXORPS(k.fixed["sign"], v, v)
	}
	return v
}

// result makes what a folding left in v elements: NaN is always the same one.
func (k *kit) result(f folding, v reg.VecVirtual) {
	if !f.extreme {
		return
	}
	k.flipped(f, v)
	if k.AVX512 {
		m := k.C.K()
		k.compare(unordered, v, v, m)
		k.pick(k.C.VMOVAPS, k.C.VMOVAPD, k.fixed["nan"], m, v)
		return
	}
	m := k.C.YMM()
	k.compare(unordered, v, v, m)
	k.C.VBLENDVPS(m, k.data("nan"), v, v)
}

// holdResult holds what flipped and result need.
func (k *kit) holdResult(f folding) {
	if f.flip {
		k.hold("sign")
	}
	if f.extreme && k.AVX512 {
		k.hold("nan")
	}
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
	if k.Double && !k.AVX512 {
		k.byteSum()
	}
	for _, f := range k.foldings() {
		k.lines(f)
		if !f.pair {
			k.grid(f)
		}
		if !k.Double && !f.pair && f.name != "prod" {
			k.halves(f, "F16", func(from operand.Mem, to reg.VecVirtual) { k.C.VCVTPH2PS(from, to) })
			k.halves(f, "BF16", func(from operand.Mem, to reg.VecVirtual) {
				k.C.VPMOVZXWD(from, to)
				k.C.VPSLLD(operand.U8(16), to, to)
			})
		}
	}
}

// byteSum adds up bytes.
func (k *kit) byteSum() {
	const vectors, width = 4, 32
	k.begin("byteSum", "func(n int, acc *int64, x *byte)", "adds the sum of n bytes, a multiple of 128 and not 0, to *acc.")
	n, acc, x := k.Arg("n"), k.Arg("acc"), k.Arg("x")
	zero, sums := k.C.YMM(), make([]reg.VecVirtual, vectors)
	k.C.VPXOR(zero, zero, zero)
	for i := range sums {
		sums[i] = k.C.YMM()
		k.C.VPXOR(sums[i], sums[i], sums[i])
	}
	k.C.Label("loop")
	for i, sum := range sums {
		v := k.C.YMM()
		k.C.VPSADBW(operand.Mem{Base: x, Disp: width * i}, zero, v)
		k.C.VPADDQ(v, sum, sum)
	}
	k.C.ADDQ(imm(vectors*width), x)
	k.C.SUBQ(imm(vectors*width), n)
	k.C.JNE(ref("loop"))
	for _, sum := range sums[1:] {
		k.C.VPADDQ(sum, sums[0], sums[0])
	}
	low, half, g := sums[0].AsX(), k.C.XMM(), k.C.GP64()
	k.C.VEXTRACTI128(operand.U8(1), sums[0], half)
	k.C.VPADDQ(half, low, low)
	k.C.VPSRLDQ(operand.U8(8), low, half)
	k.C.VPADDQ(half, low, low)
	k.C.VMOVQ(low, g)
	k.C.ADDQ(g, operand.Mem{Base: acc})
	k.End()
}

const fetchDoc = " With AVX-512, where ahead is not 0, what lies so many bytes ahead is fetched."

// lines folds rows by themselves.
func (k *kit) lines(f folding) {
	k.begin(f.name+"Lines", "func(rows, n, stride, ahead int, accs, x "+f.pointer(k)+")",
		"writes "+f.doc+" of each of rows rows of n elements, stride bytes apart. Element i goes to accumulator i modulo their number in 256 bytes, and halves of these are combined."+fetchDoc)
	rows, r, stride, accs, x := k.Arg("rows"), k.rowOf(), k.Arg("stride"), k.Arg("accs"), k.Arg("x")
	var ahead reg.GPVirtual
	if k.AVX512 {
		ahead = k.Arg("ahead")
	}
	acc, combine := k.accumulators(f), func(a, b reg.VecVirtual) { f.to(b, a) }
	k.times(rows, func() {
		k.start(f, acc)
		at, left, last, whole := k.C.GP64(), k.C.GP64(), k.label("last"), k.label("whole")
		k.C.MOVQ(x, at)
		k.C.MOVQ(r.n, left)
		k.C.SUBQ(imm(lanesBytes), left)
		k.C.JLT(ref(last))
		if k.AVX512 {
			near := k.label("near")
			k.C.TESTQ(ahead, ahead)
			k.C.JZ(ref(near))
			k.lineOf(f, acc, at, left, ahead)
			k.C.JMP(ref(last))
			k.C.Label(near)
		}
		k.lineOf(f, acc, at, left)
		k.C.Label(last)
		k.C.ADDQ(imm(lanesBytes), left)
		k.C.JZ(ref(whole))
		r.foldRest(f, acc, at, left, whole)
		k.C.Label(whole)
		sum := merge(slices.Clone(acc), combine)
		k.finishLine(f, sum, combine, accs)
		k.C.ADDQ(stride, x)
	})
	k.End()
}

// accumulators returns those of a line, for start, and holds what they need.
func (k *kit) accumulators(f folding) []reg.VecVirtual {
	k.holdIdentity(f)
	k.holdResult(f)
	return k.Vecs(lanesBytes / k.Bytes())
}

// start begins a line.
func (k *kit) start(f folding, acc []reg.VecVirtual) {
	for _, v := range acc {
		k.identity(f, v)
	}
}

// lineOf folds what is at a pointer, lanesBytes at a time, while left is not negative.
// What is so many bytes ahead is fetched.
func (k *kit) lineOf(f folding, acc []reg.VecVirtual, at, left reg.GPVirtual, ahead ...reg.Register) {
	loop := k.label("line")
	k.C.Label(loop)
	for _, far := range ahead {
		for i := 0; i < lanesBytes; i += 64 {
			k.C.PREFETCHT0(operand.Mem{Base: at, Index: far, Scale: 1, Disp: i})
		}
	}
	k.foldRow(f, acc, func(i int) operand.Op { return operand.Mem{Base: at, Disp: i * k.Bytes()} })
	k.C.ADDQ(imm(lanesBytes), at)
	k.C.SUBQ(imm(lanesBytes), left)
	k.C.JGE(ref(loop))
}

// halves is lines of elements of 16 bits.
func (k *kit) halves(f folding, name string, load func(from operand.Mem, to reg.VecVirtual)) {
	k.begin(f.name+name+"Lines", "func(rows, n, stride int, accs *%s, x *uint16)",
		"is "+f.name+"Lines of elements that become float32; n is a multiple of 64, and not 0.")
	rows, n, stride, accs, x := k.Arg("rows"), k.Arg("n"), k.Arg("stride"), k.Arg("accs"), k.Arg("x")
	acc, combine := k.accumulators(f), func(a, b reg.VecVirtual) { f.to(b, a) }
	k.times(rows, func() {
		k.start(f, acc)
		at, left, loop := k.C.GP64(), k.C.GP64(), k.label("line")
		k.C.MOVQ(x, at)
		k.C.MOVQ(n, left)
		k.C.Label(loop)
		for i := 0; k.AVX512 && i < lanesBytes/2; i += 64 {
			k.C.PREFETCHT0(operand.Mem{Base: at, Disp: fetchAhead + i})
		}
		k.foldRow(f, acc, func(i int) operand.Op {
			v := k.Vec()
			load(operand.Mem{Base: at, Disp: i * k.Bytes() / 2}, v)
			return v
		})
		k.C.ADDQ(imm(lanesBytes/2), at)
		k.C.SUBQ(imm(lanesBytes/4), left)
		k.C.JNZ(ref(loop))
		k.finishLine(f, merge(slices.Clone(acc), combine), combine, accs)
		k.C.ADDQ(stride, x)
	})
	k.End()
}

// foldRest folds the left bytes at a pointer, fewer than lanesBytes, and jumps to
// done.
func (r row) foldRest(f folding, acc []reg.VecVirtual, at, left reg.GPVirtual, done string) {
	zero := r.C.GP64()
	r.C.XORQ(zero, zero)
	for i, v := range acc {
		next := r.label("next")
		p := place{row: r, j: zero, disp: i * r.Bytes()}
		r.C.CMPQ(left, imm(r.Bytes()))
		r.C.JGE(ref(next))
		p.tail = true
		x := r.flipped(f, p.load(at))
		if f.identity != "zero" {
			p.fill(x, r.fixed[f.identity])
		}
		f.to(x, v)
		r.C.JMP(ref(done))
		r.C.Label(next)
		p.tail = false
		f.to(r.flipped(f, p.load(at)), v)
		r.C.SUBQ(imm(r.Bytes()), left)
		r.C.JZ(ref(done))
	}
}

// foldRow folds lanesBytes bytes of elements: vector i, which may be in memory, into
// accumulator i.
func (k *kit) foldRow(f folding, acc []reg.VecVirtual, vector func(i int) operand.Op) {
	for i, v := range acc {
		x := vector(i)
		if f.extreme {
			x = k.flipped(f, k.inRegister(x))
		}
		f.to(x, v)
	}
}

// inRegister returns a vector, which is read if it is in memory.
func (k *kit) inRegister(v operand.Op) reg.VecVirtual {
	if r, ok := v.(reg.VecVirtual); ok {
		return r
	}
	r := k.Vec()
	k.Move(v, r)
	return r
}

func (k *kit) finishLine(f folding, sum reg.VecVirtual, combine func(a, b reg.VecVirtual), accs reg.GPVirtual) {
	if f.pair {
		switch k.pairs(sum, combine); k.Double {
		case true:
			k.C.VMOVUPD(sum.AsX(), mem(accs))
		default:
			k.C.VMOVLPS(sum.AsX(), mem(accs))
		}
		k.C.ADDQ(imm(2*k.Elem()), accs)
		return
	}
	k.horizontal(sum, combine)
	k.result(f, sum)
	k.first(sum, mem(accs))
	k.C.ADDQ(imm(k.Elem()), accs)
}

// grid folds rows into rows of accumulators.
func (k *kit) grid(f folding) {
	k.begin(f.name+"Grid", "func(rows, n, stride, ahead int, acc, x "+f.pointer(k)+")",
		"folds rows of n elements, stride bytes apart, into n accumulators in order."+fetchDoc)
	rows, r, stride, acc, x := k.Arg("rows"), k.rowOf(), k.Arg("stride"), k.Arg("acc"), k.Arg("x")
	near, done := k.label("near"), k.label("done")
	k.holdResult(f)
	if k.AVX512 {
		ahead := k.Arg("ahead")
		k.C.TESTQ(ahead, ahead)
		k.C.JZ(ref(near))
		k.C.ADDQ(x, ahead)
		r.gridOf(f, rows, stride, acc, x, ahead)
		k.C.JMP(ref(done))
	}
	k.C.Label(near)
	r.gridOf(f, rows, stride, acc, x)
	k.C.Label(done)
	k.End()
}

// gridOf is grid of the rows at the first of some pointers. What the others point to is
// fetched.
func (r row) gridOf(f folding, rows, stride, acc reg.GPVirtual, pointers ...reg.Register) {
	r.steps(4, func(all []place) {
		a := each(all, func(p place) reg.VecVirtual { return r.flipped(f, p.load(acc)) })
		r.down(rows, []reg.Register{stride}, pointers, func(at []reg.Register) {
			for i, p := range all {
				for _, ahead := range at[1:] {
					if p.disp%64 == 0 {
						r.C.PREFETCHT0(p.mem(ahead))
					}
				}
				f.to(r.flipped(f, p.load(at[0])), a[i])
			}
		})
		for i, p := range all {
			r.result(f, a[i])
			p.store(a[i], acc)
		}
	})
}
