package kernel

import (
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// Spread returns the sums of the squared distances of x's elements along the axes in
// attribute dim from their mean, divided by attribute divisor. It computes in float64,
// on one processor: what programs call is made of reductions on the CPU.
func Spread(c *ir.Call) error {
	shape := c.In[0].Shape
	axes, err := ir.Axes(c.Attrs[0].Ints, len(shape))
	if err != nil {
		return err
	}
	steps, kept := make([]int, len(shape)), 1 // of the result, 0 along axes that are folded
	folded := make([]bool, len(shape))
	for _, a := range axes {
		folded[a] = true
	}
	for a := len(shape) - 1; a >= 0; a-- {
		if !folded[a] {
			steps[a], kept = kept, kept*shape[a]
		}
	}
	d := tile.TargetOf(c.Out[0], ir.Float64)
	out, means := tile.Elements[float64](d), make([]float64, kept)
	x := tile.Elements[float64](tile.Dense(c.In[0], ir.Float64))
	eachFolded(shape, steps, func(i, to int) { means[to] += x[i] })
	count := float64(max(len(x), 1)) / float64(max(kept, 1))
	for i := range means {
		means[i] /= count
	}
	clear(out)
	eachFolded(shape, steps, func(i, to int) { out[to] += (x[i] - means[to]) * (x[i] - means[to]) })
	for i := range out {
		out[i] /= c.Attrs[1].Scalar.Float()
	}
	tile.Finish(c.Out[0], d)
	return nil
}

// eachFolded calls f for the elements of a shape in order, with the place of each in
// a result of the given steps.
func eachFolded(shape, steps []int, f func(i, to int)) {
	at, to := make([]int, len(shape)), 0
	for i := range ir.NumElements(shape) {
		f(i, to)
		for a := len(shape) - 1; a >= 0; a-- {
			at[a]++
			to += steps[a]
			if at[a] < shape[a] {
				break
			}
			to -= at[a] * steps[a]
			at[a] = 0
		}
	}
}
