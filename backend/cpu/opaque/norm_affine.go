package opaque

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/affine"
	"github.com/sinter-go/sinter/backend/cpu/channel"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// affineRows is how many rows add up their gradients of weight and bias by themselves at most, and
// affineBlocks how many blocks of rows there are before they grow to that.
const affineRows, affineBlocks = 64, 32

// affineBlock returns how many of the rows of n elements add up their gradients of weight and bias by
// themselves: of long rows few, so that few rows have blocks for many processors. Sums of blocks go on
// in float64. Neither depends on how many processors there are.
func affineBlock(rows, n int) int {
	return min(affineRows, max(affineRows*1024/n, (rows+affineBlocks-1)/affineBlocks, 4))
}

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
	block        int       // rows of one
	sums         []T       // of each block of rows, the gradients of weight and those of bias, if these are wanted
}

// run writes the results, of which weight and bias may have none.
func (p *affinePull[T]) run(out []ir.View) {
	p.dx, p.block = tile.Elements[T](out[0]), 1
	if p.affine {
		p.block = affineBlock(len(p.rstds), p.n)
	}
	blocks := (len(p.rstds) + p.block - 1) / p.block
	if p.affine {
		p.sums = make([]T, 2*p.n*max(1, blocks))
	}
	pool.For(blocks, max(1, channelWork/(p.n*p.block)), p.rows)
	if !p.affine {
		return
	}
	for i, to := range out[1:] {
		to := tile.Elements[T](to)
		pool.For(p.n, max(1, channelWork/max(1, blocks)), func(lo, hi int) {
			p.total(to[lo:hi], i, lo, blocks)
		})
	}
}

// total adds up sums i of all blocks, from column lo on, in float64 and in the order of blocks.
func (p *affinePull[T]) total(to []T, i, lo, blocks int) {
	var sums [256]float64
	for at := 0; at < len(to); at += len(sums) {
		part := sums[:min(len(sums), len(to)-at)]
		clear(part)
		for b := range blocks {
			for c, v := range p.sums[(2*b+i)*p.n+lo+at:][:len(part)] {
				part[c] += float64(v)
			}
		}
		for c, v := range part {
			to[at+c] = T(v)
		}
	}
}

// rows computes blocks [lo, hi).
func (p *affinePull[T]) rows(lo, hi int) {
	memory := scratch.Get(int(unsafe.Sizeof(T(0))) * p.n)
	defer memory.Put()
	r := affineRow[T]{affinePull: p, weighed: scratch.Slice[T](memory, p.n), f: channel.Of[T](simd.Active()), pull: affine.New[T](simd.Active())}
	for ; lo < hi; lo++ {
		if p.affine {
			r.weights, r.biases = p.sums[2*lo*p.n:][:p.n], p.sums[(2*lo+1)*p.n:][:p.n]
		}
		for row := lo * p.block; row < min((lo+1)*p.block, len(p.rstds)); row++ {
			r.run(row)
		}
	}
}

// An affineRow computes rows of a call in one goroutine.
type affineRow[T float] struct {
	*affinePull[T]
	f               channel.Funcs[T]
	pull            *affine.Puller[T]
	weighed         []T // a row's gradient times weight
	weights, biases []T // sums of the block, if they are wanted
}

// run writes the gradient by x of one row, and adds to those of weight and bias. With h the normalized
// x and g the weighed gradient it is rstd*(g - m - h*c), where m and c are the means of g and of g*h; m
// is 0 where no mean is taken away.
func (p *affineRow[T]) run(row int) {
	mean, rstd, n := 0.0, p.rstds[row], float64(p.n)
	if p.means != nil {
		mean = p.means[row]
	}
	sum, product := 0.0, 0.0
	eachPart(0, p.n, func(r channel.Rows, at int) {
		p.weigh(row, at, at+r.N, mean, rstd)
		s, w := gradientSums(p.f, r, mean, rstd, &p.weighed[at], &p.x[row*p.n+at])
		sum, product = sum+s, product+w
	})
	k := pull{mean: mean, scale: rstd, rstd: rstd, weight: 1, c: product / n}
	if p.means != nil {
		k.shift = sum / n
		k.middle = k.shift
	}
	eachPart(0, p.n, func(r channel.Rows, at int) {
		from := row*p.n + at
		writeGradient(p.f, r, &k, &p.dx[from], &p.weighed[at], &p.x[from])
	})
}

// weigh multiplies the gradients of elements [at, to) of a row by weight, and adds to those of weight
// and bias.
func (p *affineRow[T]) weigh(row, at, to int, mean, rstd float64) {
	g, x := p.g[row*p.n:][at:to], p.x[row*p.n:][at:to]
	switch {
	case !p.affine:
		p.pull.Weigh(p.weighed[at:to], g, p.weight[at:])
	case rstd == 0 || rangeOf[T]().has(rstd):
		p.pull.Pull(p.weighed[at:to], p.weights[at:to], p.biases[at:to], g, x, p.weight[at:], T(mean), T(rstd))
	default: // T may not have it, but what it is multiplied by is as far from 1
		p.pull.Weigh(p.weighed[at:to], g, p.weight[at:])
		for i, v := range g {
			p.weights[at+i] += T(float64(v) * ((float64(x[i]) - mean) * rstd))
			p.biases[at+i] += v
		}
	}
}
