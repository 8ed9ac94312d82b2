// Package loops says of which programs over lanes an element-wise body is made for an
// instruction set: the loop over its compute dtype, and what stands beside it. The
// generator makes assembly of them, running programs machine code. It knows expressions,
// and nothing of operators, of files or of memory.
package loops

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/codegen/mathlib"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// A Body is an element-wise body for one compute dtype.
type Body struct {
	Graph  *expr.Graph
	Check  func(ir.DType) (*expr.Graph, error) // checks the expression for another dtype
	Inputs []lower.Input                       // where its names are read
	Halves []ir.DType                          // the 16-bit floats that operands and results may be stored as
	In     []ir.DType                          // of a body with operands or results of 16 bits beside others: what all are stored as
	Out    []ir.DType
	Fused  bool // of several operators: their loop is made when it is needed, and is no part of the module
	Narrow int  // operands of a float64 body from this one on may be stored as float32; 0 for none
}

// A Loop is what one function is made of: a program, or a product of complex numbers.
type Loop struct {
	ISA     x86.ISA // perhaps a lesser one than asked for, where that is as fast
	Prog    *lane.Prog
	Product *x86.Product
	Past    bool // past the caches
	Each    int  // elements of the function that are one of the body
	Chain   bool // its code is x86.Chain's
	Shared  int  // operands behind the first that are scalars, of one element for all
}

// A Set is what a body has for an instruction set; nil where there is nothing.
type Set struct {
	Main, Past        *Loop
	Float16, BFloat16 *Loop // with operands and results stored so; one for both where it may be
	Float32           *Loop // with the last operands stored so
	Shared            *Loop // with operands behind the first that have one element for all
	Ports             *Loop // with operands and results stored as the body's In and Out
}

// mathSets are the sets of functions by instruction set.
var mathSets = [...]mathlib.Set{x86.AVX2: mathlib.AVX2, x86.AVX512: mathlib.AVX512}

// Key is a text that loops have in common if one function serves them.
func (l *Loop) Key() string {
	if l.Product != nil {
		return fmt.Sprintf("product %+v %v", *l.Product, l.ISA)
	}
	past := ""
	if l.Past {
		past = "past "
	}
	if l.Chain {
		past += "chain "
	}
	return past + l.ISA.String() + lower.Key(l.Prog)
}

// Func makes the function.
func (l *Loop) Func(name string) (*x86.Func, error) {
	switch {
	case l.Product != nil:
		return x86.ComplexProduct(name, *l.Product, l.ISA), nil
	case l.Past:
		return x86.Stream(name, l.Prog, l.ISA)
	}
	if l.Chain {
		return x86.Chain(name, l.Prog, l.ISA)
	}
	return x86.Loop(name, l.Prog, l.ISA)
}

// Scalars is how many scalars the function reads.
func (l *Loop) Scalars() int {
	if l.Prog == nil {
		return 0
	}
	return len(l.Prog.Scalars())
}

// Loops returns what is to be made for an instruction set. The error says which part of
// the body has no lanes.
func (b *Body) Loops(isa x86.ISA) (Set, error) {
	if l := b.complexLoop(isa); l != nil {
		return Set{Main: l}, nil
	}
	g, each := b.real()
	most := inlined
	if b.Fused {
		most = inlinedFused
	}
	typed, err := program(g, b.Inputs, isa, most)
	if err != nil {
		return Set{}, err
	}
	set := Set{Main: &Loop{ISA: isa, Prog: lower.Neutral(typed), Each: each}}
	if p := lower.Shared(set.Main.Prog); p != nil && each == 1 && len(typed.Args()) > 2 && !calls(p) && p.Weight() <= shared {
		set.Shared = &Loop{ISA: isa, Prog: p, Each: 1, Shared: len(typed.Args()) - 1}
	}
	if b.Graph.T == ir.Float32 {
		set.Past = &Loop{ISA: isa, Prog: set.Main.Prog, Past: true, Each: each}
		set.stored(b, typed)
	}
	if b.In != nil && each == 1 {
		set.Ports = &Loop{ISA: isa, Prog: lower.StoredAs(typed, func(i int) ir.DType { return b.In[i] }, func(i int) ir.DType { return b.Out[i] }), Each: 1}
	}
	if b.Narrow > 0 && b.Graph.T == ir.Float64 {
		set.Float32 = &Loop{ISA: isa, Prog: lower.Narrow(typed, b.Narrow), Each: 1}
	}
	if isa == x86.AVX512 && streams(set.Main.Prog) {
		if typed, err := Program(g, b.Inputs, x86.AVX2); err == nil {
			set.Main = &Loop{ISA: x86.AVX2, Prog: lower.Neutral(typed), Each: each}
		}
	}
	return set, nil
}

