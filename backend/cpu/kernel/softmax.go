package kernel

import (
	"math"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// expWork is how many exponentials are worth another processor.
const expWork = 1024

// Softmax returns exp(x - max) / sum(exp(x - max)) along attribute dim.
func Softmax(c *ir.Call) error { return alongDim(c, &softmaxes) }

// LogSoftmax returns x - max - log(sum(exp(x - max))) along attribute dim.
func LogSoftmax(c *ir.Call) error { return alongDim(c, &logSoftmaxes) }

var softmaxes = table[lineFunc]{ir.Float32: lines(softmax[float32]), ir.Float64: lines(softmax[float64])}

var logSoftmaxes = table[lineFunc]{ir.Float32: lines(logSoftmax[float32]), ir.Float64: lines(logSoftmax[float64])}

// A lineFunc computes every line along an axis of x.
type lineFunc func(x, out ir.View, along, inner int)

// alongDim applies a function to the lines of x along attribute dim.
func alongDim(c *ir.Call, t *table[lineFunc]) error {
	f, err := t.of(c.Compute)
	if err != nil {
		return err
	}
	x := c.In[0]
	axis, err := axisOf(c, 0, x.Shape)
	if err != nil || x.NumElements() == 0 {
		return err
	}
	_, along, inner := around(x.Shape, axis)
	d := tile.TargetOf(c.Out[0], c.Compute)
	f(tile.Dense(x, c.Compute), d, along, inner)
	tile.Finish(c.Out[0], d)
	return nil
}

// lines returns the function that applies f to every line. Lines that are not
// contiguous are copied out and back.
func lines[T float](f func(out, x []T)) lineFunc {
	return func(x, out ir.View, along, inner int) {
		src, dst := tile.Elements[T](x), tile.Elements[T](out)
		pool.For(len(src)/along, max(1, expWork/along), func(lo, hi int) {
			line := make([]T, along)
			for ; lo < hi; lo++ {
				if inner == 1 {
					f(dst[lo*along:(lo+1)*along], src[lo*along:(lo+1)*along])
					continue
				}
				off := lo/inner*along*inner + lo%inner
				for i := range line {
					line[i] = src[off+i*inner]
				}
				f(line, line)
				for i, v := range line {
					dst[off+i*inner] = v
				}
			}
		})
	}
}

// largest returns the largest element of x, NaN if there is one.
func largest[T float](x []T) T {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	return top
}

func softmax[T float](out, x []T) {
	top, sum := largest(x), 0.0
	for i, v := range x {
		e := math.Exp(float64(v - top))
		sum += e
		out[i] = T(e)
	}
	for i, e := range out {
		out[i] = T(float64(e) / sum)
	}
}

func logSoftmax[T float](out, x []T) {
	top, sum := largest(x), 0.0
	for _, v := range x {
		sum += math.Exp(float64(v - top))
	}
	log := math.Log(sum)
	for i, v := range x {
		out[i] = T(float64(v-top) - log)
	}
}
