package opaque

import (
	"fmt"
	"math"

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

// Float8Numbers returns the numbers of codes in a format, which is the attribute, from their bits.
func Float8Numbers(g code.GPU, c *ir.Call) error {
	n, format := c.In[0].NumElements(), c.Attrs[0].Int
	if format < 0 || format >= int64(len(ir.Float8s)) {
		return fmt.Errorf("format %d, want one of %d", format, len(ir.Float8s))
	}
	if n == 0 {
		return nil
	}
	codes, err := g.Dense(c.In[0], ir.Uint8)
	if err != nil {
		return err
	}
	out, err := contiguous(g, c.Out[0], ir.Float32)
	if err != nil {
		return err
	}
	p := float8Numbers(ir.Float8s[format])
	p.Int64(int64(n))
	p.Uint64(codes.Addr)
	p.Uint64(out.Addr)
	if err := g.Launch("float8", "float8_numbers", grid(int64(n), blockThreads*float8Each), block(blockThreads), 0, p.Bytes()); err != nil {
		return err
	}
	return out.finish(g)
}

// float8Numbers returns a parameter of the kernel, the format f as a struct Float8Numbers.
func float8Numbers(f ir.Float8) *driver.Params {
	const none = 256 // no code
	infinity, nan := none, none
	if f.Infinite {
		infinity = f.Top + 1
	}
	if f.OneZero {
		nan = f.NaN
	}
	var p driver.Params
	p.Float32(float32(math.Ldexp(1, 127-f.Bias)))
	for _, v := range []int{23 - f.Fraction, f.Top, infinity, nan} {
		p.Uint32(uint32(v))
	}
	p.Align(8)
	return &p
}
