package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// streams are the operators that go through a sequence with a state between calls.
var streams = map[string]lowering{
	"CausalConvWithState": {make: causal},
	"LinearAttention":     {make: linearAttention},
}

// causal convolves each channel of x [batch, channels, length] with elements up to its own;
// the state is the elements before the first.
func causal(n *node) kernel {
	active := n.oneOf("activation", "none", "silu", "swish") != "none"
	return func(c *call) error {
		x, weight := c.t(0), c.t(1)
		if x.Rank() != 3 || weight.Rank() != 3 || weight.Size(0) != x.Size(1) || weight.Size(1) != 1 || weight.Size(2) < 1 {
			return fmt.Errorf("a causal convolution of %v with %v", x.Shape(), weight.Shape())
		}
		before := weight.Size(2) - 1
		past := tensor.Zeros([]int{x.Size(0), x.Size(1), before}, tensor.OfType(x.DType()), tensor.On(x.Device()))
		if c.has(3) {
			past = c.t(3)
		}
		all := tensor.Cat([]tensor.Tensor{past, x}, 2)
		opts := []tensor.Option{tensor.Groups(x.Size(1))}
		if c.has(2) {
			opts = append(opts, tensor.Bias(c.t(2)))
		}
		y := tensor.Conv1d(all, weight, opts...)
		if active {
			y = silu(y)
		}
		if err := c.put(0, y); err != nil {
			return err
		}
		return c.put(1, all.Narrow(2, all.Size(2)-before, before).Contiguous())
	}
}

// linearAttention adds outer products of keys and values to a matrix for each head, and
// reads it by queries. All is computed in float32.
func linearAttention(n *node) kernel {
	rule := n.oneOf("update_rule", "linear", "gated", "delta", "gated_delta")
	gated, corrected := rule == "gated" || rule == "gated_delta", rule == "delta" || rule == "gated_delta"
	heads, readers, factor := n.int("kv_num_heads"), n.int("q_num_heads"), n.float("scale")
	if heads < 1 || readers < 1 || readers%heads != 0 {
		n.refuse("attention of %d heads of queries and %d of keys", readers, heads)
	}
	return func(c *call) error {
		q, k, v := c.t(0), c.t(1), c.t(2)
		if q.Rank() != 3 || k.Rank() != 3 || v.Rank() != 3 || !slices.Equal(q.Shape()[:2], k.Shape()[:2]) || !slices.Equal(q.Shape()[:2], v.Shape()[:2]) ||
			q.Size(2)%readers != 0 || k.Size(2) != q.Size(2)/readers*heads || v.Size(2)%heads != 0 {
			return fmt.Errorf("attention of %v to %v and %v by %d heads and %d", q.Shape(), k.Shape(), v.Shape(), readers, heads)
		}
		if gated != c.has(4) || corrected != c.has(5) {
			return fmt.Errorf("the rule %s takes decay: %t, and beta: %t", rule, gated, corrected)
		}
		batch, steps, width, depth := q.Size(0), q.Size(1), q.Size(2)/readers, v.Size(2)/heads
		// apart is a sequence by heads, as [batch, heads, steps, elements] of float32.
		apart := func(t tensor.Tensor, heads int) (tensor.Tensor, error) {
			if t.Rank() != 3 || !slices.Equal(t.Shape()[:2], []int{batch, steps}) || heads < 1 || t.Size(2)%heads != 0 {
				return t, fmt.Errorf("an operand of shape %v for %d heads and %d steps", t.Shape(), heads, steps)
			}
			return t.ToType(tensor.Float32).Reshape(batch, steps, heads, t.Size(2)/heads).Permute(0, 2, 1, 3), nil
		}
		lists := make([]tensor.Tensor, 5)
		for i, from := range []int{0, 1, 2, 4, 5} {
			if !c.has(from) {
				continue
			}
			own := heads
			if from == 0 {
				own = readers
			} else if from == 5 && c.t(5).Rank() == 3 {
				own = min(heads, c.t(5).Size(2))
			}
			var err error
			if lists[i], err = apart(c.t(from), own); err != nil {
				return err
			}
		}
		state, typ := tensor.Zeros([]int{batch, heads, width, depth}, tensor.On(c.dev)), q.DType()
		if c.has(3) {
			if state, typ = c.t(3).ToType(tensor.Float32), c.t(3).DType(); !slices.Equal(state.Shape(), []int{batch, heads, width, depth}) {
				return fmt.Errorf("a state of shape %v, want %v", state.Shape(), []int{batch, heads, width, depth})
			}
		}
		scale := factor
		if scale == 0 {
			scale = 1 / math.Sqrt(float64(width))
		}
		var read []tensor.Tensor
		for i := range steps {
			at := func(list int) tensor.Tensor { return lists[list].Select(2, i) } // [batch, heads, elements]
			if gated {
				state = state.Mul(at(3).Exp().Unsqueeze(-1))
			}
			key, value := at(1), at(2)
			if corrected {
				value = at(4).Mul(value.Sub(state.Mul(key.Unsqueeze(-1)).Sum(tensor.Dim(2))))
			}
			state = state.Add(key.Unsqueeze(-1).Mul(value.Unsqueeze(-2)))
			own := at(0).Reshape(batch, heads, readers/heads, width, 1)
			read = append(read, own.Mul(state.Unsqueeze(2)).Sum(tensor.Dim(3)).MulScalar(scale).Reshape(batch, 1, readers*depth))
		}
		if steps == 0 {
			read = append(read, tensor.Zeros([]int{batch, 0, readers * depth}, tensor.On(c.dev)))
		}
		if err := c.put(0, tensor.Cat(read, 1).ToType(q.DType())); err != nil {
			return err
		}
		return c.put(1, state.ToType(typ))
	}
}
