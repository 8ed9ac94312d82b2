package expr

import (
	"fmt"
	"math/cmplx"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/num"
)

// A Number is a value during interpretation: the field of its kind is set.
// Real floating-point values are of type F.
type Number[F any] struct {
	Float   F
	Int     int64
	Bool    bool
	Complex complex128
}

// Arith is the real arithmetic an interpretation uses. It decides how wide the
// oracle is.
type Arith[F any] interface {
	FromFloat(f float64) F
	FromInt(i int64) F
	ToInt(f F) int64     // truncated toward zero, saturating; NaN gives 0
	ToFloat(f F) float64 // rounded once
	// Func returns a function of the language, named as in the schema, or an
	// operator (add sub mul div rem neg); nil means it does not know it.
	Func(fn string) func(args ...F) F
	// CallComplex computes a function of complex numbers, rounded once; false means it
	// does not know it.
	CallComplex(fn string, args []complex128) (complex128, bool)
	// Predicate returns one of lt le gt ge eq ne, isnan isinf isfinite signbit.
	Predicate(fn string) func(args ...F) bool
}

// Interpret evaluates a graph of one expression once. env gives the values of operands,
// parameters and index by name.
func Interpret[F any](g *Graph, a Arith[F], env map[string]Number[F]) (n Number[F], err error) {
	values := Bindings[F]{}
	for name, v := range env {
		*values.Of(name) = v
	}
	all, err := NewInterpreter(g, a, values).Values()
	if err == nil {
		n = all[0]
	}
	return n, err
}

// Bindings have the values of operands, parameters and index by name.
type Bindings[F any] map[string]*Number[F]

// Of returns where the value of a name is, whether or not it had one before.
func (b Bindings[F]) Of(name string) *Number[F] {
	n := b[name]
	if n == nil {
		n = new(Number[F])
		b[name] = n
	}
	return n
}

// An Interpreter computes a graph for one element after the other, value after value in the
// graph's order, over real arithmetic a. Integers of the compute dtype wrap to its width;
// complex numbers are complex128. It shares no code with what is emitted, and its floats are
// whatever F is, which may be wider than any dtype: so it can be the witness for all other
// ways to compute.
type Interpreter[F any] struct {
	g      *Graph
	a      Arith[F]
	env    Bindings[F]
	index  *Number[F] // the element's position
	calls  []found[F] // by value: what it takes to compute it again
	vals   []Number[F]
	out    []Number[F] // of the roots
	args   []Number[F] // of the call that is computed, and these as real numbers
	floats []F
}

// found is what a value is computed from, looked up when it is first needed: at most one of these.
type found[F any] struct {
	constant  bool // vals has it already
	name      *Number[F]
	fn        func(args ...F) F // of floats
	predicate func(args ...F) bool
}

// NewInterpreter makes an interpreter of g, which takes the values of names from env anew
// for each element.
func NewInterpreter[F any](g *Graph, a Arith[F], env Bindings[F]) *Interpreter[F] {
	n := len(g.Values)
	return &Interpreter[F]{
		g: g, a: a, env: env, index: env.Of("index"),
		calls: make([]found[F], n), vals: make([]Number[F], n), out: make([]Number[F], len(g.Roots)),
	}
}

// Values returns the values of the graph's roots for what is in the environment now. The
// next call writes over them.
func (in *Interpreter[F]) Values() ([]Number[F], error) {
	// Values are in an order in which operands come before their users, so one pass
	// computes all. Both sides of a choice are computed: nothing here can trap.
	for i, v := range in.g.Values {
		switch c := &in.calls[i]; {
		case c.constant:
		case c.name != nil:
			in.vals[i] = *c.name
		case c.fn != nil:
			in.vals[i].Float = c.fn(in.reals(v)...)
		case c.predicate != nil:
			in.vals[i].Bool = c.predicate(in.reals(v)...)
		default:
			var err error
			if in.vals[i], err = in.value(i, v); err != nil {
				return nil, err
			}
		}
	}
	for i, root := range in.g.Roots {
		in.out[i] = in.vals[root.Order]
	}
	return in.out, nil
}

