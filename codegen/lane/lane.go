// Package lane is a small language of straight-line programs over vector lanes:
// every lane computes the same expression over its own values. A program is built
// with the methods of Prog, run on single values by Evaluator, and compiled by
// packages that know a processor. This one knows none: where an operation's corner
// cases differ between processors, its method says what they are.
//
// # Another processor
//
// A program says nothing of how many lanes a vector has, of registers or of memory. But
// some corner cases are stated as x86 has them, since it came first, and results must be
// the same to the bit everywhere. For NEON they are a few instructions more:
//
//   - Min and Max of floats give b where one is NaN or both are zero: a comparison and
//     BSL, not FMIN, which gives NaN and orders zeros.
//   - FToI and FToITrunc give the least integer for what does not fit and NaN, where
//     FCVTNS and FCVTZS saturate and give 0.
//   - ShlV, ShrV and SarV shift all bits out at counts that are negative or too large,
//     where SSHL and USHL take the lowest byte, and shift right by negative ones.
//   - Lookup of 4 and 8 bytes is TBL over bytes.
//   - MulU32 is UMULL; there is no product of I64, which is made of three of them.
//   - GetExp, GetMant, MinAbs, MinMag, Recip14 and Rsqrt14 are of AVX-512 alone. A program
//     has them only if a mathlib.Set says so; NEON takes the programs of AVX2.
//   - Widen and Narrow of F16 need no extension on arm64.
package lane

import "fmt"

// A Type is what one lane holds.
type Type uint8

// The types. A lane of a mask is true or false; its type says how wide the lanes
// are beside which it selects. A truth value in memory is a U8 of 0 or 1.
const (
	Invalid Type = iota
	F32
	F64
	I8
	I16
	I32
	I64
	U8
	F16 // only moved, widened to F32 and narrowed from it
	Mask8
	Mask16
	Mask32
	Mask64
)

var typeInfo = [...]struct {
	name string
	size int
}{{"invalid", 0}, {"f32", 4}, {"f64", 8}, {"i8", 1}, {"i16", 2}, {"i32", 4}, {"i64", 8}, {"u8", 1}, {"f16", 2},
	{"mask8", 1}, {"mask16", 2}, {"mask32", 4}, {"mask64", 8}}

func (t Type) String() string { return typeInfo[t].name }

// Size is the width of a lane in bytes.
func (t Type) Size() int { return typeInfo[t].size }

// IsFloat reports whether t is F32 or F64.
func (t Type) IsFloat() bool { return t == F32 || t == F64 }

// IsInt reports whether t is an integer type.
func (t Type) IsInt() bool { return t >= I8 && t <= U8 }

// IsMask reports whether t is a mask.
func (t Type) IsMask() bool { return t >= Mask8 }

// Mask is the mask type of t's width.
func (t Type) Mask() Type {
	switch t.Size() {
	case 1:
		return Mask8
	case 2:
		return Mask16
	case 4:
		return Mask32
	case 8:
		return Mask64
	}
	return Invalid
}

// Int is the signed integer type of t's width.
func (t Type) Int() Type {
	switch t.Size() {
	case 1:
		return I8
	case 2:
		return I16
	case 4:
		return I32
	case 8:
		return I64
	}
	return Invalid
}

// ones is the value with all of a type's bits set, or a mask's true.
func (t Type) ones() uint64 {
	if t.IsMask() {
		return 1
	}
	return ^uint64(0) >> (64 - 8*t.Size())
}

// A V is a value of the program that made it. The zero V is none: what a method
// returns after misuse, which Prog.Err then describes.
type V int32

// An Op is an operation.
type Op uint8

// The operations, by the methods of Prog that add them.
const (
	OpInvalid Op = iota
	OpArg        // Imm: its index
	OpScalar     // Imm: its index
	OpConst      // Imm: the value's bits
	OpIndex
	OpAdd
	OpSub
	OpMul
	OpDiv
	OpFMA
	OpFNMA
	OpFMS
	OpSqrt
	OpMin
	OpMax
	OpRound // Imm: a Rounding
	OpScale2
	OpGetExp
	OpGetMant // Imm: four times the least result
	OpMinAbs
	OpMinMag
	OpRecip14
	OpRsqrt14
	OpMulU32
	OpAnd
	OpOr
	OpXor
	OpAndNot
	OpShl // Imm: bits
	OpShr
	OpSar
	OpShlV
	OpShrV
	OpSarV
	OpCmp // Imm: a Pred
	OpSelect
	OpFToI
	OpFToITrunc
	OpIToF
	OpBits
	OpWiden
	OpNarrow
	OpMaskTo
	OpFromMask
	OpLookup // Imm: the table's index
	OpCall   // Name: the function
	numOps
)

