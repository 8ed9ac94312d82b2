package kernel

import (
	"math"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// LayerNorm normalizes x over its last axes, as many as attribute axes says, to
// mean 0 and variance 1. Results: out = (x - mean)*rstd, mean, and rstd =
// 1/sqrt(var + eps) with the biased variance.
func LayerNorm(c *ir.Call) error {
	return normalize(c, &layerNorms)
}

// RMSNorm divides x by the root of its mean square over its last axes. Results:
// out = x*rstd, and rstd = 1/sqrt(mean(x*x) + eps).
func RMSNorm(c *ir.Call) error {
	return normalize(c, &rmsNorms)
}

// A normFunc normalizes rows of x; stats are the other results, one element a row.
type normFunc func(x, out ir.View, stats []ir.View, row int, eps float64)

var layerNorms = table[normFunc]{ir.Float32: layerNorm[float32], ir.Float64: layerNorm[float64]}

var rmsNorms = table[normFunc]{ir.Float32: rmsNorm[float32], ir.Float64: rmsNorm[float64]}

func normalize(c *ir.Call, t *table[normFunc]) error {
	f, err := t.of(c.Compute)
	if err != nil {
		return err
	}
	x := c.In[0]
	row := ir.NumElements(x.Shape[len(x.Shape)-int(c.Attrs[0].Int):])
	targets := make([]ir.View, len(c.Out))
	for i, o := range c.Out {
		targets[i] = tile.TargetOf(o, c.Compute)
	}
	f(tile.Dense(x, c.Compute), targets[0], targets[1:], row, c.Attrs[1].Scalar.Float())
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

func layerNorm[T float](x, out ir.View, stats []ir.View, row int, eps float64) {
	src, dst := tile.Elements[T](x), tile.Elements[T](out)
	means, rstds := tile.Elements[T](stats[0]), tile.Elements[T](stats[1])
	pool.For(len(means), max(1, moveWork/max(row, 1)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			line, to := src[lo*row:(lo+1)*row], dst[lo*row:(lo+1)*row]
			mean := sumOf(line, func(v float64) float64 { return v }) / float64(row)
			variance := sumOf(line, func(v float64) float64 { return (v - mean) * (v - mean) }) / float64(row)
			rstd := 1 / math.Sqrt(variance+eps)
			for i, v := range line {
				to[i] = T((float64(v) - mean) * rstd)
			}
			means[lo], rstds[lo] = T(mean), T(rstd)
		}
	})
}

func rmsNorm[T float](x, out ir.View, stats []ir.View, row int, eps float64) {
	src, dst := tile.Elements[T](x), tile.Elements[T](out)
	rstds := tile.Elements[T](stats[0])
	pool.For(len(rstds), max(1, moveWork/max(row, 1)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			line, to := src[lo*row:(lo+1)*row], dst[lo*row:(lo+1)*row]
			square := sumOf(line, func(v float64) float64 { return v * v }) / float64(row)
			rstd := 1 / math.Sqrt(square+eps)
			for i, v := range line {
				to[i] = T(float64(v) * rstd)
			}
			rstds[lo] = T(rstd)
		}
	})
}
