package opaque

import (
	"slices"

	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// CumprodGrad returns the gradient of products up to each element, from these and the elements: behind
// the first zero there is none, and its own is of the products without it.
func CumprodGrad(c *ir.Call) error { return inField(c, cumprodGrad[float64], cumprodGrad[wide.Float]) }

func cumprodGrad[T any](c *ir.Call, f field[T]) error {
	g, y, x := decode(c.In[0], c.Compute, f.ring), decode(c.In[1], c.Compute, f.ring), decode(c.In[2], c.Compute, f.ring)
	isZero := func(i int) bool { return f.to(x.v[i]).Float() == 0 }
	return eachLine(c, f, x.shape, func(line []int, k int) T {
		sum := f.number(0)
		if slices.ContainsFunc(line[:k], isZero) {
			return sum
		}
		for j := k; j < len(line); j++ {
			product := y.v[line[j]]
			if isZero(line[k]) {
				product = f.number(1)
				for i := range j + 1 {
					if i != k {
						product = f.mul(product, x.v[line[i]])
					}
				}
			}
			sum = f.add(sum, f.mul(g.v[line[j]], product))
		}
		if isZero(line[k]) {
			return sum
		}
		return f.quo(sum, x.v[line[k]])
	})
}

// LogcumsumexpGrad returns the gradient of the logarithms of sums of exponentials up to each element,
// as it is defined.
func LogcumsumexpGrad(c *ir.Call) error {
	return inField(c, logcumsumexpGrad[float64], logcumsumexpGrad[wide.Float])
}

func logcumsumexpGrad[T any](c *ir.Call, f field[T]) error {
	g, x := decode(c.In[0], c.Compute, f.ring), decode(c.In[1], c.Compute, f.ring)
	return eachLine(c, f, x.shape, func(line []int, k int) T {
		sum := f.number(0)
		for j := k; j < len(line); j++ {
			all := f.number(0) // how many times as large the sum is as the exponential of element k
			for i := range j + 1 {
				all = f.add(all, f.exp(f.sub(x.v[line[i]], x.v[line[k]])))
			}
			sum = f.add(sum, f.quo(g.v[line[j]], all))
		}
		return sum
	})
}

// eachLine writes what slope returns for each place of each line along the axis in attribute dim.
func eachLine[T any](c *ir.Call, f field[T], shape []int, slope func(line []int, k int) T) error {
	axis, err := axisOf(c, 0, shape)
	if err != nil {
		return err
	}
	out := newTensor(shape, f.number(0))
	for _, line := range lines(shape, axis) {
		for k := range line {
			out.v[line[k]] = slope(line, k)
		}
	}
	encode(c.Out[0], c.Compute, f.ring, out)
	return nil
}
