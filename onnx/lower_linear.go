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

// A linearAttending adds outer products of keys and values to a matrix for each head, and
// reads it by queries. All is computed in float32.
type linearAttending struct {
	rule             string
	gated, corrected bool // the matrix decays; what a key reads is taken from its value
	heads, readers   int  // of keys and of queries
	scale            float64
}

func linearAttention(n *node) kernel {
	a := linearAttending{rule: n.oneOf("update_rule", "linear", "gated", "delta", "gated_delta"), heads: n.int("kv_num_heads"), readers: n.int("q_num_heads"), scale: n.float("scale")}
	a.gated, a.corrected = a.rule == "gated" || a.rule == "gated_delta", a.rule == "delta" || a.rule == "gated_delta"
	if a.heads < 1 || a.readers < 1 || a.readers%a.heads != 0 {
		n.refuse("attention of %d heads of queries and %d of keys", a.readers, a.heads)
	}
	return a.run
}

func (a linearAttending) run(c *call) error {
	q, k, v := c.t(0), c.t(1), c.t(2)
	if q.Rank() != 3 || k.Rank() != 3 || v.Rank() != 3 || !slices.Equal(q.Shape()[:2], k.Shape()[:2]) || !slices.Equal(q.Shape()[:2], v.Shape()[:2]) ||
		q.Size(2)%a.readers != 0 || k.Size(2) != q.Size(2)/a.readers*a.heads || v.Size(2)%a.heads != 0 {
		return fmt.Errorf("attention of %v to %v and %v by %d heads and %d", q.Shape(), k.Shape(), v.Shape(), a.readers, a.heads)
	}
	if a.gated != c.has(4) || a.corrected != c.has(5) {
		return fmt.Errorf("the rule %s takes decay: %t, and beta: %t", a.rule, a.gated, a.corrected)
	}
	lists, err := a.apart(c, q.Size(0), q.Size(1))
	if err != nil {
		return err
	}
	matrix := []int{q.Size(0), a.heads, q.Size(2) / a.readers, v.Size(2) / a.heads}
	state, typ := tensor.Zeros(matrix, tensor.On(c.dev)), q.DType()
	if c.has(3) {
		if state, typ = c.t(3).ToType(tensor.Float32), c.t(3).DType(); !slices.Equal(state.Shape(), matrix) {
			return fmt.Errorf("a state of shape %v, want %v", state.Shape(), matrix)
		}
	}
	read, state := a.read(lists, state, q.Size(1))
	if err := c.put(0, read.ToType(q.DType())); err != nil {
		return err
	}
	return c.put(1, state.ToType(typ))
}

// apart returns queries, keys, values, decays and betas by heads, each as [batch, heads, steps,
// elements] of float32, where it is given.
func (a linearAttending) apart(c *call, batch, steps int) (lists [5]tensor.Tensor, err error) {
	for i, from := range []int{0, 1, 2, 4, 5} {
		if !c.has(from) {
			continue
		}
		t, heads := c.t(from), a.heads
		if from == 0 {
			heads = a.readers
		} else if from == 5 && t.Rank() == 3 {
			heads = min(heads, t.Size(2))
		}
		if t.Rank() != 3 || !slices.Equal(t.Shape()[:2], []int{batch, steps}) || heads < 1 || t.Size(2)%heads != 0 {
			return lists, fmt.Errorf("an operand of shape %v for %d heads and %d steps", t.Shape(), heads, steps)
		}
		lists[i] = t.ToType(tensor.Float32).Reshape(batch, steps, heads, t.Size(2)/heads).Permute(0, 2, 1, 3)
	}
	return lists, nil
}

// read returns what the queries of each step read, and the state after the last one.
func (a linearAttending) read(lists [5]tensor.Tensor, state tensor.Tensor, steps int) (read, after tensor.Tensor) {
	batch, width, depth := state.Size(0), state.Size(2), state.Size(3)
	scale := a.scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(width))
	}
	rows := make([]tensor.Tensor, 0, steps)
	for i := range steps {
		at := func(list int) tensor.Tensor { return lists[list].Select(2, i) } // [batch, heads, elements]
		if a.gated {
			state = state.Mul(at(3).Exp().Unsqueeze(-1))
		}
		key, value := at(1), at(2)
		if a.corrected {
			value = at(4).Mul(value.Sub(state.Mul(key.Unsqueeze(-1)).Sum(tensor.Dim(2))))
		}
		state = state.Add(key.Unsqueeze(-1).Mul(value.Unsqueeze(-2)))
		own := at(0).Reshape(batch, a.heads, a.readers/a.heads, width, 1)
		rows = append(rows, own.Mul(state.Unsqueeze(2)).Sum(tensor.Dim(3)).MulScalar(scale).Reshape(batch, 1, a.readers*depth))
	}
	if steps == 0 {
		return tensor.Zeros([]int{batch, 0, a.readers * depth}, tensor.On(state.Device())), state
	}
	return tensor.Cat(rows, 1), state
}
