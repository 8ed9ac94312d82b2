package expr

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// A Composer makes one graph of several of which some read what others give. Values that
// are the same in several are computed once; nothing else changes, so the graph gives what
// the others give one after the other, to the bit.
type Composer struct{ checker }

// NewComposer returns a composer of graphs of compute dtype t, and of bool.
func NewComposer(t ir.DType) *Composer {
	return &Composer{checker{g: &Graph{T: t}, seen: map[string]*Value{}}}
}

// Name returns the value of a name of the composed graph.
func (c *Composer) Name(name string, k Kind) *Value {
	return c.intern(Value{Op: OpName, Name: name, Kind: k})
}

// KindOf returns the kind in the composed graph of values of kind k of a graph of compute
// dtype t, and false where it has none.
func (c *Composer) KindOf(t ir.DType, k Kind) (Kind, bool) {
	if t != c.g.T && (t != ir.Bool || k > IntKind) {
		return k, false
	}
	if k == RealKind { // which is the same type: complex graphs are not composed
		k = TKind
	}
	return k, !t.IsComplex()
}

// Add adds a graph, whose names stand for values of the composer, and returns the values
// of its roots.
func (c *Composer) Add(g *Graph, names map[string]*Value) ([]*Value, error) {
	to := make([]*Value, len(g.Values))
	for i, v := range g.Values {
		k, ok := c.KindOf(g.T, v.Kind)
		if !ok {
			return nil, fmt.Errorf("a value of %s in a graph of %s", g.KindDType(v.Kind), c.g.T)
		}
		if v.Op == OpName {
			x := names[v.Name]
			if x == nil || x.Kind != k {
				return nil, fmt.Errorf("no %s for %s", g.KindDType(v.Kind), v.Name)
			}
			to[i] = x
			continue
		}
		own := Value{Op: v.Op, Name: v.Name, Const: v.Const, Kind: k}
		for _, a := range v.Args {
			own.Args = append(own.Args, to[a.Order])
		}
		to[i] = c.intern(own)
	}
	roots := make([]*Value, len(g.Roots))
	for i, r := range g.Roots {
		roots[i] = to[r.Order]
	}
	return roots, nil
}

// Rounded returns v rounded to a float of 16 bits, as it is where it is stored: a call of the
// function of RoundedTo, which backends know.
func (c *Composer) Rounded(v *Value, to ir.DType) *Value {
	return c.intern(Value{Op: OpCall, Name: RoundedTo(to), Kind: v.Kind, Args: []*Value{v}})
}

// RoundedTo names the function that rounds a float32 to a float of 16 bits.
func RoundedTo(d ir.DType) string { return "rounded_" + d.String() }

// Graph returns the graph of roots, over what env declares. The composer is used up.
func (c *Composer) Graph(env Env, roots []*Value) *Graph {
	c.g.Env, c.g.Roots = env, roots
	for _, r := range roots {
		r.Uses++
	}
	c.prune()
	return c.g
}
