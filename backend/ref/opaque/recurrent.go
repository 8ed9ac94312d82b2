package opaque

import (
	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// A cell is a step of a recurrence: numbers for one sequence at a time. Lists of
// gates are as long as weight has rows.
type cell[T any] struct {
	f      field[T]
	width  int
	weight tensor[T] // [gates*width, width]
}

func (l cell[T]) sigmoid(x T) T {
	one := l.f.number(1)
	return l.f.quo(one, l.f.add(one, l.f.exp(l.f.sub(l.f.number(0), x))))
}

// tanh returns 2*sigmoid(2x) - 1, which loses digits that results next to 0 do not
// need: they are held to the size of the largest.
func (l cell[T]) tanh(x T) T {
	two := l.f.number(2)
	return l.f.sub(l.f.mul(two, l.sigmoid(l.f.mul(two, x))), l.f.number(1))
}

// bend returns y*(1 - y), the derivative of sigmoid by its result.
func (l cell[T]) bend(y T) T { return l.f.mul(y, l.f.sub(l.f.number(1), y)) }

// flat returns 1 - y*y, the derivative of tanh by its result.
func (l cell[T]) flat(y T) T { return l.f.sub(l.f.number(1), l.f.mul(y, y)) }

func (l cell[T]) sum(list ...T) T {
	total := l.f.number(0)
	for _, v := range list {
		total = l.f.add(total, v)
	}
	return total
}

func (l cell[T]) product(list ...T) T {
	total := l.f.number(1)
	for _, v := range list {
		total = l.f.mul(total, v)
	}
	return total
}

// given returns weight @ h.
func (l cell[T]) given(h []T) []T {
	out := make([]T, l.weight.shape[0])
	for i := range out {
		out[i] = l.f.number(0)
		for j, v := range h {
			out[i] = l.f.add(out[i], l.f.mul(*l.weight.at([]int{i, j}), v))
		}
	}
	return out
}

// back adds gates @ weight to h.
func (l cell[T]) back(h, gates []T) {
	for i, g := range gates {
		for j := range h {
			h[j] = l.f.add(h[j], l.f.mul(g, *l.weight.at([]int{i, j})))
		}
	}
}

// row returns the elements of one sequence, at one step where v has steps.
func row[T any](v tensor[T], lead ...int) []T {
	n := v.shape[len(v.shape)-1]
	at := position(v.shape[:len(lead)], lead) * n
	return v.v[at : at+n]
}

// steps returns the steps in the order that a recurrence takes them.
func steps(n int, reverse ir.Value) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
		if reverse.Int != 0 {
			list[i] = n - 1 - i
		}
	}
	return list
}

// operands decodes all of c's.
func operands[T any](c *ir.Call, f field[T]) []tensor[T] {
	var list []tensor[T]
	for _, v := range c.In {
		list = append(list, decode(v, c.Compute, f.ring))
	}
	return list
}

// results returns tensors for c's results, all zeros.
func results[T any](c *ir.Call, f field[T]) []tensor[T] {
	var list []tensor[T]
	for _, v := range c.Out {
		list = append(list, newTensor(v.Shape, f.number(0)))
	}
	return list
}

func encodeAll[T any](c *ir.Call, f field[T], list []tensor[T]) {
	for i, t := range list {
		encode(c.Out[i], c.Compute, f.ring, t)
	}
}

// LSTMSequence returns the outputs and the cells of an LSTM over gates
// [steps, batch, 4*width]: input, forget, cell, output. Attribute: reverse.
func LSTMSequence(c *ir.Call) error {
	return inField(c, lstmSequence[float64], lstmSequence[wide.Float])
}

