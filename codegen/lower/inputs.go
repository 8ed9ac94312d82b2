package lower

import (
	"slices"

	"github.com/sinter-go/sinter/ir/expr"
)

// placed are the functions whose value follows from the element's index.
var placed = []string{"uniform", "normal", "random_bits"}

// Inputs says where the names of g are read: operands and scalar arguments in the order
// that its environment has them, then the index.
func Inputs(g *expr.Graph) []Input {
	kinds := map[string]expr.Kind{}
	for _, v := range g.Values {
		if v.Op == expr.OpName {
			kinds[v.Name] = v.Kind
		} else if slices.Contains(placed, v.Name) {
			kinds["index"] = expr.IntKind
		}
	}
	var out []Input
	add := func(in Input) {
		if k, ok := kinds[in.Name]; ok {
			in.Kind = k
			out = append(out, in)
			delete(kinds, in.Name)
		}
	}
	for i, o := range g.Env.Operands {
		add(Input{Name: o.Name, Index: i})
	}
	for i, p := range g.Env.Params {
		add(Input{Name: p.Name, Scalar: true, Index: i})
	}
	add(Input{Name: "index", Index: -1})
	return out
}
