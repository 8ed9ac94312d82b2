package launch

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/scan"
	"github.com/sinter-go/sinter/ir"
)

func (x *Context) scan(c *ir.Call) error {
	if len(c.Axes) != 1 {
		return fmt.Errorf("%s: a scan is along one axis, not %v", c.Op.Name, c.Axes)
	}
	if ir.NumElements(c.Space) == 0 {
		return nil
	}
	if code := names.Of(c.Kernel); code.Launch != nil {
		return code.Launch(x, c)
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
		lines := scan.Lines{Count: kept.count, Extent: l.extent, Columns: columns, Widest: max(f.x.DType.Size(), f.out.DType.Size())}
		return x.scanSlices(c, &f, kept, l, outAt, xAt, lines)
	}
	if x.space.fits(false) {
		return run(&x.space, 0, 0)
	}
	return x.space.pieces(false, func(p *piece) error { return run(&p.layout, p.offsets[0], p.offsets[1]) })
}

// scanSlices launches a loop; where the grid has several slices, after finding out
// what is before each.
func (x *Context) scanSlices(c *ir.Call, f *fold, kept *layout, l line, outAt, xAt int64, lines scan.Lines) error {
	loop, totals := scanRowsLoop, totalsLoop
	if lines.Columns {
		loop, totals = columnsLoop, columnTotalsLoop
	}
	shape := lines.Shape(int64(x.device.sms * x.device.threadsPer))
	var carry uint64
	if slices := int64(shape.Slices()); slices > 1 {
		var err error
		if carry, err = x.Scratch(kept.count * slices * accumulator); err != nil {
			return err
		}
		if err := x.scanLaunch(c, f, kept, l, outAt, xAt, totals, carry, shape); err != nil {
			return err
		}
		if err := x.scanCarry(c, f, kept.count, slices, carry); err != nil {
			return err
		}
	}
	return x.scanLaunch(c, f, kept, l, outAt, xAt, loop, carry, shape)
}

// scanLaunch launches one loop over lines.
func (x *Context) scanLaunch(c *ir.Call, f *fold, kept *layout, l line, outAt, xAt int64, loop int, carry uint64, shape scan.Shape) error {
	x.params.Reset()
	kept.encode(&x.params, 0)
	l.encode(&x.params)
	ptr(&x.params, f.out.Addr, outAt, f.out.DType)
	ptr(&x.params, f.x.Addr, xAt, f.x.DType)
	x.params.Uint64(carry)
	if err := x.functor(c); err != nil {
		return err
	}
	return x.launch(f.set, loop, dim3(shape.Grid), dim3(shape.Block))
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
	shape := scan.Carries(lines)
	return x.launch(f.set, carryLoop, dim3(shape.Grid), dim3(shape.Block))
}
