package onnx

import (
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
)

// reductions are the operators that make one number of many.
var reductions = map[string]lowering{
	"ReduceSum":       {make: func(n *node) kernel { return reduce(n, 13, sum) }},
	"ReduceMean":      {make: func(n *node) kernel { return reduce(n, 18, mean) }},
	"ReduceMax":       {make: func(n *node) kernel { return reduce(n, 18, extreme(tensor.Max, math.Inf(-1))) }},
	"ReduceMin":       {make: func(n *node) kernel { return reduce(n, 18, extreme(tensor.Min, math.Inf(1))) }},
	"ReduceProd":      {make: func(n *node) kernel { return reduce(n, 18, prod) }},
	"ReduceL1":        {make: func(n *node) kernel { return reduce(n, 18, after(tensor.Abs, sum, nil)) }},
	"ReduceL2":        {make: func(n *node) kernel { return reduce(n, 18, after(tensor.Square, sum, tensor.Sqrt)) }},
	"ReduceSumSquare": {make: func(n *node) kernel { return reduce(n, 18, after(tensor.Square, sum, nil)) }},
	"ReduceLogSum":    {make: func(n *node) kernel { return reduce(n, 18, after(nil, sum, tensor.Log)) }},
	"ReduceLogSumExp": {make: func(n *node) kernel {
		return reduce(n, 18, func(x tensor.Tensor, dims []int, keep bool) tensor.Tensor {
			if x.NumElements() == 0 || isInt(x) {
				return after(tensor.Exp, sum, tensor.Log)(x, dims, keep)
			}
			return tensor.Logsumexp(x, dims, tensor.KeepDim(keep))
		})
	}},
	"Softmax": {make: func(n *node) kernel {
		return softmax(n, func(x tensor.Tensor, a int) tensor.Tensor { return tensor.Softmax(x, a) })
	}},
	"LogSoftmax": {make: func(n *node) kernel {
		return softmax(n, func(x tensor.Tensor, a int) tensor.Tensor { return tensor.LogSoftmax(x, a) })
	}},
	"Hardmax": {make: func(n *node) kernel {
		return softmax(n, func(x tensor.Tensor, a int) tensor.Tensor {
			if x.Rank() == 0 || x.NumElements() == 0 {
				return tensor.OnesLike(x)
			}
			at := tensor.Argmax(x, tensor.Dim(a), tensor.KeepDim())
			shape := make([]int, x.Rank())
			for i := range shape {
				shape[i] = 1
			}
			shape[a] = x.Size(a)
			return at.Eq(tensor.Arange(0, x.Size(a), 1, tensor.On(x.Device())).Reshape(shape...)).ToType(x.DType())
		})
	}},
}

// A reducer reduces axes.
type reducer func(x tensor.Tensor, dims []int, keep bool) tensor.Tensor

func sum(x tensor.Tensor, dims []int, keep bool) tensor.Tensor {
	return tensor.Sum(x, tensor.Dim(dims...), tensor.KeepDim(keep)).ToType(x.DType())
}

func prod(x tensor.Tensor, dims []int, keep bool) tensor.Tensor {
	dt := x.DType()
	for _, d := range descending(dims) {
		x = tensor.Prod(x, tensor.Dim(d), tensor.KeepDim(keep))
	}
	return x.ToType(dt)
}

// mean is the sum over the number of elements, which integers divide toward zero.
func mean(x tensor.Tensor, dims []int, keep bool) tensor.Tensor {
	if !isInt(x) {
		return tensor.Mean(x, tensor.Dim(dims...), tensor.KeepDim(keep))
	}
	n := 1
	for _, d := range dims {
		n *= x.Size(d)
	}
	wide := tensor.Int64
	if x.DType() == tensor.Uint64 {
		wide = tensor.Uint64
	}
	return tensor.Sum(x, tensor.Dim(dims...), tensor.KeepDim(keep), tensor.OfType(wide)).TruncDivideScalar(max(n, 1)).ToType(x.DType())
}

