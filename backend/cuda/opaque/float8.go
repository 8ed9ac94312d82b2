package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// float8Each is how many elements a thread of the kernels takes.
const float8Each = 16

// Float8Bytes returns the codes of the elements of x as floats of 8 bits. Attributes: what
// float8_code has.
func Float8Bytes(g code.GPU, c *ir.Call) error {
	n := c.In[0].NumElements()
	if n == 0 {
		return nil
	}
	x, err := g.Dense(c.In[0], c.In[0].DType)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], ir.Uint8)
	if err != nil {
		return err
	}
	var p driver.Params
	for i, a := range c.Attrs {
		if f := a.Scalar.Float(); i == 0 {
			p.Float64(f)
		} else {
			p.Int32(int32(f))
		}
	}
	p.Align(8)
	p.Int64(int64(n))
	p.Uint64(x.Addr)
	p.Uint64(out.Addr)
	if err := g.Launch("float8", ofType("float8", x.DType), grid(int64(n), blockThreads*float8Each), block(blockThreads), 0, p.Bytes()); err != nil {
		return err
	}
	return out.finish(g)
}
