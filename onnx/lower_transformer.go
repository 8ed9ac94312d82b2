package onnx

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// transformers are the operators of attention.
var transformers = map[string]lowering{
	"Attention":       {make: attention},
	"RotaryEmbedding": {make: rotary},
	"TensorScatter": {make: func(n *node) kernel {
		at, circular := n.int("axis"), n.oneOf("mode", "linear", "circular") == "circular"
		return func(c *call) error {
			cache, update := c.t(0), c.t(1)
			a, err := axis(at, cache.Rank())
			if err != nil || a == 0 {
				return fmt.Errorf("axis %d of a tensor of shape %v", at, cache.Shape())
			}
			starts := make([]int, cache.Size(0))
			if c.has(2) {
				if starts, err = c.ints(2); err != nil {
					return err
				}
			}
			size, steps := cache.Size(a), update.Size(a)
			index := make([]int64, 0, len(starts)*steps)
			for _, s := range starts {
				for i := range steps {
					k := s + i
					if circular {
						k %= size
					}
					index = append(index, int64(k))
				}
			}
			shape := slices.Repeat([]int{1}, cache.Rank())
			shape[0], shape[a] = len(starts), steps
			places := tensor.From(index, shape...).To(c.dev).Expand(update.Shape()...).Contiguous()
			return c.put(0, cache.Scatter(a, places, update))
		}
	}},
}

// rotary turns pairs of numbers by angles whose cosines and sines are operands.
func rotary(n *node) kernel {
	interleaved, part, heads := n.flag("interleaved"), n.int("rotary_embedding_dim"), n.int("num_heads")
	return func(c *call) error {
		x, cos, sin := c.t(0), c.t(1), c.t(2)
		shape := x.Shape()
		switch {
		case len(shape) == 4:
			x = x.Transpose(1, 2)
		case len(shape) == 3 && heads > 0 && shape[2]%heads == 0:
			x = x.Reshape(shape[0], shape[1], heads, shape[2]/heads)
		default:
			return fmt.Errorf("a tensor of shape %v with %d heads", shape, heads)
		}
		width := part
		if width == 0 {
			width = x.Size(3)
		}
		if width > x.Size(3) || width%2 != 0 {
			return fmt.Errorf("a rotation of %d of %d numbers", width, x.Size(3))
		}
		if c.has(3) {
			at := c.t(3)
			if cos.Rank() != 2 || sin.Rank() != 2 {
				return fmt.Errorf("caches of shapes %v and %v, want a row for each position", cos.Shape(), sin.Shape())
			}
			pick := func(t tensor.Tensor) tensor.Tensor {
				return t.IndexSelect(0, at.Reshape(-1)).Reshape(append(at.Shape(), t.Size(1))...)
			}
			cos, sin = pick(cos), pick(sin)
		}
		for _, t := range []tensor.Tensor{cos, sin} {
			if want := []int{shape[0], x.Size(1), width / 2}; !slices.Equal(t.Shape(), want) {
				return cmp.Or(t.Err(), fmt.Errorf("a cache of shape %v, want %v", t.Shape(), want))
			}
		}
		cos, sin = cos.Unsqueeze(2), sin.Unsqueeze(2)
		turned, rest := x.Narrow(3, 0, width), x.Narrow(3, width, x.Size(3)-width)
		a, b := turned.Narrow(3, 0, width/2), turned.Narrow(3, width/2, width/2)
		if interleaved {
			a, b = turned.Slice(3, 0, width, 2), turned.Slice(3, 1, width, 2)
		}
		re, im := cos.Mul(a).Sub(sin.Mul(b)), sin.Mul(a).Add(cos.Mul(b))
		y := tensor.Cat([]tensor.Tensor{re, im}, 3)
		if interleaved {
			y = tensor.Stack([]tensor.Tensor{re, im}, 4).Flatten(tensor.Start(3), tensor.End(4))
		}
		y = tensor.Cat([]tensor.Tensor{y, rest}, 3)
		if len(shape) == 4 {
			y = y.Transpose(1, 2)
		}
		return c.put(0, y.Reshape(shape...))
	}
}

// heads returns [batch, steps, heads*width] as [batch, heads, steps, width].
func heads(x tensor.Tensor, n int) (tensor.Tensor, error) {
	if x.Rank() == 4 {
		return x, nil
	}
	if x.Rank() != 3 || n < 1 || x.Size(2)%n != 0 {
		return x, fmt.Errorf("%d heads of a tensor of shape %v", n, x.Shape())
	}
	return x.Reshape(x.Size(0), x.Size(1), n, x.Size(2)/n).Transpose(1, 2), nil
}

// An attending has the attributes of an attention.
type attending struct {
	queries, keys int // heads of each
	causal        bool
	shown         int     // which step of the scores is a result
	cap           float64 // of scores, by tanh; 0 for none
	scale         float64 // of products; NaN for one over the root of their length
	left, right   int     // the window around a query, -1 where it has no end
	precision     tensor.DType
}

// The steps of scores that attending.shown names.
const (
	shownProducts = iota
	shownCapped
	shownBiased
	shownWeights
)

func attention(n *node) kernel {
	a := attending{
		queries: n.int("q_num_heads"), keys: n.int("kv_num_heads"), causal: n.flag("is_causal"), shown: n.int("qk_matmul_output_mode"),
		cap: n.float("softcap"), scale: math.NaN(), left: -1, right: -1,
	}
	if a.shown < shownProducts || a.shown > shownWeights {
		n.refuse("qk_matmul_output_mode %d, want 0 to 3", a.shown)
	}
	if _, ok := n.spec.Attribute("left_window_size"); ok {
		a.left, a.right = n.int("left_window_size"), n.int("right_window_size")
	}
	if n.given("softmax_precision") {
		a.precision = carriers[n.elem("softmax_precision")]
	}
	if n.given("scale") {
		a.scale = n.float("scale")
	}
	return a.run
}