// extreme is the largest or the smallest element, and of no elements what is beyond all.
func extreme(f func(x tensor.Tensor, opts ...tensor.Option) tensor.Tensor, none float64) reducer {
	return func(x tensor.Tensor, dims []int, keep bool) tensor.Tensor {
		n := 1
		for _, d := range dims {
			n *= x.Size(d)
		}
		switch {
		case n > 0 && x.DType() == tensor.Bool:
			return f(x.ToType(tensor.Uint8), tensor.Dim(dims...), tensor.KeepDim(keep)).ToType(tensor.Bool)
		case n > 0:
			return f(x, tensor.Dim(dims...), tensor.KeepDim(keep))
		}
		if x.DType() == tensor.Bool {
			return tensor.Full(tensor.Sum(x.ToType(tensor.Int64), tensor.Dim(dims...), tensor.KeepDim(keep)).Shape(), none > 0, tensor.OfType(tensor.Bool), tensor.On(x.Device()))
		}
		like := sum(x, dims, keep)
		if isInt(x) {
			lowest, highest := limits(x.DType())
			if none < 0 {
				return tensor.FullLike(like, lowest)
			}
			return tensor.FullLike(like, highest)
		}
		return tensor.FullLike(like, none)
	}
}

// limits returns the smallest and the largest number of an integer dtype.
func limits(dt tensor.DType) (lowest int64, highest uint64) {
	bits := 8 * dt.Size()
	if dt == tensor.Uint8 || dt.Carried() {
		return 0, math.MaxUint64 >> (64 - bits)
	}
	highest = math.MaxInt64 >> (64 - bits)
	return -int64(highest) - 1, highest
}

// after reduces what one function makes of x and applies another.
func after(first func(tensor.Tensor) tensor.Tensor, r reducer, last func(tensor.Tensor) tensor.Tensor) reducer {
	return func(x tensor.Tensor, dims []int, keep bool) tensor.Tensor {
		dt := x.DType()
		if first != nil {
			x = first(x)
		}
		y := r(x, dims, keep)
		if last != nil {
			y = last(y)
		}
		return y.ToType(dt)
	}
}

func descending(dims []int) []int {
	out := append([]int{}, dims...)
	for i := range out {
		for k := i + 1; k < len(out); k++ {
			if out[k] > out[i] {
				out[i], out[k] = out[k], out[i]
			}
		}
	}
	return out
}

// reduce reads the axes, and what no axes mean.
func reduce(n *node, since int, f reducer) kernel {
	keep, noop := n.flag("keepdims"), n.flag("noop_with_empty_axes")
	return func(c *call) error {
		dims, err := listOf(c, n, since)
		if err != nil {
			return err
		}
		x := c.t(0)
		if len(dims) == 0 {
			if !noop {
				for i := range x.Rank() {
					dims = append(dims, i)
				}
			}
		} else if dims, err = axes(dims, x.Rank()); err != nil {
			return err
		}
		if len(dims) == 0 { // each element is a reduction of itself
			return c.put(0, f(x.Unsqueeze(0), []int{0}, false))
		}
		return c.put(0, f(x, dims, keep))
	}
}

// softmax goes along one axis, and before version 13 along all from it on.
func softmax(n *node, f func(x tensor.Tensor, a int) tensor.Tensor) kernel {
	at := n.int("axis")
	return func(c *call) error {
		x := c.t(0)
		shape := x.Shape()
		if n.spec.Since < 13 {
			if at < 0 {
				return c.put(0, f(x.Reshape(product(shape[:max(at+len(shape), 0)]), -1), 1).Reshape(shape...))
			}
			return c.put(0, f(x.Reshape(product(shape[:min(at, len(shape))]), -1), 1).Reshape(shape...))
		}
		a, err := axis(at, len(shape))
		if err != nil {
			return err
		}
		return c.put(0, f(x, a))
	}
}
