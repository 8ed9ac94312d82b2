package expr

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// Kind is the type of a value inside a checked expression.
type Kind uint8

// The kinds. Real and T are the same type unless the compute dtype is complex.
const (
	BoolKind Kind = iota // bool
	IntKind              // int64
	RealKind             // the real counterpart of the compute dtype
	TKind                // the compute dtype
)

// A Value is one node of a checked expression. Equal values of a Graph are the
// same pointer.
type Value struct {
	Op    NodeOp
	Name  string // OpName: what is read; OpCall: the function
	Args  []*Value
	Const ir.Scalar
	Kind  Kind
	Uses  int // how many values read this one, the root counting as read once
	Order int // position in Graph.Values
}

// A Graph is one expression, or several of one place, checked for one compute dtype: a
// DAG whose Values come in an order in which arguments precede their uses.
type Graph struct {
	T      ir.DType
	Roots  []*Value // the expressions' values, in their order
	Values []*Value
	Env    Env
}

// KindDType returns the dtype of values of kind k.
func (g *Graph) KindDType(k Kind) ir.DType {
	switch k {
	case BoolKind:
		return ir.Bool
	case IntKind:
		return ir.Int64
	case RealKind:
		return g.T.Real()
	}
	return g.T
}

// Indexed reports whether the values depend on where an element is: on its index, by name or for a
// random number.
func (g *Graph) Indexed() bool {
	return slices.ContainsFunc(g.Values, func(v *Value) bool {
		return v.Op == OpName && v.Name == "index" || v.Op == OpCall && draws(v.Name)
	})
}

// Result returns the dtype of the first expression's value, which often is the only one.
func (g *Graph) Result() ir.DType { return g.KindDType(g.Roots[0].Kind) }

// Check types the expression for the compute dtype t, which must be its own
// compute dtype (so not a 16-bit float). Errors are of type *Error.
func (e *Expr) Check(t ir.DType) (*Graph, error) { return CheckAll([]*Expr{e}, t) }

// CheckAll types expressions that may name the same. What they have in common is
// computed once.
func CheckAll(list []*Expr, t ir.DType) (*Graph, error) {
	g, _, err := checkAll(list, t, nil)
	return g, err
}

// checkAll is CheckAll of expressions that are to be of certain kinds, where these are
// given. At is which expression an error is of.
func checkAll(list []*Expr, t ir.DType, want []Kind) (g *Graph, at int, err error) {
	if t == ir.Invalid || t.Compute() != t {
		return nil, 0, &Error{0, fmt.Sprintf("%s is not a compute dtype", t)}
	}
	c := &checker{g: &Graph{T: t, Env: list[0].Env}, seen: map[string]*Value{}, done: map[*Node]*Value{}}
	for i, e := range list {
		root, err := c.value(e.Root)
		if err != nil {
			return nil, i, err
		}
		switch {
		case want != nil:
			v := c.convert(root, want[i])
			if v == nil {
				return nil, i, errorAt(e.Root, "it gives %s, and the state is %s", c.describe(root.Kind), c.describe(want[i]))
			}
			root = v
		case root.Op == OpConst: // a literal alone is a number of the compute dtype
			if v := c.convert(root, c.tKind()); v != nil {
				root = v
			}
		}
		root.Uses++
		c.g.Roots = append(c.g.Roots, root)
	}
	c.prune()
	return c.g, 0, nil
}

// A checker types the nodes of one graph, operands first. Nodes that compute the same
// become one value, also where different expressions hold them, so nothing later has to
// look for common parts. Order among values is that of computation: a value comes after
// its arguments.
type checker struct {
	g    *Graph
	seen map[string]*Value
	done map[*Node]*Value
}

// intern returns the one value with this content.
func (c *checker) intern(v Value) *Value {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s %d %s %d", v.Op, v.Name, v.Kind, v.Const, v.Const.Category())
	if v.Op == OpConst && v.Const.Float() == 0 && math.Signbit(v.Const.Float()) {
		b.WriteString(" -0")
	}
	for _, a := range v.Args {
		fmt.Fprintf(&b, " #%d", a.Order)
	}
	key := b.String()
	if old := c.seen[key]; old != nil {
		return old
	}
	v.Order = len(c.g.Values)
	p := &v
	c.g.Values = append(c.g.Values, p)
	c.seen[key] = p
	return p
}

