package composite

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// once reports whether what is made of tensors of one dtype may be a kernel that computes in a wider
// one, and has no gradients: nothing here is differentiated, and there is a wider dtype.
func once(x ...*core.Tensor) bool {
	if d := look(x[0]).DType(); !d.IsFloat() || d == ir.Float64 {
		return false
	}
	return !differentiated(x...)
}

// differentiated reports whether what is made of tensors has gradients.
func differentiated(x ...*core.Tensor) bool {
	return core.GradEnabled() && slices.ContainsFunc(x, (*core.Tensor).RequiresGrad)
}

// CumprodSlopes are the operators that the gradient of products up to each element is made of.
type CumprodSlopes struct {
	CumprodSlopeParts, CumprodGrad func(g, y, x *core.Tensor, dim int) *core.Tensor
}

// CumprodSlope returns the gradient of cumprod of x from that of its result y, g: a kernel where
// that has nothing to be differentiated, and a composition elsewhere.
func CumprodSlope(o CumprodSlopes, g, y, x *core.Tensor, dim int) *core.Tensor {
	if t := core.FirstError(g, y, x); t != nil {
		return t
	}
	if once(g, y, x) {
		return o.CumprodGrad(g, y, x, dim)
	}
	return o.CumprodSlopeParts(g, y, x, dim)
}

// LogcumsumexpSlopes are the operators that the gradient of logcumsumexp is made of.
type LogcumsumexpSlopes struct {
	LogcumsumexpSlopeParts, LogcumsumexpGrad func(g, x *core.Tensor, dim int) *core.Tensor
}

// LogcumsumexpSlope returns the gradient of logcumsumexp of x from that of its result, g: a kernel
// where that has nothing to be differentiated, and a composition elsewhere.
func LogcumsumexpSlope(o LogcumsumexpSlopes, g, x *core.Tensor, dim int) *core.Tensor {
	if t := core.FirstError(g, x); t != nil {
		return t
	}
	if once(g, x) {
		return o.LogcumsumexpGrad(g, x, dim)
	}
	return o.LogcumsumexpSlopeParts(g, x, dim)
}
