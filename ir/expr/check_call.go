package expr

import "github.com/sinter-go/sinter/ir"

// call types one function call. The cases are the rules of the table that treat their
// arguments differently from one another; all other functions join theirs to one kind, in
// arithmetic. Literals have no kind of their own: each takes that of what it meets, so a
// literal is converted before kinds are compared.
func (c *checker) call(n *Node, args []*Value) (*Value, error) {
	f := functions[n.Name]
	result := func(k Kind) *Value {
		return c.intern(Value{Op: OpCall, Name: n.Name, Args: args, Kind: k})
	}
	switch f.rule {
	case choose:
		return c.choose(n, args, result)
	case toInt:
		if c.classOf(args[0].Kind)&f.class == 0 {
			return nil, errorAt(n, "int is not defined for %s", c.describe(args[0].Kind))
		}
		if args[0].Kind == IntKind {
			return args[0], nil
		}
		return result(IntKind), nil
	case toT:
		if args[0].Kind == c.tKind() {
			return args[0], nil
		}
		if v := c.convert(args[0], c.tKind()); v != nil {
			return v, nil
		}
		if s := args[0].Const; args[0].Op == OpConst && c.g.T == ir.Bool {
			return c.intern(Value{Op: OpConst, Const: ir.BoolScalar(s.Bool()), Kind: BoolKind}), nil
		}
		return result(c.tKind()), nil
	case drawT, drawInt:
		return c.draw(n, f, args, result)
	case pair:
		if !c.g.T.IsComplex() {
			return nil, errorAt(n, "complex is not defined for %s", c.g.T)
		}
		for i, a := range args {
			if args[i] = c.convert(a, c.realKind()); args[i] == nil || args[i].Kind == TKind {
				return nil, errorAt(n, "complex: needs two real numbers of a complex compute dtype")
			}
		}
		return result(TKind), nil
	case shifted:
		return c.shift(n, f, args, result)
	}
	return c.arithmetic(n, f, args, result)
}

// choose types where(condition, a, b). A choice between literals is a number of the compute dtype.
func (c *checker) choose(n *Node, args []*Value, result func(Kind) *Value) (*Value, error) {
	cond := c.convert(args[0], BoolKind)
	if cond == nil {
		return nil, errorAt(n, "where: the condition is %s, not bool", c.describe(args[0].Kind))
	}
	k, err := c.join(n, args[1:])
	if err != nil {
		return nil, err
	}
	if allConst(args[1:]) && k == IntKind {
		a, b := c.convert(args[1], c.tKind()), c.convert(args[2], c.tKind())
		if a != nil && b != nil {
			args[1], args[2], k = a, b, c.tKind()
		}
	}
	args[0] = cond
	return result(k), nil
}

// draw types a random number of a seed and an offset.
func (c *checker) draw(n *Node, f *function, args []*Value, result func(Kind) *Value) (*Value, error) {
	for i, a := range args {
		if args[i] = c.convert(a, IntKind); args[i] == nil {
			return nil, errorAt(n, "%s: seed and offset are integers, not %s", n.Name, c.describe(a.Kind))
		}
	}
	if f.rule == drawInt {
		return result(IntKind), nil
	}
	if c.classOf(TKind)&f.class == 0 {
		return nil, errorAt(n, "%s is not defined for %s", n.Name, c.g.T)
	}
	return result(TKind), nil
}

// shift types a shift, whose count is any integer.
func (c *checker) shift(n *Node, f *function, args []*Value, result func(Kind) *Value) (*Value, error) {
	if v := c.convert(args[0], c.tKind()); v != nil && args[0].Op == OpConst {
		args[0] = v
	}
	if count := c.convert(args[1], args[0].Kind); count != nil {
		args[1] = count
	}
	if c.classOf(args[0].Kind)&f.class == 0 || c.classOf(args[1].Kind) != onInt {
		return nil, errorAt(n, "%s is defined for integers, not %s and %s", spelling(n.Name), c.describe(args[0].Kind), c.describe(args[1].Kind))
	}
	return result(args[0].Kind), nil
}

