// Package wide writes a function over vectors once for AVX2 and AVX-512, float32
// and float64: an instruction is named by what it does, and the kit picks its
// form. It knows nothing of what the functions compute.
package wide

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A Kit writes one function after the other.
type Kit struct {
	C      *build.Context // named, not embedded: a method of each of its thousands would be compiled for every type
	AVX512 bool
	Double bool // float64
}

// Each calls f with a kit for every combination of instructions and element type.
func Each(ctx *build.Context, f func(k *Kit)) {
	for _, wide := range []bool{false, true} {
		for _, double := range []bool{false, true} {
			f(&Kit{ctx, wide, double})
		}
	}
}

// Bytes returns the size of a vector.
func (k *Kit) Bytes() int {
	if k.AVX512 {
		return 64
	}
	return 32
}

// Elem returns the size of an element.
func (k *Kit) Elem() int {
	if k.Double {
		return 8
	}
	return 4
}

// Lanes returns how many elements a vector has.
func (k *Kit) Lanes() int { return k.Bytes() / k.Elem() }

// Type returns the element's Go type.
func (k *Kit) Type() string {
	if k.Double {
		return "float64"
	}
	return "float32"
}

// Suffix is what ends the names of functions: the element type and the
// instructions.
func (k *Kit) Suffix() string {
	s := "F32"
	if k.Double {
		s = "F64"
	}
	if k.AVX512 {
		return s + "AVX512"
	}
	return s + "AVX2"
}

// Func begins a function without a frame; doc goes on after its name.
func (k *Kit) Func(name, signature, doc string) {
	k.C.Function(name + k.Suffix())
	k.C.Attributes(attr.NOSPLIT)
	k.C.SignatureExpr(signature)
	k.C.Doc(name + k.Suffix() + " " + doc)
}

// End ends a function.
func (k *Kit) End() {
	k.C.VZEROUPPER()
	k.C.RET()
}

// Arg loads an argument into a register.
func (k *Kit) Arg(name string) reg.GPVirtual {
	r := k.C.GP64()
	k.C.Load(k.C.Param(name), r)
	return r
}

// Vec returns a new vector register.
func (k *Kit) Vec() reg.VecVirtual {
	if k.AVX512 {
		return k.C.ZMM()
	}
	return k.C.YMM()
}

// Vecs returns n new vector registers.
func (k *Kit) Vecs(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = k.Vec()
	}
	return v
}

// pick emits one of two instructions by element type.
func (k *Kit) pick(single, double func(...operand.Op), ops ...operand.Op) {
	if k.Double {
		double(ops...)
		return
	}
	single(ops...)
}

// Move moves a vector between registers and memory, from the first to the second.
func (k *Kit) Move(from, to operand.Op) { k.pick(k.C.VMOVUPS, k.C.VMOVUPD, from, to) }

// Broadcast fills a vector with an element of memory.
func (k *Kit) Broadcast(from operand.Op, to reg.Register) {
	k.pick(k.C.VBROADCASTSS, k.C.VBROADCASTSD, from, to)
}

// Zero clears a register.
func (k *Kit) Zero(v reg.Register) {
	if k.AVX512 {
		k.C.VPXORD(v, v, v)
		return
	}
	k.C.VXORPS(v, v, v)
}

// Add sets to to a + b. a may be memory.
func (k *Kit) Add(a operand.Op, b, to reg.Register) { k.pick(k.C.VADDPS, k.C.VADDPD, a, b, to) }

// Sub sets to to a - b. b may be memory.
func (k *Kit) Sub(a reg.Register, b operand.Op, to reg.Register) {
	k.pick(k.C.VSUBPS, k.C.VSUBPD, b, a, to)
}

// Mul sets to to a * b. a may be memory.
func (k *Kit) Mul(a operand.Op, b, to reg.Register) { k.pick(k.C.VMULPS, k.C.VMULPD, a, b, to) }

// Div sets to to a / b.
func (k *Kit) Div(a, b, to reg.Register) { k.pick(k.C.VDIVPS, k.C.VDIVPD, b, a, to) }

// Sqrt sets to to the square root of a.
func (k *Kit) Sqrt(a, to reg.Register) { k.pick(k.C.VSQRTPS, k.C.VSQRTPD, a, to) }

// FMA adds a * b to sum, with one rounding. a may be memory.
func (k *Kit) FMA(a operand.Op, b, sum reg.Register) {
	k.pick(k.C.VFMADD231PS, k.C.VFMADD231PD, a, b, sum)
}

