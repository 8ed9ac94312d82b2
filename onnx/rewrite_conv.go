package onnx

import (
	"maps"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// A convolution is a Conv whose weight is known, with what is around it: a factor and a
// number for each channel go into weight and bias, once, in float64.
type convolution struct {
	*rewriter
	at           int           // the step
	operand      int           // the place of what is convolved
	result       int           // the place
	weight       tensor.Tensor // [out, in/groups, kernel...]
	scale        []float64     // of each channel of the operand; nil: 1
	factor, bias []float64     // of each channel of the result
	changed      bool
}

// extend has a convolution do what follows it.
func (r *rewriter) extend(i int) {
	s := &r.g.steps[i]
	c := &convolution{rewriter: r, at: i, operand: s.in[0], result: s.out[0]}
	var ok bool
	if c.weight, ok = r.floats(s.in[1]); ok && c.weight.Rank() > 2 && c.start() {
		for c.fromScaled() || c.fromShifted() {
			c.changed = true
		}
		for c.normalized() || c.scaled() || c.shifted() {
			c.changed = true
		}
		if c.changed && !c.replace() {
			return
		}
	}
	c.activated()
}

// start reads the bias.
func (c *convolution) start() bool {
	channels := c.weight.Size(0)
	if c.weight.NumElements() == 0 {
		return false
	}
	c.factor, c.bias = slices.Repeat([]float64{1}, channels), make([]float64, channels)
	if in := c.g.steps[c.at].in; len(in) > 2 && in[2] >= 0 {
		list, ok := c.channels(in[2], 1, channels)
		copy(c.bias, list)
		return ok && len(list) == channels
	}
	return true
}

// channels returns the numbers of a place that is known: one for each of so many channels,
// where axes are those of an image from the channels on.
func (c *convolution) channels(p, axes, channels int) (list []float64, ok bool) {
	t, ok := c.floats(p)
	if !ok || t.Rank() > axes+1 || t.NumElements() != 1 && (t.Rank() < axes || t.Size(t.Rank()-axes) != t.NumElements()) {
		return nil, false
	}
	if list, err := tensor.Data[float64](t.ToType(tensor.Float64).Contiguous().Reshape(-1)); err == nil {
		if len(list) == 1 {
			list = slices.Repeat(list, channels)
		}
		return list, len(list) == channels
	}
	return nil, false
}

// follow returns the step of such a name that alone reads the result, and the place of its
// other operand.
func (c *convolution) follow(name string) (i, other int) {
	if i = c.follower(c.result, name); i < 0 {
		return -1, -1
	}
	in := c.g.steps[i].in
	return i, in[1-slices.Index(in, c.result)]
}

// absorb takes away the step that follows.
func (c *convolution) absorb(i int) {
	c.gone[i] = true
	c.result = c.g.steps[i].out[0]
}

// from returns the step of such a name whose result is convolved and nothing else reads,
// its operand that varies, and the numbers of the other one for each channel.
func (c *convolution) from(name string) (i, operand int, list []float64) {
	if i = c.only(c.operand, name); i < 0 {
		return -1, 0, nil
	}
	channels := c.weight.Size(1) * c.g.steps[c.at].node.int("group")
	in := c.g.steps[i].in
	for k := range 2 {
		if list, ok := c.channels(in[k], c.weight.Rank()-1, channels); ok && c.g.known[in[1-k]] == nil {
			return i, in[1-k], list
		}
	}
	return -1, 0, nil
}

// sides returns how many channels of the result there are, how many of the operand each is made
// of, and the first of these.
func (c *convolution) sides() (outs, ins int, first func(result int) int) {
	outs, ins = c.weight.Size(0), c.weight.Size(1)
	own := max(1, outs/c.g.steps[c.at].node.int("group")) // channels of the result in a group
	return outs, ins, func(result int) int { return result / own * ins }
}

// fromScaled takes a Mul by numbers before the convolution.
func (c *convolution) fromScaled() bool {
	i, operand, list := c.from("Mul")
	if i < 0 {
		return false
	}
	for k, v := range c.scale {
		list[k] *= v
	}
	c.scale = list
	c.gone[i], c.operand = true, operand
	return true
}

// fromShifted takes an Add of numbers before the convolution, unless that has padding,
// which they are not added to.
func (c *convolution) fromShifted() bool {
	n := c.g.steps[c.at].node
	auto := n.string("auto_pad")
	if auto != "NOTSET" && auto != "VALID" || slices.ContainsFunc(n.ints("pads"), func(p int) bool { return p != 0 }) {
		return false
	}
	i, operand, list := c.from("Add")
	if i < 0 {
		return false
	}
	weights, err := tensor.Data[float64](c.weight.ToType(tensor.Float64))
	if err != nil {
		return false
	}
	outs, ins, first := c.sides()
	places := len(weights) / (outs * ins)
	for i, v := range weights {
		result, channel := i/(ins*places), first(i/(ins*places))+i/places%ins
		if c.scale != nil {
			v *= c.scale[channel]
		}
		c.bias[result] += v * list[channel]
	}
	c.gone[i], c.operand = true, operand
	return true
}

// normalized takes a BatchNormalization by statistics that are known.
func (c *convolution) normalized() bool {
	i := c.follower(c.result, "BatchNormalization")
	if i < 0 {
		return false
	}
	n, in := c.g.steps[i].node, c.g.steps[i].in
	if n.flag("training_mode") || in[0] != c.result {
		return false
	}
	var lists [4][]float64
	for k := range lists {
		var ok bool
		if lists[k], ok = c.channels(in[1+k], 1, len(c.factor)); !ok {
			return false
		}
	}
	for k := range c.factor {
		scale := lists[0][k] / math.Sqrt(lists[3][k]+n.float("epsilon"))
		c.factor[k] *= scale
		c.bias[k] = (c.bias[k]-lists[2][k])*scale + lists[1][k]
	}
	c.absorb(i)
	return true
}

// scaled takes a Mul by numbers.
func (c *convolution) scaled() bool {
	i, other := c.follow("Mul")
	list, ok := c.channels(other, c.weight.Rank()-1, len(c.factor))
	if i < 0 || !ok {
		return false
	}
	for k, v := range list {
		c.factor[k] *= v
		c.bias[k] *= v
	}
	c.absorb(i)
	return true
}

// shifted takes an Add of numbers, or a Sub.
func (c *convolution) shifted() bool {
	sign := 1.0
	i, other := c.follow("Add")
	if i < 0 {
		sign = -1
		if i, other = c.follow("Sub"); i >= 0 && c.g.steps[i].in[0] != c.result {
			return false
		}
	}
	list, ok := c.channels(other, c.weight.Rank()-1, len(c.factor))
	if i < 0 || !ok {
		return false
	}
	for k, v := range list {
		c.bias[k] += sign * v
	}
	c.absorb(i)
	return true
}

// replace gives the step its new weight and bias.
func (c *convolution) replace() bool {
	s := &c.g.steps[c.at]
	times := weightTimes[float32]
	if c.weight.DType() == tensor.Float64 {
		times = weightTimes[float64]
	}
	weight, err := times(c)
	bias := tensor.From(c.bias).ToType(c.weight.DType())
	if err != nil || weight.Err() != nil || bias.Err() != nil {
		return false
	}
	tensor.Keep(weight, bias)
	e := c.g.known[s.in[1]].elem
	s.in = []int{c.operand, c.g.constant(constantValue(weight, e)), c.g.constant(constantValue(bias, e))}
	s.out = []int{c.result}
	return true
}

// weightTimes returns the weight times what its channels are multiplied with, in float64, rounded
// once.
func weightTimes[T float32 | float64](c *convolution) (tensor.Tensor, error) {
	weights, err := tensor.Data[T](c.weight)
	if err != nil {
		return tensor.Tensor{}, err
	}
	outs, ins, first := c.sides()
	places := len(weights) / (outs * ins)
	for result := range outs {
		for k := range ins {
			of := weights[(result*ins+k)*places:][:places]
			by := c.factor[result]
			for i, w := range of {
				v := float64(w)
				if c.scale != nil {
					v *= c.scale[first(result)+k]
				}
				of[i] = T(v * by)
			}
		}
	}
	return tensor.From(weights, c.weight.Shape()...), nil
}

// activated has the step write an activation that follows over its result.
func (c *convolution) activated() {
	i := c.any(c.result)
	if i < 0 {
		return
	}
	a := c.activationOf(i)
	if a == nil || a.rank > 3 { // a convolution has as many axes
		return
	}
	c.absorb(i)
	s := &c.g.steps[c.at]
	inner := s.kernel
	s.out = []int{c.result}
	s.kernel = func(call *call) error {
		if err := inner(call); err != nil {
			return err
		}
		return a.in(call.out[0].t)
	}
}

// any returns the one step that reads a place, or -1.
func (r *rewriter) any(p int) int {
	if list := r.readers[p]; len(list) == 1 && list[0] >= 0 && len(r.g.steps[list[0]].out) == 1 && !r.gone[list[0]] {
		return list[0]
	}
	return -1
}

// follower is any for an operator of such a name.
func (r *rewriter) follower(p int, name string) int {
	if i := r.any(p); i >= 0 && r.is(i, name) {
		return i
	}
	return -1
}

// activationOf returns what step i does with each element, or nil.
func (r *rewriter) activationOf(i int) *mapping {
	s := &r.g.steps[i]
	switch {
	case s.mapping != nil:
		return s.mapping
	case r.is(i, "Relu"):
		return &mapping{in: tensor.Tensor.ReLUInPlace}
	case r.is(i, "Sigmoid"):
		return &mapping{in: sigmoidInPlace}
	case r.is(i, "Tanh"):
		return &mapping{in: tensor.Tensor.TanhInPlace}
	case r.is(i, "LeakyRelu"):
		slope := s.node.float("alpha")
		return &mapping{in: func(x tensor.Tensor) error { return x.LeakyReLUInPlace(tensor.NegativeSlope(slope)) }}
	case r.is(i, "HardSigmoid") && near(s.node.float("alpha"), 1.0/6) && s.node.float("beta") == 0.5:
		return &mapping{in: tensor.Tensor.HardsigmoidInPlace}
	}
	return nil
}

// floats returns the tensor of float32 or float64 that a place holds, where it is known.
func (r *rewriter) floats(p int) (t tensor.Tensor, ok bool) {
	v := r.g.known[p]
	if p < 0 || v == nil || v.form != formTensor || v.elem != format.Float && v.elem != format.Double {
		return tensor.Tensor{}, false
	}
	return v.t, true
}

// prune forgets the constants that nothing reads any more.
func (g *graph) prune() {
	read := map[int]bool{}
	for _, s := range g.steps {
		for _, p := range s.in {
			read[p] = true
		}
		for _, p := range s.node.captured {
			read[p] = true
		}
	}
	for _, p := range slices.Concat(g.outputs, g.inputs) {
		read[p] = true
	}
	g.constants = slices.DeleteFunc(g.constants, func(h held) bool { return !read[h.place] })
	maps.DeleteFunc(g.known, func(p int, _ *value) bool { return !read[p] })
}
