package composite

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// The types of the operators that Embedding is handed.
type (
	lookup   = func(index, weight *core.Tensor, paddingIdx int, scaleGradByFreq bool) *core.Tensor
	renorm   = func(index, weight *core.Tensor, maxNorm, normType float64) *core.Tensor
	writeRow = func(x *core.Tensor, dim int, index, src *core.Tensor) *core.Tensor
	flatten  = withInts
)

var embeddingOp = ir.Op{Name: "embedding", Kind: ir.Composition, Switch: -1, DTypes: ir.ClassFloat | ir.ClassComplex}

// Embedding returns the rows of weight that index names. With a finite maxNorm it
// first scales those whose norm is larger, in weight, which is not recorded.
func Embedding(rows lookup, renormed renorm, put writeRow, reshape flatten,
	index, weight *core.Tensor, paddingIdx int, maxNorm, normType float64, scaleGradByFreq bool) *core.Tensor {
	if t := core.FirstError(index, weight); t != nil {
		return t
	}
	if index == nil || weight == nil {
		return core.Absent()
	}
	if !(maxNorm >= 0) {
		return core.Fail(&embeddingOp, fmt.Errorf("max_norm is %v, want a number from 0 to infinity", maxNorm))
	}
	if !math.IsInf(maxNorm, 1) {
		var err error
		core.NoGrad(func() {
			flat := reshape(index, []int{look(index).NumElements()})
			err = core.CopyOut(weight, &embeddingOp, put(weight, 0, flat, renormed(flat, weight, maxNorm, normType)))
		})
		if err != nil {
			return core.Fail(&embeddingOp, err)
		}
	}
	return rows(index, weight, paddingIdx, scaleGradByFreq)
}
