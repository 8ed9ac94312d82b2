package opaque

import (
	"github.com/sinter-go/sinter/backend/cpu/lines"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// Weighted is the geometry that sums of rows and their gradient share: points are of taps
// rows each, named by an index [1 or batch, points, taps].
type weighted struct {
	batch, rows, width  int
	shared              bool // one index for all of a batch
	points, taps, index int  // index is the elements of one
}

func newWeighted(x, index []int) weighted {
	return weighted{
		batch: x[0], rows: x[1], width: x[2], shared: index[0] == 1,
		points: index[1], taps: index[2], index: index[1] * index[2],
	}
}

// of returns the part of an index or of weights that is for batch b.
func of[T any](w *weighted, list []T, b int) []T {
	if w.shared {
		return list[:w.index]
	}
	return list[b*w.index:][:w.index]
}

// rowWork is how many products of sums of rows are worth another processor.
const rowWork = 16 * 1024

type rowsFunc func(w *weighted, x ir.View, index []int64, weight, out ir.View)

var (
	weightedRows      = table[rowsFunc]{ir.Float32: sumRows[float32], ir.Float64: sumRows[float64]}
	weightedRowsGrads = table[rowsFunc]{ir.Float32: spreadRows[float32], ir.Float64: spreadRows[float64]}
)

// WeightedRows returns sums of rows of x [batch, rows, width]: row p of the result is the
// sum over k of the rows that index [1 or batch, points, k] names, times weight of its
// shape. A row of the weight zero is not read.
func WeightedRows(c *ir.Call) error {
	w := newWeighted(c.In[0].Shape, c.In[1].Shape)
	return w.run(c, &weightedRows)
}

// WeightedRowsGrad returns the gradient of WeightedRows with respect to x, from the
// gradient g of its result, index and weight. Attribute: rows, those of x.
func WeightedRowsGrad(c *ir.Call) error {
	w := newWeighted(c.Out[0].Shape, c.In[1].Shape)
	return w.run(c, &weightedRowsGrads)
}

func (w *weighted) run(c *ir.Call, t *table[rowsFunc]) error {
	f, err := t.of(c.Compute)
	if err != nil {
		return err
	}
	index, err := indices(c, 1, 1, w.rows)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	d := tile.TargetOf(c.Out[0], c.Compute)
	f(w, tile.Dense(c.In[0], c.Compute), index, tile.Dense(c.In[2], c.Compute), d)
	tile.Finish(c.Out[0], d)
	return nil
}

func sumRows[T float](w *weighted, x ir.View, index []int64, weight, out ir.View) {
	src, weights, dst := tile.Elements[T](x), tile.Elements[T](weight), tile.Elements[T](out)
	if w.shared && w.index <= longestIndex {
		sumsOf(w, index, weights).run(dst, src)
		return
	}
	funcs := lines.Of[T](simd.Active())
	pool.For(w.batch*w.points, max(1, rowWork/max(1, w.width*w.taps)), func(lo, hi int) {
		mix := lines.Points[T]{N: w.width, Step: w.width}
		for lo < hi {
			b, first := lo/w.points, lo%w.points
			last := min(w.points, first+hi-lo)
			from, at, by := src[b*w.rows*w.width:][:w.rows*w.width], of(w, index, b), of(w, weights, b)
			to := dst[b*w.points*w.width:]
			if w.width == 1 {
				sumElements(to[first:last], from, at[first*w.taps:], by[first*w.taps:], w.taps)
			} else {
				sumLines(&mix, funcs, to[first*w.width:last*w.width], from, at[first*w.taps:], by[first*w.taps:], w.taps)
			}
			lo += last - first
		}
	})
}

// sumElements is sumLines of rows of one element.
func sumElements[T float](to, from []T, at []int64, by []T, taps int) {
	for p := range to {
		sum := T(0)
		for k, weight := range by[p*taps:][:taps] {
			if weight != 0 {
				sum += T(from[at[p*taps+k]] * weight)
			}
		}
		to[p] = sum
	}
}

// rowRun is how many points are handed on together.
const rowRun = 64

// sumLines sets the lines of to. Points that read equally many rows are computed
// together.
func sumLines[T float](mix *lines.Points[T], funcs lines.Funcs[T], to, from []T, at []int64, by []T, taps int) {
	run := max(1, min(rowRun, lines.Longest/max(1, mix.N*taps)))
	first, points := 0, len(to)/mix.N
	flush := func(end int) {
		if mix.Taps == 0 {
			clear(to[first*mix.N : end*mix.N])
		} else if end > first {
			funcs.Mix(mix, to[first*mix.N:end*mix.N], from)
		}
		first, mix.List = end, mix.List[:0]
	}
	mix.List, mix.Taps = mix.List[:0], 0
	for p := range points {
		before := len(mix.List)
		for k, weight := range by[p*taps:][:taps] {
			if weight != 0 {
				mix.List = append(mix.List, lines.Tap[T]{At: int(at[p*taps+k]) * mix.N, Weight: weight})
			}
		}
		own := len(mix.List) - before
		if own != mix.Taps || p-first == run {
			list := mix.List[before:]
			mix.List = mix.List[:before]
			flush(p)
			mix.List, mix.Taps = append(mix.List, list...), own
		}
	}
	flush(points)
}

// spreadBlock is how many elements of rows one processor adds to.
const spreadBlock = 64

// spreadRows adds in the points' order, whatever the number of processors: each has
// columns of its own.
func spreadRows[T float](w *weighted, g ir.View, index []int64, weight, out ir.View) {
	src, weights, dst := tile.Elements[T](g), tile.Elements[T](weight), tile.Elements[T](out)
	if w.shared && w.index <= longestIndex {
		gradientOf(w, index, weights).run(dst, src)
		return
	}
	clear(dst)
	if len(src) == 0 {
		return
	}
	funcs := lines.Of[T](simd.Active())
	blocks := (w.width + spreadBlock - 1) / spreadBlock
	pool.For(w.batch*blocks, max(1, rowWork/max(1, min(w.width, spreadBlock)*w.index)), func(lo, hi int) {
		spread := lines.Points[T]{Taps: 1}
		for ; lo < hi; lo++ {
			b, first := lo/blocks, lo%blocks*spreadBlock
			to, from := dst[b*w.rows*w.width+first:], src[b*w.points*w.width+first:]
			at, by := of(w, index, b), of(w, weights, b)
			if w.width == 1 {
				spreadElements(to[:w.rows], from[:w.points], at, by, w.taps)
				continue
			}
			spread.N = min(spreadBlock, w.width-first)
			for p := range w.points {
				spread.List = spread.List[:0]
				for k, weight := range by[p*w.taps:][:w.taps] {
					if weight != 0 {
						spread.List = append(spread.List, lines.Tap[T]{At: int(at[p*w.taps+k]) * w.width, Weight: weight})
					}
				}
				funcs.Spread(&spread, from[p*w.width:], to) // each row as a point of its own, which may be the one before
			}
		}
	})
}

func spreadElements[T float](to, from []T, at []int64, by []T, taps int) {
	for p, v := range from {
		for k, weight := range by[p*taps:][:taps] {
			if weight != 0 {
				to[at[p*taps+k]] += T(v * weight)
			}
		}
	}
}
