package expr

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// build returns a call with the simplifications that are exact for real and
// complex numbers: neutral elements, symbolic zeros, literals, signs drawn
// outward, and products moved into the branches of a choice, so that a branch
// that was not taken never multiplies by zero.
func build(fn string, args ...*Node) *Node {
	if r := fold(fn, args); r != nil {
		return r
	}
	switch fn {
	case "add":
		return buildAdd(args[0], args[1])
	case "sub":
		return buildSub(args[0], args[1])
	case "mul":
		return buildMul(args[0], args[1])
	case "div":
		// 0/b is 0 also where b is 0 or NaN. Derivatives are full of such terms, of operands
		// that they do not depend on, and a NaN from there would be wrong.
		if args[0].IsConst(0) || args[1].IsConst(1) {
			return args[0]
		}
	case "pow":
		if args[1].IsConst(1) {
			return args[0]
		}
	case "neg":
		if a := args[0]; a.is("neg") {
			return a.Args[0]
		}
	case "where":
		return buildWhere(args)
	case "land", "lor":
		return buildLogic(fn, args[0], args[1])
	case "conj", "real":
		switch a := args[0]; {
		case a.is("conj") && fn == "conj":
			return a.Args[0]
		case a.is("real"):
			return a
		case isChoice(a):
			return build("where", a.Args[0], build(fn, a.Args[1]), build(fn, a.Args[2]))
		case a.is("div") && a.Args[0].Op == OpConst && fn == "conj": // so that a product with it becomes one division
			return build("div", a.Args[0], build("conj", a.Args[1]))
		}
	}
	return call(fn, args...)
}

// is reports whether n calls the given function.
func (n *Node) is(fn string) bool { return n.Op == OpCall && n.Name == fn }

// opposite returns -n where n begins with a sign, so that it can be dropped; else
// nil. It makes a - b of a + (-b), which rounds alike and reads better in emitted code.
func opposite(n *Node) *Node {
	switch {
	case n.Op == OpConst && n.Value.Category() != ir.CategoryBool && n.Value.Float() < 0:
		return constant(-n.Value.Float())
	case n.is("neg"):
		return n.Args[0]
	case n.is("mul"), n.is("div"):
		if a := opposite(n.Args[0]); a != nil {
			return build(n.Name, a, n.Args[1])
		}
	}
	return nil
}

// buildAdd makes a sum. x + x becomes 2*x, which is exact.
func buildAdd(a, b *Node) *Node {
	switch {
	case a.IsConst(0):
		return b
	case b.IsConst(0):
		return a
	case a.equal(b):
		return build("mul", constant(2), a)
	}
	if minus := opposite(b); minus != nil {
		return build("sub", a, minus)
	}
	return call("add", a, b)
}

func buildSub(a, b *Node) *Node {
	switch {
	case b.IsConst(0):
		return a
	case a.IsConst(0):
		return build("neg", b)
	}
	if minus := opposite(b); minus != nil {
		return build("add", a, minus)
	}
	return call("sub", a, b)
}

// maxMoved bounds what moving a product into branches may print: every step may
// double it.
const maxMoved = 4096

// buildMul makes a product. The order of the cases matters: literals first, so that nothing is
// made of them; then signs, which are drawn outward to meet those of sums; then choices; last
// 1/b and -1/b, since one division rounds once where a reciprocal and a product round twice.
func buildMul(a, b *Node) *Node {
	switch {
	case a.IsConst(0), b.IsConst(1):
		return a
	case b.IsConst(0), a.IsConst(1):
		return b
	case a.IsConst(-1):
		return build("neg", b)
	case b.IsConst(-1):
		return build("neg", a)
	case a.is("neg"):
		return build("neg", build("mul", a.Args[0], b))
	case b.is("neg"):
		return build("neg", build("mul", a, b.Args[0]))
	case isChoice(b) && a.count()*b.count() < maxMoved:
		return build("where", b.Args[0], build("mul", a, b.Args[1]), build("mul", a, b.Args[2]))
	case isChoice(a) && a.count()*b.count() < maxMoved:
		return build("where", a.Args[0], build("mul", a.Args[1], b), build("mul", a.Args[2], b))
	case b.is("div") && b.Args[0].IsConst(1):
		return build("div", a, b.Args[1])
	case a.is("div") && a.Args[0].IsConst(1):
		return build("div", b, a.Args[1])
	case b.is("div") && b.Args[0].IsConst(-1):
		return build("neg", build("div", a, b.Args[1]))
	case a.is("div") && a.Args[0].IsConst(-1):
		return build("neg", build("div", b, a.Args[1]))
	case b.Op == OpConst && a.Op != OpConst:
		return call("mul", b, a)
	}
	return call("mul", a, b)
}

// isChoice reports whether n is a where with a literal branch, or one whose
// branches are choices.
func isChoice(n *Node) bool {
	if !n.is("where") {
		return false
	}
	for _, a := range n.Args[1:] {
		if a.Op == OpConst || isChoice(a) {
			return true
		}
	}
	return false
}

// buildWhere makes a choice, unless its condition is a literal or its branches are alike.
func buildWhere(args []*Node) *Node {
	switch c := args[0]; {
	case isBool(c) && c.Value.Bool():
		return args[1]
	case isBool(c):
		return args[2]
	case args[1].equal(args[2]):
		return args[1]
	}
	return call("where", args...)
}

// buildLogic drops literals from && and ||. Both sides are evaluated in any case, and have no
// effects, so their order may change.
func buildLogic(fn string, a, b *Node) *Node {
	if isBool(b) {
		a, b = b, a
	}
	switch {
	case !isBool(a):
		return call(fn, a, b)
	case a.Value.Bool() == (fn == "lor"):
		return a
	}
	return b
}

func isBool(n *Node) bool { return n.Op == OpConst && n.Value.Category() == ir.CategoryBool }

// fold computes functions of literal numbers; nil when it does not apply.
func fold(fn string, args []*Node) *Node {
	for _, a := range args {
		if a.Op != OpConst || a.Value.Category() == ir.CategoryBool {
			return nil
		}
	}
	if fn == "conj" || fn == "real" {
		return args[0]
	}
	if fn == "neg" {
		return constant(-args[0].Value.Float())
	}
	if len(args) != 2 {
		return nil
	}
	x, y := args[0].Value.Float(), args[1].Value.Float()
	if b, ok := compared(fn, x, y); ok {
		return &Node{Op: OpConst, Value: ir.BoolScalar(b)}
	}
	r := math.NaN()
	switch fn {
	case "add":
		r = x + y
	case "sub":
		r = x - y
	case "mul":
		r = x * y
	case "div":
		if r = x / y; math.FMA(r, y, -x) != 0 { // better divided at the end
			return nil
		}
	}
	if r-r != 0 { // unknown function, or out of range
		return nil
	}
	return constant(r)
}

// compared computes what compares two numbers.
func compared[T int64 | float64](fn string, x, y T) (result, ok bool) {
	switch fn {
	case "lt":
		return x < y, true
	case "le":
		return x <= y, true
	case "gt":
		return x > y, true
	case "ge":
		return x >= y, true
	case "eq":
		return x == y, true
	case "ne":
		return x != y, true
	}
	return false, false
}
