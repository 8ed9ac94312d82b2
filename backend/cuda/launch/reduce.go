package launch

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

const (
	reduceLanes   = 128  // threads of a block of the inner loop
	innerResident = 512  // threads of the inner loop that a multiprocessor runs at once, for their registers
	foldResident  = 1024 // as many of those of fold.cuh, which have half as many loads under way
	reduceBlock   = 256  // threads of a block of the other loops
	reduceEach    = 4    // loads a thread should have, at least
	maxSlices     = 1 << 15
	accumulator   = 24 // bytes of the largest accumulator
)

// A fold is a reduction or a scan whose operand is as its kernel wants it.
type fold struct {
	set *loopSet
	x   ir.View
	out ir.View
}

// folding chooses the kernel of a reduction or a scan, converts its operand, and
// has run fold it. A result of another dtype than the kernel's goes through scratch.
func (x *Context) folding(c *ir.Call, run func(*Context, *ir.Call, fold) error) error {
	if len(c.Out) != 1 || len(c.In) != 1 {
		return fmt.Errorf("%s: %d results and %d operands for 1 and 1", c.Op.Name, len(c.Out), len(c.In))
	}
	in, out := c.In[0], c.Out[0]
	stored, natural := c.Kernel.In[0].DType, c.Kernel.Out[0].DType
	f := fold{set: x.device.loopsOf(c.Kernel), x: in, out: out}
	if in.Ptr != nil || in.DType != stored {
		var err error
		if f.x, err = x.onDevice(in, stored); err != nil {
			return err
		}
	}
	if out.DType == natural {
		return run(x, c, f)
	}
	var err error
	if f.out, err = x.dense(out.Shape, natural); err != nil {
		return err
	}
	for a, n := range out.Shape {
		if n == 1 { // reduced axes stay so
			f.out.Strides[a] = 0
		}
	}
	if err := run(x, c, f); err != nil {
		return err
	}
	return x.Store(out, f.out)
}

// onDevice returns v in device memory and of a dtype.
func (x *Context) onDevice(v ir.View, dt ir.DType) (ir.View, error) {
	if v.Ptr == nil {
		return x.converted(v, dt)
	}
	addr, err := x.uploadNumber(readNumber(v.Ptr, v.DType, dt), dt)
	v.Ptr, v.Addr, v.DType = nil, addr, dt
	return v, err
}

// reduction folds axes: by the operator's own function where it has one.
func (x *Context) reduction(c *ir.Call) error {
	code := names.Of(c.Kernel)
	switch {
	case code.Launch != nil:
		return code.Launch(x, c)
	case c.Op.Ordered:
		return fmt.Errorf("%s: not implemented on cuda, whose kernels fold elements in any order", c.Op.Name)
	}
	if c.Op.Bodies != nil && c.Op.Bodies[c.Variant].States != nil && !foldsOne(c) {
		return x.foldSeveral(c)
	}
	return x.folding(c, (*Context).reduce)
}

// Run runs the kernels of another operator for one that is written by hand.
func (x *Context) Run(c *ir.Call) error { return x.run(c) }

// split makes the layouts of the axes of c that are kept, for the result and the
// operand, and of the folded ones, for the operand. Both begin with the axis along
// which the operand's elements are closest together: folds may be in any order.
func (x *Context) split(c *ir.Call, f *fold) {
	x.order, x.foldedOrder = x.order[:0], x.foldedOrder[:0]
	for a := len(c.Space) - 1; a >= 0; a-- {
		switch {
		case c.Space[a] == 1:
		case slices.Contains(c.Axes, a):
			x.foldedOrder = append(x.foldedOrder, a)
		default:
			x.order = append(x.order, a)
		}
	}
	x.strides = append(x.strides[:0], f.x.Strides, f.out.Strides)
	nearest(x.order, x.strides...)
	nearest(x.foldedOrder, f.x.Strides)
	x.strides[0], x.strides[1] = f.out.Strides, f.x.Strides
	x.space.set(c.Space, x.order, x.strides)
	x.folded.set(c.Space, x.foldedOrder, x.strides[1:2])
}

// run reports whether a layout of one operand is neighbouring elements.
func (l *layout) run() bool { return l.rank() == 0 || l.rank() == 1 && l.stride(0, 0) == 1 }

// reduce folds c's axes. The result may be empty, and so may what is folded.
func (x *Context) reduce(c *ir.Call, f fold) error {
	x.split(c, &f)
	if x.space.count == 0 {
		return nil
	}
	if x.folded.count == 0 {
		x.folded.extents, x.folded.strides = x.folded.extents[:0], x.folded.strides[:0]
	} else if !x.folded.run() && !x.folded.fits(false) {
		dense, err := x.foldedLast(c, f.x)
		if err != nil {
			return err
		}
		f.x = dense
		x.split(c, &f)
	}
	if x.space.fits(false) {
		return x.reducePiece(c, &f, &x.space, 0, 0)
	}
	return x.space.pieces(false, func(p *piece) error {
		return x.reducePiece(c, &f, &p.layout, p.offsets[0], p.offsets[1])
	})
}

// foldedLast returns a copy of v in which the folded axes are one run.
func (x *Context) foldedLast(c *ir.Call, v ir.View) (ir.View, error) {
	dense, err := x.dense(v.Shape, v.DType)
	if err != nil {
		return v, err
	}
	step := 1
	for _, folded := range []bool{true, false} {
		for a := len(v.Shape) - 1; a >= 0; a-- {
			if slices.Contains(c.Axes, a) == folded {
				dense.Strides[a] = step
				step *= v.Shape[a]
			}
		}
	}
	return dense, x.Store(dense, v)
}

