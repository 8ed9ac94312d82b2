package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/scan"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
)

// CumulativeExtreme returns the largest element up to each along the axis in
// attribute dim, or the smallest with attribute smallest, and its place on the axis:
// the last of equal ones. NaN comes before every number.
func CumulativeExtreme(g code.GPU, c *ir.Call) error {
	if dt := c.In[0].DType; !dt.IsInt() && !dt.IsFloat() && dt != ir.Bool {
		return fmt.Errorf("not implemented for %s on cuda", dt)
	}
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil || c.In[0].NumElements() == 0 {
		return err
	}
	p := prefix{kernel: ofType("prefix", c.In[0].DType), state: 16, smallest: c.Attrs[1].Int != 0}
	if c.In[0].DType == ir.Bool { // bools order as bytes
		p.kernel = ofType("prefix", ir.Uint8)
	}
	if p.x, err = onDevice(g, c.In[0], c.In[0].DType); err != nil {
		return err
	}
	if p.values, err = contiguous(g, c.Out[0], p.x.DType); err != nil {
		return err
	}
	places, err := contiguous(g, c.Out[1], ir.Int64)
	if err != nil {
		return err
	}
	p.module, p.places = "prefix", places.Addr
	if err := p.run(g, axis); err != nil {
		return err
	}
	if err := p.values.finish(g); err != nil {
		return err
	}
	return places.finish(g)
}

// LogCumSumExp returns the logarithms of the sums of exp of the elements up to each along
// an axis.
func LogCumSumExp(g code.GPU, c *ir.Call) (err error) {
	p := prefix{module: "logcumsumexp", kernel: ofType("logcumsumexp", c.In[0].DType), state: 2 * c.Compute.Size()}
	if p.x, err = onDevice(g, c.In[0], c.In[0].DType); err != nil {
		return err
	}
	if p.values, err = strided(g, c.Out[0], p.x.DType); err != nil {
		return err
	}
	if err := p.run(g, c.Axes[0]); err != nil {
		return err
	}
	return p.values.finish(g)
}

// A prefix is a launch of kernels made of scan.cuh.
type prefix struct {
	module, kernel string // kernel without the loop
	state          int    // bytes
	x              ir.View
	values         target
	places         uint64      // where the result's places go, contiguous as values then are; 0 for none
	smallest       bool        // of a scan with places
	kept           space.Space // the axes that are not scanned, over the results and x
	extent         int         // of the one that is
	outStep, step  int
}

// residentThreads is how many a multiprocessor runs at once.
const residentThreads = 2048

func (p *prefix) run(g code.GPU, axis int) error {
	p.extent, p.outStep, p.step, p.kept = 1, 1, 1, space.New(nil, nil, nil)
	if x := p.x; len(x.Shape) > 0 {
		p.extent, p.outStep, p.step = x.Shape[axis], p.values.Strides[axis], x.Strides[axis]
		p.kept = space.New(without(x.Shape, axis), without(p.values.Strides, axis), without(x.Strides, axis))
	}
	return p.kept.Each(func(piece *space.Space, at []int64) error { return p.launch(g, piece, at[0], at[1]) })
}

// functor adds what the kernels are told besides memory.
func (p *prefix) functor(all *driver.Params) {
	all.Bool(p.smallest) // an empty struct has a byte, too
}

// launch enqueues the scan of a piece of the lines.
func (p *prefix) launch(g code.GPU, kept *space.Space, outAt, xAt int64) error {
	size := p.x.DType.Size()
	near := 0
	if len(kept.Extents) > 0 {
		near = kept.Strides[1][0]
	}
	lines := scan.Lines{Count: kept.Count(), Extent: int64(p.extent), Columns: near > 0 && near < p.step && kept.Count() >= 32, Widest: size}
	if p.places != 0 {
		lines.Widest = 8
	}
	shape := lines.Shape(residentThreads * int64(g.Multiprocessors()))
	loop, totals := "_rows", "_totals"
	if lines.Columns {
		loop, totals = "_columns", "_column_totals"
	}
	slices := int64(shape.Slices())
	carry, err := g.Scratch(lines.Count * slices * int64(p.state) * min(slices-1, 1)) // none for one
	if err != nil {
		return err
	}
	var all driver.Params
	kept.Append(&all)
	all.Int64(int64(p.extent))
	all.Int64(int64(p.outStep))
	all.Int64(int64(p.step))
	all.Uint64(p.values.Addr + uint64(outAt*int64(size)))
	all.Uint64(p.x.Addr + uint64(xAt*int64(size)))
	if p.places != 0 {
		all.Uint64(p.places + uint64(outAt*8))
	}
	all.Uint64(carry)
	p.functor(&all)
	if slices > 1 {
		if err := g.Launch(p.module, p.kernel+totals, shape.Grid, shape.Block, 0, all.Bytes()); err != nil {
			return err
		}
		var ahead driver.Params
		ahead.Int64(lines.Count)
		ahead.Int64(slices)
		ahead.Uint64(carry)
		p.functor(&ahead)
		between := scan.Carries(lines.Count)
		if err := g.Launch(p.module, p.kernel+"_carry", between.Grid, between.Block, 0, ahead.Bytes()); err != nil {
			return err
		}
	}
	return g.Launch(p.module, p.kernel+loop, shape.Grid, shape.Block, 0, all.Bytes())
}