// prune drops values that conversions and folding left without use, and counts
// uses.
func (c *checker) prune() {
	live := map[*Value]bool{}
	var mark func(v *Value)
	mark = func(v *Value) {
		if live[v] {
			return
		}
		live[v] = true
		for _, a := range v.Args {
			a.Uses++
			mark(a)
		}
	}
	for _, root := range c.g.Roots {
		mark(root)
	}
	c.g.Values = slices.DeleteFunc(c.g.Values, func(v *Value) bool { return !live[v] })
	for i, v := range c.g.Values {
		v.Order = i
	}
}

// tKind is the kind of operands of the compute dtype.
func (c *checker) tKind() Kind {
	if c.g.T == ir.Bool {
		return BoolKind
	}
	return TKind
}

// realKind is the kind of real numbers of the compute dtype: of the parts of a complex
// one, and the compute dtype itself otherwise.
func (c *checker) realKind() Kind {
	if c.g.T.IsComplex() {
		return RealKind
	}
	return c.tKind()
}

// value types a node once. Derivatives share nodes, and without this a graph of n nodes
// would be walked as often as there are paths through it.
func (c *checker) value(n *Node) (*Value, error) {
	if v := c.done[n]; v != nil {
		return v, nil
	}
	v, err := c.make(n)
	if err == nil {
		c.done[n] = v
	}
	return v, err
}

