package composite

import "github.com/sinter-go/sinter/runtime/core"

// unpool is an operator that gives g to the places of a tensor that indices name.
type unpool = func(g, indices *core.Tensor, input []int, axes int) *core.Tensor

// MaxUnpool returns the gradient of a pooling of input's last axes from the gradient g
// of the largest elements and their indices: on the CPU by a kernel, elsewhere by
// parts.
func MaxUnpool(parts, kernel unpool, g, indices *core.Tensor, input []int, axes int) *core.Tensor {
	if core.FirstError(g) == nil && !look(g).Device().Accelerator() {
		return kernel(g, indices, input, axes)
	}
	return parts(g, indices, input, axes)
}