// A reduceShape is how a reduction is laid over the device.
type reduceShape struct {
	loop   int
	block  driver.Dim3
	blocks int64
	slices int64
}

func (x *Context) reducePiece(c *ir.Call, f *fold, kept *layout, outAt, xAt int64) error {
	var r reduceShape
	if x.outerFirst(kept) {
		r = x.outerShape(f, kept, xAt)
	} else {
		r = x.innerShape(f, kept)
	}
	var partial uint64
	if r.slices > 1 {
		var err error
		if partial, err = x.Scratch(kept.count * r.slices * max(accumulator, statesBytes(c))); err != nil {
			return err
		}
	}
	x.params.Reset()
	kept.encode(&x.params, 0)
	if x.folded.run() {
		x.folded.encodeRun(&x.params)
	} else {
		x.folded.encode(&x.params, 0)
	}
	ptr(&x.params, f.out.Addr, outAt, f.out.DType)
	ptr(&x.params, f.x.Addr, xAt, f.x.DType)
	x.params.Uint64(partial)
	if err := x.functor(c); err != nil {
		return err
	}
	if err := x.launch(f.set, r.loop, driver.Dim3{X: uint32(r.blocks), Y: uint32(r.slices), Z: 1}, r.block); err != nil || r.slices == 1 {
		return err
	}
	x.params.Reset()
	kept.encode(&x.params, 0)
	ptr(&x.params, f.out.Addr, outAt, f.out.DType)
	ptr(&x.params, f.x.Addr, xAt, f.x.DType)
	x.params.Uint64(partial)
	x.params.Int64(r.slices)
	x.params.Int64(x.folded.count)
	if err := x.functor(c); err != nil {
		return err
	}
	const results = reduceBlock / 32
	grid := driver.Dim3{X: uint32((kept.count + results - 1) / results), Y: 1, Z: 1}
	return x.launch(f.set, mergeLoop, grid, driver.Dim3{X: reduceBlock, Y: 1, Z: 1})
}

// outerFirst reports whether neighbouring results come of neighbouring elements
// rather than neighbouring elements fold into one result.
func (x *Context) outerFirst(kept *layout) bool {
	if kept.rank() == 0 || x.folded.rank() == 0 || kept.count < 32 {
		return false
	}
	step := kept.stride(0, 1)
	return step > 0 && step < x.folded.stride(0, 0)
}

// innerShape gives the lanes of a block to one result, or to several where few
// elements are folded. It takes the device for empty: results with few blocks are
// cut into slices.
func (x *Context) innerShape(f *fold, kept *layout) reduceShape {
	each := int64(reduceEach)
	if x.folded.run() {
		each *= reduceWidth(f.x.DType)
	}
	lanes := min(reduceLanes, ceilPow2((x.folded.count+each-1)/each))
	results := reduceLanes / lanes
	r := reduceShape{loop: innerLoop, block: driver.Dim3{X: uint32(lanes), Y: uint32(results), Z: 1}, slices: 1}
	all := (kept.count + results - 1) / results
	r.blocks = min(all, 1<<31-1)
	if s := min(int64(x.device.sms)*innerResident/reduceLanes/all, x.folded.count/(lanes*each), maxSlices); s >= 4 {
		r.slices = s
	}
	return r
}

// outerShape gives a thread neighbouring results, and several threads to each.
func (x *Context) outerShape(f *fold, kept *layout, xAt int64) reduceShape {
	width := reduceWidth(f.x.DType)
	if !x.outerVectors(f, kept, xAt, width) {
		width = 1
	}
	parts := max(1, min(reduceBlock/32, floorPow2(x.folded.count/reduceEach)))
	columns := reduceBlock / parts
	r := reduceShape{loop: outerLoop, block: driver.Dim3{X: uint32(columns), Y: uint32(parts), Z: 1}, slices: 1}
	all := (kept.count + columns*width - 1) / (columns * width)
	r.blocks = min(all, 1<<31-1)
	if s := min(x.wave(reduceBlock)/all, x.folded.count/(parts*reduceEach), maxSlices); s >= 4 {
		r.slices = s
	}
	return r
}

// outerVectors reports what the kernel will find: that neighbouring results can be
// loaded as vectors.
func (x *Context) outerVectors(f *fold, kept *layout, xAt, width int64) bool {
	if kept.stride(0, 1) != 1 || (f.x.Addr+uint64(xAt*int64(f.x.DType.Size())))%vectorBytes != 0 {
		return false
	}
	all := kept.extents[0]
	for d := 1; d < kept.rank(); d++ {
		all |= kept.stride(d, 1)
	}
	for d := range x.folded.rank() {
		all |= x.folded.stride(d, 0)
	}
	return all&(width-1) == 0
}

// reduceWidth is the elements of a vector in reduce.cuh.
func reduceWidth(dt ir.DType) int64 {
	if dt.Size() < 2 {
		return 8
	}
	return int64(vectorBytes / dt.Size())
}

// wave is how many blocks of that many threads the device runs at once.
func (x *Context) wave(threads int64) int64 {
	return int64(x.device.sms*x.device.threadsPer) / threads
}

// ceilPow2 returns the least power of two that is not below n, at least 1.
func ceilPow2(n int64) int64 {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len64(uint64(n-1))
}

// floorPow2 returns the greatest power of two that is not above n, at least 1.
func floorPow2(n int64) int64 {
	if n <= 1 {
		return 1
	}
	return 1 << (bits.Len64(uint64(n)) - 1)
}
