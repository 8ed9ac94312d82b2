package onnx

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// lowerings say how operators of the standard's own domain are computed, by name. Which
// versions there are, with which attributes and types, is in the table of package standard;
// an operator that has no entry here is computed by the function that the standard gives for
// it, or refused. They are put together when one is first asked for.
var lowerings struct {
	once sync.Once
	all  map[string]lowering
}

// loweringOf returns how an operator is computed, and whether there is an entry for it.
func loweringOf(domain, name string) (lowering, bool) {
	if domain == "com.microsoft" {
		l, ok := microsoft[name]
		return l, ok
	}
	if domain != "" {
		return lowering{}, false
	}
	lowerings.once.Do(func() {
		lowerings.all = map[string]lowering{}
		for _, part := range []map[string]lowering{elementwise, shaping, indexing, reductions, products, windows, normalizations, recurrences,
			control(), sequences, quantization, images, signals, streams, draws, transformers, hosted} {
			maps.Copy(lowerings.all, part)
		}
	})
	l, ok := lowerings.all[name]
	return l, ok
}

// plain is the lowering of an operator without attributes.
func plain(k kernel) lowering { return lowering{make: func(*node) kernel { return k }} }

// unary is an operator of one operand.
func unary(f func(x tensor.Tensor) tensor.Tensor) lowering {
	return plain(func(c *call) error { return c.put(0, f(c.t(0))) })
}

// pair is an operator of two that broadcast.
func pair(f func(x, y tensor.Tensor) tensor.Tensor) lowering {
	return plain(func(c *call) error { return c.put(0, f(c.t(0), c.t(1))) })
}

// axis returns an axis of a rank, counted from the end where it is negative.
func axis(a, rank int) (int, error) {
	if a < -rank || a >= max(rank, 1) && !(rank == 0 && a == 0) {
		return 0, fmt.Errorf("axis %d of a tensor of rank %d", a, rank)
	}
	if a < 0 {
		a += rank
	}
	return a, nil
}

// axes is axis for a list, which must name each once.
func axes(list []int, rank int) ([]int, error) {
	out := make([]int, len(list))
	for i, a := range list {
		v, err := axis(a, rank)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out[:i], v) {
			return nil, fmt.Errorf("axis %d twice in %v", v, list)
		}
		out[i] = v
	}
	return out, nil
}

// product returns the product of extents.
func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func isInt(t tensor.Tensor) bool {
	return t.DType().IsInt()
}

