package rows

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/wide"
)

// A kit writes functions that go over rows. Offsets in a row are in bytes.
type kit struct {
	*wide.Kit
	labels int
	fixed  map[string]reg.VecVirtual // constants in registers, of the function being written
	used   map[string]bool           // constants in memory, of the file
}

// begin starts a function of the signature, whose %s are the element type.
func (k *kit) begin(name, signature, doc string) {
	k.labels, k.fixed = 0, map[string]reg.VecVirtual{}
	types := make([]any, 0, 8)
	for i := range len(signature) - 1 {
		if signature[i:i+2] == "%s" {
			types = append(types, k.Type())
		}
	}
	k.Func(name, fmt.Sprintf(signature, types...), doc)
}

func (k *kit) label(what string) string {
	k.labels++
	return fmt.Sprintf("%s%d", what, k.labels)
}

func ref(label string) operand.Op { return operand.LabelRef(label) }

func imm(n int) operand.Op { return operand.I32(n) }

// scalar broadcasts an argument.
func (k *kit) scalar(name string) reg.VecVirtual {
	v := k.Vec()
	arg, err := k.C.Param(name).Resolve()
	if err != nil { // the signature lacks the name: avo reports it when it compiles
		k.C.Load(k.C.Param(name), v.AsX())
		return v
	}
	k.Broadcast(arg.Addr, v)
	return v
}

// bytes turns a number of elements into bytes.
func (k *kit) bytes(n reg.GPVirtual) {
	k.C.SHLQ(operand.U8(2+k.pickInt(0, 1)), n)
}

// pickInt returns the value for float32 or float64.
func (k *kit) pickInt(single, double int) int {
	if k.Double {
		return double
	}
	return single
}

// pick emits one of two instructions by element type.
func (k *kit) pick(single, double func(...operand.Op), ops ...operand.Op) {
	if k.Double {
		double(ops...)
		return
	}
	single(ops...)
}

// max sets to to the larger of a and b, b where one is NaN. b may be memory.
func (k *kit) max(a reg.Register, b operand.Op, to reg.Register) {
	k.pick(k.C.VMAXPS, k.C.VMAXPD, b, a, to)
}

func (k *kit) min(a reg.Register, b operand.Op, to reg.Register) {
	k.pick(k.C.VMINPS, k.C.VMINPD, b, a, to)
}

// horizontal reduces v to the same value in all lanes: lane j is combined with lane
// j plus half of them, and so on.
func (k *kit) horizontal(v reg.VecVirtual, combine func(a, b reg.VecVirtual)) {
	t := k.pairs(v, combine)
	if k.Double {
		k.C.VPERMILPD(operand.U8(0x55&(1<<k.Lanes()-1)), v, t)
	} else {
		k.C.VPERMILPS(operand.U8(0xb1), v, t)
	}
	combine(v, t)
}

// pairs is horizontal until two neighbouring lanes are left. It returns a register
// that is free.
func (k *kit) pairs(v reg.VecVirtual, combine func(a, b reg.VecVirtual)) reg.VecVirtual {
	t := k.Vec()
	if k.AVX512 {
		k.C.VSHUFF64X2(operand.U8(0x4e), v, v, t)
		combine(v, t)
		k.C.VSHUFF64X2(operand.U8(0xb1), v, v, t)
	} else {
		k.C.VPERM2F128(operand.U8(1), v, v, t)
	}
	combine(v, t)
	if !k.Double {
		k.C.VPERMILPS(operand.U8(0x4e), v, t)
		combine(v, t)
	}
	return t
}

func (k *kit) sumOf(v reg.VecVirtual) {
	k.horizontal(v, func(a, b reg.VecVirtual) { k.Add(b, a, a) })
}

func (k *kit) maxOf(v reg.VecVirtual) {
	k.horizontal(v, func(a, b reg.VecVirtual) { k.max(a, b, a) })
}

// first stores lane 0 of v.
func (k *kit) first(v reg.VecVirtual, to operand.Mem) {
	if k.Double {
		k.C.VMOVSD(v.AsX(), to)
		return
	}
	k.C.VMOVSS(v.AsX(), to)
}

// A row is the extent of rows: how many bytes they have, and which lanes of the
// last, shorter vector count.
type row struct {
	*kit
	n    reg.GPVirtual // bytes
	mask reg.Register  // meaningless where all vectors are full
}

// rowOf makes the row of argument n, in elements.
func (k *kit) rowOf() row {
	n := k.Arg("n")
	lanes := k.C.GP64()
	k.C.MOVQ(n, lanes)
	k.C.ANDQ(imm(k.Lanes()-1), lanes)
	k.bytes(n)
	if k.AVX512 {
		ones, mask := k.C.GP64(), k.C.K()
		k.C.MOVQ(operand.I32(-1), ones)
		k.C.BZHIQ(lanes, ones, ones)
		k.C.KMOVW(ones.As32(), mask)
		return row{k, n, mask}
	}
	base, mask := k.C.GP64(), k.C.YMM()
	k.bytes(lanes)
	k.C.NEGQ(lanes)
	k.C.LEAQ(at("tails"), base)
	k.C.VMOVDQU(operand.Mem{Base: base, Disp: 32, Index: lanes, Scale: 1}, mask)
	return row{k, n, mask}
}

