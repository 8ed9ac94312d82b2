package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// frexpEach is how many numbers a thread of frexp.cu reads.
const frexpEach = 8

// Frexp returns the mantissas and the exponents of x, from its bits.
func Frexp(g code.GPU, c *ir.Call) error {
	count, dt := int64(c.In[0].NumElements()), c.In[0].DType
	if count == 0 {
		return nil
	}
	x, err := g.Dense(c.In[0], dt)
	if err != nil {
		return err
	}
	mantissa, err := contiguous(g, c.Out[0], dt)
	if err != nil {
		return err
	}
	exponent, err := contiguous(g, c.Out[1], ir.Int64)
	if err != nil {
		return err
	}
	var p driver.Params
	p.Int64(count)
	for _, a := range []uint64{mantissa.Addr, exponent.Addr, x.Addr} {
		p.Uint64(a)
	}
	if err := g.Launch("frexp", ofType("frexp", dt), grid(count, blockThreads*frexpEach), block(blockThreads), 0, p.Bytes()); err != nil {
		return err
	}
	if err := mantissa.finish(g); err != nil {
		return err
	}
	return exponent.finish(g)
}
