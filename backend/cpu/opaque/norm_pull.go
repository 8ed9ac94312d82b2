package opaque

import (
	"github.com/sinter-go/sinter/backend/cpu/channel"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// NormPull returns the gradient of LayerNorm by x, without weight and bias. Operands: the
// gradient of its result out, x or where attribute normal is set out, mean, rstd, and the
// gradients of these two. With h = (x - mean)*rstd it is rstd*(g - m - h*c), where m and c are
// the means of g and g*h over the row, with what the statistics' gradients add to them.
func NormPull(c *ir.Call) error { return dispatch(c, &normPulls) }

var normPulls = table[callFunc]{ir.Float32: normPull[float32], ir.Float64: normPull[float64]}

func normPull[T float](c *ir.Call) error {
	shape := c.Out[0].Shape
	n := ir.NumElements(shape[len(shape)-int(c.Attrs[0].Int):])
	if n == 0 {
		return nil
	}
	normal := c.Attrs[1].Int != 0
	d := tile.TargetOf(c.Out[0], c.Compute)
	g, x, dx := in[T](c, 0, c.Compute), in[T](c, 1, c.Compute), tile.Elements[T](d)
	means, rstds := in[T](c, 2, c.Compute), in[T](c, 3, c.Compute)
	dMeans, dRstds := in[T](c, 4, c.Compute), in[T](c, 5, c.Compute)
	f := channel.Of[T](simd.Active())
	pool.For(len(rstds), max(1, channelWork/n), func(lo, hi int) {
		for row := lo; row < hi; row++ {
			mean, scale, rstd := float64(means[row]), float64(rstds[row]), float64(rstds[row])
			if normal {
				mean, scale = 0, 1
			}
			sum, product := 0.0, 0.0
			eachPart(row*n, n, func(r channel.Rows, at int) {
				s, p := gradientSums(f, r, mean, scale, &g[at], &x[at])
				sum, product = sum+s, product+p
			})
			k := pull{mean: mean, scale: scale, rstd: rstd, weight: 1, c: (product + float64(float64(dRstds[row])*rstd)) / float64(n)}
			k.shift = (sum - float64(dMeans[row])/rstd) / float64(n)
			k.middle = k.shift
			eachPart(row*n, n, func(r channel.Rows, at int) { writeGradient(f, r, &k, &dx[at], &g[at], &x[at]) })
		}
	})
	tile.Finish(c.Out[0], d)
	return nil
}

// eachPart calls f for the parts of a row of n elements that begins at the given one.
func eachPart(at, n int, f func(r channel.Rows, at int)) {
	for lo := 0; lo < n; lo += channel.Longest {
		m := min(channel.Longest, n-lo)
		f(channel.Rows{Count: 1, N: m, Stride: m}, at+lo)
	}
}
