package opaque

import (
	"github.com/sinter-go/sinter/backend/cpu/rows"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// Softmax returns exp(x - max) / sum(exp(x - max)) along attribute dim.
func Softmax(c *ir.Call) error { return dispatch(c, &softmaxes) }

// LogSoftmax returns x - max - log(sum(exp(x - max))) along attribute dim.
func LogSoftmax(c *ir.Call) error { return dispatch(c, &logSoftmaxes) }

var softmaxes = table[callFunc]{ir.Float32: softmax[float32], ir.Float64: softmax[float64]}

var logSoftmaxes = table[callFunc]{ir.Float32: logSoftmax[float32], ir.Float64: logSoftmax[float64]}

func softmax[T float](c *ir.Call) error {
	f := rows.Active[T]()
	return alongDim(c, f.Softmax, f.SoftmaxColumns)
}

func logSoftmax[T float](c *ir.Call) error {
	f := rows.Active[T]()
	return alongDim(c, f.LogSoftmax, f.LogSoftmaxColumns)
}

// alongDim applies a function to the lines of x along attribute dim: to rows of n
// elements, or to n columns of a matrix with its rows stride apart.
func alongDim[T float](c *ir.Call, rows func(out, x []T, n int), columns func(out, x []T, rows, n, stride int)) error {
	x, out := c.In[0], c.Out[0]
	axis, err := axisOf(c, 0, x.Shape)
	if err != nil || x.NumElements() == 0 {
		return err
	}
	outer, along, inner := around(x.Shape, axis)
	if inner == 1 {
		eachRows(c.Compute, out, x, along, func(_ int, out, x []T) { rows(out, x, along) })
		return nil
	}
	d := tile.TargetOf(out, c.Compute)
	src, dst := in[T](c, 0, c.Compute), tile.Elements[T](d)
	eachColumns(outer, along, inner, func(off, _, n int) { columns(dst[off:], src[off:], along, n, inner) })
	tile.Finish(out, d)
	return nil
}
