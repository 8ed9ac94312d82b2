package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// recurrent is what LSTM, GRU and RNN have in common: layers, each in one or both
// directions, that go over steps.
type recurrent struct {
	// Weights has the parameters by PyTorch's names. The types that embed recurrent say
	// which, since documentation does not show this field.
	Weights map[string]*Parameter `nn:"inline"`

	name                   string
	in, hidden, layers     int
	directions             int
	batchFirst, evaluation bool
	dropout                float64
}

// maxLayers bounds how long a mistake in their number takes to be told.
const maxLayers = 1 << 12

// newRecurrent returns the layers of a kind with so many gates. Parameters are
// drawn as PyTorch draws them, uniformly from ±1/sqrt(hidden).
func newRecurrent(name string, gates, in, hidden int, s *settings) recurrent {
	r := recurrent{
		Weights: map[string]*Parameter{}, name: name, in: in, hidden: hidden, layers: s.layers, directions: 1,
		batchFirst: s.batchFirst, dropout: s.layerDropout,
	}
	if s.bidirectional {
		r.directions = 2
	}
	if s.err != nil {
		r.Weights["weight_ih_l0"] = s.broken()
		return r
	}
	if in < 1 || hidden < 1 || s.layers < 1 || s.layers > maxLayers || !(s.layerDropout >= 0 && s.layerDropout <= 1) {
		r.Weights["weight_ih_l0"] = &Parameter{failed("%s with input %d, hidden size %d, %d layers and dropout %g, which must be at least 1, at most %d layers, and dropout from 0 to 1",
			name, in, hidden, s.layers, s.layerDropout, maxLayers)}
		return r
	}
	bound := 1 / math.Sqrt(float64(hidden))
	for layer := range s.layers {
		for direction := range r.directions {
			suffix := suffixOf(layer, direction)
			r.Weights["weight_ih"+suffix] = s.uniform(bound, gates*hidden, r.inputOf(layer))
			r.Weights["weight_hh"+suffix] = s.uniform(bound, gates*hidden, hidden)
			if s.bias {
				r.Weights["bias_ih"+suffix] = s.uniform(bound, gates*hidden)
				r.Weights["bias_hh"+suffix] = s.uniform(bound, gates*hidden)
			}
		}
	}
	return r
}

// inputOf returns the width of a layer's input.
func (r *recurrent) inputOf(layer int) int {
	if layer == 0 {
		return r.in
	}
	return r.hidden * r.directions
}

// suffixOf ends the names of the parameters of a layer and direction.
func suffixOf(layer, direction int) string {
	if direction == 1 {
		return fmt.Sprintf("_l%d_reverse", layer)
	}
	return fmt.Sprintf("_l%d", layer)
}

// SetTraining chooses whether dropout between layers drops elements.
func (r *recurrent) SetTraining(on bool) { r.evaluation = !on }

// String describes the layers.
func (r *recurrent) String() string {
	text := fmt.Sprintf("%s(in=%d, hidden=%d", r.name, r.in, r.hidden)
	if r.layers > 1 {
		text += fmt.Sprintf(", layers=%d", r.layers)
	}
	if r.directions == 2 {
		text += ", bidirectional"
	}
	if r.batchFirst {
		text += ", batch first"
	}
	if r.dropout > 0 {
		text += fmt.Sprintf(", dropout=%g", r.dropout)
	}
	return text + fmt.Sprintf(", bias=%t)", r.Weights["bias_ih_l0"] != nil)
}

// weights are the parameters of one layer and direction; biases may be nil.
type weights struct{ ih, hh, biasIH, biasHH *Parameter }

// A pass computes one layer in one direction over x [steps, batch, in] from the
// states [batch, hidden] and returns the states after each step, the output first.
type pass func(x tensor.Tensor, states []tensor.Tensor, w weights, reverse bool) []tensor.Tensor

