package kernel

import (
	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// SGDStep is p -= rate*(g + decay*p) for the lists p of results and g of operands.
// Attributes: rate, decay.
func SGDStep(c *ir.Call) error { return inField(c, sgdStep[float64], sgdStep[wide.Float]) }

func sgdStep[T any](c *ir.Call, f field[T]) error {
	rate, decay := attribute(c, f, 0), attribute(c, f, 1)
	eachPlace(c, f, func(x []T) {
		p, g := &x[0], x[1]
		*p = f.sub(*p, f.mul(rate, f.add(g, f.mul(decay, *p))))
	})
	return nil
}

// SGDMomentumStep is d = g + decay*p, v = momentum*v + share*d and p -= rate*v, with
// nesterov p -= rate*(d + momentum*v), for the lists p and v of results and g of
// operands. Attributes: rate, momentum, share, decay, nesterov.
func SGDMomentumStep(c *ir.Call) error {
	return inField(c, sgdMomentumStep[float64], sgdMomentumStep[wide.Float])
}

func sgdMomentumStep[T any](c *ir.Call, f field[T]) error {
	rate, momentum, share, decay := attribute(c, f, 0), attribute(c, f, 1), attribute(c, f, 2), attribute(c, f, 3)
	nesterov := c.Attrs[4].Int != 0
	eachPlace(c, f, func(x []T) {
		p, v, g := &x[0], &x[1], x[2]
		d := f.add(g, f.mul(decay, *p))
		*v = f.add(f.mul(momentum, *v), f.mul(share, d))
		if nesterov {
			d = f.add(d, f.mul(momentum, *v))
		} else {
			d = *v
		}
		*p = f.sub(*p, f.mul(rate, d))
	})
	return nil
}

// AdamStep is d = g + decay*p, m = beta1*m + (1 - beta1)*d,
// v = beta2*v + (1 - beta2)*d*d and p = shrink*p - rate*m/(sqrt(v) + eps) for the
// lists p, m and v of results and g of operands. Attributes: rate, beta1, beta2,
// eps, decay, shrink.
func AdamStep(c *ir.Call) error { return inField(c, adamStep[float64], adamStep[wide.Float]) }

func adamStep[T any](c *ir.Call, f field[T]) error {
	rate, beta1, beta2 := attribute(c, f, 0), attribute(c, f, 1), attribute(c, f, 2)
	eps, decay, shrink := attribute(c, f, 3), attribute(c, f, 4), attribute(c, f, 5)
	one := f.number(1)
	eachPlace(c, f, func(x []T) {
		p, m, v, g := &x[0], &x[1], &x[2], x[3]
		d := f.add(g, f.mul(decay, *p))
		*m = f.add(f.mul(beta1, *m), f.mul(f.sub(one, beta1), d))
		*v = f.add(f.mul(beta2, *v), f.mul(f.sub(one, beta2), f.mul(d, d)))
		*p = f.sub(f.mul(shrink, *p), f.mul(rate, f.quo(*m, f.add(f.sqrt(*v), eps))))
	})
	return nil
}

// attribute returns a float attribute.
func attribute[T any](c *ir.Call, f field[T], i int) T { return f.from(c.Attrs[i].Scalar) }

// eachPlace calls change for every element of the lists of tensors in a call: x
// holds that element of every result, then of every operand. What change makes of
// the results' is written over them. An operand without axes is the same for all
// elements.
func eachPlace[T any](c *ir.Call, f field[T], change func(x []T)) {
	n := len(c.Out) / len(c.Op.Out)
	for k := range n {
		var lists []tensor[T] // the k-th tensor of each
		for i := k; i < len(c.Out); i += n {
			lists = append(lists, decode(c.Out[i], c.Compute, f.ring))
		}
		for i := k; i < len(c.In); i += n {
			lists = append(lists, decode(c.In[i], c.Compute, f.ring))
		}
		x := make([]T, len(lists))
		for e := range lists[0].v {
			for i, t := range lists {
				x[i] = t.v[e%len(t.v)]
			}
			change(x)
			for i := range c.Op.Out {
				lists[i].v[e] = x[i]
			}
		}
		for i := range c.Op.Out {
			encode(c.Out[i*n+k], c.Compute, f.ring, lists[i])
		}
	}
}
