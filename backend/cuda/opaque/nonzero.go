package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/ir"
)

// nonzeroTile is how many elements a block of the kernels looks at.
const nonzeroTile = 4096

// NonzeroSized returns the positions of x's nonzero elements, of which there
// should be as many as attribute n says, one row of axis indices each.
func NonzeroSized(g code.GPU, c *ir.Call) error { return nonzeroSized(g, c, trap.NonzeroSized) }

// Probabilities reports true elements of its operand: those that are no probabilities.
func Probabilities(g code.GPU, c *ir.Call) error { return nonzeroSized(g, c, trap.Probabilities) }

func nonzeroSized(g code.GPU, c *ir.Call, who trap.Who) error {
	wanted := c.Attrs[0].Int
	count := int64(c.In[0].NumElements())
	if count == 0 && wanted != 0 {
		return fmt.Errorf("x has no elements, not %d nonzero ones", wanted)
	}
	if count == 0 {
		return nil
	}
	x, err := g.Dense(c.In[0], ir.Bool)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], ir.Int64)
	if err != nil {
		return err
	}
	before, err := countTiles(g, x, wanted, who)
	if err != nil {
		return err
	}
	var p driver.Params
	inner, rank := int64(1), len(x.Shape)
	for last := rank; last > 0 && wanted > 0; last -= space.MaxRank {
		axes := x.Shape[max(0, last-space.MaxRank):last]
		p.Reset()
		p.Uint64(x.Addr)
		p.Int64(count)
		p.Uint64(before)
		p.Int64(wanted)
		appendAxes(&p, count, inner, last-1, axes)
		p.Uint64(out.Addr)
		p.Int32(int32(rank))
		if err := g.Launch("mask", "nonzero_write", grid(count, nonzeroTile), block(blockThreads), 0, p.Bytes()); err != nil {
			return err
		}
		inner *= int64(ir.NumElements(axes))
	}
	return out.finish(g)
}

// countTiles returns, for each tile of a contiguous mask, how many bytes before it
// are not zero. It is a fault of who if they are not wanted in all.
func countTiles(g code.GPU, mask ir.View, wanted int64, who trap.Who) (before uint64, err error) {
	count := int64(mask.NumElements())
	tiles := ceil(count, nonzeroTile)
	found, err := g.Scratch(4 * tiles)
	if err != nil {
		return 0, err
	}
	if before, err = g.Scratch(8 * tiles); err != nil {
		return 0, err
	}
	var p driver.Params
	p.Uint64(mask.Addr)
	p.Int64(count)
	p.Uint64(found)
	if err := g.Launch("mask", "nonzero_count", grid(tiles, 1), block(blockThreads), 0, p.Bytes()); err != nil {
		return 0, err
	}
	p.Reset()
	p.Uint64(found)
	p.Int64(tiles)
	p.Int64(wanted)
	p.Uint64(before)
	p.Uint64(g.Trap())
	p.Uint32(uint32(who))
	return before, g.Launch("mask", "nonzero_scan", grid(1, 1), block(1024), 0, p.Bytes())
}

// MaskedSelectSized returns the elements of x at the places where mask, which has
// x's shape, is not zero: as many as attribute n says.
func MaskedSelectSized(g code.GPU, c *ir.Call) error {
	wanted := c.Attrs[0].Int
	if c.In[0].NumElements() == 0 {
		return nil
	}
	x, err := g.Dense(c.In[0], c.Out[0].DType)
	if err != nil {
		return err
	}
	mask, err := g.Dense(c.In[1], ir.Bool)
	if err != nil {
		return err
	}
	before, err := countTiles(g, mask, wanted, trap.MaskedSelect)
	if err != nil || wanted == 0 {
		return err
	}
	out, err := contiguous(g, c.Out[0], x.DType)
	if err != nil {
		return err
	}
	count := int64(mask.NumElements())
	var p driver.Params
	p.Uint64(mask.Addr)
	p.Int64(count)
	p.Uint64(before)
	p.Int64(wanted)
	p.Uint64(x.Addr)
	p.Uint64(out.Addr)
	if err := g.Launch("mask", ofUnit("masked_select", x.DType.Size()), grid(count, nonzeroTile), block(blockThreads), 0, p.Bytes()); err != nil {
		return err
	}
	return out.finish(g)
}

// appendAxes adds the struct Axes of mask.cu; extents go from the outermost in.
func appendAxes(p *driver.Params, count, inner int64, first int, extents []int) {
	divider := func(n int64) {
		if count >= space.Limit {
			n = 1
		}
		space.AppendDivider(p, int(n))
	}
	at := func(d int) int64 {
		if d < len(extents) {
			return int64(extents[len(extents)-1-d])
		}
		return 1
	}
	p.Int64(count)
	p.Int64(inner)
	p.Int32(int32(first))
	p.Int32(int32(len(extents)))
	divider(inner)
	for d := range space.MaxRank {
		divider(at(d))
	}
	for d := range space.MaxRank {
		p.Int64(at(d))
	}
}