// elementwise are the operators on each element alone.
var elementwise = map[string]lowering{
	"Abs": unary(tensor.Abs), "Acos": unary(tensor.Acos), "Acosh": unary(tensor.Acosh), "Asin": unary(tensor.Asin), "Asinh": unary(tensor.Asinh),
	"Atan": unary(tensor.Atan), "Atanh": unary(tensor.Atanh), "Ceil": unary(tensor.Ceil), "Cos": unary(tensor.Cos), "Cosh": unary(tensor.Cosh),
	"Erf": unary(tensor.Erf), "Exp": unary(tensor.Exp), "Floor": unary(tensor.Floor), "Log": unary(tensor.Log), "Neg": unary(tensor.Neg),
	"Reciprocal": unary(tensor.Reciprocal), "Relu": unary(tensor.ReLU), "Round": unary(tensor.Round), "Sigmoid": unary(sigmoid),
	"Sign": unary(tensor.Sign), "Sin": unary(tensor.Sin), "Sinh": unary(tensor.Sinh), "Softsign": unary(tensor.Softsign), "Sqrt": unary(tensor.Sqrt),
	"Tan": unary(tensor.Tan), "Tanh": unary(tensor.Tanh), "IsNaN": unary(tensor.IsNaN), "HardSwish": unary(tensor.Hardswish), "Mish": unary(tensor.Mish),
	"Not": unary(tensor.LogicalNot), "BitwiseNot": unary(tensor.BitwiseNot), "Softplus": unary(func(x tensor.Tensor) tensor.Tensor { return tensor.Softplus(x) }),
	"Det": plain(func(c *call) error {
		s := c.t(0).Shape()
		if n := len(s); n < 2 || s[n-1] != s[n-2] {
			return fmt.Errorf("the determinants of %v, which are no square matrices", s)
		}
		return c.put(0, det(c.t(0)))
	}),

	"Add": pair(tensor.Add), "Sub": pair(tensor.Sub), "Mul": pair(tensor.Mul), "Div": pair(div), "PRelu": pair(prelu),
	"And": pair(tensor.LogicalAnd), "Or": pair(tensor.LogicalOr), "Xor": pair(tensor.LogicalXor), "BitwiseAnd": pair(tensor.BitwiseAnd),
	"BitwiseOr": pair(tensor.BitwiseOr), "BitwiseXor": pair(tensor.BitwiseXor), "Equal": pair(tensor.Eq),
	"Greater": pair(tensor.Gt), "GreaterOrEqual": pair(tensor.Ge),
	"Less": pair(tensor.Lt), "LessOrEqual": pair(tensor.Le), "Pow": pair(pow),

	"Sum": folded(tensor.Add), "Max": folded(tensor.Maximum), "Min": folded(tensor.Minimum),
	"Mean": {make: func(n *node) kernel {
		sum := folded(tensor.Add).make(n)
		return func(c *call) error {
			if err := sum(c); err != nil {
				return err
			}
			return c.put(0, c.out[0].t.DivScalar(float64(len(c.in))))
		}
	}},
	"Elu": with(func(n *node, x tensor.Tensor) tensor.Tensor { return tensor.ELU(x, tensor.Alpha(n.float("alpha"))) }),
	"Celu": {make: func(n *node) kernel {
		alpha := tensor.Alpha(n.float("alpha"))
		n.accept(func() tensor.Tensor { return tensor.CELU(tensor.Ones([]int{1}), alpha) })
		return func(c *call) error { return c.put(0, tensor.CELU(c.t(0), alpha)) }
	}},
	"LeakyRelu": with(func(n *node, x tensor.Tensor) tensor.Tensor {
		return tensor.LeakyReLU(x, tensor.NegativeSlope(n.float("alpha")))
	}),
	"ThresholdedRelu": with(func(n *node, x tensor.Tensor) tensor.Tensor { return tensor.Threshold(x, n.float("alpha"), 0.0) }),
	"Gelu": with(func(n *node, x tensor.Tensor) tensor.Tensor {
		if n.string("approximate") == "tanh" {
			return tensor.GELU(x, tensor.ApproximateTanh)
		}
		return tensor.GELU(x)
	}),
	"Selu": with(func(n *node, x tensor.Tensor) tensor.Tensor {
		a, g := n.float("alpha"), n.float("gamma")
		return tensor.Where(x.GtScalar(0), x, x.Expm1().MulScalar(a)).MulScalar(g)
	}),
	"HardSigmoid": with(func(n *node, x tensor.Tensor) tensor.Tensor {
		return x.MulScalar(n.float("alpha")).AddScalar(n.float("beta")).ClampScalar(0.0, 1.0)
	}),
	"Shrink": with(func(n *node, x tensor.Tensor) tensor.Tensor {
		l, b := n.float("lambd"), n.float("bias")
		zero := tensor.ZerosLike(x)
		dt := x.DType()
		return tensor.Where(x.LtScalar(-l), x.AddScalar(b), tensor.Where(x.GtScalar(l), x.SubScalar(b), zero)).ToType(dt)
	}),
	"IsInf": with(func(n *node, x tensor.Tensor) tensor.Tensor {
		y := x.IsInf()
		if !n.flag("detect_negative") {
			y = y.LogicalAnd(x.GtScalar(0))
		}
		if !n.flag("detect_positive") {
			y = y.LogicalAnd(x.LtScalar(0))
		}
		return y
	}),
	"Mod": {make: func(n *node) kernel {
		if n.flag("fmod") {
			return pair(tensor.Fmod).make(n)
		}
		return pair(tensor.Remainder).make(n)
	}},
	"BitShift": {make: func(n *node) kernel {
		if n.oneOf("direction", "LEFT", "RIGHT") == "RIGHT" {
			return pair(tensor.BitwiseRightShift).make(n)
		}
		return pair(tensor.BitwiseLeftShift).make(n)
	}},
	"Clip":     {make: clip},
	"Where":    plain(func(c *call) error { return c.put(0, tensor.Where(c.t(0), c.t(1), c.t(2))) }),
	"Cast":     {make: func(n *node) kernel { to := n.elem("to"); return func(c *call) error { return cast(c, n, to) } }},
	"CastLike": plain(func(c *call) error { return cast(c, c.step.node, c.elem(1)) }),
	"Identity": plain(func(c *call) error { c.out[0] = c.in[0]; return nil }),
	"Dropout":  {make: dropout},
	"Swish": with(func(n *node, x tensor.Tensor) tensor.Tensor {
		if a := n.float("alpha"); a != 1 {
			return x.Mul(sigmoid(x.MulScalar(a)))
		}
		return silu(x)
	}),
}

