package launch

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

const (
	scanThreads    = 256
	scanColumnEach = 16 // elements a thread takes of a column, at least, where columns are cut
)

func (x *Context) scan(c *ir.Call) error {
	if len(c.Axes) != 1 {
		return fmt.Errorf("%s: a scan is along one axis, not %v", c.Op.Name, c.Axes)
	}
	if ir.NumElements(c.Space) == 0 {
		return nil
	}
	return x.folding(c, (*Context).scanLines)
}

// A line is the scanned axis: the struct Line.
type line struct {
	extent        int64
	outStep, step int64 // in elements
}

func (l *line) encode(p *driver.Params) {
	p.Int64(l.extent)
	p.Int64(l.outStep)
	p.Int64(l.step)
}

// scanLines scans every line of the kept axes.
func (x *Context) scanLines(c *ir.Call, f fold) error {
	a := c.Axes[0]
	x.split(c, &f)
	l := line{extent: int64(c.Space[a]), outStep: int64(f.out.Strides[a]), step: int64(f.x.Strides[a])}
	columns := x.space.rank() > 0 && x.space.stride(0, 1) > 0 && x.space.stride(0, 1) < l.step && x.space.count >= 32
	run := func(kept *layout, outAt, xAt int64) error {
		if columns {
			return x.scanColumns(c, &f, kept, l, outAt, xAt)
		}
		return x.scanRows(c, &f, kept, l, outAt, xAt)
	}
	if x.space.fits(false) {
		return run(&x.space, 0, 0)
	}
	return x.space.pieces(false, func(p *piece) error { return run(&p.layout, p.offsets[0], p.offsets[1]) })
}

// scanColumns gives a thread to each line, several where the lines are too few.
func (x *Context) scanColumns(c *ir.Call, f *fold, kept *layout, l line, outAt, xAt int64) error {
	threads := min(scanThreads, ceilPow2(max(kept.count, 32)))
	blocks := (kept.count + threads - 1) / threads
	slices := min(2*x.wave(threads)/blocks, l.extent/scanColumnEach, maxSlices)
	if slices < 4 {
		slices = 1
	}
	return x.scanSlices(c, f, kept, l, outAt, xAt, scanLoops{columnsLoop, columnTotalsLoop},
		driver.Dim3{X: uint32(min(blocks, 1<<31-1)), Y: uint32(slices), Z: 1}, driver.Dim3{X: uint32(threads), Y: 1, Z: 1})
}

// scanItems is how many consecutive elements a thread takes in scan.cuh.
func scanItems(f *fold) int64 {
	switch widest := max(f.x.DType.Size(), f.out.DType.Size()); {
	case widest > 8:
		return 2
	case widest > 4:
		return 4
	}
	return 8
}

// scanRows gives a warp to each short line and a block to each long one, several
// blocks where the lines are too few.
func (x *Context) scanRows(c *ir.Call, f *fold, kept *layout, l line, outAt, xAt int64) error {
	items := scanItems(f)
	block, lines := driver.Dim3{X: 32, Y: scanThreads / 32, Z: 1}, int64(scanThreads/32)
	if l.extent > 4*32*items {
		threads := min(scanThreads, ceilPow2((l.extent+2*items-1)/(2*items)))
		block, lines = driver.Dim3{X: uint32(threads), Y: 1, Z: 1}, 1
	}
	blocks := (kept.count + lines - 1) / lines
	slices := min(x.wave(scanThreads)/blocks, l.extent/(int64(block.X)*items*2), maxSlices)
	if lines > 1 || slices < 4 {
		slices = 1
	}
	return x.scanSlices(c, f, kept, l, outAt, xAt, scanLoops{scanRowsLoop, totalsLoop},
		driver.Dim3{X: uint32(min(blocks, 1<<31-1)), Y: uint32(slices), Z: 1}, block)
}

// scanLoops are a loop and the one that leaves the folds of its slices.
type scanLoops struct{ scan, totals int }

// scanSlices launches a loop; where the grid has several slices, after finding out
// what is before each.
func (x *Context) scanSlices(c *ir.Call, f *fold, kept *layout, l line, outAt, xAt int64, loops scanLoops, grid, block driver.Dim3) error {
	var carry uint64
	if slices := int64(grid.Y); slices > 1 {
		var err error
		if carry, err = x.Scratch(kept.count * slices * accumulator); err != nil {
			return err
		}
		if err := x.scanLaunch(c, f, kept, l, outAt, xAt, loops.totals, carry, grid, block); err != nil {
			return err
		}
		if err := x.scanCarry(c, f, kept.count, slices, carry); err != nil {
			return err
		}
	}
	return x.scanLaunch(c, f, kept, l, outAt, xAt, loops.scan, carry, grid, block)
}

// scanLaunch launches one loop over lines.
func (x *Context) scanLaunch(c *ir.Call, f *fold, kept *layout, l line, outAt, xAt int64, loop int, carry uint64, grid, block driver.Dim3) error {
	x.params.Reset()
	kept.encode(&x.params, 0)
	l.encode(&x.params)
	ptr(&x.params, f.out.Addr, outAt, f.out.DType)
	ptr(&x.params, f.x.Addr, xAt, f.x.DType)
	x.params.Uint64(carry)
	if err := x.functor(c); err != nil {
		return err
	}
	return x.launch(f.set, loop, grid, block)
}

// scanCarry replaces the fold of each slice by that of the slices before it.
func (x *Context) scanCarry(c *ir.Call, f *fold, lines, slices int64, carry uint64) error {
	x.params.Reset()
	x.params.Int64(lines)
	x.params.Int64(slices)
	x.params.Uint64(carry)
	if err := x.functor(c); err != nil {
		return err
	}
	const warps = scanThreads / 32
	return x.launch(f.set, carryLoop, driver.Dim3{X: uint32((lines + warps - 1) / warps), Y: 1, Z: 1}, driver.Dim3{X: scanThreads, Y: 1, Z: 1})
}
