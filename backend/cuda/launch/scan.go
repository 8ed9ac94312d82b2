package launch

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

const scanThreads = 256

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
	columns := x.space.rank() > 0 && x.space.stride(0, 1) > 0 && x.space.stride(0, 1) < l.step
	if columns && l.extent >= 64 && x.space.count >= 32 && x.space.count < int64(64*x.device.sms) {
		return x.scanTransposed(c, f)
	}
	columns = columns && x.space.count >= 32
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

// scanTransposed scans few long lines, whose elements are far apart, in scratch
// where they are close together.
func (x *Context) scanTransposed(c *ir.Call, f fold) error {
	in, err := x.foldedLast(c, f.x)
	if err != nil {
		return err
	}
	out := in
	if f.x.DType != f.out.DType {
		if out, err = x.dense(in.Shape, f.out.DType); err != nil {
			return err
		}
		out.Strides = in.Strides
	}
	if err := x.scanLines(c, fold{set: f.set, x: in, out: out}); err != nil {
		return err
	}
	return x.Store(f.out, out)
}

// scanParams packs the parameters that the loops have in common.
func (x *Context) scanParams(f *fold, kept *layout, l line, outAt, xAt int64) {
	x.params.Reset()
	kept.encode(&x.params, 0)
	l.encode(&x.params)
	ptr(&x.params, f.out.Addr, outAt, f.out.DType)
	ptr(&x.params, f.x.Addr, xAt, f.x.DType)
}

func (x *Context) scanColumns(c *ir.Call, f *fold, kept *layout, l line, outAt, xAt int64) error {
	x.scanParams(f, kept, l, outAt, xAt)
	if err := x.functor(c); err != nil {
		return err
	}
	threads := int64(scanThreads)
	for threads > 64 && kept.count < threads*int64(x.device.sms) {
		threads /= 2
	}
	grid := driver.Dim3{X: uint32((kept.count + threads - 1) / threads), Y: 1, Z: 1}
	return x.launch(f.set, columnsLoop, grid, driver.Dim3{X: uint32(threads), Y: 1, Z: 1})
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
	grid := driver.Dim3{X: uint32(min(blocks, 1<<31-1)), Y: uint32(slices), Z: 1}
	var carry uint64
	if slices > 1 {
		var err error
		if carry, err = x.scanCarry(c, f, kept, l, grid, block, outAt, xAt); err != nil {
			return err
		}
	}
	x.scanParams(f, kept, l, outAt, xAt)
	x.params.Uint64(carry)
	if err := x.functor(c); err != nil {
		return err
	}
	return x.launch(f.set, scanRowsLoop, grid, block)
}

// scanCarry returns scratch with, for each slice of each line, the fold of what is
// before it.
func (x *Context) scanCarry(c *ir.Call, f *fold, kept *layout, l line, grid, block driver.Dim3, outAt, xAt int64) (uint64, error) {
	slices := int64(grid.Y)
	carry, err := x.Scratch(kept.count * slices * accumulator)
	if err != nil {
		return 0, err
	}
	x.scanParams(f, kept, l, outAt, xAt)
	x.params.Uint64(carry)
	if err := x.functor(c); err != nil {
		return 0, err
	}
	if err := x.launch(f.set, totalsLoop, grid, block); err != nil {
		return 0, err
	}
	x.params.Reset()
	x.params.Int64(kept.count)
	x.params.Int64(slices)
	x.params.Uint64(carry)
	if err := x.functor(c); err != nil {
		return 0, err
	}
	const warps = scanThreads / 32
	return carry, x.launch(f.set, carryLoop, driver.Dim3{X: uint32((kept.count + warps - 1) / warps), Y: 1, Z: 1}, driver.Dim3{X: scanThreads, Y: 1, Z: 1})
}
