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
	if c.Flat && runFlat(c) {
		return nil
	}
	switch c.Op.Kind {
	case ir.Elementwise:
		return runElementwise(c)
	case ir.Joint:
		return runJoint(c)
	case ir.Reduction:
		if codes.Of(c.Kernel).parts.start != nil {
			return runStates(c)
		}
		return runReduction(c)
	case ir.Scan:
		return runScan(c)
	case ir.Opaque:
		if run := codes.Of(c.Kernel).opaque; run != nil {
			return run(c)
		}
		return unsupported(c)
	}
	return errors.New("operators of this kind are not launched")
}

func unsupported(c *ir.Call) error {
	return fmt.Errorf("not implemented for %s on cpu", c.Compute)
}