// arithmetic types the functions whose arguments are joined.
func (c *checker) arithmetic(n *Node, f *function, args []*Value, result func(Kind) *Value) (*Value, error) {
	k, err := c.join(n, args)
	if err != nil {
		return nil, err
	}
	// Where the compute dtype has fractions, a function that is not defined for integers
	// takes them as numbers of that dtype: exp(index), sqrt(2).
	fractions := c.g.T.Category() >= ir.CategoryFloat
	if fractions && k == IntKind && f.class&onInt == 0 && c.classOf(c.realKind())&f.class != 0 { // of an index: exp(index)
		k = c.realKind()
	}
	if fractions && k != BoolKind && k < c.tKind() && allConst(args) && f.class&onInt == 0 && f.rule != logic {
		k = c.tKind()
	}
	for i, a := range args { // joined kinds convert; what does not is for the function's class to refuse
		if v := c.convert(a, k); v != nil {
			args[i] = v
		}
	}
	if c.classOf(k)&f.class == 0 {
		return nil, errorAt(n, "%s is not defined for %s", spelling(n.Name), c.describe(k))
	}
	if k == BoolKind {
		return c.boolean(n, args), nil
	}
	// What is made of literals alone is a literal: it is rounded once, where it is used.
	if allConst(args) {
		if v := c.literals(n.Name, args, k); v != nil {
			return v, nil
		}
	}
	switch f.rule {
	case toBool:
		return result(BoolKind), nil
	case toReal: // of a real number the real part, and the conjugate below, is itself
		if !c.g.KindDType(k).IsComplex() && (n.Name == "real") {
			return args[0], nil
		}
		if k == TKind {
			k = c.realKind()
		}
		return result(k), nil
	}
	if n.Name == "conj" && !c.g.KindDType(k).IsComplex() {
		return args[0], nil
	}
	return result(k), nil
}

// literals computes an operator of numbers of kind k once, in float64 or int64; nil
// for other functions. A quotient of integers that is not one is a number of the
// compute dtype, where that has fractions.
func (c *checker) literals(fn string, args []*Value, k Kind) *Value {
	t := c.g.KindDType(k)
	x, y := args[0].Const, args[len(args)-1].Const
	made := func(s ir.Scalar, k Kind) *Value { return c.intern(Value{Op: OpConst, Const: s, Kind: k}) }
	if b, ok := compared(fn, x.Float(), y.Float()); ok && !t.IsInt() {
		return made(ir.BoolScalar(b), BoolKind)
	}
	if t.IsInt() {
		if b, ok := compareInts(fn, x.Int(), y.Int()); ok {
			return made(ir.BoolScalar(b), BoolKind)
		}
		if functions[fn].rule == toReal && k == IntKind {
			return nil
		}
		fraction := fn == "div" && y.Int() != 0 && x.Int()%y.Int() != 0
		if !fraction || c.g.T.IsInt() || c.g.T == ir.Bool {
			r, ok := integerOp(fn, x.Int(), y.Int(), 8*t.Size())
			if !ok {
				return nil
			}
			return made(ir.IntScalar(Wrap(r, t)), k)
		}
		k = c.realKind()
	}
	a, b := x.Float(), y.Float()
	switch fn {
	case "add":
		a += b
	case "sub":
		a -= b
	case "mul":
		a *= b
	case "div":
		a /= b
	case "neg":
		a = -a
	default:
		return nil
	}
	return made(ir.FloatScalar(a), k)
}

func allConst(args []*Value) bool {
	for _, a := range args {
		if a.Op != OpConst {
			return false
		}
	}
	return true
}

// boolean rewrites arithmetic and order on bools as logic: + is ||, * is &&,
// false is less than true.
func (c *checker) boolean(n *Node, args []*Value) *Value {
	logic := func(fn string, args ...*Value) *Value {
		return c.intern(Value{Op: OpCall, Name: fn, Args: args, Kind: BoolKind})
	}
	not := func(v *Value) *Value { return logic("lnot", v) }
	falsehood := c.intern(Value{Op: OpConst, Const: ir.BoolScalar(false), Kind: BoolKind})
	truth := c.intern(Value{Op: OpConst, Const: ir.BoolScalar(true), Kind: BoolKind})
	switch n.Name {
	case "add", "or", "max":
		return logic("lor", args...)
	case "mul", "and", "min":
		return logic("land", args...)
	case "andnot":
		return logic("land", args[0], not(args[1]))
	case "not":
		return not(args[0])
	case "xor":
		return logic("ne", args...)
	case "lt":
		return logic("land", not(args[0]), args[1])
	case "gt":
		return logic("land", args[0], not(args[1]))
	case "le":
		return logic("lor", not(args[0]), args[1])
	case "ge":
		return logic("lor", args[0], not(args[1]))
	case "isnan", "isinf", "signbit":
		return falsehood
	case "isfinite":
		return truth
	case "conj", "sign":
		return args[0]
	}
	return logic(n.Name, args...)
}
