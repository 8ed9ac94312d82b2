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
	// Call computes a function of the language, named as in the schema, or an
	// operator (add sub mul div rem neg); false means it does not know it.
	Call(fn string, args []F) (F, bool)
	// CallComplex computes a function of complex numbers, rounded once; false means it
	// does not know it.
	CallComplex(fn string, args []complex128) (complex128, bool)
	// Test computes a predicate: lt le gt ge eq ne, isnan isinf isfinite signbit.
	Test(fn string, args []F) bool
}

// Interpret is InterpretAll of a graph of one expression.
func Interpret[F any](g *Graph, a Arith[F], env map[string]Number[F]) (n Number[F], err error) {
	all, err := InterpretAll(g, a, env)
	if err == nil {
		n = all[0]
	}
	return n, err
}

// InterpretAll evaluates g one value at a time over real arithmetic a. Integers of
// the compute dtype wrap to its width; complex numbers are complex128. env gives
// the values of operands, parameters and index by name.
func InterpretAll[F any](g *Graph, a Arith[F], env map[string]Number[F]) ([]Number[F], error) {
	// Values are in an order in which operands come before their users, so one pass
	// computes all. Both sides of a choice are computed: nothing here can trap.
	in := interp[F]{g: g, a: a, position: env["index"].Int, vals: make([]Number[F], len(g.Values))}
	for i, v := range g.Values {
		var err error
		if in.vals[i], err = in.value(v, env); err != nil {
			return nil, err
		}
	}
	out := make([]Number[F], len(g.Roots))
	for i, root := range g.Roots {
		out[i] = in.vals[root.Order]
	}
	return out, nil
}

// An interp computes a graph for one element, value after value in the graph's order. It
// shares no code with what is emitted, and its floats are whatever F is, which may be wider
// than any dtype: so it can be the witness for all other ways to compute.
type interp[F any] struct {
	g        *Graph
	a        Arith[F]
	position int64 // the element's index
	vals     []Number[F]
}

func (in *interp[F]) value(v *Value, env map[string]Number[F]) (Number[F], error) {
	switch v.Op {
	case OpConst:
		return in.constant(v), nil
	case OpName:
		n, ok := env[v.Name]
		if !ok {
			return n, fmt.Errorf("internal error: no value for %s", v.Name)
		}
		return n, nil
	}
	args := make([]Number[F], len(v.Args))
	for i, a := range v.Args {
		args[i] = in.vals[a.Order]
	}
	return in.call(v, args)
}

func (in *interp[F]) constant(v *Value) Number[F] {
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

func (in *interp[F]) call(v *Value, args []Number[F]) (Number[F], error) {
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
		return Number[F]{Int: num.RandomBits(args[0].Int, args[1].Int, in.position)}, nil
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
		return in.real(v, args)
	}
	return Number[F]{}, fmt.Errorf("internal error: %s of %s", v.Name, from)
}

// draw returns a random number of the compute dtype. Uniform ones have as many digits as it.
func (in *interp[F]) draw(fn string, seed, offset int64) Number[F] {
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
		return Number[F]{Complex: draw(seed, offset, in.position)}
	}
	f := num.Normal[float64](seed, offset, in.position)
	if fn == "uniform" {
		f = num.Uniform[float64](seed, offset, in.position)
		if in.g.T == ir.Float32 {
			f = float64(num.Uniform[float32](seed, offset, in.position))
		}
	}
	return Number[F]{Float: in.a.FromFloat(f)}
}

// convert changes the category of a number. Only integers are narrowed to the dtype here;
// floats stay as wide as F is, and whoever stores them rounds once.
func (in *interp[F]) convert(n Number[F], from, to ir.DType) Number[F] {
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

func (in *interp[F]) real(v *Value, args []Number[F]) (Number[F], error) {
	fs := make([]F, len(args))
	for i, a := range args {
		fs[i] = a.Float
	}
	if v.Kind == BoolKind {
		return Number[F]{Bool: in.a.Test(v.Name, fs)}, nil
	}
	switch v.Name {
	case "imag":
		return Number[F]{Float: in.a.FromInt(0)}, nil
	case "angle":
		return Number[F]{Float: in.angle(fs[0])}, nil
	}
	f, ok := in.a.Call(v.Name, fs)
	if !ok {
		return Number[F]{}, fmt.Errorf("internal error: the interpreter's arithmetic has no %s", v.Name)
	}
	return Number[F]{Float: f}, nil
}

// angle is 0 for a real number that is not negative, else pi, and NaN for NaN.
func (in *interp[F]) angle(f F) F {
	zero := in.a.FromInt(0)
	switch {
	case in.a.Test("isnan", []F{f}):
		return f
	case in.a.Test("lt", []F{f, zero}):
		pi, _ := in.a.Call("atan2", []F{zero, in.a.FromInt(-1)})
		return pi
	}
	return zero
}

func (in *interp[F]) complex(v *Value, args []Number[F]) (Number[F], error) {
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