// A Tail moves the elements of a last, shorter vector.
type Tail struct {
	k    *Kit
	mask reg.Register
}

// Tail makes the mask of the first n elements; n is at most Lanes, and lost.
func (k *Kit) Tail(n reg.GPVirtual) Tail {
	if k.AVX512 {
		ones, mask := k.C.GP64(), k.C.K()
		k.C.MOVQ(operand.I32(-1), ones)
		k.C.BZHIQ(n, ones, ones)
		k.C.KMOVW(ones.As32(), mask)
		return Tail{k, mask}
	}
	if k.Double {
		k.C.SHLQ(operand.Imm(1), n)
	}
	base, mask := k.C.GP64(), k.C.YMM()
	k.C.LEAQ(masks(), base)
	k.C.NEGQ(n)
	k.C.VMOVDQU(operand.Mem{Base: base, Disp: 32, Index: n, Scale: 4}, mask)
	return Tail{k, mask}
}

const table = "tailMasks"

// masks is where Masks puts them.
func masks() operand.Mem {
	return operand.NewDataAddr(operand.NewStaticSymbol(table), 0)
}

// Masks adds the table that tails of AVX2 functions read to a file: 8 entries that
// are all ones, then 8 zeros.
func Masks(ctx *build.Context) {
	ctx.StaticGlobal(table)
	ctx.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 16 {
		v := ^uint32(0)
		if i >= 8 {
			v = 0
		}
		ctx.AddDatum(4*i, operand.U32(v))
	}
}

// Load reads the elements from memory; the others become zero.
func (t Tail) Load(from operand.Mem, to reg.VecVirtual) {
	switch {
	case !t.k.AVX512:
		t.k.C.VMASKMOVPS(from, t.mask, to)
	case t.k.Double:
		t.k.C.VMOVUPD_Z(from, t.mask, to)
	default:
		t.k.C.VMOVUPS_Z(from, t.mask, to)
	}
}

// Store writes the elements to memory.
func (t Tail) Store(from reg.VecVirtual, to operand.Mem) {
	switch {
	case !t.k.AVX512:
		t.k.C.VMASKMOVPS(from, t.mask, to)
	case t.k.Double:
		t.k.C.VMOVUPD(from, t.mask, to)
	default:
		t.k.C.VMOVUPS(from, t.mask, to)
	}
}

// Only returns the elements of a vector, and zeros in place of the others.
func (t Tail) Only(v reg.VecVirtual) reg.VecVirtual {
	to := t.k.Vec()
	switch {
	case !t.k.AVX512:
		t.k.C.VANDPS(t.mask, v, to)
	case t.k.Double:
		t.k.C.VMOVUPD_Z(v, t.mask, to)
	default:
		t.k.C.VMOVUPS_Z(v, t.mask, to)
	}
	return to
}

// Map writes a loop over n elements behind each pointer, a vector at a time: body
// is given how to load the elements of one pointer and how to store to it. The
// pointers and n are lost.
// A function has one such loop.
func (k *Kit) Map(n reg.GPVirtual, at []reg.GPVirtual, body func(load func(i int) reg.VecVirtual, store func(v reg.VecVirtual, i int))) {
	const full, last, done = "map_full", "map_last", "map_done"
	mem := func(i int) operand.Mem { return operand.Mem{Base: at[i]} }
	k.C.Label(full)
	k.C.CMPQ(n, operand.Imm(uint64(k.Lanes())))
	k.C.JLT(operand.LabelRef(last))
	body(func(i int) reg.VecVirtual {
		v := k.Vec()
		k.Move(mem(i), v)
		return v
	}, func(v reg.VecVirtual, i int) { k.Move(v, mem(i)) })
	for _, p := range at {
		k.C.ADDQ(operand.Imm(uint64(k.Bytes())), p)
	}
	k.C.SUBQ(operand.Imm(uint64(k.Lanes())), n)
	k.C.JMP(operand.LabelRef(full))
	k.C.Label(last)
	k.C.TESTQ(n, n)
	k.C.JE(operand.LabelRef(done))
	tail := k.Tail(n)
	body(func(i int) reg.VecVirtual {
		v := k.Vec()
		tail.Load(mem(i), v)
		return v
	}, func(v reg.VecVirtual, i int) { tail.Store(v, mem(i)) })
	k.C.Label(done)
}
