package exec

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/ir"
)

// special returns the call of the operator that c's is for the number that one of its
// operands is, or nil. It looks at memory: that is the number of this launch, in a graph too.
func special(c *ir.Call) *ir.Call {
	if c.Compute.Category() == ir.CategoryComplex || len(c.In) != 2 || ir.NumElements(c.Space) == 0 {
		return nil
	}
	for i := range c.Op.Special {
		s := &c.Op.Special[i]
		v := &c.In[s.Operand]
		if !single(v) || s.Op.CPU.Elementwise[0][c.Compute] == nil {
			continue
		}
		var value float64
		convert.Between(ir.Float64, v.DType)(1, unsafe.Pointer(&value), 1, v.Ptr, 1)
		if value != s.Value {
			continue
		}
		other := *c
		rest := 1 - s.Operand
		other.Op, other.In = s.Op, c.In[rest:rest+1:rest+1]
		other.Flat = other.Out[0].IsContiguous() && other.In[0].IsContiguous()
		return &other
	}
	return nil
}

// single reports whether all elements of v are one.
func single(v *ir.View) bool {
	for a, d := range v.Shape {
		if d != 1 && v.Strides[a] != 0 {
			return false
		}
	}
	return true
}
