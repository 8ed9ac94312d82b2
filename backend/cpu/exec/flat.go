package exec

import (
	"github.com/sinter-go/sinter/ir"
)

// flatSize is the number of elements up to which a call is cheaper than what is
// done to make it ready for tiles and workers.
const flatSize = grain

// runFlat computes an element-wise call that c.Flat is set in by its body's loop,
// where it is small and its views have the dtypes of the kernel's ports. It
// reports whether it did. It allocates nothing.
func runFlat(c *ir.Call) bool {
	n := 1
	for _, d := range c.Space {
		n *= d
	}
	if uint(n-1) >= flatSize || len(c.In) >= len(c.Room) || len(c.In) != len(c.Kernel.In) || len(c.Out) != 1 {
		return false
	}
	loop := codes.Of(c.Kernel).stored
	if loop == nil || !asStored(c) {
		return false
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