func (in *Interpreter[F]) value(i int, v *Value) (Number[F], error) {
	switch v.Op {
	case OpConst:
		in.calls[i].constant = true
		return in.literal(v), nil
	case OpName:
		if in.calls[i].name = in.env[v.Name]; in.calls[i].name == nil {
			return Number[F]{}, fmt.Errorf("internal error: no value for %s", v.Name)
		}
		return *in.calls[i].name, nil
	}
	in.args = in.args[:0]
	for _, a := range v.Args {
		in.args = append(in.args, in.vals[a.Order])
	}
	return in.call(v, in.args)
}

func (in *Interpreter[F]) literal(v *Value) Number[F] {
	switch in.g.KindDType(v.Kind).Category() {
	case ir.CategoryBool:
		return Number[F]{Bool: v.Const.Bool()}
	case ir.CategoryInt:
		return Number[F]{Int: v.Const.Int()}
	case ir.CategoryComplex:
		return Number[F]{Complex: complex(v.Const.Float(), 0)}
	}
	return Number[F]{Float: in.a.FromFloat(v.Const.Float())}
}

func (in *Interpreter[F]) call(v *Value, args []Number[F]) (Number[F], error) {
	from := in.g.KindDType(v.Args[0].Kind)
	switch v.Name {
	case "where":
		if args[0].Bool {
			return args[1], nil
		}
		return args[2], nil
	case "land":
		return Number[F]{Bool: args[0].Bool && args[1].Bool}, nil
	case "lor":
		return Number[F]{Bool: args[0].Bool || args[1].Bool}, nil
	case "lnot":
		return Number[F]{Bool: !args[0].Bool}, nil
	case "int", "cast", "cast_real":
		return in.convert(args[0], from, in.g.KindDType(v.Kind)), nil
	case "uniform", "normal":
		return in.draw(v.Name, args[0].Int, args[1].Int), nil
	case "random_bits":
		return Number[F]{Int: num.RandomBits(args[0].Int, args[1].Int, in.index.Int)}, nil
	case "complex":
		return Number[F]{Complex: complex(in.a.ToFloat(args[0].Float), in.a.ToFloat(args[1].Float))}, nil
	}
	switch from.Category() {
	case ir.CategoryBool:
		switch v.Name {
		case "eq":
			return Number[F]{Bool: args[0].Bool == args[1].Bool}, nil
		case "ne":
			return Number[F]{Bool: args[0].Bool != args[1].Bool}, nil
		}
	case ir.CategoryInt:
		return in.integer(v, args, from)
	case ir.CategoryComplex:
		return in.complex(v, args)
	case ir.CategoryFloat:
		return in.real(v)
	}
	return Number[F]{}, fmt.Errorf("internal error: %s of %s", v.Name, from)
}

// draw returns a random number of the compute dtype. Uniform ones have as many digits as it.
func (in *Interpreter[F]) draw(fn string, seed, offset int64) Number[F] {
	if in.g.T.IsComplex() {
		draw := num.CNormal[complex128]
		if fn == "uniform" {
			draw = num.CUniform[complex128]
			if in.g.T == ir.Complex64 {
				draw = func(seed, offset, index int64) complex128 {
					return complex128(num.CUniform[complex64](seed, offset, index))
				}
			}
		}
		return Number[F]{Complex: draw(seed, offset, in.index.Int)}
	}
	f := num.Normal[float64](seed, offset, in.index.Int)
	if fn == "uniform" {
		f = num.Uniform[float64](seed, offset, in.index.Int)
		if in.g.T == ir.Float32 {
			f = float64(num.Uniform[float32](seed, offset, in.index.Int))
		}
	}
	return Number[F]{Float: in.a.FromFloat(f)}
}

// convert changes the category of a number. Only integers are narrowed to the dtype here;
// floats stay as wide as F is, and whoever stores them rounds once.
func (in *Interpreter[F]) convert(n Number[F], from, to ir.DType) Number[F] {
	var i int64
	var f F
	switch from.Category() {
	case ir.CategoryBool:
		if n.Bool {
			i = 1
		}
		f = in.a.FromInt(i)
	case ir.CategoryInt:
		i, f = n.Int, in.a.FromInt(n.Int)
	case ir.CategoryFloat:
		i, f = in.a.ToInt(n.Float), n.Float
	}
	switch to.Category() {
	case ir.CategoryBool:
		return Number[F]{Bool: i != 0}
	case ir.CategoryInt:
		return Number[F]{Int: Wrap(i, to)}
	case ir.CategoryComplex:
		return Number[F]{Complex: complex(in.a.ToFloat(f), 0)}
	}
	return Number[F]{Float: f}
}