func lstmSequence[T any](c *ir.Call, f field[T]) error {
	in, out := operands(c, f), results(c, f)
	gates, bias := in[0], in[4]
	l := cell[T]{f, in[1].shape[1], in[3]}
	for b := range in[1].shape[0] {
		h, state := row(in[1], b), row(in[2], b)
		for _, t := range steps(gates.shape[0], c.Attrs[0]) {
			x, y := row(gates, t, b), l.given(h)
			gate := func(k, j int) T { return l.sum(x[k*l.width+j], y[k*l.width+j], bias.v[k*l.width+j]) }
			newH, newState := row(out[0], t, b), row(out[1], t, b)
			for j := range l.width {
				newState[j] = l.sum(l.product(l.sigmoid(gate(1, j)), state[j]), l.product(l.sigmoid(gate(0, j)), l.tanh(gate(2, j))))
				newH[j] = l.product(l.sigmoid(gate(3, j)), l.tanh(newState[j]))
			}
			h, state = newH, newState
		}
	}
	encodeAll(c, f, out)
	return nil
}

// LSTMSequenceGrad returns the gradients of the gates, the first output and the
// first cell of LSTMSequence, from those of its outputs and cells, its gates, what
// the states before each step gave to them, the cells before each step, weight and
// bias. Attribute: reverse.
func LSTMSequenceGrad(c *ir.Call) error {
	return inField(c, lstmSequenceGrad[float64], lstmSequenceGrad[wide.Float])
}

func lstmSequenceGrad[T any](c *ir.Call, f field[T]) error {
	in, out := operands(c, f), results(c, f)
	g, gCells, gates, inner, before, bias := in[0], in[1], in[2], in[3], in[4], in[6]
	l := cell[T]{f, g.shape[2], in[5]}
	for b := range g.shape[1] {
		gh, gc := row(out[1], b), row(out[2], b)
		order := steps(g.shape[0], c.Attrs[0])
		for i := len(order) - 1; i >= 0; i-- {
			t := order[i]
			x, y, d := row(gates, t, b), row(inner, t, b), row(out[0], t, b)
			for j := range l.width {
				gate := func(k int) T { return l.sum(x[k*l.width+j], y[k*l.width+j], bias.v[k*l.width+j]) }
				in, forget, fresh, output := l.sigmoid(gate(0)), l.sigmoid(gate(1)), l.tanh(gate(2)), l.sigmoid(gate(3))
				old := row(before, t, b)[j]
				top := l.tanh(l.sum(l.product(forget, old), l.product(in, fresh)))
				dOut := l.sum(row(g, t, b)[j], gh[j])
				dCell := l.sum(row(gCells, t, b)[j], gc[j], l.product(dOut, output, l.flat(top)))
				d[j] = l.product(dCell, fresh, l.bend(in))
				d[l.width+j] = l.product(dCell, old, l.bend(forget))
				d[2*l.width+j] = l.product(dCell, in, l.flat(fresh))
				d[3*l.width+j] = l.product(dOut, top, l.bend(output))
				gc[j], gh[j] = l.product(dCell, forget), f.number(0)
			}
			l.back(gh, d)
		}
	}
	encodeAll(c, f, out)
	return nil
}

// GRUSequence returns the outputs of a GRU over gates [steps, batch, 3*width]:
// reset, update, new. bias has a row for the gates and one for what the state
// gives to them. Attribute: reverse.
func GRUSequence(c *ir.Call) error { return inField(c, gruSequence[float64], gruSequence[wide.Float]) }

func gruSequence[T any](c *ir.Call, f field[T]) error {
	in, out := operands(c, f), results(c, f)
	gates := in[0]
	l := cell[T]{f, in[1].shape[1], in[2]}
	for b := range in[1].shape[0] {
		h := row(in[1], b)
		for _, t := range steps(gates.shape[0], c.Attrs[0]) {
			y, next := l.given(h), row(out[0], t, b)
			for j := range l.width {
				_, update, fresh, _ := l.gru(row(gates, t, b), y, in[3], j)
				next[j] = l.sum(l.product(f.sub(f.number(1), update), fresh), l.product(update, h[j]))
			}
			h = next
		}
	}
	encodeAll(c, f, out)
	return nil
}

// gru returns the gates of column j, and what the state gives to the last.
func (l cell[T]) gru(x, y []T, bias tensor[T], j int) (reset, update, fresh, given T) {
	gate := func(k int) T { return l.sum(x[k*l.width+j], bias.v[k*l.width+j]) }
	state := func(k int) T { return l.sum(y[k*l.width+j], bias.v[(3+k)*l.width+j]) }
	reset, update, given = l.sigmoid(l.sum(gate(0), state(0))), l.sigmoid(l.sum(gate(1), state(1))), state(2)
	return reset, update, l.tanh(l.sum(gate(2), l.product(reset, given))), given
}

