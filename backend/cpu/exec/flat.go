package exec

import (
	"github.com/sinter-go/sinter/ir"
)

// flatSize is the number of elements up to which a call is cheaper than what is
// done to make it ready for tiles and workers.
const flatSize = grain

// runFlat computes an element-wise call that c.Flat is set in by its body's loop,
// where it is small and its views have the dtypes that the body reads and writes. It
// reports whether it did. It allocates nothing.
func runFlat(c *ir.Call) bool {
	table, op, n := c.Op.CPU.Elementwise, c.Op, 1
	for _, d := range c.Space {
		n *= d
	}
	if uint(n-1) >= flatSize || len(c.In) >= len(c.Room) || len(c.In) != len(op.In) || len(c.Out) != 1 ||
		c.Variant >= len(table) || table[c.Variant] == nil || int(c.Compute) >= ir.NumDTypes {
		return false
	}
	loop := table[c.Variant][c.Compute]
	if loop == nil || c.Out[0].DType != bodyDType(c) {
		return false
	}
	for i := range c.In {
		v := &c.In[i]
		if v.DType != c.Compute || op.In[i].Fixed != ir.Invalid {
			if v.DType != operandDType(c, i) {
				return false
			}
		}
	}
	// The room is on the heap, as the call is: the compiler cannot know that a loop
	// keeps nothing of what it is given.
	views := &c.Room
	views[0] = c.Out[0].Ptr
	for i := range c.In {
		views[i+1] = c.In[i].Ptr
	}
	loop(n, views[:len(c.In)+1], c.Scalars, 0)
	return true
}
