package onnx

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// indexing are the operators that pick elements, or put them somewhere.
var indexing = map[string]lowering{
	"Gather": {make: func(n *node) kernel {
		at := n.int("axis")
		return func(c *call) error {
			x := c.t(0)
			a, err := axis(at, x.Rank())
			if err == nil && x.Rank() == 0 {
				err = errors.New("one number has no axis to pick from")
			}
			if err != nil {
				return err
			}
			if v := c.in[1]; v.constant != nil && v.t.Rank() == 0 { // one known place is a view
				k, err := v.ints()
				if err != nil {
					return err
				}
				return c.put(0, x.Select(a, k[0]))
			}
			index := c.t(1)
			shape := slices.Concat(x.Shape()[:a], index.Shape(), x.Shape()[a+1:])
			return c.put(0, x.IndexSelect(a, positive(index, x.Size(a)).Reshape(-1)).Reshape(shape...))
		}
	}},
	"GatherElements": {make: func(n *node) kernel {
		at := n.int("axis")
		return func(c *call) error {
			x := c.t(0)
			a, err := axis(at, x.Rank())
			if err != nil {
				return err
			}
			return c.put(0, x.Gather(a, positive(c.t(1), x.Size(a))))
		}
	}},
	"GatherND": {make: func(n *node) kernel {
		batch := n.int("batch_dims")
		if batch < 0 {
			n.refuse("batch_dims %d, want 0 or more", batch)
		}
		return func(c *call) error { return gatherND(c, batch) }
	}},
	"ScatterElements": {make: scatterElements},
	"Scatter":         {make: scatterElements},
	"ScatterND":       {make: scatterND},
	"OneHot": {make: func(n *node) kernel {
		at := n.int("axis")
		return func(c *call) error {
			depth, err := c.ints(1)
			if err != nil || len(depth) != 1 {
				return fmt.Errorf("the depth is not one number: %v", err)
			}
			a, err := axis(at, c.t(0).Rank()+1)
			if err != nil {
				return err
			}
			if err := c.shaped(2, 2); err != nil {
				return err
			}
			index := positive(c.t(0).ToType(tensor.Int64), depth[0]).Unsqueeze(a)
			shape := make([]int, index.Rank())
			for i := range shape {
				shape[i] = 1
			}
			shape[a] = depth[0]
			hot := index.Eq(tensor.Arange(0, depth[0], 1, tensor.On(c.dev)).Reshape(shape...))
			v := c.t(2)
			return c.put(0, tensor.Where(hot, v.Select(0, 1), v.Select(0, 0)))
		}
	}},
	"NonZero": plain(func(c *call) error {
		x := c.t(0)
		if x.Rank() == 0 {
			return c.as(0, tensor.Zeros([]int{0, x.Ne(tensor.ZerosLike(x)).ToType(tensor.Int64).Nonzero().Size(0)}, tensor.OfType(tensor.Int64), tensor.On(c.dev)), format.Int64)
		}
		return c.as(0, x.Nonzero().T().Contiguous(), format.Int64)
	}),
	"Compress": {make: func(n *node) kernel {
		at, given := n.int("axis"), n.given("axis")
		return func(c *call) error {
			x, a := c.t(0), 0
			if !given {
				x = x.Reshape(-1)
			} else {
				var err error
				if a, err = axis(at, x.Rank()); err != nil {
					return err
				}
			}
			if c.t(1).Rank() != 1 {
				return fmt.Errorf("a condition of shape %v, want a list", c.t(1).Shape())
			}
			return c.put(0, x.IndexSelect(a, c.t(1).Nonzero().Reshape(-1)))
		}
	}},
	"TopK": {make: func(n *node) kernel {
		at, largest := n.int("axis"), n.spec.Since < 11 || n.flag("largest")
		return func(c *call) error {
			x := c.t(0)
			a, err := axis(at, x.Rank())
			if err != nil {
				return err
			}
			k := n.int("k")
			if n.spec.Since >= 10 {
				list, err := c.ints(1)
				if err != nil || len(list) != 1 {
					return fmt.Errorf("k is not one number: %v", err)
				}
				k = list[0]
			}
			if k < 0 || k > x.Size(a) {
				return fmt.Errorf("k is %d of an axis of %d", k, x.Size(a))
			}
			v, i := x.Sort(a, tensor.Descending(largest))
			if err := c.put(0, v.Narrow(a, 0, k).Contiguous()); err != nil {
				return err
			}
			return c.as(1, i.Narrow(a, 0, k).Contiguous(), format.Int64)
		}
	}},
	"ArgMax": {make: func(n *node) kernel { return arg(n, tensor.Argmax) }},
	"ArgMin": {make: func(n *node) kernel { return arg(n, tensor.Argmin) }},
	"ReverseSequence": {make: func(n *node) kernel {
		time, batch := n.int("time_axis"), n.int("batch_axis")
		return func(c *call) error {
			lengths, err := c.ints(1)
			if err != nil {
				return err
			}
			x := c.t(0)
			if x.Rank() < 2 || len(lengths) != x.Size(batch) {
				return fmt.Errorf("%d lengths for sequences %v with axis %d for the batch", len(lengths), x.Shape(), batch)
			}
			if len(lengths) == 0 {
				return c.put(0, x)
			}
			var parts []tensor.Tensor
			for i, l := range lengths {
				one := x.Narrow(batch, i, 1)
				parts = append(parts, tensor.Cat([]tensor.Tensor{one.Narrow(time, 0, l).Flip(time), one.Narrow(time, l, x.Size(time)-l)}, time))
			}
			return c.put(0, tensor.Cat(parts, batch))
		}
	}},
	"CumSum": {make: func(n *node) kernel {
		return scanned(n, func(x tensor.Tensor, a int) tensor.Tensor { return tensor.Cumsum(x, a) }, 0)
	}},
	"CumProd": {make: func(n *node) kernel {
		return scanned(n, func(x tensor.Tensor, a int) tensor.Tensor { return tensor.Cumprod(x, a) }, 1)
	}},
}

