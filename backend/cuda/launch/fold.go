package launch

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// foldsOne reports whether a reduction has the loops of reduce.cuh, of one operand and one
// result, as the generator decides it, rather than those of fold.cuh.
func foldsOne(c *ir.Call) bool {
	if len(c.In) > 1 || len(c.Out) > 1 || len(c.Op.Bodies[c.Variant].First) > 0 {
		return false
	}
	for _, d := range c.Op.DTypes.List() {
		bytes := 0
		for _, s := range c.Op.Bodies[c.Variant].States {
			bytes += max(8, s.Held(c.Op.ComputeIn(d)).Size())
		}
		if reduceBlock*int(reduceWidth(d))*bytes > defaultShared {
			return false
		}
	}
	return true
}

// statesBytes bounds the size of a reduction's states together.
func statesBytes(c *ir.Call) int64 {
	if c.Variant >= len(c.Op.Bodies) {
		return 0
	}
	return int64(16 * len(c.Op.Bodies[c.Variant].States))
}

// A severalFold is a reduction of several operands or to several results whose views are
// as its kernel wants them.
type severalFold struct {
	set     *loopSet
	out, in []ir.View
}

// foldSeveral folds axes of several operands, or to several results. Results of another
// dtype than the kernel's go through scratch.
func (x *Context) foldSeveral(c *ir.Call) error {
	if len(c.Out) != len(c.Op.Out) || len(c.In) != len(c.Op.In) {
		return fmt.Errorf("%s: %d results and %d operands for %d and %d", c.Op.Name, len(c.Out), len(c.In), len(c.Op.Out), len(c.Op.In))
	}
	f := severalFold{set: x.device.loopsOf(c.Kernel)}
	for i, v := range c.In {
		want := c.Kernel.In[i].DType
		if v.Ptr != nil || v.DType != want {
			var err error
			if v, err = x.onDevice(v, want); err != nil {
				return err
			}
		}
		f.in = append(f.in, v)
	}
	for i, v := range c.Out {
		if want := c.Kernel.Out[i].DType; v.DType != want {
			var err error
			if v, err = x.dense(v.Shape, want); err != nil {
				return err
			}
			for a, n := range v.Shape {
				if n == 1 { // reduced axes stay so
					v.Strides[a] = 0
				}
			}
		}
		f.out = append(f.out, v)
	}
	if err := x.foldLayouts(c, &f); err != nil {
		return err
	}
	for i, v := range c.Out {
		if f.out[i].DType != v.DType {
			if err := x.Store(v, f.out[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// splitSeveral makes the layouts of the axes of c that are kept, for results and operands,
// and of the folded ones, for the operands. Both begin with the axis along which the first
// operand's elements are closest together.
func (x *Context) splitSeveral(c *ir.Call, f *severalFold) {
	first := fold{x: f.in[0], out: f.out[0]}
	x.split(c, &first) // sets the orders
	x.strides = x.strides[:0]
	for _, v := range f.out {
		x.strides = append(x.strides, v.Strides)
	}
	for _, v := range f.in {
		x.strides = append(x.strides, v.Strides)
	}
	x.space.set(c.Space, x.order, x.strides)
	x.folded.set(c.Space, x.foldedOrder, x.strides[len(f.out):])
}

// foldLayouts folds c's axes. The results may be empty, and so may what is folded.
func (x *Context) foldLayouts(c *ir.Call, f *severalFold) error {
	x.splitSeveral(c, f)
	if x.space.count == 0 {
		return nil
	}
	if x.folded.count == 0 {
		x.folded.extents, x.folded.strides = x.folded.extents[:0], x.folded.strides[:0]
	} else if !x.folded.runs() && !x.folded.fits(false) {
		for i, v := range f.in {
			dense, err := x.foldedLast(c, v)
			if err != nil {
				return err
			}
			f.in[i] = dense
		}
		x.splitSeveral(c, f)
	}
	if x.space.fits(false) {
		return x.foldPiece(c, f, &x.space, nil)
	}
	return x.space.pieces(false, func(p *piece) error { return x.foldPiece(c, f, &p.layout, p.offsets) })
}

// runs reports whether a layout is neighbouring elements in every operand.
func (l *layout) runs() bool {
	if l.rank() > 1 {
		return false
	}
	for k := range l.operands {
		if l.rank() == 1 && l.stride(0, k) != 1 {
			return false
		}
	}
	return true
}

// foldPiece launches the kernels for a part of the results; offsets are those of its first
// position in every result and operand, nil for none.
func (x *Context) foldPiece(c *ir.Call, f *severalFold, kept *layout, offsets []int64) error {
	r := x.foldShape(c, f, kept, offsets)
	var partial uint64
	if r.slices > 1 {
		var err error
		if partial, err = x.Scratch(kept.count * r.slices * max(accumulator, statesBytes(c))); err != nil {
			return err
		}
	}
	pointers := func() {
		for i, v := range append(f.out[:len(f.out):len(f.out)], f.in...) {
			at := int64(0)
			if offsets != nil {
				at = offsets[i]
			}
			ptr(&x.params, v.Addr, at, v.DType)
		}
		x.params.Uint64(partial)
	}
	x.params.Reset()
	kept.encode(&x.params, 0)
	if x.folded.runs() {
		x.folded.encodeRun(&x.params)
	} else {
		x.folded.encode(&x.params, 0)
	}
	pointers()
	if err := x.functor(c); err != nil {
		return err
	}
	if err := x.launch(f.set, r.loop, driver.Dim3{X: uint32(r.blocks), Y: uint32(r.slices), Z: 1}, r.block); err != nil || r.slices == 1 {
		return err
	}
	x.params.Reset()
	kept.encode(&x.params, 0)
	pointers()
	x.params.Int64(r.slices)
	x.params.Int64(x.folded.count)
	if err := x.functor(c); err != nil {
		return err
	}
	const results = reduceBlock / 32
	grid := driver.Dim3{X: uint32((kept.count + results - 1) / results), Y: 1, Z: 1}
	return x.launch(f.set, mergeLoop, grid, driver.Dim3{X: reduceBlock, Y: 1, Z: 1})
}

// foldShape gives several threads to each result: lanes of a block where the first
// operand's folded elements are closest together, and else rows of columns, of which a
// thread takes as many as vectors have.
func (x *Context) foldShape(c *ir.Call, f *severalFold, kept *layout, offsets []int64) reduceShape {
	step := int64(0)
	if kept.rank() > 0 {
		step = kept.stride(0, len(f.out))
	}
	if kept.rank() > 0 && x.folded.rank() > 0 && kept.count >= 32 && step > 0 && step < x.folded.stride(0, 0) {
		parts := max(1, min(reduceBlock/32, floorPow2(x.folded.count/reduceEach)))
		columns := reduceBlock / parts
		r := reduceShape{loop: outerLoop, block: driver.Dim3{X: uint32(columns), Y: uint32(parts), Z: 1}, slices: 1}
		if w := foldColumns(c); w > 1 && x.columnVectors(f, kept, offsets, w) {
			columns *= w
		}
		all := (kept.count + columns - 1) / columns
		r.blocks = min(all, 1<<31-1)
		if s := min(x.wave(reduceBlock)/all, x.folded.count/(parts*reduceEach), maxSlices); s >= 4 {
			r.slices = s
		}
		return r
	}
	each := int64(reduceEach)
	if x.folded.runs() {
		each *= foldWidth(c)
	}
	lanes := min(reduceLanes, ceilPow2((x.folded.count+each-1)/each))
	width := reduceLanes / lanes
	r := reduceShape{loop: innerLoop, block: driver.Dim3{X: uint32(lanes), Y: uint32(width), Z: 1}, slices: 1}
	all := (kept.count + width - 1) / width
	r.blocks = min(all, 1<<31-1)
	if s := min(int64(x.device.sms)*foldResident/reduceLanes/all, x.folded.count/(lanes*each), maxSlices); s >= 4 {
		r.slices = s
	}
	return r
}

// foldWidth is the elements of a vector in fold.cuh, which has them where all operands are
// of one size.
func foldWidth(c *ir.Call) int64 {
	size := c.Kernel.In[0].DType.Size()
	for _, p := range c.Kernel.In {
		if p.DType.Size() != size {
			return 1
		}
	}
	return int64(vectorBytes / size)
}

// foldColumns is how many columns a thread takes in fold.cuh where it loads vectors.
func foldColumns(c *ir.Call) int64 {
	bytes := 0 // of the states, each aligned
	for _, s := range c.Op.Bodies[c.Variant].States {
		bytes += max(8, s.Held(c.Op.ComputeIn(c.DType)).Size())
	}
	if foldWidth(c) < 4 || bytes*reduceBlock*4 > 32<<10 {
		return 1
	}
	return 4
}

// columnVectors reports what the kernel will find: that w neighbouring results can be
// loaded as vectors of every operand.
func (x *Context) columnVectors(f *severalFold, kept *layout, offsets []int64, w int64) bool {
	all := kept.extents[0]
	for k, v := range f.in {
		at := len(f.out) + k
		addr, size := v.Addr, int64(v.DType.Size())
		if offsets != nil {
			addr += uint64(offsets[at] * size)
		}
		if kept.stride(0, at) != 1 || addr%uint64(size*w) != 0 {
			return false
		}
		for d := 1; d < kept.rank(); d++ {
			all |= kept.stride(d, at)
		}
		for d := range x.folded.rank() {
			all |= x.folded.stride(d, k)
		}
	}
	return all&(w-1) == 0
}
