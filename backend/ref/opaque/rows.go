package opaque

import (
	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// taken calls visit for every product that sums of rows are made of: with the place in x
// [batch, rows, width], in the result [batch, points, width], and the weight, unless that
// is zero.
func taken[T any](c *ir.Call, f field[T], x []int, visit func(x, point []int, weight T)) error {
	index, err := indexOf(c.In[1], 1, x[1])
	if err != nil {
		return err
	}
	weight := decode(c.In[2], c.Compute, f.ring)
	each([]int{x[0], index.shape[1], index.shape[2], x[2]}, func(at []int) {
		b, p, k, i := at[0], at[1], at[2], at[3]
		place := []int{b % index.shape[0], p, k}
		if w := *weight.at(place); f.to(w).Float() != 0 {
			visit([]int{b, *index.at(place), i}, []int{b, p, i}, w)
		}
	})
	return nil
}

// WeightedRows returns sums of rows of x [batch, rows, width] that index
// [1 or batch, points, taps] names, times weight of its shape. What has the weight zero is
// left out.
func WeightedRows(c *ir.Call) error {
	return inField(c, weightedRows[float64], weightedRows[wide.Float])
}

func weightedRows[T any](c *ir.Call, f field[T]) error {
	x, out := decode(c.In[0], c.Compute, f.ring), newTensor(c.Out[0].Shape, f.number(0))
	err := taken(c, f, x.shape, func(i, o []int, weight T) { *out.at(o) = f.add(*out.at(o), f.mul(*x.at(i), weight)) })
	if err != nil {
		return err
	}
	encode(c.Out[0], c.Compute, f.ring, out)
	return nil
}

// WeightedRowsGrad returns the gradient of WeightedRows with respect to x, from the
// gradient g of its result, index and weight. Attribute: rows, those of x.
func WeightedRowsGrad(c *ir.Call) error {
	return inField(c, weightedRowsGrad[float64], weightedRowsGrad[wide.Float])
}

func weightedRowsGrad[T any](c *ir.Call, f field[T]) error {
	g, dx := decode(c.In[0], c.Compute, f.ring), newTensor(c.Out[0].Shape, f.number(0))
	err := taken(c, f, dx.shape, func(i, o []int, weight T) { *dx.at(i) = f.add(*dx.at(i), f.mul(*g.at(o), weight)) })
	if err != nil {
		return err
	}
	encode(c.Out[0], c.Compute, f.ring, dx)
	return nil
}