var opNames = [numOps]string{"invalid", "arg", "scalar", "const", "index", "add", "sub", "mul", "div",
	"fma", "fnma", "fms", "sqrt", "min", "max", "round", "scale2", "getexp", "getmant", "minabs", "minmag", "recip14", "rsqrt14", "mulu32", "and", "or", "xor", "andnot",
	"shl", "shr", "sar", "shlv", "shrv", "sarv", "cmp", "select", "ftoi", "ftoitrunc", "itof", "bits",
	"widen", "narrow", "maskto", "frommask", "lookup", "call"}

func (op Op) String() string { return opNames[op] }

// A Rounding is a direction of rounding to an integer.
type Rounding uint8

// The roundings; Nearest takes halves to even.
const (
	Nearest Rounding = iota
	Floor
	Ceil
	Trunc
)

// A Pred is a comparison. Those of floats are false where an operand is NaN, save
// NE and UNO, which are true.
type Pred uint8

// The comparisons. UNO is for floats alone.
const (
	EQ Pred = iota
	NE
	LT
	LE
	GT
	GE
	UNO
)

// A Node is one operation of a program.
type Node struct {
	Op   Op
	Type Type
	Args [3]V // 0 where there are fewer
	Imm  uint64
	Name string
}

// A Prog is a program. The zero value is empty and ready for use. Values exist
// once: an operation repeated on the same values returns the same value.
type Prog struct {
	nodes   []Node // nodes[0] is no value
	memo    map[Node]V
	args    []Type
	scalars []Type
	tables  [][]uint64
	outs    []V
	err     error
}

// Err is the first misuse of the program's methods, or nil.
func (p *Prog) Err() error { return p.err }

// Len is one more than the highest V.
func (p *Prog) Len() int { return len(p.nodes) }

// Node returns the operation that makes v.
func (p *Prog) Node(v V) Node { return p.nodes[v] }

// Type returns the type of v, Invalid if v is none.
func (p *Prog) Type(v V) Type {
	if v <= 0 || int(v) >= len(p.nodes) {
		return Invalid
	}
	return p.nodes[v].Type
}

// Args are the types of the inputs by index; Invalid where none was used.
func (p *Prog) Args() []Type { return p.args }

// Scalars are the types of the scalars by index; Invalid where none was used.
func (p *Prog) Scalars() []Type { return p.scalars }

// Outs are the results.
func (p *Prog) Outs() []V { return p.outs }

// Table is the table that a Lookup's Imm names.
func (p *Prog) Table(i uint64) []uint64 { return p.tables[i] }

// Live reports for each value whether a result depends on it.
func (p *Prog) Live() []bool {
	live := make([]bool, len(p.nodes))
	for _, v := range p.outs {
		live[v] = true
	}
	for i := len(p.nodes) - 1; i > 0; i-- {
		if !live[i] {
			continue
		}
		for _, a := range p.nodes[i].Args {
			if a != 0 {
				live[a] = true
			}
		}
	}
	return live
}

// Weight is the number of operations that results depend on, inputs and
// constants not counted.
func (p *Prog) Weight() int {
	n := 0
	for i, live := range p.Live() {
		if live && p.nodes[i].Op > OpIndex && p.nodes[i].Op != OpBits {
			n++
		}
	}
	return n
}

// fail records misuse and returns no value.
func (p *Prog) fail(op Op, format string, args ...any) V {
	if p.err == nil {
		p.err = fmt.Errorf("lane: %v: %s", op, fmt.Sprintf(format, args...))
	}
	return 0
}

// add returns the value of a node, a new one if there is none like it.
func (p *Prog) add(n Node) V {
	if p.err != nil {
		return 0
	}
	if v, ok := p.memo[n]; ok {
		return v
	}
	if p.memo == nil {
		p.memo = map[Node]V{}
		p.nodes = make([]Node, 1, 16)
	}
	v := V(len(p.nodes))
	p.nodes = append(p.nodes, n)
	p.memo[n] = v
	return v
}

// Rewrite returns a program of the operations that results depend on, where f may
// put others in place of one: it gets the new program and the operation on its
// values, and returns the value to use, or false to keep the operation.
func (p *Prog) Rewrite(f func(to *Prog, n Node) (V, bool)) *Prog {
	out := &Prog{args: p.args, scalars: p.scalars, tables: p.tables, err: p.err}
	to := make([]V, len(p.nodes))
	for i, live := range p.Live() {
		if !live {
			continue
		}
		n := p.nodes[i]
		for k, a := range n.Args {
			n.Args[k] = to[a]
		}
		v, ok := f(out, n)
		if !ok {
			v = out.add(n)
		}
		to[i] = v
	}
	for _, v := range p.outs {
		out.outs = append(out.outs, to[v])
	}
	return out
}