// Numbers below the smallest normal float32 take processors a hundred times as long, where they
// are made and wherever they are read. Those that fall off like e^x go where they would begin.
const (
	leastSigmoid = -87 // behind which it is 0, of whatever it is multiplied with; here it is 1.6e-38, nearly the smallest
	leastSiLU    = -60 // behind which it is what it is here: -5.3e-25, so that sums of products with it stay above that, too
)

func sigmoid(x tensor.Tensor) tensor.Tensor {
	if x.DType() == tensor.Float32 {
		x = x.Threshold(leastSigmoid, math.Inf(-1))
	}
	return x.Sigmoid()
}

func sigmoidInPlace(x tensor.Tensor) error {
	if x.DType() == tensor.Float32 {
		if err := x.ThresholdInPlace(leastSigmoid, math.Inf(-1)); err != nil {
			return err
		}
	}
	return x.SigmoidInPlace()
}

func silu(x tensor.Tensor) tensor.Tensor {
	if x.DType() == tensor.Float32 {
		x = x.ClampMinScalar(leastSiLU)
	}
	return x.SiLU()
}

func siluInPlace(x tensor.Tensor) error {
	if x.DType() == tensor.Float32 {
		if err := x.ClampMinScalarInPlace(leastSiLU); err != nil {
			return err
		}
	}
	return x.SiLUInPlace()
}

// with is an operator of one operand and attributes.
func with(f func(n *node, x tensor.Tensor) tensor.Tensor) lowering {
	return lowering{make: func(n *node) kernel { return func(c *call) error { return c.put(0, f(n, c.t(0))) } }}
}

// accept refuses the node, when the model is loaded, for what try says of attributes that no
// operand could change: it applies the operator to a few elements.
func (n *node) accept(try func() tensor.Tensor) {
	if err := tensor.Scope(func() error { return try().Err() }); err != nil {
		n.refuse("%v", err)
	}
}

// folded is an operator of any number of operands.
func folded(f func(x, y tensor.Tensor) tensor.Tensor) lowering {
	return plain(func(c *call) error {
		x := c.t(0)
		for i := 1; i < len(c.in); i++ {
			x = f(x, c.t(i))
		}
		if len(c.in) == 1 {
			x = x.Clone()
		}
		return c.put(0, x)
	})
}

// div divides integers toward zero.
func div(x, y tensor.Tensor) tensor.Tensor {
	if isInt(x) {
		return tensor.TruncDivide(x, y)
	}
	return tensor.Div(x, y)
}

// pow has the dtype of the base.
func pow(x, y tensor.Tensor) tensor.Tensor {
	switch {
	case x.DType() == y.DType():
		return tensor.Pow(x, y)
	case isInt(x) && !isInt(y):
		return tensor.Pow(x.ToType(tensor.Float64), y.ToType(tensor.Float64)).ToType(x.DType())
	}
	return tensor.Pow(x, y.ToType(x.DType()))
}

// prelu broadcasts the slope, and takes integers too.
func prelu(x, slope tensor.Tensor) tensor.Tensor {
	return tensor.Where(x.Lt(tensor.ZerosLike(x)), x.Mul(slope), x)
}

