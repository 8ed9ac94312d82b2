package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/ir"
)

const (
	weightedEach  = 2 // sums that a thread of the kernels makes
	weightedGroup = 4 // batches that share an index, of which it makes the same sum at once
)

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
	in, err := dense(g, c.In)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], dt)
	if err != nil {
		return err
	}
	next, group := 0, weightedGroup
	if list[0] != 1 {
		next, group = points*taps, 1
	}
	size := dt.Size()
	launch := func(at, batches, first, points int) error { // of so many batches and sums, from these on
		count := (batches + group - 1) / group * points * width
		var p driver.Params
		p.Uint32(uint32(count))
		p.Uint32(uint32(taps))
		space.AppendDivider(&p, width)
		space.AppendDivider(&p, points)
		p.Uint32(uint32(batches))
		p.Uint32(uint32(group))
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
	if err := inParts(batch, points, width, launch); err != nil {
		return err
	}
	return out.finish(g)
}

// SharedRowsGrad returns the gradient of WeightedRows with respect to x, which has as many
// rows as the result, from the gradient g of its result, and index and weight that all of a
// batch share. One kernel lists what each row is in, and another one adds it up.
func SharedRowsGrad(g code.GPU, c *ir.Call) error {
	dt, list := c.Out[0].DType, c.In[1].Shape
	batch, rows, width := c.Out[0].Shape[0], c.Out[0].Shape[1], c.Out[0].Shape[2]
	points, taps := list[1], list[2]
	if batch == 0 || rows == 0 || width == 0 {
		return nil
	}
	if points*taps == 0 {
		return zero(g, c.Out[0])
	}
	if !space.Fits(width) || !space.Fits(rows) || !space.Fits(points*taps) {
		return fmt.Errorf("%d rows of %d elements and %d weights on cuda, which are less than %d each", rows, width, points*taps, int64(space.Limit))
	}
	in, err := dense(g, c.In)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], dt)
	if err != nil {
		return err
	}
	starts, err := g.Scratch(int64(4 * (rows + 1)))
	if err != nil {
		return err
	}
	entries, err := g.Scratch(int64(2 * dt.Compute().Size() * points * taps))
	if err != nil {
		return err
	}
	if err := rowLists(g, rows, taps, starts, entries, in[1], in[2]); err != nil {
		return err
	}
	size := dt.Size()
	launch := func(at, batches, first, rows int) error { // of so many batches and rows, from these on
		count := batches * rows * width
		var p driver.Params
		p.Uint32(uint32(count))
		space.AppendDivider(&p, width)
		space.AppendDivider(&p, rows)
		p.Align(8)
		p.Int64(int64(points))
		p.Uint64(out.Addr + uint64((at*c.Out[0].Shape[1]+first)*width*size))
		p.Uint64(in[0].Addr + uint64(at*points*width*size))
		p.Uint64(starts + uint64(4*first))
		p.Uint64(entries)
		return g.Launch("weighted", ofType("listed_rows", dt), grid(int64(count), blockThreads*weightedEach), block(blockThreads), 0, p.Bytes())
	}
	if err := inParts(batch, rows, width, launch); err != nil {
		return err
	}
	return out.finish(g)
}

// rowLists launches the kernel that lists for each of the rows the entries of index and weight
// that take something of it: so many taps a sum.
func rowLists(g code.GPU, rows, taps int, starts, entries uint64, index, weight ir.View) error {
	var p driver.Params
	p.Uint32(uint32(rows))
	p.Uint32(uint32(index.NumElements()))
	space.AppendDivider(&p, taps)
	p.Align(8)
	p.Uint64(g.Trap())
	p.Uint32(uint32(trap.IndexSelect))
	p.Align(8)
	for _, at := range []uint64{starts, entries, index.Addr, weight.Addr} {
		p.Uint64(at)
	}
	return g.Launch("weighted", ofType("row_lists", weight.DType), grid(int64(rows), blockThreads/32), block(blockThreads), 0, p.Bytes())
}

// inParts calls launch for all of the given batches of rows of width elements: for several
// batches at a time, or for parts of one, of fewer than space.Limit elements.
func inParts(batch, rows, width int, launch func(at, batches, first, rows int) error) error {
	most := (space.Limit - 1) / width
	for at, batches := 0, max(most/rows, 1); at < batch; at += batches {
		for first := 0; first < rows; first += most {
			if err := launch(at, min(batches, batch-at), first, min(most, rows-first)); err != nil {
				return err
			}
		}
	}
	return nil
}
