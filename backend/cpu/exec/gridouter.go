package exec

import (
	"github.com/sinter-go/sinter/backend/cpu/rows"
	"github.com/sinter-go/sinter/ir"
)

// outers are the functions for a kernel whose first operand, or whose second, has one
// element for each row; nil where there are none.
type outers struct {
	single [2]rows.Outer[float32]
	double [2]rows.Outer[float64]
}

// outersOf finds those of a kernel.
func outersOf(k *ir.Kernel) (o outers) {
	if k.Op.Kind != ir.Elementwise || len(k.Op.In) != 2 || k.Variant < 0 || k.Variant >= len(k.Op.Bodies) || len(k.Op.Bodies[k.Variant].Exprs) != 1 {
		return o
	}
	expr := k.Op.Bodies[k.Variant].Exprs[0]
	for i := range 2 {
		switch k.Compute {
		case ir.Float32:
			o.single[i] = rows.Active[float32]().Outer(expr, i == 1)
		case ir.Float64:
			o.double[i] = rows.Active[float64]().Outer(expr, i == 1)
		}
	}
	return o
}

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
	if len(views) != 3 || len(c.Scalars) > 0 {
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
	have := &codes.Of(c.Kernel).outers
	o.single, o.double = have.single[o.one-1], have.double[o.one-1]
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
