package composite

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// SoftmaxSlopes are the operators that the gradient of softmax is made of.
type SoftmaxSlopes struct {
	SoftmaxPull, SoftmaxPullParts func(g, y *core.Tensor, dim int) *core.Tensor
}

// SoftmaxSlope returns the gradient of softmax along dim from that of its result y, g: a kernel, or
// in programs that fold rows its parts, which become one step with what is around.
func SoftmaxSlope(o SoftmaxSlopes, g, y *core.Tensor, dim int) *core.Tensor {
	if t := core.FirstError(g, y); t != nil {
		return t
	}
	if lastAxis(look(y).Shape(), dim) && !differentiated(g, y) && core.FoldsRows(-1, g, y) {
		return o.SoftmaxPullParts(g, y, dim)
	}
	return o.SoftmaxPull(g, y, dim)
}

// lastAxis reports whether dim is the last axis of shape.
func lastAxis(shape []int, dim int) bool {
	axis, err := ir.Axis(dim, len(shape))
	return err == nil && axis == len(shape)-1
}
