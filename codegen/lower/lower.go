// Package lower turns checked scalar expressions into programs over lanes, with
// the results that package num gives: to the bit, save for the functions that are
// called. It knows no operators, and nothing of how programs become instructions.
//
// Nothing here depends on the processor but what a Caller adds: whether the quotient of
// int64 has a program, which takes conversions between int64 and float64. NEON has them.
package lower

import (
	"fmt"

	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// An Input says where a program reads a name of the expression.
type Input struct {
	Name   string
	Kind   expr.Kind
	Scalar bool // the argument at Index, not the operand
	Index  int
}

// A Caller adds a function that is no operation of lanes to a program: one of floats,
// or Quotient. It returns no value where there is none of that name and type.
type Caller func(p *lane.Prog, name string, args ...lane.V) lane.V

// laneTypes are the types of lanes that hold a dtype. A bool is a byte.
var laneTypes = [ir.NumDTypes]lane.Type{
	ir.Bool: lane.U8, ir.Uint8: lane.U8, ir.Int8: lane.I8, ir.Int16: lane.I16, ir.Int32: lane.I32, ir.Int64: lane.I64,
	ir.Float32: lane.F32, ir.Float64: lane.F64,
}

// Type returns the type of lanes that hold a dtype, lane.Invalid where there is none.
func Type(d ir.DType) lane.Type { return laneTypes[d] }

// Program returns the program whose results are the values of g's roots. Operands and
// results are as in memory, a bool in a byte; a scalar bool is an integer, 0 or 1. The
// error says which part of g has no lanes.
func Program(g *expr.Graph, inputs []Input, call Caller) (*lane.Prog, error) {
	p := &lane.Prog{}
	env := map[string]lane.V{}
	for _, in := range inputs {
		t := laneTypes[g.KindDType(in.Kind)]
		switch {
		case t == lane.Invalid || laneTypes[g.T] == lane.Invalid:
			return nil, fmt.Errorf("%s has no lanes", g.KindDType(in.Kind))
		case in.Name == "index" && in.Kind == expr.IntKind && !in.Scalar && in.Index < 0:
			env[in.Name] = p.Index()
		case in.Scalar && in.Kind == expr.BoolKind && !allBool(g): // as wide as what it is used beside
			env[in.Name] = p.Scalar(in.Index, laneTypes[g.T].Int())
		case in.Scalar:
			env[in.Name] = p.Scalar(in.Index, t)
		default:
			env[in.Name] = p.Arg(in.Index, t)
		}
	}
	vs, err := values(p, g, env, call)
	if err != nil {
		return nil, err
	}
	for _, root := range g.Roots {
		v := vs[root.Order]
		if p.Type(v).IsMask() {
			v = p.FromMask(v)
		}
		p.Out(v)
	}
	return p, p.Err()
}

// values adds all values of g to a program, and returns them in their order.
func values(p *lane.Prog, g *expr.Graph, env map[string]lane.V, call Caller) ([]lane.V, error) {
	if laneTypes[g.T] == lane.Invalid {
		return nil, fmt.Errorf("%s has no lanes", g.T)
	}
	l := &lowerer{Prog: p, g: g, env: env, caller: call, vals: make([]lane.V, len(g.Values)), bytes: allBool(g)}
	for i, v := range g.Values {
		var err error
		if l.vals[i], err = l.value(v); err != nil {
			return nil, err
		}
		if err := p.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	return l.vals, nil
}

// allBool reports whether nothing in g is a number: then bools stay bytes.
func allBool(g *expr.Graph) bool {
	for _, v := range g.Values {
		if v.Kind != expr.BoolKind {
			return false
		}
	}
	return true
}

type lowerer struct {
	*lane.Prog
	g      *expr.Graph
	env    map[string]lane.V
	caller Caller
	vals   []lane.V // by Value.Order
	bytes  bool     // bools are bytes, else masks
}

// typeOf is the type of lanes of kind k; masks are as wide as the compute dtype.
func (l *lowerer) typeOf(k expr.Kind) lane.Type {
	t := laneTypes[l.g.KindDType(k)]
	if k == expr.BoolKind && !l.bytes {
		return laneTypes[l.g.T].Mask()
	}
	return t
}

func (l *lowerer) value(v *expr.Value) (lane.V, error) {
	switch v.Op {
	case expr.OpConst:
		return l.constant(v), nil
	case expr.OpName:
		x, ok := l.env[v.Name]
		if !ok {
			return 0, fmt.Errorf("internal error: no value for %s", v.Name)
		}
		if v.Kind == expr.BoolKind {
			x = l.truth(x)
		}
		return x, nil
	}
	args := make([]lane.V, len(v.Args))
	for i, a := range v.Args {
		args[i] = l.vals[a.Order]
	}
	return l.call(v, args)
}

// truth is a bool that was read, as this expression has bools.
func (l *lowerer) truth(x lane.V) lane.V {
	switch mask := l.Type(x).IsMask(); {
	case mask && l.bytes:
		return l.FromMask(x)
	case !mask && !l.bytes:
		return l.MaskTo(l.ToMask(x), laneTypes[l.g.T])
	}
	return x
}

func (l *lowerer) constant(v *expr.Value) lane.V {
	switch t := l.typeOf(v.Kind); {
	case t.IsFloat():
		return l.ConstF(t, v.Const.Float())
	case v.Kind == expr.BoolKind && v.Const.Bool():
		return l.ConstBits(t, 1)
	case v.Kind == expr.BoolKind:
		return l.ConstBits(t, 0)
	default:
		return l.ConstI(t, v.Const.Int())
	}
}

func (l *lowerer) call(v *expr.Value, args []lane.V) (lane.V, error) {
	from := l.g.KindDType(v.Args[0].Kind)
	switch v.Name {
	case "where":
		return l.where(v, args), nil
	case "land":
		return l.And(args[0], args[1]), nil
	case "lor":
		return l.Or(args[0], args[1]), nil
	case "lnot":
		return l.not(args[0]), nil
	case "cast", "cast_real", "int":
		return l.convert(v, args[0], from)
	case "uniform", "normal", "random_bits":
		return l.random(v, args)
	case expr.RoundedTo(ir.Float16), expr.RoundedTo(ir.BFloat16):
		if l.Type(args[0]) != lane.F32 {
			return 0, fmt.Errorf("%s of %s", v.Name, from)
		}
		if v.Name == expr.RoundedTo(ir.Float16) {
			return Rounded(l.Prog, args[0], ir.Float16), nil
		}
		return Rounded(l.Prog, args[0], ir.BFloat16), nil
	}
	var x lane.V
	switch from.Category() {
	case ir.CategoryBool:
		x = l.boolean(v.Name, args)
	case ir.CategoryInt:
		x = l.integer(v.Name, args)
	case ir.CategoryFloat:
		x = l.float(v.Name, args)
	}
	if x == 0 && l.Err() == nil {
		return 0, fmt.Errorf("%s of %s", v.Name, from)
	}
	return x, nil
}

// not is the complement of a bool.
func (l *lowerer) not(x lane.V) lane.V { return l.Xor(x, l.ConstBits(l.Type(x), 1)) }

func (l *lowerer) boolean(fn string, args []lane.V) lane.V {
	switch fn {
	case "eq":
		return l.not(l.Xor(args[0], args[1]))
	case "ne":
		return l.Xor(args[0], args[1])
	}
	return 0
}

// where selects. Bytes that are bools are selected by their one bit.
func (l *lowerer) where(v *expr.Value, args []lane.V) lane.V {
	c, a, b := args[0], args[1], args[2]
	if v.Kind == expr.BoolKind && l.bytes {
		return l.Xor(b, l.And(c, l.Xor(a, b)))
	}
	return l.Select(c, a, b)
}

// convert is x, which has dtype from, as v's kind.
func (l *lowerer) convert(v *expr.Value, x lane.V, from ir.DType) (lane.V, error) {
	to := l.typeOf(v.Kind)
	t := l.Type(x)
	switch {
	case from == ir.Bool && v.Kind != expr.BoolKind:
		if l.bytes {
			x = l.ToMask(x)
		}
		return l.Select(x, l.number(to, 1), l.number(to, 0)), nil
	case v.Kind == expr.BoolKind && from != ir.Bool:
		return l.truth(l.Cmp(lane.NE, x, l.number(t, 0))), nil
	case t == to:
		return x, nil
	case t.IsInt() && to.IsInt() && t.Size() < to.Size():
		return l.Widen(x, to), nil
	case t.IsInt() && to.IsInt() && t.Size() > to.Size():
		return l.Narrow(x, to), nil
	case t.IsInt() && to.IsInt():
		return l.Bits(x, to), nil
	case t == lane.I64 && to == lane.F64:
		return l.IToF(x), nil
	case t == lane.I64 && to == lane.F32: // of indices and extents, which are exact in between
		return l.Narrow(l.IToF(x), lane.F32), nil
	}
	return 0, fmt.Errorf("%s to %s", from, l.g.KindDType(v.Kind))
}

// number is a constant of a type.
func (l *lowerer) number(t lane.Type, x int64) lane.V {
	if t.IsFloat() {
		return l.ConstF(t, float64(x))
	}
	return l.ConstI(t, x)
}
