package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
)

// bandEach is how many units a thread of these kernels takes.
const bandEach = 4

// Band copies the matrices in the last two axes of x, with zeros where column less
// row is not from attribute first to attribute last.
func Band(g code.GPU, c *ir.Call) error {
	shape := c.In[0].Shape
	if len(shape) < 2 {
		return fmt.Errorf("x must have two axes or more, not shape %v", shape)
	}
	rows, cols, n := shape[len(shape)-2], shape[len(shape)-1], ir.NumElements(shape)
	if n == 0 {
		return nil
	}
	x, err := g.Dense(c.In[0], c.Out[0].DType)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], x.DType)
	if err != nil {
		return err
	}
	if max(rows, cols) >= space.Limit/2 {
		return fmt.Errorf("matrices of %d x %d elements on cuda, where each is less than %d", rows, cols, space.Limit/2)
	}
	size := x.DType.Size()
	width, vectors := 1, 0
	if unit := vectorBytes / size; cols%unit == 0 && (x.Addr|out.Addr)%vectorBytes == 0 {
		width, vectors = unit, 1
	}
	across, name := cols/width, ofUnit("band", size)
	step := (space.Limit - 1 - rows) / max(across, 1) // rows a launch takes
	var p driver.Params
	for row := 0; row < n/cols; row += step {
		units := min(step, n/cols-row) * across
		p.Reset()
		p.Uint32(uint32(units))
		p.Uint32(uint32(row % rows))
		space.AppendDivider(&p, across)
		space.AppendDivider(&p, rows)
		p.Int32(int32(min(max(int(c.Attrs[0].Int), -rows), cols)))
		p.Int32(int32(min(max(int(c.Attrs[1].Int), -rows), cols)))
		p.Int32(int32(vectors))
		at := uint64(row * cols * size)
		p.Uint64(x.Addr + at)
		p.Uint64(out.Addr + at)
		if err := g.Launch("band", name, grid(int64(units), blockThreads*bandEach), block(blockThreads), 0, p.Bytes()); err != nil {
			return err
		}
	}
	return out.finish(g)
}

// diagonalBytes is what a thread of the kernel writes zeros to.
const diagonalBytes = 64

// OnDiagonal returns matrices with the last axis of x on their diagonal that lies attribute
// offset columns from the main one, and zeros elsewhere.
func OnDiagonal(g code.GPU, c *ir.Call) error {
	shape, offset := c.Out[0].Shape, int(c.Attrs[1].Int)
	count := ir.NumElements(shape)
	if count == 0 {
		return nil
	}
	x, err := g.Dense(c.In[0], c.Out[0].DType)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], x.DType)
	if err != nil {
		return err
	}
	rows, cols, size := shape[len(shape)-2], shape[len(shape)-1], x.DType.Size()
	length := x.Shape[len(x.Shape)-1]
	first := 0
	if length > 0 { // so it lies in the matrix
		first = max(offset, 0) + max(-offset, 0)*cols
	}
	var p driver.Params
	for _, v := range [...]int{count, rows * cols, first, cols + 1, length} {
		p.Int64(int64(v))
	}
	p.Uint64(out.Addr)
	p.Uint64(x.Addr)
	blocks := grid(int64(count), int64(blockThreads*diagonalBytes/size))
	if err := g.Launch("diagonal", ofUnit("on_diagonal", size), blocks, block(blockThreads), 0, p.Bytes()); err != nil {
		return err
	}
	return out.finish(g)
}