func (a attending) run(c *call) error {
	q, err := heads(c.t(0), a.queries)
	if err != nil {
		return err
	}
	k, v, past, err := a.remembered(c)
	if err != nil {
		return err
	}
	if err := cmp.Or(c.put(1, k.Contiguous()), c.put(2, v.Contiguous())); err != nil {
		return err
	}
	bias, biased, err := a.bias(c, q, k, past)
	if err != nil {
		return err
	}
	if g := q.Size(1); k.Size(1) > 0 && g != k.Size(1) {
		if g%k.Size(1) != 0 {
			return fmt.Errorf("%d heads of queries for %d of keys", g, k.Size(1))
		}
		r := g / k.Size(1)
		k, v = k.RepeatInterleave(r, 1), v.RepeatInterleave(r, 1)
	}
	weights, shown := a.weights(q, k, bias, biased)
	if err := c.put(3, shown); err != nil {
		return err
	}
	y := weights.MatMul(v.ToType(weights.DType()))
	if c.t(0).Rank() == 3 {
		y = y.Transpose(1, 2).Flatten(tensor.Start(2), tensor.End(3))
	}
	return c.put(0, y)
}

// remembered returns keys and values by heads, behind those of calls before, which are past steps.
func (a attending) remembered(c *call) (k, v tensor.Tensor, past int, err error) {
	if k, err = heads(c.t(1), a.keys); err != nil {
		return k, v, 0, err
	}
	if v, err = heads(c.t(2), a.keys); err != nil {
		return k, v, 0, err
	}
	if c.has(4) != c.has(5) {
		return k, v, 0, fmt.Errorf("past_key and past_value come together")
	}
	if c.has(4) {
		past = c.t(4).Size(2)
		k, v = tensor.Cat([]tensor.Tensor{c.t(4), k}, 2), tensor.Cat([]tensor.Tensor{c.t(5), v}, 2)
	}
	return k, v, past, nil
}

// weights returns how much each query takes of each value, and the step of it that is shown.
func (a attending) weights(q, k, bias tensor.Tensor, biased bool) (p, shown tensor.Tensor) {
	scale := a.scale
	if math.IsNaN(scale) {
		scale = 1 / math.Sqrt(float64(q.Size(3)))
	}
	root := math.Sqrt(scale)
	steps := make([]tensor.Tensor, shownWeights+1)
	qk := q.MulScalar(root).MatMul(k.MulScalar(root).MT())
	steps[shownProducts] = qk
	if a.cap > 0 {
		qk = qk.DivScalar(a.cap).Tanh().MulScalar(a.cap)
	}
	steps[shownCapped] = qk
	if biased {
		qk = qk.Add(bias)
	}
	steps[shownBiased] = qk
	if a.precision != 0 {
		qk = qk.ToType(a.precision)
	}
	p = qk.Softmax(3).ToType(q.DType())
	if biased { // a row that may attend to nothing is zero
		none := bias.IsFinite().Any(tensor.Dim(-1), tensor.KeepDim()).LogicalNot()
		p = tensor.Where(none, tensor.ZerosLike(p), p)
	}
	steps[shownWeights] = p
	return p, steps[a.shown]
}

// bias returns what is added to the products of queries and keys: minus infinity where a
// query does not attend.
func (a attending) bias(c *call, q, k tensor.Tensor, past int) (bias tensor.Tensor, biased bool, err error) {
	steps, keys := q.Size(2), k.Size(2)
	dt := q.DType()
	hide := tensor.Full([]int{}, math.Inf(-1), tensor.OfType(dt), tensor.On(c.dev))
	zero := tensor.Zeros([]int{}, tensor.OfType(dt), tensor.On(c.dev))
	bias = tensor.Zeros([]int{steps, keys}, tensor.OfType(dt), tensor.On(c.dev))
	if c.has(3) {
		m := c.t(3)
		if m.DType() == tensor.Bool {
			m = tensor.Where(m, zero, hide)
		}
		if m.Rank() < 1 || m.Rank() > 4 {
			return bias, false, fmt.Errorf("a mask of shape %v for %d queries and %d keys", m.Shape(), steps, keys)
		}
		if short := keys - m.Size(m.Rank()-1); short > 0 {
			shape := m.Shape()
			shape[len(shape)-1] = short
			m = tensor.Cat([]tensor.Tensor{m.ToType(dt), hide.Expand(shape...)}, m.Rank()-1)
		}
		bias, biased = bias.Add(m.ToType(dt)), true
	}
	column := tensor.Arange(0, keys, 1, tensor.On(c.dev))
	row := tensor.Arange(past, past+steps, 1, tensor.On(c.dev)).Unsqueeze(1)
	var lengths tensor.Tensor
	if c.has(6) {
		if err := c.shaped(6, q.Size(0)); err != nil {
			return bias, false, err
		}
		lengths = c.t(6).Reshape(-1, 1, 1, 1)
		if !c.has(4) { // the keys end where the sequence does
			row = row.Add(lengths).SubScalar(steps)
		}
	}
	allow := func(ok tensor.Tensor) { bias, biased = bias.Add(tensor.Where(ok, zero, hide)), true }
	if a.causal {
		allow(column.Le(row))
	}
	if a.left >= 0 {
		allow(row.Sub(column).LeScalar(a.left))
	}
	if a.right >= 0 {
		allow(column.Sub(row).LeScalar(a.right))
	}
	if c.has(6) {
		allow(column.Lt(lengths))
	}
	return bias, biased, bias.Err()
}