// det returns the determinants of matrices by elimination with exchanges of rows, which
// are chosen by comparing, so that it runs on every device.
func det(x tensor.Tensor) tensor.Tensor {
	shape := x.Shape()
	n := shape[len(shape)-1]
	x = x.Reshape(append([]int{-1}, shape[len(shape)-2:]...)...)
	d := tensor.Ones([]int{x.Size(0)}, tensor.OfType(x.DType()), tensor.On(x.Device()))
	for k := range n {
		column := x.Narrow(2, 0, 1).Squeeze(2).Abs()
		_, at := tensor.MaxDim(column, 1)
		pick := at.Unsqueeze(1).OneHot(n - k).ToType(x.DType())
		row := pick.MatMul(x) // [b, 1, n-k]
		first := x.Narrow(1, 0, 1)
		sign := tensor.Where(at.EqScalar(0), tensor.OnesLike(d), tensor.OnesLike(d).Neg())
		pivot := row.Narrow(2, 0, 1)
		d = d.Mul(sign).Mul(pivot.Reshape(-1))
		swapped := x.Add(pick.MT().MatMul(first.Sub(row))) // the pivot's row now has the first one
		rest := swapped.Narrow(1, 1, n-k-1)
		factor := rest.Narrow(2, 0, 1).Div(tensor.Where(pivot.EqScalar(0), tensor.OnesLike(pivot), pivot))
		x = rest.Sub(factor.MatMul(row)).Narrow(2, 1, n-k-1)
	}
	return d.Reshape(shape[:len(shape)-2]...)
}

// clip has its limits as attributes before version 11, as operands since.
func clip(n *node) kernel {
	if n.spec.Since < 11 {
		lo, hi := n.float("min"), n.float("max")
		return func(c *call) error { return c.put(0, c.t(0).ClampScalar(lo, hi)) }
	}
	return func(c *call) error {
		x := c.t(0)
		if c.has(1) {
			x = tensor.Maximum(x, c.t(1))
		}
		if c.has(2) {
			x = tensor.Minimum(x, c.t(2))
		}
		if !c.has(1) && !c.has(2) {
			x = x.Clone()
		}
		return c.put(0, x)
	}
}

// dropout leaves its operand as it is, unless it is asked to train.
func dropout(n *node) kernel {
	if n.trains() {
		n.refuse("dropout while training")
	}
	return func(c *call) error {
		ratio := 0.5
		if n.spec.Since < 12 {
			ratio = n.float("ratio")
		}
		training := false
		if c.has(2) {
			v, err := c.one(2)
			if err != nil {
				return err
			}
			training = v != 0
		}
		if c.has(1) {
			v, err := c.one(1)
			if err != nil {
				return err
			}
			ratio = v
		}
		if training && ratio != 0 {
			return fmt.Errorf("%w: dropout while training", ErrUnsupported)
		}
		c.out[0] = c.in[0]
		if len(c.out) > 1 {
			return c.as(1, tensor.Ones(c.t(0).Shape(), tensor.OfType(tensor.Bool), tensor.On(c.dev)), format.Bool)
		}
		return nil
	}
}

// trains reports whether a dropout is known to train, and not by a ratio of 0.
func (n *node) trains() bool {
	number := func(i int, missing float64) float64 {
		if i >= len(n.in) || n.in[i] < 0 {
			return missing
		}
		if v := n.graph.known[n.in[i]]; v != nil && v.form == formTensor && v.t.NumElements() == 1 {
			if x, err := item(v.t); err == nil {
				return x
			}
		}
		return 0 // not known
	}
	return number(2, 0) != 0 && number(1, 0.5) != 0
}

// cast converts to a type of elements.
func cast(c *call, n *node, to format.Elem) error {
	from, x := c.elem(0), c.t(0)
	switch {
	case from == to:
		c.out[0] = c.in[0]
		return nil
	case isSmall(to):
		saturate := true
		if _, ok := n.spec.Attribute("saturate"); ok {
			saturate = n.flag("saturate")
		}
		mode := "up"
		if _, ok := n.spec.Attribute("round_mode"); ok {
			mode = n.string("round_mode")
		}
		y, err := narrow(x, to, saturate, mode)
		if err != nil {
			return err
		}
		return c.as(0, y, to)
	}
	y := x
	switch to {
	case format.Uint4, format.Uint2:
		y = whole(x).BitwiseAndScalar(1<<to.Bits() - 1)
	case format.Int4, format.Int2:
		half := 1 << (to.Bits() - 1)
		y = whole(x).AddScalar(half).BitwiseAndScalar(2*half - 1).SubScalar(half)
	}
	return c.as(0, y.ToType(carriers[to]), to)
}

// whole returns the integers that are left of numbers without their fractions.
func whole(x tensor.Tensor) tensor.Tensor { return x.ToType(tensor.Int64) }
