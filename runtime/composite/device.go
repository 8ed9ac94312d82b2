package composite

import "github.com/sinter-go/sinter/runtime/core"

// A spread is an operator of sums of squared distances.
type spread = func(x *core.Tensor, dim []int, divisor float64, keepdim bool) *core.Tensor

// OnAccelerators is folded on accelerators, one kernel, and elsewhere parts, whose
// loops are faster there.
func OnAccelerators(folded, parts spread, x *core.Tensor, dim []int, divisor float64, keepdim bool) *core.Tensor {
	if core.FirstError(x) == nil && look(x).Device().Accelerator() {
		return folded(x, dim, divisor, keepdim)
	}
	return parts(x, dim, divisor, keepdim)
}
