package onnx

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// normalizations are the operators that bring numbers to a scale.
var normalizations = map[string]lowering{
	"BatchNormalization": {make: func(n *node) kernel {
		eps, momentum := n.float("epsilon"), n.float("momentum")
		training := n.flag("training_mode")
		if n.spec.Since < 14 && len(n.file.Outputs) > 1 && n.wants(1) {
			n.refuse("a normalization that is trained")
		}
		return func(c *call) error {
			x := c.t(0)
			if x.Rank() == 1 {
				x = x.Unsqueeze(1)
			}
			for i := 1; i < 5 && x.Rank() > 1; i++ {
				if err := c.shaped(i, x.Size(1)); err != nil {
					return err
				}
			}
			average, variance := c.t(3), c.t(4)
			if training {
				dims := append([]int{0}, spatial(x)...)
				now := tensor.Mean(x, tensor.Dim(dims...))
				spread := tensor.Var(x, tensor.Dim(dims...), tensor.Correction(0))
				if err := c.put(1, average.MulScalar(momentum).Add(now.ToType(average.DType()).MulScalar(1-momentum))); err != nil {
					return err
				}
				if err := c.put(2, variance.MulScalar(momentum).Add(spread.ToType(variance.DType()).MulScalar(1-momentum))); err != nil {
					return err
				}
				average, variance = now, spread
			}
			if eps < 0 { // which the operator refuses; the standard says nothing of it
				variance = variance.AddScalar(eps)
			}
			y := tensor.BatchNorm(x, average, variance, tensor.Weight(c.t(1)), tensor.Bias(c.t(2)), tensor.Eps(max(eps, 0)))
			return c.put(0, y.Reshape(c.t(0).Shape()...))
		}
	}},
	"InstanceNormalization": {make: func(n *node) kernel {
		eps := n.float("epsilon")
		return func(c *call) error {
			x := c.t(0)
			if x.Rank() < 3 {
				return fmt.Errorf("%v has no spatial axes", x.Shape())
			}
			if err := cmp.Or(c.shaped(1, x.Size(1)), c.shaped(2, x.Size(1))); err != nil {
				return err
			}
			return c.put(0, tensor.InstanceNorm(x, tensor.Weight(c.t(1)), tensor.Bias(c.t(2)), tensor.Eps(eps)))
		}
	}},
	"LayerNormalization": {make: func(n *node) kernel {
		at, eps := n.int("axis"), n.float("epsilon")
		return func(c *call) error {
			x := c.t(0)
			a, err := axis(at, x.Rank())
			if err != nil {
				return err
			}
			if err := cmp.Or(c.spreads(1, x.Shape()), c.spreads(2, x.Shape())); err != nil {
				return err
			}
			dims := last(x.Rank(), x.Rank()-a)
			if len(c.out) == 1 && slices.Equal(c.t(1).Shape(), x.Shape()[a:]) && (!c.has(2) || slices.Equal(c.t(2).Shape(), x.Shape()[a:])) {
				opts := []tensor.Option{tensor.Weight(c.t(1)), tensor.Eps(eps)}
				if c.has(2) {
					opts = append(opts, tensor.Bias(c.t(2)))
				}
				return c.put(0, tensor.LayerNorm(x, x.Shape()[a:], opts...))
			}
			wide := x
			if x.DType().Size() < 4 {
				wide = x.ToType(tensor.Float32)
			}
			mean := tensor.Mean(wide, tensor.Dim(dims...), tensor.KeepDim())
			inverse := tensor.Var(wide, tensor.Dim(dims...), tensor.KeepDim(), tensor.Correction(0)).AddScalar(eps).Rsqrt()
			y := wide.Sub(mean).Mul(inverse).ToType(x.DType()).Mul(c.t(1))
			if c.has(2) {
				y = y.Add(c.t(2))
			}
			if err := c.put(0, y); err != nil {
				return err
			}
			if err := c.as(1, mean, native[mean.DType()]); err != nil {
				return err
			}
			return c.as(2, inverse, native[inverse.DType()])
		}
	}},
	"RMSNormalization": {make: func(n *node) kernel {
		at, eps := n.int("axis"), n.float("epsilon")
		return func(c *call) error {
			x := c.t(0)
			a, err := axis(at, x.Rank())
			if err != nil {
				return err
			}
			if err := c.spreads(1, x.Shape()); err != nil {
				return err
			}
			wide := x
			if x.DType().Size() < 4 {
				wide = x.ToType(tensor.Float32)
			}
			inverse := tensor.Mean(wide.Square(), tensor.Dim(last(x.Rank(), x.Rank()-a)...), tensor.KeepDim()).AddScalar(eps).Rsqrt()
			return c.put(0, wide.Mul(inverse).ToType(x.DType()).Mul(c.t(1)))
		}
	}},
	"GroupNormalization": {make: func(n *node) kernel {
		eps, groups := n.float("epsilon"), n.int("num_groups")
		return func(c *call) error {
			x := c.t(0)
			s := x.Shape()
			if n.spec.Since >= 21 {
				return c.put(0, tensor.GroupNorm(x, groups, tensor.Weight(c.t(1)), tensor.Bias(c.t(2)), tensor.Eps(eps)))
			}
			if len(s) < 2 || groups < 1 || s[1]%groups != 0 {
				return fmt.Errorf("%d groups of a tensor of shape %v", groups, s)
			}
			y := tensor.GroupNorm(x, groups, tensor.Eps(eps)).Reshape(s[0], groups, -1) // the scale is by group
			return c.put(0, y.Mul(c.t(1).Reshape(1, groups, 1)).Add(c.t(2).Reshape(1, groups, 1)).Reshape(s...))
		}
	}},
	"LpNormalization": {make: func(n *node) kernel {
		at, p := n.int("axis"), n.int("p")
		if p != 1 && p != 2 {
			n.refuse("p of %d", p)
		}
		return func(c *call) error {
			x := c.t(0)
			a, err := axis(at, x.Rank())
			if err != nil {
				return err
			}
			norm := sum(x.Abs(), []int{a}, true)
			if p == 2 {
				norm = sum(x.Square(), []int{a}, true).Sqrt()
			}
			return c.put(0, tensor.Where(norm.EqScalar(0), tensor.ZerosLike(x), x.Div(norm)))
		}
	}},
	"LRN": {make: func(n *node) kernel {
		size, alpha, beta, bias := n.int("size"), n.float("alpha"), n.float("beta"), n.float("bias")
		if size < 1 {
			n.refuse("size %d", size)
		}
		return func(c *call) error {
			x := c.t(0)
			if x.Rank() < 2 {
				return fmt.Errorf("%v has no channels", x.Shape())
			}
			around := make([]int, 2*(x.Rank()-1))
			around[len(around)-2], around[len(around)-1] = (size-1)/2, size/2
			window := x.Square().Pad(around).Unfold(1, size, 1)
			total := sum(window, []int{window.Rank() - 1}, false)
			return c.put(0, x.Div(total.MulScalar(alpha/float64(size)).AddScalar(bias).PowScalar(beta)))
		}
	}},
	"SoftmaxCrossEntropyLoss": {make: func(n *node) kernel {
		loss := negativeLogLikelihood(n)
		return func(c *call) error {
			logs := tensor.LogSoftmax(c.t(0), 1)
			if err := c.put(1, logs); err != nil {
				return err
			}
			return loss(c, logs)
		}
	}},
	"NegativeLogLikelihoodLoss": {make: func(n *node) kernel {
		loss := negativeLogLikelihood(n)
		return func(c *call) error { return loss(c, c.t(0)) }
	}},
}