// run takes x through all layers. states are [layers*directions, batch, hidden]
// each, or zero Tensors for zeros; it returns the output of the last layer and the
// states after the last step. Without a batch axis all have one axis less.
func (r *recurrent) run(x tensor.Tensor, states []tensor.Tensor, f pass) (tensor.Tensor, []tensor.Tensor) {
	if bad, is := r.refused(x); is {
		return repeated(bad, len(states))
	}
	single := len(x.Shape()) == 2
	switch {
	case single:
		x = x.Unsqueeze(1)
	case r.batchFirst:
		x = x.Transpose(0, 1)
	}
	first, err := r.first(x, states, single)
	if err != nil {
		return repeated(failed("%s: %w", r.name, err), len(states))
	}
	last := make([][]tensor.Tensor, len(states))
	for layer := range r.layers {
		var outs []tensor.Tensor
		for direction := range r.directions {
			k := layer*r.directions + direction
			own := make([]tensor.Tensor, len(states))
			for i := range own {
				own[i] = first[i].Select(0, k)
			}
			after := f(x, own, r.of(layer, direction), direction == 1)
			outs = append(outs, after[0])
			end := after[0].Size(0) - 1
			if direction == 1 {
				end = 0
			}
			for i, s := range after {
				last[i] = append(last[i], s.Select(0, end))
			}
		}
		x = outs[0]
		if len(outs) > 1 {
			x = tensor.Cat(outs, -1)
		}
		if r.dropout > 0 && !r.evaluation && layer < r.layers-1 {
			x = x.Dropout(r.dropout)
		}
	}
	next := make([]tensor.Tensor, len(states))
	for i := range next {
		next[i] = tensor.Stack(last[i], 0)
		if single {
			next[i] = next[i].Squeeze(1)
		}
	}
	switch {
	case single:
		x = x.Squeeze(1)
	case r.batchFirst:
		x = x.Transpose(0, 1)
	}
	return x, next
}

// refused returns what stands for a result where the layers or x are of no use.
func (r *recurrent) refused(x tensor.Tensor) (bad tensor.Tensor, is bool) {
	if x.Handle().Err() != nil {
		return x, true
	}
	if w := r.Weights["weight_ih_l0"]; w != nil && w.Handle().Err() != nil {
		return w.Tensor, true
	}
	if name := r.missing(); name != "" {
		return failed("%s has no parameter %s; make it with New%s", r.name, name, r.name), true
	}
	if rank := len(x.Shape()); rank != 2 && rank != 3 || x.Size(-1) != r.in {
		return failed("%s takes [steps, batch, %d], or without a batch [steps, %d], not %v", r.name, r.in, r.in, x.Shape()), true
	}
	return x, false
}

func repeated(t tensor.Tensor, states int) (tensor.Tensor, []tensor.Tensor) {
	return t, slices.Repeat([]tensor.Tensor{t}, states)
}

// first returns the states before the first step with a batch axis.
func (r *recurrent) first(x tensor.Tensor, states []tensor.Tensor, single bool) ([]tensor.Tensor, error) {
	shape := []int{r.layers * r.directions, x.Size(1), r.hidden}
	out := make([]tensor.Tensor, len(states))
	for i, s := range states {
		if (s == tensor.Tensor{}) {
			out[i] = tensor.Zeros(shape, tensor.OfType(x.DType()), tensor.On(x.Device()))
			continue
		}
		if single && len(s.Shape()) == 2 {
			s = s.Unsqueeze(1)
		}
		if err := s.Err(); err != nil {
			return nil, err
		}
		if !slices.Equal(s.Shape(), shape) {
			return nil, fmt.Errorf("a state of shape %v, want %v", s.Shape(), shape)
		}
		out[i] = s
	}
	return out, nil
}

// missing returns the name of a weight that is not in Weights; "" where all are there.
func (r *recurrent) missing() string {
	for layer := range max(r.layers, 1) {
		for direction := range max(r.directions, 1) {
			suffix := suffixOf(layer, direction)
			for _, name := range [...]string{"weight_ih" + suffix, "weight_hh" + suffix} {
				if r.Weights[name] == nil {
					return name
				}
			}
		}
	}
	return ""
}

