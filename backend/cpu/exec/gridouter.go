package exec

import (
	"github.com/sinter-go/sinter/backend/cpu/rows"
	"github.com/sinter-go/sinter/ir"
)

// An outer is how a grid works where an operand has one element for each row of the
// other and of the result, and there is a function for that.
type outer struct {
	single rows.Outer[float32]
	double rows.Outer[float64]
	x, one int // the views of rows, and of elements for them
}

// make sets the outer up, or reports that there is none for c.
func (o *outer) make(c *ir.Call, views []gridView) bool {
	*o = outer{}
	if len(views) != 3 || len(c.Scalars) > 0 || c.Variant >= len(c.Op.Bodies) {
		return false
	}
	for i := range views {
		if v := &views[i]; !v.same || v.crosses || v.dtype != c.Compute {
			return false
		}
	}
	switch last := len(views[0].steps) - 1; [3]int{views[0].steps[last], views[1].steps[last], views[2].steps[last]} {
	case [3]int{1, 1, 0}:
		o.x, o.one = 1, 2
	case [3]int{1, 0, 1}:
		o.x, o.one = 2, 1
	default:
		return false
	}
	expr, second := c.Op.Bodies[c.Variant].Exprs[0], o.one == 2
	switch c.Compute {
	case ir.Float32:
		o.single = rows.Active[float32]().Outer(expr, second)
	case ir.Float64:
		o.double = rows.Active[float64]().Outer(expr, second)
	}
	return o.single != nil || o.double != nil
}

// outerBlock calls the outer's function once for all rows.
//
//go:noinline
func (e *elementwise) outerBlock(b *gridBlock) {
	g := &e.grid
	out, x, one := &g.views[0], &g.views[g.outer.x], &g.views[g.outer.one]
	to, from, of := b.views[0].base, b.views[g.outer.x].base, b.views[g.outer.one].base
	if f := g.outer.single; f != nil {
		f(b.rows, b.cols, out.down*out.size, x.down*x.size, one.down*one.size, (*float32)(to), (*float32)(from), (*float32)(of))
		return
	}
	g.outer.double(b.rows, b.cols, out.down*out.size, x.down*x.size, one.down*one.size, (*float64)(to), (*float64)(from), (*float64)(of))
}
