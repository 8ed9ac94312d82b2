package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/ir"
)

// LayerNorm normalizes x over its last axes, as many as attribute axes says, to
// mean 0 and variance 1. Operands: x and, both or neither, weight and bias of the
// shape of these axes. Results: out = (x - mean)*rstd*weight + bias, mean, and
// rstd = 1/sqrt(var + eps) with the biased variance.
func LayerNorm(g code.GPU, c *ir.Call) error { return normalize(g, c, "layer_norm") }

// RMSNorm divides x by the root of its mean square over its last axes. Operands:
// x and perhaps weight of the shape of these axes. Results: out = x*rstd*weight,
// and rstd = 1/sqrt(mean(x*x) + eps).
func RMSNorm(g code.GPU, c *ir.Call) error { return normalize(g, c, "rms_norm") }

func normalize(g code.GPU, c *ir.Call, kernel string) error {
	shape := c.In[0].Shape
	lead := len(shape) - int(c.Attrs[0].Int)
	count, row := ir.NumElements(shape[:lead]), ir.NumElements(shape[lead:])
	if count == 0 {
		return nil
	}
	dt := c.Out[0].DType
	var in [3]uint64 // x, weight, bias
	for i, v := range c.In {
		v, err := g.Dense(v, dt)
		if err != nil {
			return err
		}
		in[i] = v.Addr
	}
	out := make([]target, len(c.Out)) // the last is rstd
	for i, v := range c.Out {
		as := dt
		if i > 0 { // statistics are not rounded
			as = dt.Compute()
		}
		t, err := contiguous(g, v, as)
		if err != nil {
			return err
		}
		out[i] = t
	}
	mean := uint64(0)
	if len(out) > 2 {
		mean = out[1].Addr
	}
	r := rows{module: "norm", kernel: kernel, dtype: dt, rows: count, along: row}
	r.params.Uint64(out[0].Addr)
	r.params.Uint64(in[0])
	r.params.Int64(int64(r.rows))
	r.params.Int64(int64(row))
	r.params.Uint64(in[1])
	r.params.Uint64(in[2])
	r.params.Uint64(mean)
	r.params.Uint64(out[len(out)-1].Addr)
	r.params.Float64(c.Attrs[1].Scalar.Float())
	if err := r.launch(g, out[0].Addr, in[0], in[1], in[2]); err != nil {
		return err
	}
	for i := range out {
		if err := out[i].finish(g); err != nil {
			return err
		}
	}
	return nil
}