func (r *recurrent) of(layer, direction int) weights {
	suffix := suffixOf(layer, direction)
	return weights{r.Weights["weight_ih"+suffix], r.Weights["weight_hh"+suffix], r.Weights["bias_ih"+suffix], r.Weights["bias_hh"+suffix]}
}

// biases returns the options of a pass with the biases, where there are both.
func (w weights) biases(opts ...Option) []Option {
	if w.biasIH != nil && w.biasHH != nil {
		opts = append(opts, tensor.InputBias(w.biasIH.optional()), tensor.StateBias(w.biasHH.optional()))
	}
	return opts
}

// An LSTM is layers of long short-term memory (Hochreiter and Schmidhuber 1997,
// with a forget gate), without projections and peepholes.
//
// Its field Weights, a map[string]*Parameter, has the parameters by PyTorch's names: for
// layer k weight_ih_l<k> [gates*hidden, in], weight_hh_l<k> [gates*hidden, hidden] and,
// without NoBias, bias_ih_l<k> and bias_hh_l<k> [gates*hidden]. The names of the other
// direction end in _reverse. There are four gates: input, forget, cell and output.
type LSTM struct{ recurrent }

// NewLSTM returns an LSTM over inputs of width in, whose states have width hidden.
//
// Options: Layers (1), Bidirectional, BatchFirst, LayerDropout (0), NoBias, tensor.On
// (the CPU), tensor.OfType (Float32).
func NewLSTM(in, hidden int, opts ...Option) *LSTM {
	return &LSTM{newRecurrent("LSTM", 4, in, hidden, read("LSTM", opts, stepsOptions))}
}

// LSTMState is the states of an LSTM, [layers*directions, batch, hidden] each: for
// every layer the forward direction, then the other. A zero Tensor is zeros.
type LSTMState struct{ H, C tensor.Tensor }

// Forward maps [steps, batch, in] to [steps, batch, directions*hidden], from states
// of zeros. The batch axis may be missing, or first with BatchFirst.
func (l *LSTM) Forward(x tensor.Tensor) tensor.Tensor {
	out, _ := l.Run(x, LSTMState{})
	return out
}

// Run is Forward from given states. It returns those after the last step, too.
func (l *LSTM) Run(x tensor.Tensor, from LSTMState) (out tensor.Tensor, to LSTMState) {
	if l == nil {
		return missing(l), LSTMState{missing(l), missing(l)}
	}
	out, next := l.run(x, []tensor.Tensor{from.H, from.C}, func(x tensor.Tensor, s []tensor.Tensor, w weights, reverse bool) []tensor.Tensor {
		out, cells := x.LSTM(s[0], s[1], w.ih.value(), w.hh.value(), w.biases(tensor.Reverse(reverse))...)
		return []tensor.Tensor{out, cells}
	})
	return out, LSTMState{next[0], next[1]}
}

// SetTraining chooses whether dropout between layers drops elements.
func (l *LSTM) SetTraining(on bool) { given(l).recurrent.SetTraining(on) }

// String describes the layers.
func (l *LSTM) String() string { return given(l).recurrent.String() }

// A GRU is layers of gated recurrent units (Cho et al. 2014) as PyTorch and cuDNN
// have them: the reset gate acts on the product with the state, bias included.
//
// Its field Weights, a map[string]*Parameter, has the parameters by PyTorch's names: for
// layer k weight_ih_l<k> [gates*hidden, in], weight_hh_l<k> [gates*hidden, hidden] and,
// without NoBias, bias_ih_l<k> and bias_hh_l<k> [gates*hidden]. The names of the other
// direction end in _reverse. There are three gates: reset, update and new.
type GRU struct{ recurrent }