// stored is the most operations of a loop that has others for operands of 16 bits: to
// convert them apart would be most of the work.
const stored = 2

// stored adds the loops over operands and results of 16 bits.
func (s *Set) stored(b *Body, p *lane.Prog) {
	signs := lower.Signs(p)
	if p.Weight() > stored && signs == nil || calls(p) || len(p.Args()) == 0 {
		return
	}
	for _, d := range b.Halves {
		prog := signs
		if signs == nil {
			prog = lower.Stored(p, d)
		}
		l := &Loop{ISA: s.Main.ISA, Prog: prog, Each: 1}
		if d == ir.Float16 {
			s.Float16 = l
		} else {
			s.BFloat16 = l
		}
	}
}

// shared is the most operations of a loop of three or more operands that has another for operands
// of one element each: to read these as often as the first would be most of the work.
const shared = 8

// calls reports whether a program calls functions.
func calls(p *lane.Prog) bool { return len(called(p)) > 0 }

// inlined is the most operations of a loop whose functions are put in place of their
// calls, which is faster, but takes room. Of operators that are computed one after the other it
// may have more: calls wait for each other, and there is one such loop.
const (
	inlined      = 90
	inlinedFused = 200
)

// Program returns the program of a graph over the types of its elements.
func Program(g *expr.Graph, inputs []lower.Input, isa x86.ISA) (*lane.Prog, error) {
	return program(g, inputs, isa, inlined)
}

// program is Program with functions in place of their calls in loops of at most so many operations.
func program(g *expr.Graph, inputs []lower.Input, isa x86.ISA, most int) (*lane.Prog, error) {
	prog, err := lower.Program(g, inputs, caller(isa, false))
	if err != nil {
		return nil, err
	}
	if f, ok := mathlib.Idiom(prog); ok {
		return f.Prog(mathSets[isa])
	}
	if some, ok := mathlib.Idioms(prog); ok {
		return some, nil
	}
	if whole, err := lower.Program(g, inputs, caller(isa, true)); err == nil && whole.Weight() <= most {
		prog = whole
	}
	return prog, nil
}

// caller adds functions to programs, calls of them or, where inline asks for it and
// it is as fast, what they do.
func caller(isa x86.ISA, inline bool) lower.Caller {
	return func(p *lane.Prog, name string, args ...lane.V) lane.V {
		if name == lower.Quotient {
			if isa == x86.AVX2 { // whose conversions cost more than the processor's division
				return 0
			}
			return lower.LongQuotient(p, args[0], args[1])
		}
		f, ok := mathlib.Lookup(name, p.Type(args[0]))
		if !ok {
			return 0
		}
		if inline && f.Inlinable() {
			if sub, err := f.Prog(mathSets[isa]); err == nil {
				return p.Inline(sub, args...)[0]
			}
		}
		return p.Call(name, args...)
	}
}

// streams reports whether a loop does next to nothing with what it reads: vectors of
// 256 bits then go through the second cache faster than those of 512.
func streams(p *lane.Prog) bool {
	if p.Weight() > 1 || len(p.Args()) == 0 {
		return false
	}
	for i, live := range p.Live() {
		switch n := p.Node(lane.V(i)); {
		case !live || n.Op <= lane.OpIndex:
		case n.Op == lane.OpAnd || n.Op == lane.OpOr || n.Op == lane.OpXor:
		case n.Op > lane.OpSqrt || n.Op == lane.OpMul && n.Type.IsInt():
			return false
		}
	}
	return true
}

// Unsupported reports whether an error says that an instruction set cannot do what a
// program asks for, rather than that something is wrong.
func Unsupported(err error) bool { return errors.Is(err, x86.ErrUnsupported) }
