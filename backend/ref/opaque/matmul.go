package opaque

import (
	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// MatMul returns the matrix product of the last two axes of x and y, the axes
// before them broadcast. An x of one axis is a row and a y of one axis a column,
// and that axis is not in the result.
func MatMul(c *ir.Call) error {
	return inRing(c.Compute, c, matMul[int64], matMul[float64], matMul[wide.Float], matMul[complex128], matMul[wideComplex])
}

func matMul[T any](c *ir.Call, r ring[T]) error {
	out, err := product(c, r)
	if err != nil {
		return err
	}
	encode(c.Out[0], c.Compute, r, out)
	return nil
}

func product[T any](c *ir.Call, r ring[T]) (tensor[T], error) {
	x, y := decode(c.In[0], c.Compute, r), decode(c.In[1], c.Compute, r)
	vectorX, vectorY := len(x.shape) == 1, len(y.shape) == 1
	if vectorX {
		x.shape = []int{1, x.shape[0]}
	}
	if vectorY {
		y.shape = []int{y.shape[0], 1}
	}
	m, inner, n := x.shape[len(x.shape)-2], x.shape[len(x.shape)-1], y.shape[len(y.shape)-1]
	batch, err := ir.Broadcast(x.shape[:len(x.shape)-2], y.shape[:len(y.shape)-2])
	if err != nil {
		return tensor[T]{}, err
	}
	out := newTensor(append(batch, m, n), r.number(0))
	each(out.shape, func(at []int) {
		i, j := at[len(batch)], at[len(batch)+1]
		row, column := broadcastAt(at[:len(batch)], x.shape), broadcastAt(at[:len(batch)], y.shape)
		sum := r.number(0)
		for k := range inner {
			sum = r.add(sum, r.mul(*x.at(append(row, i, k)), *y.at(append(column, k, j))))
		}
		*out.at(at) = sum
	})
	return out, nil
}

// broadcastAt returns the leading coordinates, in a tensor of the given shape,
// of the matrix that is used at place at of the broadcast leading axes.
func broadcastAt(at, shape []int) []int {
	lead := shape[:len(shape)-2]
	at = at[len(at)-len(lead):]
	out := make([]int, len(lead), len(shape))
	for a, n := range lead {
		if n != 1 {
			out[a] = at[a]
		}
	}
	return out
}
