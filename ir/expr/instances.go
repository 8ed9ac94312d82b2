package expr

import (
	"maps"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// Instances returns the functions that graphs of compute dtype t call: for each function and
// each kinds of arguments that it takes as they are a graph of one call of the names a, b, c.
// Complex numbers have none.
func Instances(t ir.DType) (list []*Graph) {
	names := []string{"a", "b", "c"}
	kinds := []ir.DType{ir.Invalid, ir.Int64, ir.Bool}
	for _, fn := range slices.Sorted(maps.Keys(functions)) {
		n, all := functions[fn].arity, 1
		for range n {
			all *= len(kinds)
		}
		for tuple := range all {
			e := &Expr{Root: &Node{Op: OpCall, Name: fn}}
			for _, arg := range names[:n] {
				e.Root.Args = append(e.Root.Args, name(arg))
				e.Env.Operands = append(e.Env.Operands, Operand{Name: arg, Fixed: kinds[tuple%len(kinds)]})
				tuple /= len(kinds)
			}
			if g, err := e.Check(t); err == nil && plain(g) {
				list = append(list, g)
			}
		}
	}
	if t == ir.Float32 {
		for _, to := range []ir.DType{ir.Float16, ir.BFloat16} {
			c := NewComposer(t)
			rounded := c.Rounded(c.Name(names[0], TKind), to)
			list = append(list, c.Graph(Env{Operands: []Operand{{Name: names[0]}}}, []*Value{rounded}))
		}
	}
	return list
}

// plain reports whether a graph is one call of names.
func plain(g *Graph) bool {
	return g.Roots[0].Op == OpCall && !slices.ContainsFunc(g.Roots[0].Args, func(a *Value) bool { return a.Op != OpName })
}