// GRUSequenceGrad returns the gradients of the gates, of what the states before
// each step gave to them, and of the first output of GRUSequence, from that of its
// outputs, its gates, what the states gave to them, the outputs before each step,
// weight and bias. Attribute: reverse.
func GRUSequenceGrad(c *ir.Call) error {
	return inField(c, gruSequenceGrad[float64], gruSequenceGrad[wide.Float])
}

func gruSequenceGrad[T any](c *ir.Call, f field[T]) error {
	in, out := operands(c, f), results(c, f)
	g, gates, inner, before, bias := in[0], in[1], in[2], in[3], in[5]
	l := cell[T]{f, g.shape[2], in[4]}
	w := l.width
	for b := range g.shape[1] {
		gh := row(out[2], b)
		order := steps(g.shape[0], c.Attrs[0])
		for i := len(order) - 1; i >= 0; i-- {
			t := order[i]
			d, e := row(out[0], t, b), row(out[1], t, b)
			for j := range w {
				reset, update, fresh, given := l.gru(row(gates, t, b), row(inner, t, b), bias, j)
				dOut := l.sum(row(g, t, b)[j], gh[j])
				d[2*w+j] = l.product(dOut, f.sub(f.number(1), update), l.flat(fresh))
				d[w+j] = l.product(dOut, f.sub(row(before, t, b)[j], fresh), l.bend(update))
				d[j] = l.product(d[2*w+j], given, l.bend(reset))
				e[j], e[w+j], e[2*w+j] = d[j], d[w+j], l.product(d[2*w+j], reset)
				gh[j] = l.product(dOut, update)
			}
			l.back(gh, e)
		}
	}
	encodeAll(c, f, out)
	return nil
}

// RNNSequence returns the outputs of a recurrence over x [steps, batch, width].
// Attributes: relu, whether its function is that and not tanh, and reverse.
func RNNSequence(c *ir.Call) error { return inField(c, rnnSequence[float64], rnnSequence[wide.Float]) }

func rnnSequence[T any](c *ir.Call, f field[T]) error {
	in, out := operands(c, f), results(c, f)
	l := cell[T]{f, in[1].shape[1], in[2]}
	for b := range in[1].shape[0] {
		h := row(in[1], b)
		for _, t := range steps(in[0].shape[0], c.Attrs[1]) {
			y, next := l.given(h), row(out[0], t, b)
			for j := range next {
				next[j] = l.sum(row(in[0], t, b)[j], y[j], in[3].v[j])
				switch {
				case c.Attrs[0].Int == 0:
					next[j] = l.tanh(next[j])
				case f.larger(f.number(0), next[j]):
					next[j] = f.number(0)
				}
			}
			h = next
		}
	}
	encodeAll(c, f, out)
	return nil
}

// RNNSequenceGrad returns the gradients of x and of the first output of
// RNNSequence, from that of its outputs, these, and weight. Attributes: relu and
// reverse.
func RNNSequenceGrad(c *ir.Call) error {
	return inField(c, rnnSequenceGrad[float64], rnnSequenceGrad[wide.Float])
}

func rnnSequenceGrad[T any](c *ir.Call, f field[T]) error {
	in, out := operands(c, f), results(c, f)
	g, y := in[0], in[1]
	l := cell[T]{f, g.shape[2], in[2]}
	for b := range g.shape[1] {
		gh := row(out[1], b)
		order := steps(g.shape[0], c.Attrs[1])
		for i := len(order) - 1; i >= 0; i-- {
			t := order[i]
			d := row(out[0], t, b)
			for j := range d {
				total, h := l.sum(row(g, t, b)[j], gh[j]), row(y, t, b)[j]
				switch {
				case c.Attrs[0].Int == 0:
					d[j] = l.product(total, l.flat(h))
				case f.larger(h, f.number(0)):
					d[j] = total
				}
				gh[j] = f.number(0)
			}
			l.back(gh, d)
		}
	}
	encodeAll(c, f, out)
	return nil
}
