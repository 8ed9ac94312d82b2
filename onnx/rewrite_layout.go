package onnx

import (
	"slices"
)

// Files that were made from networks with channels last have two transpositions around each
// convolution. Those behind one move past what computes elements one by one, until they
// meet one that undoes them, and both go.

var (
	toLast  = []int{0, 2, 3, 1} // images whose channels are the last axis
	toFirst = []int{0, 3, 1, 2}
)

// pointwise are operators that compute each element from those at its place.
var pointwise = []string{"Add", "Sub", "Mul", "Div", "Cast", "Clip", "LeakyRelu", "Relu", "Sigmoid", "Tanh"}

// layouts takes transpositions of images away that undo each other.
func (r *rewriter) layouts() {
	for i := range r.g.steps {
		if s := &r.g.steps[i]; r.is(i, "Cast") && r.g.elems[s.in[0]] != 0 && r.g.elems[s.in[0]] == r.g.elems[s.out[0]] {
			r.skip(i, s.in[0])
		}
	}
	for i := range r.g.steps {
		if !r.gone[i] && r.turns(i, toLast) {
			r.move(i)
		}
	}
}

// turns reports whether step i is a transposition by such axes.
func (r *rewriter) turns(i int, axes []int) bool {
	return r.is(i, "Transpose") && slices.Equal(r.g.steps[i].node.ints("perm"), axes)
}

// replace has all that read place p read place q.
func (r *rewriter) replace(p, q int) {
	for _, k := range r.readers[p] {
		for n, in := range r.g.steps[k].in {
			if in == p {
				r.g.steps[k].in[n] = q
			}
		}
	}
	r.readers[q] = append(r.readers[q], r.readers[p]...)
	delete(r.readers, p)
}

// forget says that step i reads place p no more.
func (r *rewriter) forget(p, i int) {
	r.readers[p] = slices.DeleteFunc(slices.Clone(r.readers[p]), func(k int) bool { return k == i })
}

// skip takes step i away, whose result is what place p holds, unless it is seen outside.
func (r *rewriter) skip(i, p int) {
	out := r.g.steps[i].out[0]
	if !slices.Contains(r.readers[out], -1) {
		r.forget(p, i)
		r.replace(out, p)
		r.gone[i] = true
	}
}

// move takes away transposition i, or what undoes it, or moves it behind its only reader.
func (r *rewriter) move(i int) {
	s := &r.g.steps[i]
	x, t := s.in[0], s.out[0]
	for _, k := range slices.Clone(r.readers[t]) {
		r.undo(x, t, k)
	}
	switch list := r.readers[t]; {
	case len(list) == 0:
		r.forget(x, i)
		r.gone[i] = true
	case len(list) == 1 && list[0] >= 0:
		u := list[0]
		if constants, ok := r.alone(t, u); ok {
			r.turnConstants(u, constants)
			to := &r.g.steps[u]
			at := slices.Index(to.in, t)
			s.node, to.node, s.kernel, to.kernel = to.node, s.node, to.kernel, s.kernel
			s.in, to.in = to.in, []int{t}
			s.in[at] = x
			r.g.elems[t] = r.g.elems[to.out[0]]
			return
		}
		r.join(i, u)
	}
}

// alone returns which operands of step u, other than place t, are constants; false where it
// does not compute elements one by one from t and such alone.
func (r *rewriter) alone(t, u int) (constants []int, ok bool) {
	s := &r.g.steps[u]
	if s.mapping != nil || len(s.out) != 1 || !slices.ContainsFunc(pointwise, func(name string) bool { return r.is(u, name) }) {
		return nil, false
	}
	seen := 0
	for n, p := range s.in {
		switch {
		case p == t:
			seen++
		case p < 0:
		case r.g.known[p] != nil && r.g.known[p].form == formTensor && r.g.known[p].t.Rank() <= len(toLast):
			constants = append(constants, n)
		default:
			return nil, false
		}
	}
	return constants, seen == 1
}

// turnConstants gives operands of step u the layout with channels first.
func (r *rewriter) turnConstants(u int, operands []int) {
	s := &r.g.steps[u]
	s.in = slices.Clone(s.in)
	for _, n := range operands {
		v := r.g.known[s.in[n]]
		if v.t.NumElements() == 1 {
			continue
		}
		turned := v.t
		for turned.Rank() < len(toFirst) {
			turned = turned.Unsqueeze(0)
		}
		p := r.g.constant(constantValue(turned.Permute(toFirst...).Contiguous(), v.elem))
		r.forget(s.in[n], u)
		r.readers[p] = []int{u}
		s.in[n] = p
	}
}

// undo has step u, which reads t, the transposed x, and the steps behind it read x, where
// they end in a transposition that undoes the first one and nothing else reads between.
func (r *rewriter) undo(x, t, u int) {
	type turned struct {
		step      int
		constants []int
	}
	var chain []turned
	first, p := u, t
	for {
		if u < 0 {
			return
		}
		if r.turns(u, toFirst) {
			break
		}
		constants, ok := r.alone(p, u)
		if !ok {
			return
		}
		chain = append(chain, turned{u, constants})
		p = r.g.steps[u].out[0]
		if len(r.readers[p]) != 1 {
			return
		}
		u = r.readers[p][0]
	}
	if slices.Contains(r.readers[r.g.steps[u].out[0]], -1) {
		return
	}
	for _, c := range chain {
		r.turnConstants(c.step, c.constants)
	}
	in := r.g.steps[first].in
	r.g.steps[first].in = slices.Clone(in)
	r.g.steps[first].in[slices.Index(in, t)] = x
	r.forget(t, first)
	r.readers[x] = append(r.readers[x], first)
	from := r.g.steps[u].in[0]
	r.skip(u, from)
}

// join has step u, which computes with transposition i and another one that nothing else
// reads, compute with what both transpose, before one transposition.
func (r *rewriter) join(i, u int) {
	s := &r.g.steps[u]
	if s.mapping != nil || len(s.in) != 2 || len(s.out) != 1 || s.in[0] == s.in[1] || !slices.ContainsFunc(pointwise, func(name string) bool { return r.is(u, name) }) {
		return
	}
	other := s.in[1-slices.Index(s.in, r.g.steps[i].out[0])]
	k, ok := r.makers[other]
	if !ok || r.gone[k] || !r.turns(k, toLast) || len(r.readers[other]) != 1 {
		return
	}
	early, late := &r.g.steps[min(i, k)], &r.g.steps[max(i, k)]
	in := slices.Clone(s.in)
	for n, p := range in {
		in[n] = early.in[0]
		if p == late.out[0] {
			in[n] = late.in[0]
		}
	}
	r.forget(early.in[0], min(i, k))
	r.readers[early.in[0]] = append(r.readers[early.in[0]], max(i, k))
	r.gone[min(i, k)] = true
	late.node, s.node, late.kernel, s.kernel = s.node, late.node, s.kernel, late.kernel
	late.in, s.in = in, []int{late.out[0]}
	r.readers[late.out[0]] = []int{u}
	r.g.elems[late.out[0]] = r.g.elems[s.out[0]]
}