// A place is where one vector of a row is: at the offset, all of it or its tail.
type place struct {
	row
	j    reg.GPVirtual
	disp int
	tail bool
	i    int  // of the vectors of one step
	last bool // of them
}

// over writes a loop over the vectors of a row, some in one step.
func (r row) over(unroll int, body func(p place)) {
	r.steps(unroll, func(all []place) {
		for _, p := range all {
			body(p)
		}
	})
}

// steps is over with all vectors of a step at once: so many, or one.
func (r row) steps(unroll int, body func(all []place)) {
	j, end := r.C.GP64(), r.C.GP64()
	r.C.XORQ(j, j)
	for _, u := range slices.Compact([]int{unroll, 1}) {
		loop, done := r.label("vectors"), r.label("vectorsDone")
		r.C.MOVQ(r.n, end)
		r.C.SUBQ(imm(u*r.Bytes()), end)
		r.C.CMPQ(j, end)
		r.C.JGT(ref(done))
		r.C.Label(loop)
		all := make([]place, u)
		for i := range all {
			all[i] = place{r, j, i * r.Bytes(), false, i, i == u-1}
		}
		body(all)
		r.C.ADDQ(imm(u*r.Bytes()), j)
		r.C.CMPQ(j, end)
		r.C.JLE(ref(loop))
		r.C.Label(done)
	}
	done := r.label("rowDone")
	r.C.CMPQ(j, r.n)
	r.C.JGE(ref(done))
	body([]place{{r, j, 0, true, 0, true}})
	r.C.Label(done)
}

func (p place) mem(base reg.Register) operand.Mem {
	return operand.Mem{Base: base, Index: p.j, Scale: 1, Disp: p.disp}
}

// load reads a vector; lanes beyond the row become zero.
func (p place) load(base reg.Register) reg.VecVirtual {
	v := p.Vec()
	switch {
	case !p.tail:
		p.Move(p.mem(base), v)
	case !p.AVX512:
		p.C.VMASKMOVPS(p.mem(base), p.mask, v)
	case p.Double:
		p.C.VMOVUPD_Z(p.mem(base), p.mask, v)
	default:
		p.C.VMOVUPS_Z(p.mem(base), p.mask, v)
	}
	return v
}

// fetchAhead is how many bytes before it is used memory is asked for that is read, or
// written, in order: processors do so of themselves only up to the end of a page.
const fetchAhead = 2048

// fetch asks for the cache line that is fetchAhead bytes after the place, if it begins
// one of the lines of its step. It need not be mapped.
func (p place) fetch(base reg.Register) {
	if !p.tail && p.disp%64 == 0 {
		m := p.mem(base)
		m.Disp += fetchAhead
		p.C.PREFETCHT0(m)
	}
}

// store writes the lanes of a vector that are in the row.
func (p place) store(v reg.VecVirtual, base reg.Register) {
	switch {
	case !p.tail:
		p.Move(v, p.mem(base))
	case !p.AVX512:
		p.C.VMASKMOVPS(v, p.mask, p.mem(base))
	default:
		p.pick(p.C.VMOVUPS, p.C.VMOVUPD, v, p.mask, p.mem(base))
	}
}

// fill gives the lanes of v beyond the row the value of other's.
func (p place) fill(v, other reg.VecVirtual) {
	switch {
	case !p.tail:
	case p.AVX512:
		p.pick(p.C.VBLENDMPS, p.C.VBLENDMPD, v, other, p.mask, v)
	default:
		p.C.VBLENDVPS(p.mask, v, other, v)
	}
}

// clear makes the lanes of v beyond the row zero.
func (p place) clear(v reg.VecVirtual) {
	switch {
	case !p.tail:
	case !p.AVX512:
		p.C.VANDPS(p.mask, v, v)
	case p.Double:
		p.C.VMOVAPD_Z(v, p.mask, v)
	default:
		p.C.VMOVAPS_Z(v, p.mask, v)
	}
}

// times writes a loop that runs body as often as register n says, which is lost,
// and which may be zero.
func (k *kit) times(n reg.GPVirtual, body func()) {
	loop, done := k.label("rows"), k.label("rowsDone")
	k.C.TESTQ(n, n)
	k.C.JLE(ref(done))
	k.C.Label(loop)
	body()
	k.C.DECQ(n)
	k.C.JNZ(ref(loop))
	k.C.Label(done)
}

// merge combines accumulators into the first.
func merge(v []reg.VecVirtual, combine func(a, b reg.VecVirtual)) reg.VecVirtual {
	for n := len(v) / 2; n > 0; n /= 2 {
		for i := range n {
			combine(v[i], v[i+n])
		}
	}
	return v[0]
}
