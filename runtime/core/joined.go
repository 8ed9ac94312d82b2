package core

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
	"github.com/sinter-go/sinter/runtime/device"
)

// FoldsRows reports whether x are operands of a program that is being recorded for the CPU, which folds
// their rows, of the axes from the given one on, in one step with what is around. There the parts of
// an operator take less time than a kernel of its own. It does not depend on whether the program is
// fused, so that both give the same bits.
func FoldsRows(axis int, x ...*Tensor) bool {
	if !Recording() {
		return false
	}
	first := Look(x[0])
	shape := first.Shape()
	axis, err := ir.Axis(axis, len(shape))
	if err != nil || len(shape) == 0 {
		return false
	}
	for _, t := range x {
		t = Look(t)
		if t.Device().Kind != device.KindCPU || t.DType() != first.DType() || !slices.Equal(t.Shape(), shape) || !t.IsContiguous() {
			return false
		}
	}
	wide := first.DType() == ir.Float32 || first.DType() == ir.Float64 // parts of others are rounded after each
	return wide && fusion.FoldsRows(ir.NumElements(shape[:axis]), ir.NumElements(shape[axis:]))
}
