// Package expr is the scalar expression language of the schema: it parses an
// expression once, checks it for a compute dtype, and lowers the result to
// source text, to derivatives and to values. It knows neither operators nor
// tensors, and of languages Go alone. The meaning of every construct is stated in package ir.
//
// # The way of an expression
//
// Parse makes a tree of Nodes, in which names are resolved against an Env and nothing has a
// type yet: one tree serves every dtype. Derivatives are made on this tree, by the table of
// functions, and simplified as they are built; so a derivative is an expression like any
// other, and has derivatives of its own.
//
// Check types the tree for one compute dtype and makes a Graph, in which equal Values are
// one. What may be computed once is found here, and no lowering looks for it again. All
// lowerings go over the Graph's Values in their order: to Go here, to CUDA C++ in codegen/cpp, to
// vector code in codegen/lower, to results in the interpreters, of which backend/ref has the wide one.
//
// The table of functions is the one list of what the language has. What a function does with
// types is its rule there; what it means is in package num, and in wider arithmetic in
// backend/ref/wide.
package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// NodeOp says what a Node is.
type NodeOp uint8

// The kinds of node.
const (
	OpConst NodeOp = iota // Value
	OpName                // an operand, a parameter, index or a named constant: Name
	OpCall                // the function Name of Args; operators have names too
)

// A Node is one construct of an expression before it has types. Nodes are
// immutable and may be shared.
type Node struct {
	Op    NodeOp
	Name  string
	Args  []*Node
	Value ir.Scalar
	Pos   int // byte offset in the source, 0-based

	size int // nodes printed, at most maxSize; 0: not counted
}

// maxSize bounds the nodes of a derivative, which may be far fewer in memory than
// in print.
const maxSize = 20000

// count returns how many nodes n prints, at most maxSize.
func (n *Node) count() int {
	if n.size > 0 || n.Op != OpCall {
		return max(n.size, 1)
	}
	size := 1
	for _, a := range n.Args {
		size += a.count()
	}
	return min(size, maxSize)
}

// constant returns a literal: an integer where v is whole, so that it is a number of
// integers too.
func constant(v float64) *Node {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return &Node{Op: OpConst, Value: ir.IntScalar(int64(v))}
	}
	return &Node{Op: OpConst, Value: ir.FloatScalar(v)}
}

func name(n string) *Node { return &Node{Op: OpName, Name: n} }

func call(fn string, args ...*Node) *Node {
	n := &Node{Op: OpCall, Name: fn, Args: args}
	n.size = n.count()
	return n
}

// IsConst reports whether n is the literal v.
func (n *Node) IsConst(v float64) bool {
	return n.Op == OpConst && n.Value.Float() == v && n.Value.Category() != ir.CategoryComplex
}

// equal reports whether n and m are the same expression.
func (n *Node) equal(m *Node) bool {
	if n == m {
		return true
	}
	if n.Op != m.Op || n.Name != m.Name || len(n.Args) != len(m.Args) || n.count() != m.count() || n.count() == maxSize {
		return false
	}
	if n.Op == OpConst {
		return Literal(n.Value) == Literal(m.Value)
	}
	for i, a := range n.Args {
		if !a.equal(m.Args[i]) {
			return false
		}
	}
	return true
}

// Uses reports whether the expression reads the given name.
func (n *Node) Uses(name string) bool {
	if n.Op == OpName && n.Name == name {
		return true
	}
	for _, a := range n.Args {
		if a.Uses(name) {
			return true
		}
	}
	return false
}

// Calls reports whether the expression calls the given function.
func (n *Node) Calls(fn string) bool {
	if n.Op == OpCall && n.Name == fn {
		return true
	}
	for _, a := range n.Args {
		if a.Calls(fn) {
			return true
		}
	}
	return false
}

// replace returns n with names replaced by expressions.
func (n *Node) replace(with map[string]*Node) *Node {
	switch n.Op {
	case OpConst:
		return n
	case OpName:
		if r, ok := with[n.Name]; ok {
			return r
		}
		return n
	}
	args := make([]*Node, len(n.Args))
	for i, a := range n.Args {
		args[i] = a.replace(with)
	}
	return build(n.Name, args...)
}

// Infix returns how Go spells a function that is an operator of two operands, and its
// binding strength.
func Infix(fn string) (text string, prec int, ok bool) {
	op, ok := infix[fn]
	return op.text, op.prec, ok
}

// infix gives the operators their spelling and binding strength in Go.
var infix = map[string]struct {
	text string
	prec int
}{
	"lor": {"||", 1}, "land": {"&&", 2},
	"eq": {"==", 3}, "ne": {"!=", 3}, "lt": {"<", 3}, "le": {"<=", 3}, "gt": {">", 3}, "ge": {">=", 3},
	"add": {"+", 4}, "sub": {"-", 4}, "or": {"|", 4}, "xor": {"^", 4},
	"mul": {"*", 5}, "div": {"/", 5}, "rem": {"%", 5}, "shl": {"<<", 5}, "shr": {">>", 5}, "and": {"&", 5}, "andnot": {"&^", 5},
}

var prefix = map[string]string{"neg": "-", "lnot": "!", "not": "^"}

// String returns the expression in the schema's syntax; parsing it gives an
// equal expression.
func (n *Node) String() string {
	var b strings.Builder
	n.print(&b, 0)
	return b.String()
}

// print writes n as an operand of what binds with strength outer.
func (n *Node) print(b *strings.Builder, outer int) {
	switch n.Op {
	case OpConst:
		s := Literal(n.Value)
		if strings.HasPrefix(s, "-") && outer > Unary-1 {
			s = "(" + s + ")"
		}
		b.WriteString(s)
		return
	case OpName:
		b.WriteString(n.Name)
		return
	}
	if op, ok := infix[n.Name]; ok {
		open := op.prec < outer
		if open {
			b.WriteByte('(')
		}
		n.Args[0].print(b, op.prec)
		if op.prec == 5 {
			b.WriteString(op.text)
		} else {
			b.WriteString(" " + op.text + " ")
		}
		n.Args[1].print(b, op.prec+1)
		if open {
			b.WriteByte(')')
		}
		return
	}
	if op, ok := prefix[n.Name]; ok {
		if outer > Unary {
			b.WriteByte('(')
			defer b.WriteByte(')')
		}
		b.WriteString(op)
		n.Args[0].print(b, Atom)
		return
	}
	b.WriteString(n.Name)
	b.WriteByte('(')
	for i, a := range n.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		a.print(b, 0)
	}
	b.WriteByte(')')
}

// Literal spells a number such that it reads back as the same value.
func Literal(v ir.Scalar) string {
	switch v.Category() {
	case ir.CategoryBool:
		return strconv.FormatBool(v.Bool())
	case ir.CategoryInt:
		return strconv.FormatInt(v.Int(), 10)
	}
	s := strings.TrimPrefix(strconv.FormatFloat(v.Float(), 'g', -1, 64), "+")
	if !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	return s
}

// An Error is a mistake in an expression.
type Error struct {
	Offset int // in the source, in bytes from 0
	Msg    string
}

func (e *Error) Error() string { return fmt.Sprintf("col %d: %s", e.Offset+1, e.Msg) }

func errorAt(n *Node, format string, args ...any) *Error {
	return &Error{n.Pos, fmt.Sprintf(format, args...)}
}
