package onnx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/runtime/random"
)

// draws are the operators whose results are random: numbers of the program's generator, or,
// with a seed, of one that begins anew with every run that goes operator by operator.
var draws = map[string]lowering{
	"RandomNormal":      drawn(normal),
	"RandomNormalLike":  drawn(normal),
	"RandomUniform":     drawn(uniform),
	"RandomUniformLike": drawn(uniform),
	"Bernoulli": drawn(func(n *node, c *call, _ []int, _ tensor.DType) tensor.Tensor {
		return c.t(0).Bernoulli()
	}),
	"Multinomial": drawn(func(n *node, c *call, _ []int, _ tensor.DType) tensor.Tensor {
		x := c.t(0) // logarithms of probabilities that need not add up to one
		return x.Softmax(x.Rank()-1).Multinomial(n.int("sample_size"), tensor.Replacement())
	}),
}

func normal(n *node, c *call, shape []int, dt tensor.DType) tensor.Tensor {
	x := tensor.Randn(shape, tensor.OfType(dt), tensor.On(c.dev))
	return x.MulScalar(n.float("scale")).AddScalar(n.float("mean"))
}

func uniform(n *node, c *call, shape []int, dt tensor.DType) tensor.Tensor {
	low, high := n.float("low"), n.float("high")
	x := tensor.Rand(shape, tensor.OfType(dt), tensor.On(c.dev))
	return x.MulScalar(high - low).AddScalar(low)
}

// drawn is an operator whose result has the shape of its operand or of an attribute, and
// the type that another attribute names or, without that, the operand's.
func drawn(draw func(n *node, c *call, shape []int, dt tensor.DType) tensor.Tensor) lowering {
	return lowering{random: true, make: func(n *node) kernel {
		seed, seeded := 0.0, n.given("seed")
		if seeded {
			seed = n.float("seed")
		}
		own := format.Elem(0)
		if a, ok := n.spec.Attribute("dtype"); ok && (n.given("dtype") || a.HasDefault) {
			own = n.elem("dtype")
		}
		return func(c *call) error {
			shape, elem := n.ints("shape"), own
			if c.has(0) {
				if shape = c.t(0).Shape(); elem == 0 {
					elem = c.elem(0)
				}
			}
			if err := c.size(shape); err != nil {
				return err
			}
			dt, ok := carriers[elem]
			if !ok {
				return fmt.Errorf("%w: random numbers of %s", ErrUnsupported, elem)
			}
			computed := dt
			if !dt.IsFloat() {
				computed = tensor.Float32
			}
			var x tensor.Tensor
			pick := func() error { x = draw(n, c, shape, computed); return x.Err() }
			var err error
			if seeded {
				err = random.With(random.New(int64(math.Float64bits(seed))), pick)
			} else {
				err = pick()
			}
			if err != nil {
				return err
			}
			return c.as(0, x.ToType(dt), elem)
		}
	}}
}
