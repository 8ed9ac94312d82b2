package composite

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// The types of the operators that dropout is handed.
type (
	inRange  = func(x *core.Tensor, what string, value, lo, hi float64) *core.Tensor
	dropping = func(x *core.Tensor, p float64, seed, offset int64) *core.Tensor
	filled   = func(shape []int, place *core.Placement) *core.Tensor
)

// Dropout returns x with each element times 0 with probability p and otherwise times
// 1/(1 - p). Accelerators draw the random numbers again for the gradient. On the CPU these
// take longer than all else, so that ones are dropped from once and multiply both; but
// where their rounding to 16 bits would tell.
func Dropout(check inRange, drop dropping, ones filled, mul product, x *core.Tensor, p float64, seed, offset int64) *core.Tensor {
	x = check(x, "p", p, 0, 1)
	if core.FirstError(x) != nil || look(x).Device().Accelerator() || look(x).DType() != ir.Float32 && look(x).DType() != ir.Float64 {
		return drop(x, p, seed, offset)
	}
	all := ones(look(x).Shape(), core.PlacementLike(x))
	factors := drop(all, p, seed, offset)
	all.Release()
	out := mul(x, factors)
	factors.Release()
	return out
}
