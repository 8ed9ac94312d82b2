package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/ir"
)

// weightedEach is how many elements of the result a thread of the kernels takes.
const weightedEach = 2

// WeightedRows returns sums of rows of x [batch, rows, width]: row p of the result is the
// sum over k of the rows that index [1 or batch, points, k] names, times weight of its
// shape. A row of the weight zero is not read.
func WeightedRows(g code.GPU, c *ir.Call) error {
	dt, shape, list := c.Out[0].DType, c.In[0].Shape, c.In[1].Shape
	batch, rows, width, points, taps := shape[0], shape[1], shape[2], list[1], list[2]
	if batch == 0 || points == 0 || width == 0 {
		return nil
	}
	if !space.Fits(width) {
		return fmt.Errorf("rows of %d elements on cuda, which are less than %d elements", width, int64(space.Limit))
	}
	var in [3]ir.View
	for i, as := range []ir.DType{dt, ir.Int64, dt} {
		var err error
		if in[i], err = g.Dense(c.In[i], as); err != nil {
			return err
		}
	}
	out, err := contiguous(g, c.Out[0], dt)
	if err != nil {
		return err
	}
	next := 0
	if list[0] != 1 {
		next = points * taps
	}
	size := dt.Size()
	launch := func(at, batches, first, points int) error { // of so many batches and sums, from these on
		count := batches * points * width
		var p driver.Params
		p.Uint32(uint32(count))
		p.Uint32(uint32(taps))
		space.AppendDivider(&p, width)
		space.AppendDivider(&p, points)
		p.Int64(int64(rows))
		p.Int64(int64(next))
		p.Uint64(g.Trap())
		p.Uint32(uint32(trap.IndexSelect))
		p.Align(8)
		p.Uint64(out.Addr + uint64((at*list[1]+first)*width*size))
		p.Uint64(in[0].Addr + uint64(at*rows*width*size))
		p.Uint64(in[1].Addr + uint64((at*next+first*taps)*8))
		p.Uint64(in[2].Addr + uint64((at*next+first*taps)*size))
		return g.Launch("weighted", ofType("weighted_rows", dt), grid(int64(count), blockThreads*weightedEach), block(blockThreads), 0, p.Bytes())
	}
	most := (space.Limit - 1) / width                                      // sums that a launch takes
	for at, batches := 0, max(most/points, 1); at < batch; at += batches { // several, or one in parts
		for first := 0; first < points; first += most {
			if err := launch(at, min(batches, batch-at), first, min(most, points-first)); err != nil {
				return err
			}
		}
	}
	return out.finish(g)
}
