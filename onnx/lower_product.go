package onnx

import (
	"cmp"
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// products are matrix products.
var products = map[string]lowering{
	"MatMul": plain(func(c *call) error { return c.put(0, tensor.MatMul(c.t(0), c.t(1))) }),
	"MatMulInteger": plain(func(c *call) error {
		if y, ok := c.byteProduct(0, 2, 1, 3); ok {
			return c.as(0, y, format.Int32)
		}
		x := c.t(0).ToType(tensor.Int32)
		if c.has(2) {
			z := c.t(2).ToType(tensor.Int32)
			if z.Rank() == 1 && z.Size(0) > 1 { // one for each row
				z = z.Unsqueeze(1)
			}
			x = x.Sub(z)
		}
		return c.as(0, integerProduct(x.ToType(tensor.Float32), c.centeredWeight(1, 3, -1), 255, 255), format.Int32)
	}),
	"Gemm": {make: func(n *node) kernel {
		alpha, beta, ta, tb := n.float("alpha"), n.float("beta"), n.flag("transA"), n.flag("transB")
		return func(c *call) error {
			x, y := c.t(0), c.t(1)
			if x.Rank() != 2 || y.Rank() != 2 {
				return fmt.Errorf("shapes %v and %v, want matrices", x.Shape(), y.Shape())
			}
			if ta {
				x = x.T()
			}
			if tb && alpha == 1 && beta == 1 && c.has(2) && !isInt(x) && c.t(2).Rank() == 1 && c.t(2).Size(0) == y.Size(0) {
				return c.put(0, tensor.Linear(x, y, tensor.Bias(c.t(2))))
			}
			if tb {
				y = y.T()
			}
			out := tensor.MM(x, y)
			if alpha != 1 {
				out = out.MulScalar(alpha)
			}
			if err := c.spreads(2, out.Shape()); err != nil {
				return cmp.Or(out.Err(), err)
			}
			if c.has(2) {
				z := c.t(2)
				if beta != 1 {
					z = z.MulScalar(beta)
				}
				out = out.Add(z)
			}
			return c.put(0, out.ToType(x.DType()))
		}
	}},
	"Einsum": {make: func(n *node) kernel {
		equation := n.string("equation")
		return func(c *call) error { return c.put(0, tensor.Einsum(equation, c.ts(0)).ToType(c.t(0).DType())) }
	}},
}
