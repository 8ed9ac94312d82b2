package opaque

import (
	"math/bits"

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
