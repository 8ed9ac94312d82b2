package opaque

import (
	"math"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/ir"
)

const (
	bernoulliVectors = 2       // that a thread of draw.cu takes
	randintEach      = 8       // numbers that a thread takes
	shortLimit       = 1 << 15 // of remainder.cuh: the greatest distance that is reduced in words
)

// Bernoulli returns 1 with the probability that x holds for each element, else 0, by
// attributes seed and offset. An element that is no probability is a fault.
func Bernoulli(g code.GPU, c *ir.Call) error {
	count := int64(c.In[0].NumElements())
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
	var p driver.Params
	p.Int64(count)
	p.Uint64(out.Addr)
	p.Uint64(x.Addr)
	p.Int64(c.Attrs[0].Int)
	p.Int64(c.Attrs[1].Int)
	p.Uint64(g.Trap())
	p.Uint32(uint32(trap.Probabilities))
	each := int64(bernoulliVectors * min(8, vectorBytes/x.DType.Size()))
	if err := g.Launch("draw", ofType("bernoulli", x.DType), grid(count, blockThreads*each), block(blockThreads), 0, p.Bytes()); err != nil {
		return err
	}
	return out.finish(g)
}

// Randint returns whole numbers from attribute low to before high, which is less than 2^63
// more, by attributes seed and offset. What remainders by their distance have in common is
// computed here.
func Randint(g code.GPU, c *ir.Call) error {
	count := int64(c.Out[0].NumElements())
	if count == 0 {
		return nil
	}
	out, err := contiguous(g, c.Out[0], ir.Int64)
	if err != nil {
		return err
	}
	low := c.Attrs[1].Int
	d := uint64(c.Attrs[2].Int - low)
	var p driver.Params
	p.Int64(count)
	p.Uint64(out.Addr)
	p.Int64(low)
	kernel := "randint_short"
	if top := (uint64(1) << 63) % d; d <= shortLimit {
		for _, v := range [...]uint64{d, math.MaxUint32 / d, (1 << 32) % d, d - top} { // struct Short
			p.Uint32(uint32(v))
		}
	} else {
		kernel = "randint_long"
		for _, v := range [...]uint64{d, math.MaxUint64 / d, top} {
			p.Uint64(v)
		}
	}
	p.Int64(c.Attrs[3].Int)
	p.Int64(c.Attrs[4].Int)
	if err := g.Launch("draw", kernel, grid(count, blockThreads*randintEach), block(blockThreads), 0, p.Bytes()); err != nil {
		return err
	}
	return out.finish(g)
}
