package composite

import "github.com/sinter-go/sinter/runtime/core"

// The types of the operators that random integers are handed.
type (
	bounded   = func(x *core.Tensor, what string, value, lo, hi float64) *core.Tensor
	drawnFrom = func(shape []int, low, high int, seed, offset int64, place *core.Placement) *core.Tensor
	drawnBits = func(shape []int, seed, offset int64, place *core.Placement) *core.Tensor
	folded    = func(x *core.Tensor, low, high int) *core.Tensor
)

// Randint returns integers from low to before high: on the CPU from bits that vectors
// draw, elsewhere by drawn.
func Randint(within bounded, drawn drawnFrom, bits drawnBits, fold folded, shape []int, low, high int, seed, offset int64, place *core.Placement) *core.Tensor {
	var x *core.Tensor
	if place.Device.Accelerator() {
		x = drawn(shape, low, high, seed, offset, place)
	} else {
		x = fold(bits(shape, seed, offset, place), low, high)
	}
	return within(x, "high - low", float64(high-low), 1, 9.3e18)
}
