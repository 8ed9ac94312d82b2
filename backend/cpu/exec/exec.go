// Package exec runs calls on host memory: element-wise bodies, reductions and
// scans by the loops in the operator's descriptor, kernels by the function in
// it. It knows nothing of any particular operator.
//
// A loop sees contiguous memory in its compute dtype, whatever the layout and
// dtype of the operands; how the work is cut into pieces depends on the call
// alone, so a result is the same with any number of processors.
package exec

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// Run computes c. All views are in host memory. A result may be exactly an
// operand of an element-wise call, and must not overlap one otherwise. Errors do
// not name the operator: the caller does.
func Run(c *ir.Call) error {
	if c.Op.Special != nil {
		if other := special(c); other != nil {
			c = other
		}
	}
	if c.Flat && runFlat(c) {
		return nil
	}
	switch c.Op.Kind {
	case ir.Elementwise:
		return runElementwise(c)
	case ir.Joint:
		return runJoint(c)
	case ir.Reduction:
		return runReduction(c)
	case ir.Scan:
		return runScan(c)
	case ir.Kernel:
		if c.Op.CPU.Kernel == nil {
			return unsupported(c)
		}
		return c.Op.CPU.Kernel(c)
	}
	return errors.New("operators of this kind are not launched")
}

// pick returns the entry of a table of c's variant and compute dtype, or nil.
func pick[L any](c *ir.Call, table []*[ir.NumDTypes]L) (l L) {
	if c.Variant < len(table) && table[c.Variant] != nil && int(c.Compute) < ir.NumDTypes {
		return table[c.Variant][c.Compute]
	}
	return l
}

func unsupported(c *ir.Call) error {
	return fmt.Errorf("not implemented for %s on cpu", c.Compute)
}

// bodyDType returns the dtype that an element-wise body's result has. The
// result's view may have another: a 16-bit float, or that of a tensor to write.
func bodyDType(c *ir.Call) ir.DType { return c.Op.ResultDType(0, c.Compute).Compute() }

// operandDType returns the dtype that an element-wise body reads operand i in.
func operandDType(c *ir.Call, i int) ir.DType {
	if d := c.Op.In[i].Fixed; d != ir.Invalid {
		return d.Compute()
	}
	return c.Compute
}
