package opaque

import (
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// What follows a convolution runs over each block of its result when that is finished, while
// it is in a cache: its bias, the rounding to 16 bits, and what the caller computes of it.

// A Block is part of a convolution's result: of some images some channels, and of these some
// windows, which are the elements of a channel in row-major order.
type Block struct {
	Image, Images     int // the first, and how many there are
	Channel, Channels int
	Window, Windows   int
}

// ConvolutionThen is Convolution, or where there is a third operand ConvolutionBias, and calls
// then, unless it is nil, once for each block of the result when it is finished and may still
// be in a cache. The result is contiguous then. The blocks are disjoint and cover the result.
// Several goroutines call it at once.
func ConvolutionThen(c *ir.Call, then func(Block)) error {
	c = lean(c, 0)
	out := c.Out[0]
	f, err := convolutions.of(c.Compute)
	switch {
	case err != nil:
		return err
	case then != nil && !out.IsContiguous():
		return fmt.Errorf("the result, whose strides are %v, must be contiguous for what follows", out.Strides)
	case len(c.In) > 2 && (len(c.In[2].Shape) != 1 || c.In[2].Shape[0] != out.Shape[1]):
		return fmt.Errorf("bias %v must have one axis, as long as the second of the result %v", c.In[2].Shape, out.Shape)
	case out.NumElements() == 0:
		return nil
	}
	v := keeping(c)
	d := tile.TargetOf(out, c.Compute)
	e := &ending{v: v, out: out, computed: d, then: then, rounds: out.IsContiguous() && out.Ptr != d.Ptr}
	if len(c.In) > 2 {
		e.bias = tile.Dense(c.In[2], c.Compute)
	}
	if e.rounds || then != nil || e.bias.Ptr != nil {
		v.then = e.block
	}
	f(v, c.In[0], c.In[1], d)
	if !e.rounds {
		tile.Finish(out, d)
	}
	return nil
}

// An ending is what follows a convolution.
type ending struct {
	v             *convolution
	out, computed ir.View // the result, and where it is computed
	bias          ir.View // of the dtype of computed; no memory: none
	rounds        bool    // computed is not the result
	then          func(Block)
}

// block ends a block that is computed.
func (e *ending) block(b Block) {
	if e.bias.Ptr != nil {
		if e.computed.DType == ir.Float32 {
			addChannels[float32](e.v, e.computed, e.bias, b)
		} else {
			addChannels[float64](e.v, e.computed, e.bias, b)
		}
	}
	if e.rounds {
		tile.Copy(e.part(e.out, b), e.part(e.computed, b))
	}
	if e.then != nil {
		e.then(b)
	}
}

// part returns a block of a contiguous view of the result's shape.
func (e *ending) part(v ir.View, b Block) ir.View {
	channels, windows := e.v.groups*e.v.outs, e.v.outSize
	v.Ptr = unsafe.Add(v.Ptr, ((b.Image*channels+b.Channel)*windows+b.Window)*v.DType.Size())
	v.Shape, v.Strides = []int{b.Images, b.Channels, b.Windows}, []int{channels * windows, windows, 1}
	return v
}

// addChannels adds to each channel of a block of out its element of bias.
func addChannels[T float](v *convolution, out, bias ir.View, b Block) {
	to, from, channels := tile.Elements[T](out), tile.Elements[T](bias), v.groups*v.outs
	for u := b.Image; u < b.Image+b.Images; u++ {
		for c := b.Channel; c < b.Channel+b.Channels; c++ {
			row := to[(u*channels+c)*v.outSize+b.Window:][:b.Windows]
			for i := range row {
				row[i] += from[c]
			}
		}
	}
}

// whole is the block that is all of the result.
func (v *convolution) whole() Block {
	return Block{0, v.images, 0, v.groups * v.outs, 0, v.outSize}
}

// finish tells what follows that a block is finished.
func (v *convolution) finish(b Block) {
	if v.then != nil {
		v.then(b)
	}
}

// finish tells what follows that rows [r0, r1) of a group and of those behind it have finished
// windows [w0, w1); the groups of all images are counted.
func (s *correlation) finish(unit, r0, r1, w0, w1 int) {
	if s.then != nil {
		s.then(Block{s.first + unit/s.groups, 1, unit%s.groups*s.rows + r0, r1 - r0, w0, w1 - w0})
	}
}

// finishImages tells what follows that rows [r0, r1) of a group have finished all windows of
// so many images.
func (s *correlation) finishImages(unit, images, r0, r1 int) {
	if s.then != nil && images > 0 {
		s.then(Block{s.first + unit/s.groups, images, unit%s.groups*s.rows + r0, r1 - r0, 0, ir.NumElements(s.windows)})
	}
}

// gatheredElements is how many elements of finished groups follow at once, about: fewer take
// less time than the call.
const gatheredElements = 16 << 10

// A gathered is groups of an image that are finished, one after the other, or images where each
// is one group.
type gathered struct{ unit, units int }

// add adds a group, whose windows are n, to those that are finished.
func (g *gathered) add(s *correlation, unit, n int) {
	if g.units > 0 && (unit != g.unit+g.units || unit%s.groups == 0 && s.groups > 1) {
		g.flush(s)
	}
	if g.units == 0 {
		g.unit = unit
	}
	if g.units++; g.units*s.rows*n >= gatheredElements {
		g.flush(s)
	}
}

// flush tells what follows of the groups.
func (g *gathered) flush(s *correlation) {
	switch {
	case s.groups == 1:
		s.finishImages(g.unit, g.units, 0, s.rows)
	case g.units > 0:
		s.finish(g.unit, 0, g.units*s.rows, 0, ir.NumElements(s.windows))
	}
	g.units = 0
}

// shifted returns then for the blocks of a part of the result, which begins with an image and a
// window of it.
func shifted(then func(Block), image, window int) func(Block) {
	if then == nil {
		return nil
	}
	return func(b Block) {
		b.Image += image
		b.Window += window
		then(b)
	}
}