// NewGRU returns a GRU over inputs of width in, whose state has width hidden.
//
// Options: Layers (1), Bidirectional, BatchFirst, LayerDropout (0), NoBias, tensor.On
// (the CPU), tensor.OfType (Float32).
func NewGRU(in, hidden int, opts ...Option) *GRU {
	return &GRU{newRecurrent("GRU", 3, in, hidden, read("GRU", opts, stepsOptions))}
}

// Forward maps [steps, batch, in] to [steps, batch, directions*hidden], from a state
// of zeros. The batch axis may be missing, or first with BatchFirst.
func (g *GRU) Forward(x tensor.Tensor) tensor.Tensor {
	out, _ := g.Run(x, tensor.Tensor{})
	return out
}

// Run is Forward from a given state [layers*directions, batch, hidden], or zeros
// where it is a zero Tensor. It returns that after the last step, too.
func (g *GRU) Run(x, from tensor.Tensor) (out, to tensor.Tensor) {
	if g == nil {
		return missing(g), missing(g)
	}
	out, next := g.run(x, []tensor.Tensor{from}, func(x tensor.Tensor, s []tensor.Tensor, w weights, reverse bool) []tensor.Tensor {
		return []tensor.Tensor{x.GRU(s[0], w.ih.value(), w.hh.value(), w.biases(tensor.Reverse(reverse))...)}
	})
	return out, next[0]
}

// SetTraining chooses whether dropout between layers drops elements.
func (g *GRU) SetTraining(on bool) { given(g).recurrent.SetTraining(on) }

// String describes the layers.
func (g *GRU) String() string { return given(g).recurrent.String() }

// An RNN is layers of Elman's recurrence: tanh of x·Wᵀ + h·Uᵀ + b, or relu of it with
// tensor.Rectified.
//
// Its field Weights, a map[string]*Parameter, has the parameters by PyTorch's names: for
// layer k weight_ih_l<k> [gates*hidden, in], weight_hh_l<k> [gates*hidden, hidden] and,
// without NoBias, bias_ih_l<k> and bias_hh_l<k> [gates*hidden]. The names of the other
// direction end in _reverse. There is one gate.
type RNN struct {
	recurrent
	rectified bool
}

// NewRNN returns an RNN over inputs of width in, whose state has width hidden.
//
// Options: tensor.Rectified, Layers (1), Bidirectional, BatchFirst, LayerDropout (0),
// NoBias, tensor.On (the CPU), tensor.OfType (Float32).
func NewRNN(in, hidden int, opts ...Option) *RNN {
	s := read("RNN", opts, rnnOptions)
	return &RNN{newRecurrent("RNN", 1, in, hidden, s), s.rectified}
}

// Forward maps [steps, batch, in] to [steps, batch, directions*hidden], from a state
// of zeros. The batch axis may be missing, or first with BatchFirst.
func (n *RNN) Forward(x tensor.Tensor) tensor.Tensor {
	out, _ := n.Run(x, tensor.Tensor{})
	return out
}

// Run is Forward from a given state [layers*directions, batch, hidden], or zeros
// where it is a zero Tensor. It returns that after the last step, too.
func (n *RNN) Run(x, from tensor.Tensor) (out, to tensor.Tensor) {
	if n == nil {
		return missing(n), missing(n)
	}
	out, next := n.run(x, []tensor.Tensor{from}, func(x tensor.Tensor, s []tensor.Tensor, w weights, reverse bool) []tensor.Tensor {
		return []tensor.Tensor{x.RNN(s[0], w.ih.value(), w.hh.value(),
			w.biases(tensor.Rectified(n.rectified), tensor.Reverse(reverse))...)}
	})
	return out, next[0]
}

// SetTraining chooses whether dropout between layers drops elements.
func (n *RNN) SetTraining(on bool) { given(n).recurrent.SetTraining(on) }

// String describes the layers.
func (n *RNN) String() string { return given(n).recurrent.String() }
