package opaque

import (
	"github.com/sinter-go/sinter/backend/cpu/rows"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// LayerNorm normalizes x over its last axes, as many as attribute axes says, to
// mean 0 and variance 1. Operands: x and, both or neither, weight and bias of the
// shape of these axes. Results: out = (x - mean)*rstd*weight + bias, mean, and
// rstd = 1/sqrt(var + eps) with the biased variance.
func LayerNorm(c *ir.Call) error { return dispatch(c, &layerNorms) }

// RMSNorm divides x by the root of its mean square over its last axes. Operands:
// x and perhaps weight of the shape of these axes. Results: out = x*rstd*weight,
// and rstd = 1/sqrt(mean(x*x) + eps).
func RMSNorm(c *ir.Call) error { return dispatch(c, &rmsNorms) }

var layerNorms = table[callFunc]{ir.Float32: layerNorm[float32], ir.Float64: layerNorm[float64]}

var rmsNorms = table[callFunc]{ir.Float32: rmsNorm[float32], ir.Float64: rmsNorm[float64]}

// normRow returns how many elements are normalized together, and eps.
func normRow(c *ir.Call) (n int, eps float64) {
	shape := c.In[0].Shape
	return ir.NumElements(shape[len(shape)-int(c.Attrs[0].Int):]), c.Attrs[1].Scalar.Float()
}

// stats returns where to compute the results of c after the first, of one element
// a row.
func stats[T float](c *ir.Call) (views []ir.View, elements [][]T) {
	for _, o := range c.Out[1:] {
		d := tile.TargetOf(o, c.Compute)
		views, elements = append(views, d), append(elements, tile.Elements[T](d))
	}
	return views, elements
}

func layerNorm[T float](c *ir.Call) error {
	n, eps := normRow(c)
	views, s := stats[T](c)
	var weight, bias []T
	if len(c.In) > 1 {
		weight, bias = in[T](c, 1, c.Compute), in[T](c, 2, c.Compute)
	}
	f := rows.Active[T]()
	if n == 0 { // rows of nothing have statistics
		f.LayerNorm(nil, nil, nil, nil, s[0], s[1], n, eps)
	} else {
		eachRows(c.Compute, c.Out[0], c.In[0], n, func(first int, out, x []T) {
			end := first + len(x)/n
			f.LayerNorm(out, x, weight, bias, s[0][first:end], s[1][first:end], n, eps)
		})
	}
	for i, d := range views {
		tile.Finish(c.Out[1+i], d)
	}
	return nil
}

func rmsNorm[T float](c *ir.Call) error {
	n, eps := normRow(c)
	views, s := stats[T](c)
	var weight []T
	if len(c.In) > 1 {
		weight = in[T](c, 1, c.Compute)
	}
	f := rows.Active[T]()
	if n == 0 {
		f.RMSNorm(nil, nil, nil, s[0], n, eps)
	} else {
		eachRows(c.Compute, c.Out[0], c.In[0], n, func(first int, out, x []T) {
			f.RMSNorm(out, x, weight, s[0][first:first+len(x)/n], n, eps)
		})
	}
	tile.Finish(c.Out[1], views[0])
	return nil
}
