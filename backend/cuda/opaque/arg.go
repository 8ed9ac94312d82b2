package opaque

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
)

// ArgMax returns the index of the largest element along the one axis in
// attribute dim, or in x read in row-major order where it is nil. The first of
// equal elements wins; NaN is the largest.
func ArgMax(g code.GPU, c *ir.Call) error { return argReduce(g, c, false) }

// ArgMin is ArgMax for the smallest element; NaN is the smallest too.
func ArgMin(g code.GPU, c *ir.Call) error { return argReduce(g, c, true) }

// A search is a launch of the kernels in arg.cu.
type search struct {
	x           ir.View
	kept        space.Space // the result's axes, over the result and x
	along, step int         // elements compared for a result, and their distance
	smallest    bool
}

func argReduce(g code.GPU, c *ir.Call, smallest bool) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	if dt := c.In[0].DType; !dt.IsInt() && !dt.IsFloat() {
		return fmt.Errorf("not implemented for %s on cuda", dt)
	}
	if c.In[0].NumElements() == 0 {
		return fmt.Errorf("no elements to compare in shape %v", c.In[0].Shape)
	}
	out, err := contiguous(g, c.Out[0], ir.Int64)
	if err != nil {
		return err
	}
	s := search{smallest: smallest, step: 1}
	if dims := c.Attrs[0].Ints; len(dims) == 1 && len(c.In[0].Shape) > 0 {
		axis, err := ir.Axis(dims[0], len(c.In[0].Shape))
		if err != nil {
			return err
		}
		if s.x, err = onDevice(g, c.In[0], c.In[0].DType); err != nil {
			return err
		}
		s.along, s.step = s.x.Shape[axis], s.x.Strides[axis]
		shape, strides := without(s.x.Shape, axis), without(s.x.Strides, axis)
		s.kept = space.New(shape, ir.ContiguousStrides(shape), strides)
	} else {
		if s.x, err = g.Dense(c.In[0], c.In[0].DType); err != nil {
			return err
		}
		s.along, s.kept = s.x.NumElements(), space.New(nil, nil, nil)
	}
	if s.along == 1 {
		s.step = 1
	}
	err = s.kept.Each(func(piece *space.Space, at []int64) error {
		return s.launch(g, piece, out.Addr+uint64(8*at[0]), s.x.Addr+uint64(at[1]*int64(s.x.DType.Size())))
	})
	if err != nil {
		return err
	}
	return out.finish(g)
}

// without returns list without element i.
func without(list []int, i int) []int {
	return append(append(make([]int, 0, len(list)), list[:i]...), list[i+1:]...)
}

// rows reports whether neighbours along the axis lie closer together than
// neighbouring results.
func (s *search) rows() bool {
	if s.step == 1 || len(s.kept.Extents) == 0 {
		return true
	}
	near := s.kept.Strides[1][0]
	return near == 0 || s.step < near
}

const (
	argThreads  = 256
	argResident = 3       // blocks of arg_rows on a multiprocessor, for their registers
	argLane     = 32      // elements a thread compares at least, before a result gets more blocks
	argSliceMax = 1 << 30 // elements of a slice
	argStored   = 16      // bytes of a partial result
)

// launch enqueues the search for a piece of the results.
func (s *search) launch(g code.GPU, kept *space.Space, out, x uint64) error {
	results, along := kept.Count(), int64(s.along)
	full := int64(8 * g.Multiprocessors())
	shape, per, kernel := [3]int{32, argThreads / 32, 1}, int64(32), "arg_columns"
	if s.rows() {
		// Lanes enough that each compares a few vectors; a block has whole warps.
		// Long rows that fill the device do best with many small blocks.
		widest := 8
		if results >= full {
			widest = 7
		}
		lanes := 1 << min(bits.Len64(uint64((along-1)/16)), widest)
		shape, kernel = [3]int{lanes, max(1, 32/lanes), 1}, "arg_rows"
		per = int64(shape[1])
	} else if results >= 64 {
		shape, per = [3]int{64, argThreads / 64, 1}, 64
	}
	blocks := ceil(results, per)
	slices := int64(1)
	if blocks < full {
		if kernel == "arg_rows" {
			full = int64(argResident * g.Multiprocessors())
		}
		each := argLane * int64(shape[0]) // elements of a slice at least
		if kernel == "arg_columns" {
			each = argLane * int64(shape[1])
		}
		slices = max(1, min(ceil(full, blocks), along/each, 4096))
	}
	slices = max(slices, ceil(along, argSliceMax))
	var partial uint64
	if slices > 1 {
		var err error
		if partial, err = g.Scratch(results * slices * argStored); err != nil {
			return err
		}
	}
	var p driver.Params
	kept.Append(&p)
	p.Uint64(out)
	p.Uint64(x)
	head := len(p.Bytes())
	p.Int64(along)
	p.Int64(int64(s.step))
	p.Uint64(partial)
	p.Bool(s.smallest)
	err := g.Launch("arg", ofType(kernel, s.x.DType), [3]int{int(blocks), int(slices), 1}, shape, 0, p.Bytes())
	if err != nil || slices == 1 {
		return err
	}
	var m driver.Params
	m.Struct(p.Bytes()[:head], 8)
	m.Uint64(partial)
	m.Int32(int32(slices))
	return g.Launch("arg", ofType("arg_merge", comparedIn(s.x.DType)), grid(results, argThreads/32), block(argThreads), 0, m.Bytes())
}

// comparedIn is the dtype whose values the kernels keep for elements of dtype dt.
func comparedIn(dt ir.DType) ir.DType {
	switch dt {
	case ir.Uint8, ir.Int8, ir.Int16:
		return ir.Int32
	}
	return dt.Compute()
}
