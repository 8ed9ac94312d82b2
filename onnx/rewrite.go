package onnx

import (
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
)

// A rewriter has fewer steps of a graph compute the same: files write an activation as
// four operators, and what follows a convolution as operators of their own. A step that it
// takes away had no other reader than the one that takes its place.
type rewriter struct {
	g       *graph
	makers  map[int]int   // of a place, the step
	readers map[int][]int // of a place, the steps; outputs and graphs inside count as step -1
	gone    []bool        // by step
}

// rewrite goes through the steps in order.
func (g *graph) rewrite() {
	r := &rewriter{g: g, makers: map[int]int{}, readers: map[int][]int{}, gone: make([]bool, len(g.steps))}
	for i, s := range g.steps {
		for _, p := range s.in {
			r.readers[p] = append(r.readers[p], i)
		}
		for _, p := range s.node.captured {
			r.readers[p] = append(r.readers[p], -1)
		}
		for _, p := range s.out {
			r.makers[p] = i
		}
	}
	for _, p := range g.outputs {
		r.readers[p] = append(r.readers[p], -1)
	}
	r.layouts()
	for i := range g.steps {
		if !r.gone[i] {
			r.limits(i)
			r.activate(i)
		}
	}
	for i := range g.steps {
		if !r.gone[i] && r.is(i, "Conv") {
			r.extend(i)
		}
	}
	kept := g.steps[:0]
	for i, s := range g.steps {
		if !r.gone[i] {
			kept = append(kept, s)
		}
	}
	g.steps = kept
}

// is reports whether a step is an operator of the standard, as the file has it.
func (r *rewriter) is(i int, name string) bool {
	n := r.g.steps[i].node
	return n.spec.Domain == "" && n.spec.Name == name && r.g.steps[i].mapping == nil
}

// only returns the step that makes a place for one reader, or -1.
func (r *rewriter) only(p int, name string) int {
	i, ok := r.makers[p]
	if !ok || r.gone[i] || len(r.readers[p]) != 1 || len(r.g.steps[i].out) != 1 || !r.is(i, name) {
		return -1
	}
	return i
}

// number returns the value of a place that holds one floating-point number.
func (r *rewriter) number(p int) (float64, bool) {
	v := r.g.known[p]
	if p < 0 || v == nil || v.form != formTensor || !v.t.DType().IsFloat() || v.t.NumElements() != 1 {
		return 0, false
	}
	x, err := v.t.Item()
	return x, err == nil && x == x
}

// rank returns the number of axes of a place that is known, 0 for others.
func (r *rewriter) rank(p int) int {
	if v := r.g.known[p]; p >= 0 && v != nil && v.form == formTensor {
		return v.t.Rank()
	}
	return 0
}

// near reports whether a number is another one, rounded to the float32 of a file.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }

// limits has a Clip with limits that are known compare with numbers.
func (r *rewriter) limits(i int) {
	s := &r.g.steps[i]
	if !r.is(i, "Clip") || s.node.spec.Since < 11 || len(s.in) == 1 {
		return
	}
	bound := func(k int, missing float64) (float64, bool) {
		if k >= len(s.in) || s.in[k] < 0 {
			return missing, true
		}
		return r.number(s.in[k])
	}
	lo, first := bound(1, math.Inf(-1))
	hi, second := bound(2, math.Inf(1))
	if first && second {
		s.kernel = func(c *call) error { return c.put(0, c.t(0).ClampScalar(lo, hi)) }
	}
}

// A factoring is a tree of multiplications as its factors and one number.
type factoring struct {
	factors []int // places
	times   float64
	steps   []int // that make it
	rank    int   // of its constants at most
}

// product returns what step i multiplies, or divides by a number.
func (r *rewriter) product(i int) (p factoring, ok bool) {
	s := &r.g.steps[i]
	p = factoring{times: 1, steps: []int{i}}
	if r.is(i, "Div") {
		v, known := r.number(s.in[1])
		p.times, p.rank = 1/v, r.rank(s.in[1])
		return p, known && v != 0 && r.factor(&p, s.in[0])
	}
	return p, r.is(i, "Mul") && r.factor(&p, s.in[0]) && r.factor(&p, s.in[1])
}

// factor adds what makes a place to a product.
func (r *rewriter) factor(p *factoring, place int) bool {
	if v, ok := r.number(place); ok {
		p.times, p.rank = p.times*v, max(p.rank, r.rank(place))
		return true
	}
	if place < 0 || r.g.known[place] != nil || len(p.steps) > 8 {
		return false
	}
	for _, name := range []string{"Mul", "Div"} {
		i := r.only(place, name)
		if i < 0 {
			continue
		}
		if inner, ok := r.product(i); ok {
			p.factors, p.times = append(p.factors, inner.factors...), p.times*inner.times
			p.steps, p.rank = append(p.steps, inner.steps...), max(p.rank, inner.rank)
			return true
		}
	}
	p.factors = append(p.factors, place)
	return true
}

// plus returns x and v where step i adds the number v to x.
func (r *rewriter) plus(i int, p *factoring) (x int, v float64, ok bool) {
	if i < 0 {
		return 0, 0, false
	}
	s := &r.g.steps[i]
	for k := range 2 {
		if v, ok := r.number(s.in[k]); ok && r.g.known[s.in[1-k]] == nil {
			p.steps, p.rank = append(p.steps, i), max(p.rank, r.rank(s.in[k]))
			return s.in[1-k], v, true
		}
	}
	return 0, 0, false
}

// A mapping is a function of each element, in place of some steps.
type mapping struct {
	of func(x tensor.Tensor) tensor.Tensor
	in func(x tensor.Tensor) error // the same, written over x
	// rank is how many axes the result has at least.
	rank int
}