// negativeLogLikelihood returns the loss of logarithms of probabilities [n, classes, ...].
func negativeLogLikelihood(n *node) func(c *call, logs tensor.Tensor) error {
	mode := n.oneOf("reduction", "none", "sum", "mean")
	ignore, given := n.int("ignore_index"), n.given("ignore_index")
	return func(c *call, logs tensor.Tensor) error {
		target := c.t(1).ToType(tensor.Int64)
		weight := tensor.Ones(target.Shape(), tensor.OfType(logs.DType()), tensor.On(c.dev))
		pick := target
		if given {
			pick = tensor.Where(target.EqScalar(ignore), tensor.ZerosLike(target), target)
		}
		if c.has(2) {
			weight = c.t(2).IndexSelect(0, pick.Reshape(-1)).Reshape(target.Shape()...)
		}
		if given {
			weight = tensor.Where(target.EqScalar(ignore), tensor.ZerosLike(weight), weight)
		}
		each := logs.Gather(1, pick.Unsqueeze(1)).Squeeze(1).Mul(weight).Neg()
		switch mode {
		case "sum":
			each = tensor.Sum(each)
		case "mean":
			each = tensor.Sum(each).Div(tensor.Sum(weight))
		}
		return c.put(0, each)
	}
}

// recurrences are the recurrent networks and what goes over time.
var recurrences = map[string]lowering{
	"LSTM": {make: func(n *node) kernel { return recurrent(n, 4, "Sigmoid", "Tanh", "Tanh") }},
	"GRU":  {make: func(n *node) kernel { return recurrent(n, 3, "Sigmoid", "Tanh") }},
	"RNN":  {make: func(n *node) kernel { return recurrent(n, 1, "Tanh") }},

	"HannWindow":     taper(0.5, 0.5, 0),
	"HammingWindow":  taper(25.0/46, 21.0/46, 0),
	"BlackmanWindow": taper(0.42, 0.5, 0.08),
}

// taper is a window of cosines.
func taper(a, b, d float64) lowering {
	return lowering{make: func(n *node) kernel {
		to, periodic := n.elem("output_datatype"), n.flag("periodic")
		return func(c *call) error {
			size, err := c.ints(0)
			if err != nil || len(size) != 1 || size[0] < 0 {
				return fmt.Errorf("the size is not one number: %v", err)
			}
			if err := c.size(size); err != nil {
				return err
			}
			span := float64(size[0])
			if !periodic {
				span--
			}
			t := tensor.Arange(0, size[0], 1, tensor.OfType(tensor.Float64), tensor.On(c.dev)).MulScalar(2 * math.Pi / span)
			y := t.Cos().MulScalar(-b).AddScalar(a)
			if d != 0 {
				y = y.Add(t.MulScalar(2).Cos().MulScalar(d))
			}
			return c.as(0, y.ToType(carriers[to]), to)
		}
	}}
}