// positive returns an index whose negative numbers are counted from the end of n.
func positive(index tensor.Tensor, n int) tensor.Tensor {
	return tensor.Where(index.LtScalar(0), index.AddScalar(n), index)
}

// scanned is a scan along an axis that an operand names, which may go backward or leave
// out the element itself.
func scanned(n *node, f func(x tensor.Tensor, dim int) tensor.Tensor, none float64) kernel {
	exclusive, reverse := n.flag("exclusive"), n.flag("reverse")
	return func(c *call) error {
		list, err := c.ints(1)
		if err != nil || len(list) != 1 {
			return fmt.Errorf("the axis is not one number: %v", err)
		}
		x := c.t(0)
		a, err := axis(list[0], x.Rank())
		if err != nil {
			return err
		}
		dt := x.DType()
		if reverse {
			x = x.Flip(a)
		}
		y := f(x, a).ToType(dt)
		if exclusive && x.Size(a) > 0 {
			y = tensor.Cat([]tensor.Tensor{tensor.FullLike(y.Narrow(a, 0, 1), none), y.Narrow(a, 0, x.Size(a)-1)}, a)
		}
		if reverse {
			y = y.Flip(a)
		}
		return c.put(0, y)
	}
}

// arg is an index of an extreme along an axis.
func arg(n *node, f func(x tensor.Tensor, opts ...tensor.Option) tensor.Tensor) kernel {
	at, keep, last := n.int("axis"), n.flag("keepdims"), n.flag("select_last_index")
	return func(c *call) error {
		x := c.t(0)
		a, err := axis(at, x.Rank())
		if err != nil {
			return err
		}
		if last {
			y := f(x.Flip(a), tensor.Dim(a), tensor.KeepDim(keep))
			return c.as(0, y.Neg().AddScalar(x.Size(a)-1), format.Int64)
		}
		return c.as(0, f(x, tensor.Dim(a), tensor.KeepDim(keep)), format.Int64)
	}
}