// make types a node that was not seen before, after its arguments.
func (c *checker) make(n *Node) (*Value, error) {
	switch n.Op {
	case OpConst:
		return c.constant(n.Value), nil
	case OpName:
		return c.name(n)
	}
	args := make([]*Value, len(n.Args))
	for i, a := range n.Args {
		v, err := c.value(a)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return c.call(n, args)
}

// constant gives a literal the smallest kind it fits: it is converted where it
// meets others.
func (c *checker) constant(s ir.Scalar) *Value {
	switch s.Category() {
	case ir.CategoryBool:
		return c.intern(Value{Op: OpConst, Const: s, Kind: BoolKind})
	case ir.CategoryInt:
		return c.intern(Value{Op: OpConst, Const: s, Kind: IntKind})
	}
	return c.intern(Value{Op: OpConst, Const: s, Kind: c.realKind()})
}

// name types what a name stands for: a constant, an operand, a parameter, the element's
// index, or a property of the compute dtype, which is only known here.
func (c *checker) name(n *Node) (*Value, error) {
	if v, ok := Constants[n.Name]; ok {
		return c.constant(ir.FloatScalar(v)), nil
	}
	for _, o := range c.g.Env.Operands {
		if o.Name != n.Name {
			continue
		}
		kind := c.tKind()
		switch o.Fixed.Category() {
		case ir.CategoryBool:
			kind = BoolKind
		case ir.CategoryInt:
			kind = IntKind
		case ir.CategoryFloat:
			if c.g.T.IsComplex() && o.Fixed == c.g.T.Real() {
				kind = RealKind
			}
		}
		return c.intern(Value{Op: OpName, Name: n.Name, Kind: kind}), nil
	}
	for _, p := range c.g.Env.Params {
		if p.Name == n.Name {
			kind := [...]Kind{c.tKind(), c.realKind(), IntKind, BoolKind}[p.Kind]
			return c.intern(Value{Op: OpName, Name: n.Name, Kind: kind}), nil
		}
	}
	switch n.Name {
	case "index":
		return c.intern(Value{Op: OpName, Name: "index", Kind: IntKind}), nil
	case "Eps", "MaxValue", "MinValue", "Highest", "Lowest":
		return c.intern(Value{Op: OpConst, Const: limit(n.Name, c.g.T.Real()), Kind: c.realKind()}), nil
	}
	return nil, errorAt(n, "unknown name %q", n.Name)
}

// limit returns a property of dtype t.
func limit(name string, t ir.DType) ir.Scalar {
	switch {
	case t.IsFloat() && name == "Highest":
		return ir.FloatScalar(math.Inf(1))
	case t.IsFloat() && name == "Lowest":
		return ir.FloatScalar(math.Inf(-1))
	case t == ir.Bool:
		return ir.BoolScalar(name == "MaxValue" || name == "Highest")
	case t.IsInt():
		lo, hi := t.IntRange()
		return ir.IntScalar(map[string]int64{"Eps": 1, "MaxValue": hi, "MinValue": lo, "Highest": hi, "Lowest": lo}[name])
	case t == ir.Float32:
		return ir.FloatScalar(map[string]float64{"Eps": 0x1p-23, "MaxValue": math.MaxFloat32, "MinValue": -math.MaxFloat32}[name])
	}
	return ir.FloatScalar(map[string]float64{"Eps": 0x1p-52, "MaxValue": math.MaxFloat64, "MinValue": -math.MaxFloat64}[name])
}

// convert returns v as kind k, or nil when that needs an explicit conversion.
func (c *checker) convert(v *Value, k Kind) *Value {
	switch {
	case v.Op == OpConst:
		return c.convertConst(v, k)
	case v.Kind == k:
		return v
	case v.Kind == IntKind && k > IntKind, v.Kind == RealKind && k == TKind:
		fn := "cast"
		if k == RealKind {
			fn = "cast_real"
		}
		return c.intern(Value{Op: OpCall, Name: fn, Args: []*Value{v}, Kind: k})
	}
	return nil
}

// convertConst is convert for a constant, which takes any kind that holds its value: a
// number is an integer where it is whole and a float anywhere, 0 and 1 are bools too. So
// 1 can stand in every expression, and 1.5 in none of integers.
func (c *checker) convertConst(v *Value, k Kind) *Value {
	s := v.Const
	switch {
	case k == BoolKind && s.Category() == ir.CategoryBool:
		return v
	case k == BoolKind && s.Category() == ir.CategoryInt && (s.Int() == 0 || s.Int() == 1):
		s = ir.BoolScalar(s.Bool())
	case k == BoolKind:
		return nil
	case s.Category() == ir.CategoryBool:
		return nil
	case k == IntKind || (k == TKind && c.g.T.IsInt()):
		if s.Float() != math.Trunc(s.Float()) || math.IsInf(s.Float(), 0) {
			return nil
		}
		s = ir.IntScalar(s.Int())
		if k == TKind && (s.Int() > limit("MaxValue", c.g.T).Int() || s.Int() < limit("MinValue", c.g.T).Int()) {
			return nil
		}
	default:
		s = ir.FloatScalar(s.Float())
	}
	return c.intern(Value{Op: OpConst, Const: s, Kind: k})
}

// join converts the arguments to one kind, the largest of theirs.
func (c *checker) join(n *Node, args []*Value) (Kind, error) {
	k := BoolKind
	variable := false
	for _, a := range args {
		if a.Op != OpConst {
			variable = true
			k = max(k, a.Kind)
		}
	}
	if !variable {
		for _, a := range args {
			k = max(k, a.Kind)
		}
	}
	for _, a := range args { // a fraction beside an index is a number of the compute dtype
		if a.Op == OpConst && k == IntKind && a.Kind > k && c.convertConst(a, k) == nil {
			k = a.Kind
		}
	}
	for i, a := range args {
		v := c.convert(a, k)
		if v == nil {
			what := "a " + c.describe(a.Kind)
			if a.Op == OpConst {
				what = Literal(a.Const)
			}
			hint := ""
			if a.Kind == BoolKind && k != BoolKind {
				hint = "; cast(...) makes 1 or 0 of a bool, and where(condition, a, b) chooses"
			}
			return k, errorAt(n, "%s: %s cannot be used as %s%s", spelling(n.Name), what, c.describe(k), hint)
		}
		args[i] = v
	}
	return k, nil
}

func (c *checker) describe(k Kind) string { return c.g.KindDType(k).String() }

// spelling returns a function's name as it is written.
func spelling(fn string) string {
	if op, ok := infix[fn]; ok {
		return op.text
	}
	if op, ok := prefix[fn]; ok {
		return op
	}
	return fn
}

// classOf returns the class of values of kind k.
func (c *checker) classOf(k Kind) class {
	switch c.g.KindDType(k).Category() {
	case ir.CategoryBool:
		return onBool
	case ir.CategoryInt:
		return onInt
	case ir.CategoryFloat:
		return onFloat
	}
	return onComplex
}