var (
	hardswish = &mapping{of: tensor.Hardswish, in: tensor.Tensor.HardswishInPlace}
	swish     = &mapping{of: silu, in: siluInPlace}
	gelu      = &mapping{of: func(x tensor.Tensor) tensor.Tensor { return tensor.GELU(x) }, in: func(x tensor.Tensor) error { return x.GELUInPlace() }}
	geluTanh  = &mapping{
		of: func(x tensor.Tensor) tensor.Tensor { return tensor.GELU(x, tensor.ApproximateTanh) },
		in: func(x tensor.Tensor) error { return x.GELUInPlace(tensor.ApproximateTanh) },
	}
)

// activate has step i compute an activation that it is the last step of.
func (r *rewriter) activate(i int) {
	p, ok := r.product(i)
	if !ok || len(p.factors) != 2 {
		return
	}
	for k := range 2 {
		q := p
		q.steps = append([]int(nil), p.steps...)
		if a := r.activation(&q, p.factors[k], p.factors[1-k]); a != nil {
			r.take(i, &q, p.factors[k], a)
			return
		}
	}
}

// activation returns which one x times what place y holds is.
func (r *rewriter) activation(p *factoring, x, y int) *mapping {
	if i := r.only(y, "Sigmoid"); i >= 0 && p.times == 1 && r.g.steps[i].in[0] == x {
		p.steps = append(p.steps, i)
		return swish
	}
	if i := r.only(y, "HardSigmoid"); i >= 0 && p.times == 1 && r.g.steps[i].in[0] == x {
		p.steps = append(p.steps, i)
		if n := r.g.steps[i].node; near(n.float("alpha"), 1.0/6) && n.float("beta") == 0.5 {
			return hardswish
		}
		return nil
	}
	if i := r.only(y, "Clip"); i >= 0 && near(p.times, 1.0/6) && r.clips(i, 0, 6) {
		p.steps = append(p.steps, i)
		if of, v, ok := r.plus(r.only(r.g.steps[i].in[0], "Add"), p); ok && of == x && v == 3 {
			return hardswish
		}
		return nil
	}
	of, v, ok := r.plus(r.only(y, "Add"), p)
	if !ok || v != 1 || p.times != 0.5 {
		return nil
	}
	for name, a := range map[string]*mapping{"Erf": gelu, "Tanh": geluTanh} {
		i := r.only(of, name)
		if i < 0 {
			continue
		}
		p.steps = append(p.steps, i)
		arg, ok := r.argument(p, r.g.steps[i].in[0])
		if ok && name == "Erf" && arg.factors[0] == x && near(arg.times, math.Sqrt2/2) ||
			ok && name == "Tanh" && near(arg.times, math.Sqrt(2/math.Pi)) && r.cubic(p, arg.factors[0], x) {
			return a
		}
	}
	return nil
}

// argument returns a product of one factor and a number, which makes a place.
func (r *rewriter) argument(p *factoring, place int) (arg factoring, ok bool) {
	arg = factoring{times: 1}
	if !r.factor(&arg, place) || len(arg.factors) != 1 || len(arg.steps) == 0 {
		return arg, false
	}
	p.steps, p.rank = append(p.steps, arg.steps...), max(p.rank, arg.rank)
	return arg, true
}

// cubic reports whether a place holds x + 0.044715*x*x*x.
func (r *rewriter) cubic(p *factoring, place, x int) bool {
	i := r.only(place, "Add")
	if i < 0 {
		return false
	}
	for k := range 2 {
		cube := factoring{times: 1}
		if r.g.steps[i].in[k] != x || !r.factor(&cube, r.g.steps[i].in[1-k]) || !near(cube.times, 0.044715) {
			continue
		}
		p.steps = append(append(p.steps, i), cube.steps...)
		p.rank = max(p.rank, cube.rank)
		switch f := cube.factors; len(f) {
		case 3:
			return f[0] == x && f[1] == x && f[2] == x
		case 1:
			pow := r.only(f[0], "Pow")
			if pow < 0 || r.g.steps[pow].in[0] != x {
				return false
			}
			v, ok := r.number(r.g.steps[pow].in[1])
			p.steps, p.rank = append(p.steps, pow), max(p.rank, r.rank(r.g.steps[pow].in[1]))
			return ok && v == 3
		}
	}
	return false
}

// clips reports whether a Clip has such limits.
func (r *rewriter) clips(i int, lo, hi float64) bool {
	s := &r.g.steps[i]
	if s.node.spec.Since < 11 {
		return s.node.float("min") == lo && s.node.float("max") == hi
	}
	if len(s.in) < 3 {
		return false
	}
	a, first := r.number(s.in[1])
	b, second := r.number(s.in[2])
	return first && second && a == lo && b == hi
}

// take has step i compute an activation of x in place of the steps of p, which may have
// given it more axes.
func (r *rewriter) take(i int, p *factoring, x int, a *mapping) {
	for _, k := range p.steps {
		r.gone[k] = k != i
	}
	s := &r.g.steps[i]
	m := *a
	m.rank = p.rank
	*s = step{node: s.node, in: []int{x}, out: s.out, mapping: &m}
	s.kernel = func(c *call) error {
		x := c.t(0)
		for x.Rank() < m.rank {
			x = x.Unsqueeze(0)
		}
		return c.as(0, m.of(x), c.elem(0))
	}
	others := []int{i}
	for _, k := range r.readers[x] {
		if k != i && (k < 0 || !r.gone[k]) {
			others = append(others, k)
		}
	}
	r.readers[x] = others
}
