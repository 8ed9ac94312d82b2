// Package made makes the loops of operators whose module was generated without assembly:
// vector code that is compiled from the descriptor when a kernel's loops are first looked
// up. Where that is not possible the portable loop stays in use: no executable memory, no
// lanes for the body, no vector instructions. It knows nothing of schemas.
package made

import (
	"fmt"
	"strings"
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

// Loops is Code.Make of package vector: the loops of an element-wise or joint kernel,
// those that do the same otherwise when they are first asked for.
func Loops(k *ir.Kernel, portable vector.Func) vector.Set {
	code := codes.Of(k)
	switch {
	case code.ports != nil:
		return vector.Set{Main: code.later(portable), Ports: func() vector.Func { return code.ports }}
	case code.Main == nil:
		return vector.Set{Main: portable}
	}
	s := vector.Set{Main: code.Main}
	s.Ports = sync.OnceValue(code.Ports)
	if k.Op.Kind == ir.Elementwise && len(k.Op.Out) == 1 && k.Compute == ir.Float32 { // nobody asks for others
		s.Past, s.Float16, s.BFloat16 = sync.OnceValue(code.Past), sync.OnceValue(code.Float16), sync.OnceValue(code.BFloat16)
	}
	return s
}

// codes are the kernels' own loops, without one where there is none.
var codes = newCodes(elements)

func newCodes(p part) *ir.Slot[Code] {
	return ir.NewSlot(func(k *ir.Kernel) *Code {
		c, err := compile(k.Op, p, k.Variant, k.Compute, simd.Active(), k.Op.Tags&ir.TagFused != 0)
		if err != nil {
			return new(Code)
		}
		return c
	})
}

// A part is which expressions of a body loops compute.
type part struct {
	graph func(*body.Body) *expr.Graph
	step  bool // its last operands are the operator's, as float64 perhaps stored as float32
}

// elements are the loops of element-wise and joint operators.
var elements = part{graph: func(b *body.Body) *expr.Graph { return b.Expr }}

// Start, First, Step, Merge and Finish are Code.Make of the parts of a reduction with
// states.
var (
	Start  = maker(part{graph: func(b *body.Body) *expr.Graph { return b.Init }})
	First  = maker(part{graph: func(b *body.Body) *expr.Graph { return b.First }})
	Step   = maker(part{graph: func(b *body.Body) *expr.Graph { return b.Step }, step: true})
	Merge  = maker(part{graph: func(b *body.Body) *expr.Graph { return b.Combine }})
	Finish = maker(part{graph: func(b *body.Body) *expr.Graph { return b.Finish }})
)

func maker(p part) func(*ir.Kernel, vector.Func) vector.Set {
	codes := newCodes(p)
	return func(k *ir.Kernel, portable vector.Func) vector.Set {
		code := codes.Of(k)
		if code.Main == nil {
			return vector.Set{Main: portable}
		}
		s := vector.Set{Main: code.Main}
		if p.step && k.Compute == ir.Float64 && k.Op.Tags&ir.TagWide != 0 {
			s.Float32 = sync.OnceValue(code.Float32)
		}
		return s
	}
}

// sets are the instruction sets of a level, the best first.
var sets = simd.By[[]x86.ISA]{AVX2: []x86.ISA{x86.AVX2}, AVX512: []x86.ISA{x86.AVX512, x86.AVX2}}

// A Code is the loop of a body for a compute dtype, and what others are compiled from.
type Code struct {
	Main  vector.Func
	ports vector.Func // what is mostly called instead of Main, which is not made yet; or nil
	body  loops.Body
	set   loops.Set
}

// later returns a loop that is Main, made at its first call, or portable where that fails.
func (c *Code) later(portable vector.Func) vector.Func {
	main := sync.OnceValue(func() vector.Func {
		if f := c.other(c.set.Main); f != nil {
			return f
		}
		return portable
	})
	return func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) { main()(n, p, s, index) }
}

// Past compiles the loop past the caches, Float16 and BFloat16 those over operands and
// results that are stored so, Float32 that over elements of a fold; nil where there is
// none.
func (c *Code) Past() vector.Func     { return c.other(c.set.Past) }
func (c *Code) Float16() vector.Func  { return c.other(c.set.Float16) }
func (c *Code) BFloat16() vector.Func { return c.other(c.set.BFloat16) }
func (c *Code) Float32() vector.Func  { return c.other(c.set.Float32) }

// Ports compiles the loop over operands and results as the operator's ports say.
func (c *Code) Ports() vector.Func { return c.other(c.set.Ports) }

func (c *Code) other(l *loops.Loop) vector.Func {
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
	return compile(op, elements, variant, d, level, false)
}

// compile is Compile for a part. Of several operators with operands or results of 16 bits, which late
// says, it makes the loop over these alone where there is one.
func compile(op *ir.Op, p part, variant int, d ir.DType, level simd.Level, late bool) (*Code, error) {
	err := fmt.Errorf("%s: no vector code for level %s", op.Name, level)
	for _, isa := range sets.At(level) {
		var c Code
		if c.body, err = bodyOf(op, p, variant, d); err != nil {
			return nil, err
		}
		if c.set, err = c.body.Loops(isa); err != nil {
			continue
		}
		for _, l := range []*loops.Loop{c.set.Main, c.set.Float16, c.set.BFloat16, c.set.Ports} {
			if l != nil {
				l.Chain = op.Tags&ir.TagFused != 0
			}
		}
		if late && c.set.Ports != nil {
			if c.ports, err = Loop(c.set.Ports, c.body); err == nil {
				return &c, nil
			}
		}
		if c.Main, err = Loop(c.set.Main, c.body); err == nil {
			return &c, nil
		}
	}
	return nil, fmt.Errorf("%s of %s: %w", op.Name, d, err)
}

// Body returns an element-wise body as package loops has it.
func Body(op *ir.Op, variant int, d ir.DType) (loops.Body, error) {
	return bodyOf(op, elements, variant, d)
}

func bodyOf(op *ir.Op, p part, variant int, d ir.DType) (loops.Body, error) {
	check := func(t ir.DType) (*expr.Graph, error) {
		typed, err := body.Of(op.Kernel(variant, t))
		if err != nil {
			return nil, err
		}
		return p.graph(typed), nil
	}
	g, err := check(d)
	if err != nil {
		return loops.Body{}, err
	}
	b := loops.Body{Graph: g, Check: check, Inputs: lower.Inputs(g), Fused: op.Tags&ir.TagFused != 0}
	if op.Kind == ir.Reduction {
		if p.step && op.Tags&ir.TagWide != 0 {
			b.Narrow = len(op.Bodies[variant].States) + len(op.Bodies[variant].First)
		}
		return b, nil
	}
	k := op.Kernel(variant, d)
	if k.Converts() {
		for _, p := range k.In {
			b.In = append(b.In, p.DType)
		}
		for _, p := range k.Out {
			b.Out = append(b.Out, p.DType)
		}
	}
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

// Loop makes the function of a loop of a body, with the type of vector.Func.
func Loop(l *loops.Loop, b loops.Body) (vector.Func, error) {
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
