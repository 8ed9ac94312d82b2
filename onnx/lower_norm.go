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
var recurrences = map[string]lowering{"LSTM": {make: func(n *node) kernel { return recurrent(n, 4, "Sigmoid", "Tanh", "Tanh") }},
	"GRU": {make: func(n *node) kernel { return recurrent(n, 3, "Sigmoid", "Tanh") }},
	"RNN": {make: func(n *node) kernel { return recurrent(n, 1, "Tanh") }},

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

// A recurrence is a layer in one or two directions, by one step of time.
type recurrence struct {
	gates     int
	functions []func(tensor.Tensor) tensor.Tensor
	hidden    int
	linear    bool // GRU: the state is multiplied before it is reset
	forget    bool // LSTM: the input gate is one less the forget gate
	clip      float64
	bytes     bool // what is multiplied with weights is quantized to bytes first
}

// recurrent reads a layer's attributes.
func recurrent(n *node, gates int, names ...string) kernel {
	direction := n.oneOf("direction", "forward", "reverse", "bidirectional")
	ways := 1
	if direction == "bidirectional" {
		ways = 2
	}
	usual := slices.Repeat(names, ways)
	if n.given("activations") {
		got := n.strings("activations")
		if len(got) != len(usual) {
			n.refuse("%d activations, want %d", len(got), len(usual))
			return nil
		}
		usual = got
	}
	alphas, betas := n.floats("activation_alpha"), n.floats("activation_beta")
	r := recurrence{gates: gates, hidden: n.int("hidden_size"), linear: n.flag("linear_before_reset"), forget: n.flag("input_forget")}
	r.bytes = n.spec.Name == "DynamicQuantizeLSTM"
	if n.given("clip") {
		r.clip = n.float("clip")
	}
	batchFirst := n.flag("layout")
	standard := r.clip == 0 && !r.forget && slices.Equal(usual, slices.Repeat(names, ways)) && gates == 4
	for i, name := range usual {
		at := func(list []float64, missing float64) float64 {
			if i < len(list) {
				return list[i]
			}
			return missing
		}
		f := activation(name, at(alphas, math.NaN()), at(betas, math.NaN()))
		if f == nil {
			n.refuse("activation %q", name)
		}
		r.functions = append(r.functions, f)
	}
	return func(c *call) error {
		x := c.t(0)
		if x.Rank() != 3 || c.t(1).Rank() != 3 || c.t(2).Rank() != 3 {
			return fmt.Errorf("a layer over %v with weights %v and %v", x.Shape(), c.t(1).Shape(), c.t(2).Shape())
		}
		if batchFirst {
			x = x.Transpose(0, 1)
		}
		if r.bytes && x.Size(0) > 0 {
			x = asBytes(x)
		}
		steps, batch, width := x.Size(0), x.Size(1), c.t(2).Size(2)
		state := []int{ways, batch, width}
		if batchFirst {
			state = []int{batch, ways, width}
		}
		for _, err := range []error{c.shaped(1, ways, gates*width, x.Size(2)), c.shaped(2, ways, gates*width, width), c.shaped(3, ways, 2*gates*width),
			c.shaped(4, batch), c.shaped(5, state...), c.shaped(6, state...), c.shaped(7, ways, 3*width)} {
			if err != nil {
				return err
			}
		}
		var lengths []int
		if c.has(4) {
			var err error
			if lengths, err = c.ints(4); err != nil {
				return err
			}
			if slices.ContainsFunc(lengths, func(v int) bool { return v < 0 || v > steps }) {
				return fmt.Errorf("lengths %v of sequences of %d steps", lengths, steps)
			}
			if !slices.ContainsFunc(lengths, func(v int) bool { return v != steps }) {
				lengths = nil
			}
		}
		start := func(i, way int) tensor.Tensor {
			if !c.has(i) {
				return tensor.Zeros([]int{batch, width}, tensor.OfType(x.DType()), tensor.On(c.dev))
			}
			s := c.t(i)
			if batchFirst {
				s = s.Transpose(0, 1)
			}
			return s.Select(0, way)
		}
		part := func(i, way int) (t tensor.Tensor, ok bool) {
			if !c.has(i) {
				return t, false
			}
			return c.t(i).Select(0, way), true
		}
		var ys, hs, cs []tensor.Tensor
		for way := range ways {
			p := pass{recurrence: r, back: direction == "reverse" || way == 1, lengths: lengths, h: start(5, way), steps: steps}
			p.functions = r.functions[way*len(names) : (way+1)*len(names)]
			if gates == 4 {
				p.c = start(6, way)
				p.peep, p.peeps = part(7, way)
			}
			p.w, _ = part(1, way)
			p.r, _ = part(2, way)
			p.b, p.biased = part(3, way)
			y, h, cell := tensor.Tensor{}, tensor.Tensor{}, tensor.Tensor{}
			switch {
			case standard && lengths == nil && !p.peeps && steps > 0 && !r.bytes:
				y, h, cell = p.lstm(c, x, way)
			default:
				y, h, cell = p.run(x)
			}
			ys, hs, cs = append(ys, y), append(hs, h), append(cs, cell)
		}
		y, h := tensor.Stack(ys, 1), tensor.Stack(hs, 0)
		if batchFirst {
			y, h = y.Permute(2, 0, 1, 3), h.Transpose(0, 1)
		}
		for i, t := range []tensor.Tensor{y, h} {
			if err := c.put(i, t.Contiguous()); err != nil {
				return err
			}
		}
		if gates == 4 && len(c.out) > 2 {
			cell := tensor.Stack(cs, 0)
			if batchFirst {
				cell = cell.Transpose(0, 1)
			}
			return c.put(2, cell.Contiguous())
		}
		return nil
	}
}

// activation returns the function of a recurrent layer with a name, nil where there is none.
func activation(name string, alpha, beta float64) func(tensor.Tensor) tensor.Tensor {
	or := func(v, missing float64) float64 {
		if math.IsNaN(v) {
			return missing
		}
		return v
	}
	switch name {
	case "Sigmoid":
		return tensor.Sigmoid
	case "Tanh":
		return tensor.Tanh
	case "Relu":
		return tensor.ReLU
	case "Softsign":
		return tensor.Softsign
	case "Softplus":
		return func(x tensor.Tensor) tensor.Tensor { return tensor.Softplus(x) }
	case "LeakyRelu":
		return func(x tensor.Tensor) tensor.Tensor { return tensor.LeakyReLU(x, tensor.NegativeSlope(or(alpha, 0.01))) }
	case "ThresholdedRelu":
		return func(x tensor.Tensor) tensor.Tensor { return tensor.Threshold(x, or(alpha, 1), 0.0) }
	case "Elu":
		return func(x tensor.Tensor) tensor.Tensor { return tensor.ELU(x, tensor.Alpha(or(alpha, 1))) }
	case "HardSigmoid":
		return func(x tensor.Tensor) tensor.Tensor {
			return x.MulScalar(or(alpha, 0.2)).AddScalar(or(beta, 0.5)).ClampScalar(0.0, 1.0)
		}
	case "Affine":
		return func(x tensor.Tensor) tensor.Tensor { return x.MulScalar(or(alpha, 1)).AddScalar(or(beta, 0)) }
	case "ScaledTanh":
		return func(x tensor.Tensor) tensor.Tensor { return x.MulScalar(or(beta, 1)).Tanh().MulScalar(or(alpha, 1)) }
	}
	return nil
}

// A pass is a layer in one direction.
type pass struct {
	recurrence
	back          bool
	lengths       []int
	steps         int
	h, c          tensor.Tensor
	w, r, b, peep tensor.Tensor
	biased, peeps bool
}

// weights returns what the operator for the pass takes, whose gates are in another order: the
// weights of operand and state, and their biases where there are some.
func (p *pass) weights(c *call, way int) (w, r tensor.Tensor, biases []tensor.Tensor) {
	k := p.h.Size(1)
	order := func(i, from int, name string) tensor.Tensor { // input, output, forget, cell to input, forget, cell, output
		return c.derived(i, fmt.Sprint("lstm ", name, way), func(t tensor.Tensor) tensor.Tensor {
			t = t.Select(0, way).Narrow(0, from, 4*k)
			return tensor.Cat([]tensor.Tensor{t.Narrow(0, 0, k), t.Narrow(0, 2*k, 2*k), t.Narrow(0, k, k)}, 0)
		})
	}
	if p.biased {
		biases = []tensor.Tensor{order(3, 0, "input"), order(3, 4*k, "state")}
	}
	return order(1, 0, ""), order(2, 0, ""), biases
}

// lstm is the pass by the operator for it.
func (p *pass) lstm(c *call, x tensor.Tensor, way int) (y, h, cell tensor.Tensor) {
	w, r, biases := p.weights(c, way)
	opts := []tensor.Option{tensor.Reverse(p.back)}
	if biases != nil {
		opts = append(opts, tensor.InputBias(biases[0]), tensor.StateBias(biases[1]))
	}
	y, cells := tensor.LSTM(x, p.h, p.c, w, r, opts...)
	end := p.steps - 1
	if p.back {
		end = 0
	}
	return y, y.Select(0, end), cells.Select(0, end)
}

// run is the pass step by step. Sequences shorter than the others keep their state after
// their end, and have zeros as outputs there.
func (p *pass) run(x tensor.Tensor) (y, h, c tensor.Tensor) {
	k := p.h.Size(1)
	h, c = p.h, p.c
	out := make([]tensor.Tensor, p.steps)
	for i := range p.steps {
		t := i
		if p.back {
			t = p.steps - 1 - i
		}
		nh, nc := p.step(x.Select(0, t), h, c, k)
		out[t] = nh
		if p.lengths != nil {
			live := make([]bool, len(p.lengths))
			for b, l := range p.lengths {
				live[b] = t < l
			}
			mask := tensor.From(live).To(x.Device()).Unsqueeze(1)
			out[t] = tensor.Where(mask, nh, tensor.ZerosLike(nh))
			nh = tensor.Where(mask, nh, h)
			if p.gates == 4 {
				nc = tensor.Where(mask, nc, c)
			}
		}
		h, c = nh, nc
	}
	if p.steps == 0 {
		return tensor.Zeros([]int{0, h.Size(0), k}, tensor.OfType(h.DType()), tensor.On(h.Device())), h, c
	}
	return tensor.Stack(out, 0), h, c
}

// limit is the clip attribute.
func (p *pass) limit(x tensor.Tensor) tensor.Tensor {
	if p.clip > 0 {
		return x.ClampScalar(-p.clip, p.clip)
	}
	return x
}

// step returns the next output and cell.
func (p *pass) step(x, h, c tensor.Tensor, k int) (nh, nc tensor.Tensor) {
	bias := func(from int, t tensor.Tensor) tensor.Tensor {
		if !p.biased {
			return t
		}
		return t.Add(p.b.Narrow(0, from, t.Size(1)))
	}
	if p.bytes {
		h = asBytes(h)
	}
	n := p.gates * k
	in := bias(0, tensor.Linear(x, p.w))
	f, g := p.functions[0], func(i int, t tensor.Tensor) tensor.Tensor { return t.Narrow(1, i*k, k) }
	if p.gates == 3 {
		gates := bias(n, tensor.Linear(h, p.r))
		z := f(p.limit(g(0, in).Add(g(0, gates))))
		r := f(p.limit(g(1, in).Add(g(1, gates))))
		var state tensor.Tensor
		if p.linear {
			state = r.Mul(g(2, gates))
		} else {
			state = bias(n+2*k, tensor.Linear(r.Mul(h), p.r.Narrow(0, 2*k, k)))
		}
		new := p.functions[1](p.limit(g(2, in).Add(state)))
		return new.Mul(z.Neg().AddScalar(1)).Add(z.Mul(h)), c
	}
	all := in.Add(bias(n, tensor.Linear(h, p.r)))
	if p.gates == 1 {
		return f(p.limit(all)), c
	}
	peep := func(i int, t, cell tensor.Tensor) tensor.Tensor {
		if !p.peeps {
			return t
		}
		return t.Add(p.peep.Narrow(0, i*k, k).Mul(cell))
	}
	input := f(p.limit(peep(0, g(0, all), c)))
	forget := f(p.limit(peep(2, g(2, all), c)))
	if p.forget {
		forget = input.Neg().AddScalar(1)
	}
	nc = forget.Mul(c).Add(input.Mul(p.functions[1](p.limit(g(3, all)))))
	output := f(p.limit(peep(1, g(1, all), nc)))
	return output.Mul(p.functions[2](nc)), nc
}
