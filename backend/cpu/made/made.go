// Package made puts loops into the tables of operators whose module was generated without
// assembly: vector code that is compiled from the descriptor when a loop is first called.
// Where that is not possible the portable loop stays in use: no executable memory, no lanes
// for the body, no vector instructions. It knows nothing of schemas.
package made

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/codegen/jit"
	"github.com/sinter-go/sinter/codegen/loops"
	"github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
)

// Install puts loops that are compiled when they are first called into the tables of the
// operators among list that have an expression for each element: element-wise and joint
// ones, reductions and scans. It is to be called once for each operator, before any runs.
func Install(list []*ir.Op) {
	if simd.Active() == simd.Portable {
		return
	}
	for _, op := range list {
		for variant, table := range op.CPU.Elementwise {
			for d := range table {
				if table[d] != nil {
					enter(op, variant, ir.DType(d), &table[d])
				}
			}
		}
		for _, tables := range [][]*[ir.NumDTypes]*ir.ReduceLoops{op.CPU.Reduce, op.CPU.Scan} {
			for variant, table := range tables {
				for d, portable := range table {
					if portable != nil && !fold.Ours(portable) {
						table[d] = lateFold(op, variant, ir.DType(d), portable)
					}
				}
			}
		}
	}
}

// enter puts a loop into an entry of a table that is compiled by its first call, and beside
// it what is compiled when it is first asked for. All calls give the same: what comes
// meanwhile waits, for functions like exp differ in the last place from the portable ones.
func enter(op *ir.Op, variant int, d ir.DType, entry *ir.Loop) {
	portable := *entry
	code := sync.OnceValue(func() *Code {
		c, err := Compile(op, variant, d, simd.Active())
		if err != nil {
			return &Code{Main: portable}
		}
		return c
	})
	*entry = func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) { code().Main(n, p, s, index) }
	if op.Kind != ir.Elementwise || d != ir.Float32 {
		return // nobody asks for what stands beside others
	}
	late := func(get func(c *Code) ir.Loop) func() ir.Loop {
		return sync.OnceValue(func() ir.Loop { return get(code()) })
	}
	vector.Enter(entry, vector.Beside{Past: late((*Code).Past), Float16: late((*Code).Float16), BFloat16: late((*Code).BFloat16)})
}

// sets are the instruction sets of a level, the best first.
func sets(level simd.Level) []x86.ISA {
	switch {
	case level >= simd.AVX512:
		return []x86.ISA{x86.AVX512, x86.AVX2}
	case level >= simd.AVX2:
		return []x86.ISA{x86.AVX2}
	}
	return nil
}

// A Code is the loop of a body for a compute dtype, and what others are compiled from.
type Code struct {
	Main ir.Loop
	body loops.Body
	set  loops.Set
}

// Past compiles the loop past the caches, Float16 and BFloat16 those over operands and
// results that are stored so; nil where there is none.
func (c *Code) Past() ir.Loop     { return c.other(c.set.Past) }
func (c *Code) Float16() ir.Loop  { return c.other(c.set.Float16) }
func (c *Code) BFloat16() ir.Loop { return c.other(c.set.BFloat16) }

func (c *Code) other(l *loops.Loop) ir.Loop {
	if l == nil {
		return nil
	}
	loop, err := Loop(l, c.body)
	if err != nil {
		return nil
	}
	return loop
}

// Compile makes the loop of a body for a compute dtype and a level of instructions. The
// error says what stands in the way.
func Compile(op *ir.Op, variant int, d ir.DType, level simd.Level) (*Code, error) {
	err := fmt.Errorf("%s: no vector code for level %s", op.Name, level)
	for _, isa := range sets(level) {
		var c Code
		if c.body, err = Body(op, variant, d); err != nil {
			return nil, err
		}
		if c.set, err = c.body.Loops(isa); err != nil {
			continue
		}
		if c.Main, err = Loop(c.set.Main, c.body); err == nil {
			return &c, nil
		}
	}
	return nil, fmt.Errorf("%s of %s: %w", op.Name, d, err)
}

// Body returns an element-wise body as package loops has it.
func Body(op *ir.Op, variant int, d ir.DType) (loops.Body, error) {
	check := func(t ir.DType) (*expr.Graph, error) {
		typed, err := body.Of(op, variant, t)
		if err != nil {
			return nil, err
		}
		return typed.Expr, nil
	}
	g, err := check(d)
	if err != nil {
		return loops.Body{}, err
	}
	b := loops.Body{Graph: g, Check: check, Inputs: lower.Inputs(g)}
	for _, o := range op.In {
		if o.Fixed.IsFloat() {
			return b, nil
		}
	}
	for _, half := range []ir.DType{ir.Float16, ir.BFloat16} {
		if op.DTypes.Has(half) && !op.Out[0].DType.IsFloat() {
			b.Halves = append(b.Halves, half)
		}
	}
	return b, nil
}

// mostScalars bounds the scalars of a loop, which are passed on the stack.
const mostScalars = 16

// Loop makes the function of a loop of a body, with the type of ir.Loop.
func Loop(l *loops.Loop, b loops.Body) (ir.Loop, error) {
	fns, err := l.Functions()
	if err != nil {
		return nil, err
	}
	fn, err := l.Func("loop")
	if err != nil {
		return nil, err
	}
	list, err := load(fns, fn)
	if err != nil {
		return nil, err
	}
	f := list[0]
	each := l.Each
	switch n := l.Scalars(); {
	case n > mostScalars:
		return nil, fmt.Errorf("%d scalars, more than %d: %w", n, mostScalars, x86.ErrUnsupported)
	case n == 0 && each == 1:
		return f.Loop, nil
	case n == 0:
		return func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) { f.Loop(each*n, p, s, index) }, nil
	}
	read := make(scalars, l.Scalars())
	for _, in := range b.Inputs {
		if in.Scalar && in.Index < len(read) {
			read[in.Index] = scalarBits(b.Graph.KindDType(in.Kind))
		}
	}
	return func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
		var bits [mostScalars]uint64
		read.into(&bits, s)
		f.ScalarLoop(each*n, p, &bits[0], index)
	}, nil
}

// load makes functions executable, with the subroutines that they call.
func load(subroutines []*x86.Func, fns ...*x86.Func) ([]jit.Func, error) {
	block, err := jit.Load(append(subroutines, fns...)...)
	if err != nil {
		return nil, err
	}
	list := make([]jit.Func, len(fns))
	for i, fn := range fns {
		if list[i], err = block.Func(strings.TrimPrefix(fn.Name, "·")); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// scalars are how the scalar arguments are handed to a function, nil of those that it does
// not read.
type scalars []func(ir.Scalar) uint64

func (l scalars) into(bits *[mostScalars]uint64, s []ir.Scalar) {
	for i, f := range l {
		if f != nil {
			bits[i] = f(s[i])
		}
	}
}

// scalarBits is how a scalar of a dtype is handed to a function.
func scalarBits(d ir.DType) func(ir.Scalar) uint64 {
	switch d {
	case ir.Bool:
		return vector.Bool
	case ir.Float32:
		return vector.Float32
	case ir.Float64:
		return vector.Float64
	case ir.Complex64:
		return vector.Complex64
	}
	return vector.Int
}