// Wrap reduces i to the width of the integer dtype t.
func Wrap(i int64, t ir.DType) int64 {
	switch t {
	case ir.Uint8:
		return int64(uint8(i))
	case ir.Int8:
		return int64(int8(i))
	case ir.Int16:
		return int64(int16(i))
	case ir.Int32:
		return int64(int32(i))
	}
	return i
}

// reals returns the arguments of v, which are real numbers.
func (in *Interpreter[F]) reals(v *Value) []F {
	in.floats = in.floats[:0]
	for _, a := range v.Args {
		in.floats = append(in.floats, in.vals[a.Order].Float)
	}
	return in.floats
}

func (in *Interpreter[F]) real(v *Value) (Number[F], error) {
	fs, c := in.reals(v), &in.calls[v.Order]
	if v.Kind == BoolKind {
		if c.predicate = in.a.Predicate(v.Name); c.predicate == nil {
			return Number[F]{}, fmt.Errorf("internal error: the interpreter's arithmetic has no predicate %s", v.Name)
		}
		return Number[F]{Bool: c.predicate(fs...)}, nil
	}
	switch v.Name {
	case "imag":
		return Number[F]{Float: in.a.FromInt(0)}, nil
	case "angle":
		return Number[F]{Float: in.angle(fs[0])}, nil
	}
	if c.fn = in.a.Func(v.Name); c.fn == nil {
		return Number[F]{}, fmt.Errorf("internal error: the interpreter's arithmetic has no %s", v.Name)
	}
	return Number[F]{Float: c.fn(fs...)}, nil
}

// angle is 0 for a real number that is not negative, else pi, and NaN for NaN.
func (in *Interpreter[F]) angle(f F) F {
	zero := in.a.FromInt(0)
	switch {
	case in.a.Predicate("isnan")(f):
		return f
	case in.a.Predicate("lt")(f, zero):
		return in.a.Func("atan2")(zero, in.a.FromInt(-1))
	}
	return zero
}

func (in *Interpreter[F]) complex(v *Value, args []Number[F]) (Number[F], error) {
	x := args[0].Complex
	var y complex128
	if len(args) > 1 {
		y = args[1].Complex
	}
	switch v.Name {
	case "add":
		return Number[F]{Complex: x + y}, nil
	case "sub":
		return Number[F]{Complex: x - y}, nil
	case "mul":
		return Number[F]{Complex: x * y}, nil
	case "div":
		return Number[F]{Complex: x / y}, nil
	case "neg":
		return Number[F]{Complex: -x}, nil
	case "conj":
		return Number[F]{Complex: cmplx.Conj(x)}, nil
	case "eq":
		return Number[F]{Bool: x == y}, nil
	case "ne":
		return Number[F]{Bool: x != y}, nil
	case "isnan":
		return Number[F]{Bool: real(x) != real(x) || imag(x) != imag(x)}, nil
	case "isinf":
		return Number[F]{Bool: cmplx.IsInf(x)}, nil
	case "isfinite":
		return Number[F]{Bool: !cmplx.IsInf(x) && !cmplx.IsNaN(x)}, nil
	case "abs":
		return Number[F]{Float: in.a.FromFloat(cmplx.Abs(x))}, nil
	case "angle":
		return Number[F]{Float: in.a.FromFloat(cmplx.Phase(x))}, nil
	case "real":
		return Number[F]{Float: in.a.FromFloat(real(x))}, nil
	case "imag":
		return Number[F]{Float: in.a.FromFloat(imag(x))}, nil
	}
	of := []complex128{x, y}[:len(args)]
	if f, ok := in.a.CallComplex(v.Name, of); ok {
		return Number[F]{Complex: f}, nil
	}
	return Number[F]{}, fmt.Errorf("internal error: the interpreter's arithmetic has no complex %s", v.Name)
}
