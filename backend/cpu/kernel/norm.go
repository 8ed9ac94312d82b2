package kernel

import (
	"math"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// LayerNorm normalizes x over its last axes, as many as attribute axes says, to
// mean 0 and variance 1. Operands: x and, both or neither, weight and bias of the
// shape of these axes. Results: out = (x - mean)*rstd*weight + bias, mean, and
// rstd = 1/sqrt(var + eps) with the biased variance.
func LayerNorm(c *ir.Call) error {
	return normalize(c, &layerNorms)
}

// RMSNorm divides x by the root of its mean square over its last axes. Operands:
// x and perhaps weight of the shape of these axes. Results: out = x*rstd*weight,
// and rstd = 1/sqrt(mean(x*x) + eps).
func RMSNorm(c *ir.Call) error {
	return normalize(c, &rmsNorms)
}

// A normFunc normalizes rows of operand 0; the other operands have one element
// for each of a row. The results after the first have one element a row.
type normFunc func(in, out []ir.View, row int, eps float64)

var layerNorms = table[normFunc]{ir.Float32: layerNorm[float32], ir.Float64: layerNorm[float64]}

var rmsNorms = table[normFunc]{ir.Float32: rmsNorm[float32], ir.Float64: rmsNorm[float64]}

func normalize(c *ir.Call, t *table[normFunc]) error {
	f, err := t.of(c.Compute)
	if err != nil {
		return err
	}
	x := c.In[0]
	row := ir.NumElements(x.Shape[len(x.Shape)-int(c.Attrs[0].Int):])
	operands := make([]ir.View, len(c.In))
	for i, v := range c.In {
		operands[i] = tile.Dense(v, c.Compute)
	}
	targets := make([]ir.View, len(c.Out))
	for i, o := range c.Out {
		targets[i] = tile.TargetOf(o, c.Compute)
	}
	f(operands, targets, row, c.Attrs[1].Scalar.Float())
	for i, o := range c.Out {
		tile.Finish(o, targets[i])
	}
	return nil
}

// sumOf adds up f of every element of x, halves first: the error grows with the
// logarithm of the number of elements.
func sumOf[T float](x []T, f func(v float64) float64) float64 {
	if n := len(x); n > 256 {
		return sumOf(x[:n/2], f) + sumOf(x[n/2:], f)
	}
	sum := 0.0
	for _, v := range x {
		sum += f(float64(v))
	}
	return sum
}

func layerNorm[T float](in, out []ir.View, row int, eps float64) {
	src, dst := tile.Elements[T](in[0]), tile.Elements[T](out[0])
	means, rstds := tile.Elements[T](out[1]), tile.Elements[T](out[2])
	var weight, bias []T
	if len(in) > 1 {
		weight, bias = tile.Elements[T](in[1]), tile.Elements[T](in[2])
	}
	pool.For(len(means), max(1, moveWork/max(row, 1)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			line, to := src[lo*row:(lo+1)*row], dst[lo*row:(lo+1)*row]
			mean := sumOf(line, func(v float64) float64 { return v }) / float64(row)
			variance := sumOf(line, func(v float64) float64 { return (v - mean) * (v - mean) }) / float64(row)
			rstd := 1 / math.Sqrt(variance+eps)
			for i, v := range line {
				y := (float64(v) - mean) * rstd
				if weight != nil {
					y = float64(y*float64(weight[i])) + float64(bias[i])
				}
				to[i] = T(y)
			}
			means[lo], rstds[lo] = T(mean), T(rstd)
		}
	})
}

func rmsNorm[T float](in, out []ir.View, row int, eps float64) {
	src, dst := tile.Elements[T](in[0]), tile.Elements[T](out[0])
	rstds := tile.Elements[T](out[1])
	var weight []T
	if len(in) > 1 {
		weight = tile.Elements[T](in[1])
	}
	pool.For(len(rstds), max(1, moveWork/max(row, 1)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			line, to := src[lo*row:(lo+1)*row], dst[lo*row:(lo+1)*row]
			square := sumOf(line, func(v float64) float64 { return v * v }) / float64(row)
			rstd := 1 / math.Sqrt(square+eps)
			for i, v := range line {
				y := float64(v) * rstd
				if weight != nil {
					y *= float64(weight[i])
				}
				to[i] = T(y)
			}
			rstds[lo] = T(rstd)
		}
	})
}
