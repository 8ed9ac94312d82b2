package onnx

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// A recurrence is a layer in one or two directions, by one step of time.
type recurrence struct {
	gates      int
	functions  []func(tensor.Tensor) tensor.Tensor // of one direction after the other
	standard   bool                                // the operator of package tensor computes it
	ways       int                                 // 1 or 2 directions
	reverse    bool                                // the only one is from the end
	batchFirst bool                                // operands have the batch before the time, or the direction
	linear     bool                                // GRU: the state is multiplied before it is reset
	forget     bool                                // LSTM: the input gate is one less the forget gate
	clip       float64
	bytes      bool // what is multiplied with weights is quantized to bytes first
}

// recurrent reads a layer's attributes. The names are those of its functions where the file has none.
func recurrent(n *node, gates int, names ...string) kernel {
	direction := n.oneOf("direction", "forward", "reverse", "bidirectional")
	r := recurrence{
		gates: gates, ways: 1, reverse: direction == "reverse", batchFirst: n.flag("layout"),
		linear: n.flag("linear_before_reset"), forget: n.flag("input_forget"), bytes: n.spec.Name == "DynamicQuantizeLSTM",
	}
	if direction == "bidirectional" {
		r.ways = 2
	}
	if n.given("clip") {
		r.clip = n.float("clip")
	}
	usual := slices.Repeat(names, r.ways)
	chosen := usual
	if n.given("activations") {
		if chosen = n.strings("activations"); len(chosen) != len(usual) {
			n.refuse("%d activations, want %d", len(chosen), len(usual))
			return nil
		}
	}
	r.standard = gates == 4 && r.clip == 0 && !r.forget && !r.bytes && slices.Equal(chosen, usual)
	alphas, betas := n.floats("activation_alpha"), n.floats("activation_beta")
	for i, name := range chosen {
		at := func(list []float64) float64 {
			if i < len(list) {
				return list[i]
			}
			return math.NaN()
		}
		f := activation(name, at(alphas), at(betas))
		if f == nil {
			n.refuse("activation %q", name)
		}
		r.functions = append(r.functions, f)
	}
	return r.run
}

func (r recurrence) run(c *call) error {
	if err := r.check(c); err != nil {
		return err
	}
	x := r.timeFirst(c.t(0))
	if r.bytes && x.Size(0) > 0 {
		x = asBytes(x)
	}
	lengths, err := lengths(c, x.Size(0))
	if err != nil {
		return err
	}
	var ys, hs, cs []tensor.Tensor
	for way := range r.ways {
		p := r.pass(c, x, way)
		p.lengths = lengths
		y, h, cell := tensor.Tensor{}, tensor.Tensor{}, tensor.Tensor{}
		if r.standard && lengths == nil && !p.peeps && p.steps > 0 {
			y, h, cell = p.lstm(c, x, way)
		} else {
			y, h, cell = p.run(x)
		}
		ys, hs, cs = append(ys, y), append(hs, h), append(cs, cell)
	}
	y := tensor.Stack(ys, 1)
	if r.batchFirst {
		y = y.Permute(2, 0, 1, 3)
	}
	if err := cmp.Or(c.put(0, y.Contiguous()), c.put(1, r.timeFirst(tensor.Stack(hs, 0)).Contiguous())); err != nil {
		return err
	}
	if r.gates == 4 && len(c.out) > 2 {
		return c.put(2, r.timeFirst(tensor.Stack(cs, 0)).Contiguous())
	}
	return nil
}

// timeFirst exchanges the time, or the direction, with the batch where that stands first. It is its
// own inverse.
func (r recurrence) timeFirst(t tensor.Tensor) tensor.Tensor {
	if r.batchFirst {
		return t.Transpose(0, 1)
	}
	return t
}

// check holds the operands' shapes against one another.
func (r recurrence) check(c *call) error {
	x := c.t(0)
	if x.Rank() != 3 || c.t(1).Rank() != 3 || c.t(2).Rank() != 3 {
		return fmt.Errorf("a layer over %v with weights %v and %v", x.Shape(), c.t(1).Shape(), c.t(2).Shape())
	}
	batch, width := r.timeFirst(x).Size(1), c.t(2).Size(2)
	state := []int{r.ways, batch, width}
	if r.batchFirst {
		state = []int{batch, r.ways, width}
	}
	return cmp.Or(c.shaped(1, r.ways, r.gates*width, x.Size(2)), c.shaped(2, r.ways, r.gates*width, width), c.shaped(3, r.ways, 2*r.gates*width),
		c.shaped(4, batch), c.shaped(5, state...), c.shaped(6, state...), c.shaped(7, r.ways, 3*width))
}

// lengths returns how many steps each sequence has, nil where all have as many as the operand.
func lengths(c *call, steps int) ([]int, error) {
	if !c.has(4) {
		return nil, nil
	}
	list, err := c.ints(4)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(v int) bool { return v < 0 || v > steps }) {
		return nil, fmt.Errorf("lengths %v of sequences of %d steps", list, steps)
	}
	if !slices.ContainsFunc(list, func(v int) bool { return v != steps }) {
		return nil, nil
	}
	return list, nil
}

// pass returns one direction of the layer over x [steps, batch, elements].
func (r recurrence) pass(c *call, x tensor.Tensor, way int) *pass {
	start := func(i int) tensor.Tensor {
		if !c.has(i) {
			return tensor.Zeros([]int{x.Size(1), c.t(2).Size(2)}, tensor.OfType(x.DType()), tensor.On(c.dev))
		}
		return r.timeFirst(c.t(i)).Select(0, way)
	}
	part := func(i int) (t tensor.Tensor, ok bool) {
		if !c.has(i) {
			return t, false
		}
		return c.t(i).Select(0, way), true
	}
	each := len(r.functions) / r.ways
	p := &pass{recurrence: r, back: r.reverse || way == 1, h: start(5), steps: x.Size(0)}
	p.functions = r.functions[way*each : (way+1)*each]
	if r.gates == 4 {
		p.c = start(6)
		p.peep, p.peeps = part(7)
	}
	p.w, _ = part(1)
	p.r, _ = part(2)
	p.b, p.biased = part(3)
	return p
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