// flat returns the places that rows of indices name in the leading axes of shape, as one
// number each.
func flat(index tensor.Tensor, shape []int) tensor.Tensor {
	k := index.Size(index.Rank() - 1)
	if k == 0 {
		s := index.Shape()
		return tensor.Zeros(s[:len(s)-1], tensor.OfType(tensor.Int64), tensor.On(index.Device()))
	}
	var out tensor.Tensor
	for i := range k {
		part := positive(index.Select(index.Rank()-1, i).ToType(tensor.Int64), shape[i])
		if i == 0 {
			out = part
		} else {
			out = out.MulScalar(shape[i]).Add(part)
		}
	}
	return out
}

func gatherND(c *call, batch int) error {
	x, index := c.t(0), c.t(1)
	xs, is := x.Shape(), index.Shape()
	if len(is) == 0 || batch >= len(is) || batch > len(xs) || batch+is[len(is)-1] > len(xs) {
		return fmt.Errorf("indices of shape %v into %v with %d axes of batches", is, xs, batch)
	}
	k, b := is[len(is)-1], product(xs[:batch])
	rest := xs[batch+k:]
	at := flat(index, xs[batch:]).Reshape(b, -1)
	span := product(xs[batch : batch+k])
	at = at.Add(tensor.Arange(0, b, 1, tensor.On(c.dev)).MulScalar(span).Unsqueeze(1)).Reshape(-1)
	out := slices.Concat(is[:len(is)-1], rest)
	return c.put(0, x.Reshape(b*span, product(rest)).IndexSelect(0, at).Reshape(out...))
}

// A scattering puts elements of src at places along an axis of x.
type scattering func(x tensor.Tensor, axis int, index, src tensor.Tensor) tensor.Tensor

// scatteringOf returns what a scatter does with what is there.
func scatteringOf(n *node) scattering {
	reduction := "none"
	if _, ok := n.spec.Attribute("reduction"); ok {
		reduction = n.oneOf("reduction", "none", "add", "mul", "max", "min")
	}
	if reduction == "none" {
		return tensor.Tensor.Scatter
	}
	n.lacks(0, tensor.DType.IsComplex)
	reduce := map[string]tensor.Reduce{"add": tensor.ReduceSum, "mul": tensor.ReduceProd, "max": tensor.ReduceAmax, "min": tensor.ReduceAmin}[reduction]
	return func(x tensor.Tensor, axis int, index, src tensor.Tensor) tensor.Tensor {
		dt := x.DType()
		if dt == tensor.Uint64 && reduction == "mul" { // whose bits are those of signed integers
			x, src = x.ToType(tensor.Int64), src.ToType(tensor.Int64)
		}
		return x.ScatterReduce(axis, index, src, reduce).ToType(dt)
	}
}

func scatterElements(n *node) kernel {
	at := n.int("axis")
	scatter := scatteringOf(n)
	return func(c *call) error {
		x := c.t(0)
		a, err := axis(at, x.Rank())
		if err != nil {
			return err
		}
		if x.Rank() == 0 {
			return errors.New("one number has no axis to put elements on")
		}
		if err := c.shaped(2, c.t(1).Shape()...); err != nil {
			return err
		}
		return c.put(0, scatter(x, a, positive(c.t(1), x.Size(a)), c.t(2)))
	}
}

func scatterND(n *node) kernel {
	scatter := scatteringOf(n)
	return func(c *call) error {
		x, index, src := c.t(0), c.t(1), c.t(2)
		xs, is := x.Shape(), index.Shape()
		if len(is) == 0 || is[len(is)-1] > len(xs) {
			return fmt.Errorf("indices of shape %v into %v", is, xs)
		}
		k := is[len(is)-1]
		if err := c.shaped(2, slices.Concat(is[:len(is)-1], xs[k:])...); err != nil {
			return err
		}
		rest := product(xs[k:])
		rows := flat(index, xs).Reshape(-1, 1).Expand(product(is[:len(is)-1]), rest).Contiguous()
		return c.put(0, scatter(x.Reshape(product(xs[:k]), rest), 0, rows, src.Reshape(-1, rest)).Reshape(xs...))
	}
}
