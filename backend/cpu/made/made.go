// Package made puts loops into the tables of operators whose module was generated without
// assembly: vector code that is compiled from the descriptor when a loop is first called.
// Where that is not possible the portable loop stays in use: no executable memory, no lanes
// for the body, no vector instructions. It knows nothing of schemas.
package made

import (
	"fmt"
	"sync"
	"unsafe"

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
// element-wise operators among list. It is to be called once for each operator, before any
// runs.
func Install(list []*ir.Op) {
	if simd.Active() == simd.Portable {
		return
	}
	for _, op := range list {
		for variant, table := range op.CPU.Elementwise {
			for d, portable := range table {
				if portable != nil {
					table[d] = late(op, variant, ir.DType(d), portable)
				}
			}
		}
	}
}

// late returns a loop that is compiled by its first call. All calls give the same: what
// comes meanwhile waits, for functions like exp differ in the last place from the portable
// ones.
func late(op *ir.Op, variant int, d ir.DType, portable ir.Loop) ir.Loop {
	loop := sync.OnceValue(func() ir.Loop {
		if l, err := Compile(op, variant, d, simd.Active()); err == nil {
			return l
		}
		return portable
	})
	return func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) { loop()(n, p, s, index) }
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

// Compile makes the loop of a body for a compute dtype and a level of instructions. The
// error says what stands in the way.
func Compile(op *ir.Op, variant int, d ir.DType, level simd.Level) (ir.Loop, error) {
	err := fmt.Errorf("%s: no vector code for level %s", op.Name, level)
	for _, isa := range sets(level) {
		var b loops.Body
		if b, err = Body(op, variant, d); err != nil {
			return nil, err
		}
		var set loops.Set
		if set, err = b.Loops(isa); err != nil {
			continue
		}
		var loop ir.Loop
		if loop, err = Loop(set.Main, b); err == nil {
			return loop, nil
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
	block, err := jit.Load(append(fns, fn)...)
	if err != nil {
		return nil, err
	}
	f, err := block.Func("loop" + l.ISA.String())
	if err != nil {
		return nil, err
	}
	each := l.Each
	switch n := l.Scalars(); {
	case n > mostScalars:
		return nil, fmt.Errorf("%d scalars, more than %d: %w", n, mostScalars, x86.ErrUnsupported)
	case n == 0 && each == 1:
		return f.Loop, nil
	case n == 0:
		return func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) { f.Loop(each*n, p, s, index) }, nil
	}
	bits := make([]func(ir.Scalar) uint64, l.Scalars())
	for _, in := range b.Inputs {
		if in.Scalar && in.Index < len(bits) {
			bits[in.Index] = scalarBits(b.Graph.KindDType(in.Kind))
		}
	}
	return func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
		var list [mostScalars]uint64
		for i, f := range bits {
			if f != nil {
				list[i] = f(s[i])
			}
		}
		f.ScalarLoop(each*n, p, &list[0], index)
	}, nil
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
