package opaque

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// mostNarrow is how many bytes of a weight a processor's own cache holds. Of a larger one every
// processor reads a part of its own, each step.
const mostNarrow = 1 << 20

// Narrow reports whether a call goes through steps of which each has little for a second
// processor: of few rows, with a weight that one processor's cache holds. Operators that go
// through steps can do so backwards and multiply with a weight in each; their first operand is
// over steps and the rows of a batch.
func Narrow(c *ir.Call) bool {
	i := slices.IndexFunc(c.Op.In, func(o ir.Operand) bool { return o.Name == "weight" })
	if i < 0 || !slices.ContainsFunc(c.Op.Attrs, func(a ir.Attr) bool { return a.Name == "reverse" }) {
		return false
	}
	shape, weight := c.In[0].Shape, c.In[i]
	bytes := weight.NumElements() * weight.DType.Size()
	return len(shape) == 3 && shape[0] > 2 && shape[1] < 2*leastRows && bytes > 0 && bytes <= mostNarrow
}
