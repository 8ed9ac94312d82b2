package opaque

import (
	"math/bits"
	"slices"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// Softmax returns exp(x - max) / sum(exp(x - max)) along attribute dim.
func Softmax(g code.GPU, c *ir.Call) error { return alongDim(g, c, "softmax") }

// LogSoftmax returns x - max - log(sum(exp(x - max))) along attribute dim.
func LogSoftmax(g code.GPU, c *ir.Call) error { return alongDim(g, c, "log_softmax") }

// alongDim launches the kernel for the lines of x along attribute dim.
func alongDim(g code.GPU, c *ir.Call, kernel string) error {
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	dt := c.Out[0].DType
	x, err := g.Dense(c.In[0], dt)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], dt)
	if err != nil {
		return err
	}
	outer, along, inner := around(x.Shape, axis)
	if inner == 1 {
		r := rows{module: "softmax", kernel: kernel, dtype: dt, rows: outer, along: along}
		r.params.Uint64(out.Addr)
		r.params.Uint64(x.Addr)
		r.params.Int64(int64(outer))
		r.params.Int64(int64(along))
		err = r.launch(g, out.Addr, x.Addr)
	} else {
		err = softmaxColumns(g, ofType(kernel, dt)+"_columns", out.Addr, x.Addr, outer*inner, along, inner)
	}
	if err != nil {
		return err
	}
	return out.finish(g)
}

// SoftmaxPull returns y*(g - sum(g*y)) along attribute dim, from operands g and y.
func SoftmaxPull(g code.GPU, c *ir.Call) error {
	axis, err := axisOf(c, 0, c.In[0].Shape)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	dt := c.Out[0].DType
	var in [2]ir.View // with the axis last
	for i, v := range c.In {
		if in[i], err = g.Dense(withLast(v, axis), dt); err != nil {
			return err
		}
	}
	out, err := contiguous(g, withLast(c.Out[0], axis), dt)
	if err != nil {
		return err
	}
	along := 1
	if n := len(out.Shape); n > 0 {
		along = out.Shape[n-1]
	}
	if err := softmaxPull(g, ofType("softmax_pull", dt), out.View, in, out.NumElements()/along, along); err != nil {
		return err
	}
	return out.finish(g)
}

// softmaxPull launches the kernel for the length of the rows: some lanes of a warp for each,
// or a block.
func softmaxPull(g code.GPU, kernel string, out ir.View, in [2]ir.View, rows, along int) error {
	vectors := int32(0)
	if (out.Addr|in[0].Addr|in[1].Addr|uint64(along*out.DType.Size()))%16 == 0 {
		vectors = 1
	}
	var p driver.Params
	p.Uint64(out.Addr)
	p.Uint64(in[1].Addr)
	p.Uint64(in[0].Addr)
	p.Int64(int64(rows))
	p.Int64(int64(along))
	p.Int32(vectors)
	p.Align(8)
	if along > manyKept*warp/2 {
		threads := min(largestBlock, int(ceil(int64(along), fewKept*warp))*warp)
		return g.Launch("softmax_pull", kernel+"_block", [3]int{rows, 1, 1}, block(threads), 0, p.Bytes())
	}
	lanes := min(warp, 1<<bits.Len(uint(max(along-1, 0)/fewKept)))
	p.Int32(int32(lanes))
	return g.Launch("softmax_pull", kernel+"_warp", grid(int64(rows), int64(rowWarps/lanes)), block(rowWarps), 0, p.Bytes())
}

// withLast returns v with an axis moved behind the others.
func withLast(v ir.View, axis int) ir.View {
	if axis >= len(v.Shape)-1 {
		return v
	}
	v.Shape = append(slices.Delete(slices.Clone(v.Shape), axis, axis+1), v.Shape[axis])
	v.Strides = append(slices.Delete(slices.Clone(v.Strides), axis, axis+1), v.Strides[axis])
	return v
}

// columnElements is about how many elements of a column a thread should take.
const columnElements = 4

// softmaxColumns launches the kernel for an axis that is not the last: a warp
// takes neighbouring columns, a block's warps share their elements.
func softmaxColumns(g code.GPU, name string, out, x uint64, columns, along, inner int) error {
	var p driver.Params
	p.Uint64(out)
	p.Uint64(x)
	p.Int64(int64(columns))
	p.Int64(int64(along))
	p.Int64(int64(inner))
	parts := min(warp, 1<<bits.Len(uint(along/columnElements)))
	return g.Launch("softmax", name, grid(int64(columns), warp), [3]int{warp, parts, 1}, 0, p.Bytes())
}
