package composite

import "github.com/sinter-go/sinter/runtime/core"

// Empty returns a tensor in new memory that nothing was written to.
func Empty(shape []int, place *core.Placement) *core.Tensor { return core.Empty(shape, *place) }
