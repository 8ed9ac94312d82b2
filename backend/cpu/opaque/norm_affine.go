package opaque

import (
	"github.com/sinter-go/sinter/backend/cpu/affine"
	"github.com/sinter-go/sinter/backend/cpu/channel"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// affineRows is how many rows add up their gradients of weight and bias by themselves: sums of that
// many rows go on in float64, so that they do not depend on how many processors there are.
const affineRows = 64

// NormPullAffine returns the gradients of a normalization of rows with weight and bias. Operands: the
// gradient of its result, x, weight, mean and rstd; without mean it is one by the root of the mean
// square, which has no bias. Results: the gradients by x, by weight and by bias; attribute affine says
// whether the last two have elements.
func NormPullAffine(c *ir.Call) error { return dispatch(c, &affinePulls) }

var affinePulls = table[callFunc]{ir.Float32: normPullAffine[float32], ir.Float64: normPullAffine[float64]}

func normPullAffine[T float](c *ir.Call) error {
	shape, last := c.Out[0].Shape, len(c.In)-1
	p := affinePull[T]{
		n: ir.NumElements(shape[len(shape)-int(c.Attrs[0].Int):]), affine: c.Attrs[1].Int != 0,
		g: in[T](c, 0, c.Compute), x: in[T](c, 1, c.Compute), weight: in[T](c, 2, c.Compute), rstds: in[float64](c, last, ir.Float64),
	}
	if last == 4 {
		p.means = in[float64](c, 3, ir.Float64)
	}
	d := make([]ir.View, len(c.Out))
	for i, out := range c.Out {
		d[i] = tile.TargetOf(out, c.Compute)
	}
	if p.n > 0 {
		p.run(d)
	}
	for i, out := range c.Out {
		tile.Finish(out, d[i])
	}
	return nil
}

// An affinePull is a call of NormPullAffine on dense operands, rows of n elements.
type affinePull[T float] struct {
	n            int
	affine       bool
	g, x, weight []T
	dx           []T
	means, rstds []float64 // means is nil where none is taken away
	sums         []T       // of each block of rows, the gradients of weight and those of bias
}

// run writes the results, of which weight and bias may have none.
func (p *affinePull[T]) run(out []ir.View) {
	blocks := (len(p.rstds) + affineRows - 1) / affineRows
	p.dx = tile.Elements[T](out[0])
	p.sums = make([]T, 2*p.n*max(1, blocks))
	pool.For(blocks, max(1, channelWork/(p.n*affineRows)), p.rows)
	if !p.affine {
		return
	}
	for i, to := range out[1:] {
		to := tile.Elements[T](to)
		pool.For(p.n, max(1, channelWork/max(1, blocks)), func(lo, hi int) {
			for c := lo; c < hi; c++ {
				sum := 0.0
				for b := range blocks {
					sum += float64(p.sums[(2*b+i)*p.n+c])
				}
				to[c] = T(sum)
			}
		})
	}
}

// rows computes blocks [lo, hi).
func (p *affinePull[T]) rows(lo, hi int) {
	block := scratch.Get(8 * p.n)
	defer block.Put()
	weighed := scratch.Slice[T](block, p.n)
	f, pull := channel.Of[T](simd.Active()), affine.New[T](simd.Active())
	for ; lo < hi; lo++ {
		weights, biases := p.sums[2*lo*p.n:][:p.n], p.sums[(2*lo+1)*p.n:][:p.n]
		for row := lo * affineRows; row < min((lo+1)*affineRows, len(p.rstds)); row++ {
			p.row(f, pull, row, weighed, weights, biases)
		}
	}
}

// row writes the gradient by x of one row, and adds to those of weight and bias. With h the normalized
// x and g the weighed gradient it is rstd*(g - m - h*c), where m and c are the means of g and of g*h; m
// is 0 where no mean is taken away.
func (p *affinePull[T]) row(f channel.Funcs[T], pull *affine.Puller[T], row int, weighed, weights, biases []T) {
	mean, rstd, n := T(0), p.rstds[row], float64(p.n)
	if p.means != nil {
		mean = T(p.means[row])
	}
	sum, product := 0.0, 0.0
	eachPart(0, p.n, func(r channel.Rows, at int) {
		from, to := row*p.n+at, at+r.N
		pull.Pull(weighed[at:to], weights[at:to], biases[at:to], p.g[from:], p.x[from:], p.weight[at:], mean, T(rstd))
		var s [2]T
		f.Sums(r, mean, &weighed[at], &p.x[from], &s)
		sum, product = sum+float64(s[0]), product+float64(s[1])
	})
	middle, slope := sum/n, -rstd*rstd*rstd*product/n
	if p.means == nil {
		middle = 0
	}
	eachPart(0, p.n, func(r channel.Rows, at int) {
		from := row*p.n + at
		f.Grad(r, mean, T(middle), T(rstd), T(slope), &p.dx[from], &weighed[at], &p.x[from])
	})
}
