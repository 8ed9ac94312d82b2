package exec

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

const (
	// flatSize is the number of elements up to which a call is cheaper than what
	// is done to make it ready for tiles and workers.
	flatSize = grain
	// flatViews is the number of views such a call has at most.
	flatViews = 6
)

// runFlat computes an element-wise call that c.Flat is set in by its body's loop,
// where it is small and its views have the dtypes that the body reads and writes. It
// reports whether it did. It allocates nothing.
func runFlat(c *ir.Call) bool {
	table, op, n := c.Op.CPU.Elementwise, c.Op, 1
	for _, d := range c.Space {
		n *= d
	}
	if uint(n-1) >= flatSize || len(c.In) >= flatViews || len(c.In) != len(op.In) || len(c.Out) != 1 ||
		c.Variant >= len(table) || table[c.Variant] == nil || int(c.Compute) >= ir.NumDTypes {
		return false
	}
	loop := table[c.Variant][c.Compute]
	if loop == nil || c.Out[0].DType != bodyDType(c) {
		return false
	}
	var views [flatViews]unsafe.Pointer
	views[0] = c.Out[0].Ptr
	for i := range c.In {
		v := &c.In[i]
		if v.DType != c.Compute || op.In[i].Fixed != ir.Invalid {
			if v.DType != operandDType(c, i) {
				return false
			}
		}
		views[i+1] = v.Ptr
	}
	loop(n, onStack(&views)[:len(c.In)+1], c.Scalars, 0)
	return true
}

// onStack returns views as a slice that the compiler does not know to be of them,
// so that they can be on the stack though a loop is called with them: loops do not
// keep what they are given. Go finds pointers into a stack in the frames of those
// who were called, and keeps them right when it moves the stack.
func onStack(views *[flatViews]unsafe.Pointer) []unsafe.Pointer {
	header := [3]uintptr{uintptr(unsafe.Pointer(views)), flatViews, flatViews}
	return *(*[]unsafe.Pointer)(unsafe.Pointer(&header))
}
