package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/ir"
)

// hotEach is how many numbers a thread of one_hot.cu writes.
const hotEach = 8

// OneHot returns 1 at the class that an element of x names along the last axis
// of the result, and 0 elsewhere, in one pass. A class that is none is a fault, as of the scatter that does it elsewhere.
func OneHot(g code.GPU, c *ir.Call) error {
	count := int64(c.Out[0].NumElements())
	if count == 0 {
		return nil
	}
	x, err := g.Dense(c.In[0], ir.Int64)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], ir.Int64)
	if err == nil && out.Addr%vectorBytes != 0 {
		out, err = copied(g, c.Out[0], ir.Int64)
	}
	if err != nil {
		return err
	}
	classes, kernel := out.Shape[len(out.Shape)-1], "one_hot"
	by := classes
	if count >= space.Limit {
		kernel, by = "one_hot_far", 1
	}
	var p driver.Params
	p.Int64(count)
	p.Uint64(out.Addr)
	p.Uint64(x.Addr)
	p.Int64(int64(classes))
	space.AppendDivider(&p, by)
	p.Align(8)
	p.Uint64(g.Trap())
	p.Uint32(uint32(trap.Scatter))
	if err := g.Launch("one_hot", kernel, grid(count, blockThreads*hotEach), block(blockThreads), 0, p.Bytes()); err != nil {
		return err
	}
	return out.finish(g)
}
