package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// OneHot returns 1 at the class that an element of x names along the last axis
// of the result, and 0 elsewhere.
func OneHot(c *ir.Call) error {
	out := newTensor(c.Out[0].Shape, ir.IntScalar(0))
	classes := out.shape[len(out.shape)-1]
	for i, s := range load(c.In[0], ir.Int64).v {
		k := s.Int()
		if k < 0 || k >= int64(classes) {
			return fmt.Errorf("index %d is out of range for an axis of %d elements (%s)", k, classes, ir.WantBelow(classes))
		}
		out.v[i*classes+int(k)] = ir.IntScalar(1)
	}
	store(c.Out[0], out, ir.Int64)
	return nil
}
