package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// control returns the operators that run graphs: their programs look operators up, so that no
// variable could hold them.
func control() map[string]lowering {
	return map[string]lowering{
		"If":   {make: branch},
		"Loop": {make: loop},
		"Scan": {make: scan},

		"SequenceMap": {make: mapped},
	}
}

// sequences are the operators on sequences and optional values.
var sequences = map[string]lowering{
	"SequenceEmpty": {make: func(n *node) kernel {
		e := format.Float
		if n.given("dtype") {
			e = n.elem("dtype")
		}
		return func(c *call) error { c.out[0] = &value{form: formSequence, elem: e}; return nil }
	}},
	"SequenceConstruct": plain(func(c *call) error {
		c.out[0] = &value{form: formSequence, elem: c.elem(0), list: hold(c.in...)}
		return nil
	}),
	"SequenceLength": plain(func(c *call) error {
		if err := c.sequence(0); err != nil {
			return err
		}
		return c.as(0, tensor.From([]int64{int64(len(c.in[0].list))}).Reshape(), format.Int64)
	}),
	"SequenceAt": plain(func(c *call) error {
		at, err := c.position(1, 0)
		if err == nil {
			c.out[0] = c.in[0].list[at]
		}
		return err
	}),
	"SequenceErase": plain(func(c *call) error {
		if err := c.sequence(0); err != nil {
			return err
		}
		at, err := len(c.in[0].list)-1, error(nil)
		if c.has(1) {
			at, err = c.position(1, 0)
		}
		if err != nil || at < 0 {
			return fmt.Errorf("no element to take away: %v", err)
		}
		list := append(append([]*value{}, c.in[0].list[:at]...), c.in[0].list[at+1:]...)
		c.out[0] = &value{form: formSequence, elem: c.in[0].elem, list: list}
		return nil
	}),
	"SequenceInsert": plain(func(c *call) error {
		if err := c.sequence(0); err != nil {
			return err
		}
		at, err := len(c.in[0].list), error(nil)
		if c.has(2) {
			at, err = c.position(2, 1)
		}
		if err != nil {
			return err
		}
		list := append(append([]*value{}, c.in[0].list[:at]...), hold(c.in[1])...)
		list = append(list, c.in[0].list[at:]...)
		c.out[0] = &value{form: formSequence, elem: c.elem(1), list: list}
		return nil
	}),
	"ConcatFromSequence": {make: func(n *node) kernel {
		at, fresh := n.int("axis"), n.flag("new_axis")
		return func(c *call) error {
			if err := c.sequence(0); err != nil {
				return err
			}
			var ts []tensor.Tensor
			for _, v := range c.in[0].list {
				ts = append(ts, v.t)
			}
			if len(ts) == 0 {
				return fmt.Errorf("an empty sequence")
			}
			if fresh {
				return c.as(0, tensor.Stack(ts, at), c.in[0].elem)
			}
			return c.as(0, tensor.Cat(ts, at), c.in[0].elem)
		}
	}},
	"SplitToSequence": {make: func(n *node) kernel {
		at, keep := n.int("axis"), n.flag("keepdims")
		return func(c *call) error {
			x := c.t(0)
			a, err := axis(at, x.Rank())
			if err != nil {
				return err
			}
			var parts []tensor.Tensor
			if !c.has(1) {
				for i := range x.Size(a) {
					p := x.Narrow(a, i, 1)
					if !keep {
						p = p.Squeeze(a)
					}
					parts = append(parts, p)
				}
			} else {
				sizes, err := c.ints(1)
				if err != nil {
					return err
				}
				if c.in[1].t.Rank() == 0 {
					if sizes[0] < 1 {
						return fmt.Errorf("parts of %d", sizes[0])
					}
					parts = x.Split(sizes[0], a)
				} else {
					parts = x.SplitSizes(sizes, a)
				}
			}
			out := &value{form: formSequence, elem: c.elem(0)}
			for _, p := range parts {
				p = p.Clone()
				if err := p.Err(); err != nil {
					return err
				}
				out.list = append(out.list, &value{t: p, elem: c.elem(0), refs: 1})
			}
			c.out[0] = out
			return nil
		}
	}},
	"Optional": {make: func(n *node) kernel {
		return func(c *call) error {
			if !c.has(0) {
				c.out[0] = noValue
				return nil
			}
			c.out[0] = c.in[0]
			return nil
		}
	}},
	"OptionalHasElement": plain(func(c *call) error {
		return c.as(0, tensor.From([]bool{c.has(0)}).Reshape(), format.Bool)
	}),
	"OptionalGetElement": plain(func(c *call) error {
		if !c.has(0) {
			return fmt.Errorf("the optional value is none")
		}
		c.out[0] = c.in[0]
		return nil
	}),
}

// hold returns values that a sequence holds, too: they live as long as the run.
func hold(list ...*value) []*value {
	for _, v := range list {
		if v.constant == nil {
			v.refs++
		}
	}
	return append([]*value{}, list...)
}

// sequence fails unless operand i is one.
func (c *call) sequence(i int) error {
	if c.in[i].form != formSequence {
		return fmt.Errorf("operand %d is no sequence", i)
	}
	return nil
}

// position returns the place in the sequence of operand 0 that operand i names, of which
// there are more than elements.
func (c *call) position(i, more int) (int, error) {
	if err := c.sequence(0); err != nil {
		return 0, err
	}
	list, err := c.ints(i)
	if err != nil || len(list) != 1 {
		return 0, fmt.Errorf("the position is not one number: %v", err)
	}
	at, n := list[0], len(c.in[0].list)
	if at < 0 {
		at += n
	}
	if at < 0 || at >= n+more {
		return 0, fmt.Errorf("position %d of a sequence of %d", list[0], n)
	}
	return at, nil
}

// subgraph makes the program of an attribute that is a graph.
func (n *node) subgraph(name string) *program {
	a := n.attribute(name)
	if a.Graph == nil {
		n.refuse("attribute %q is no graph", name)
		return &program{}
	}
	g, at := n.graph.b.graph(n.at)
	if n.err == nil {
		n.err = g.fill(a.Graph, at)
	}
	n.subgraphs = append(n.subgraphs, g.program)
	for _, c := range g.captures {
		n.captured = append(n.captured, c.outer)
	}
	return g.program
}

// call runs a program of a graph inside this one with operands, and returns its results.
// They stay until the enclosing run ends, or count is over.
func (c *call) call(p *program, in []*value) ([]*value, error) {
	f := newFrame(c.frame.ctx, p, c.frame.dev)
	for _, x := range p.captures {
		v := c.frame.places[x.outer]
		if v == nil {
			return nil, fmt.Errorf("a captured value is not there")
		}
		f.set(x.inner, v)
	}
	for i, v := range in {
		f.set(p.inputs[i], v)
	}
	if err := f.run(); err != nil {
		return nil, err
	}
	out := make([]*value, len(p.outputs))
	for i, place := range p.outputs {
		if out[i] = f.places[place]; out[i] == nil {
			return nil, fmt.Errorf("a result of the graph was not computed")
		}
	}
	return out, nil
}

// truth returns the one element of a value as a bool.
func truth(v *value) (bool, error) {
	if v == nil || v.form != formTensor || v.t.NumElements() != 1 {
		return false, fmt.Errorf("the condition is not one bool")
	}
	x, err := item(v.t)
	return x != 0, err
}

func branch(n *node) kernel {
	then, other := n.subgraph("then_branch"), n.subgraph("else_branch")
	if len(then.inputs)+len(other.inputs) > 0 {
		n.refuse("a branch with inputs")
	}
	return func(c *call) error {
		yes, err := truth(c.in[0])
		if err != nil {
			return err
		}
		p := other
		if yes {
			p = then
		}
		out, err := c.call(p, nil)
		if err != nil {
			return err
		}
		if len(out) < len(c.out) {
			return fmt.Errorf("a branch has %d results, want %d", len(out), len(c.out))
		}
		copy(c.out, out)
		return nil
	}
}

func loop(n *node) kernel {
	body := n.subgraph("body")
	carried := max(len(n.in)-2, 0)
	if n.err == nil && (len(body.inputs) != carried+2 || len(body.outputs) < carried+1 || len(n.file.Outputs) > len(body.outputs)-1) {
		n.refuse("a body of %d inputs and %d outputs for %d carried values and %d results", len(body.inputs), len(body.outputs), carried, len(n.file.Outputs))
	}
	return func(cl *call) error {
		c := *cl // the frame's call is reused inside
		c.in, c.out = append([]*value{}, cl.in...), make([]*value, len(cl.out))
		most, going, err := c.rounds()
		if err != nil {
			return err
		}
		var state []*value
		if carried > 0 {
			state = append(state, c.in[2:]...)
		}
		each := newGathered(len(body.outputs) - 1 - carried)
		for i := 0; i < most && going; i++ {
			if err := c.frame.ctx.Err(); err != nil {
				return err
			}
			in := append([]*value{{t: tensor.From([]int64{int64(i)}).Reshape(), elem: format.Int64}, {t: tensor.From([]bool{going}).Reshape(), elem: format.Bool}}, state...)
			out, err := c.round(body, in)
			if err != nil {
				return err
			}
			if going, err = truth(out[0]); err != nil {
				return err
			}
			state = out[1 : carried+1]
			each.add(out[carried+1:])
		}
		copy(cl.out, state)
		return each.put(cl, carried, func(int) (int, bool) { return 0, false })
	}
}

// rounds returns how many rounds a loop has at most, and whether it has the first.
func (c *call) rounds() (most int, going bool, err error) {
	most, going = math.MaxInt, true
	if c.has(0) {
		list, err := c.ints(0)
		if err != nil {
			return 0, false, fmt.Errorf("the number of rounds: %w", err)
		}
		if len(list) != 1 {
			return 0, false, fmt.Errorf("the number of rounds is %d numbers, want one", len(list))
		}
		most = list[0]
	}
	if c.has(1) {
		going, err = truth(c.in[1])
	}
	return most, going, err
}

// A gathered has the results of every round, which become one tensor for each output.
type gathered struct {
	tensors [][]tensor.Tensor // by output and round
	elems   []format.Elem
}

func newGathered(outputs int) gathered {
	return gathered{make([][]tensor.Tensor, outputs), make([]format.Elem, outputs)}
}

// add takes the results of a round.
func (g gathered) add(out []*value) {
	for k, v := range out {
		g.tensors[k], g.elems[k] = append(g.tensors[k], v.t), v.elem
	}
}

// put stacks the rounds as the outputs of a call from the first on, each along the axis that along
// says, and from the last round to the first if it says so.
func (g gathered) put(c *call, first int, along func(output int) (axis int, back bool)) error {
	for k, list := range g.tensors {
		if first+k >= len(c.out) {
			break
		}
		if len(list) == 0 {
			return fmt.Errorf("%w: no rounds, with results of every round", ErrUnsupported)
		}
		axis, back := along(k)
		if back {
			slices.Reverse(list)
		}
		if err := c.as(first+k, tensor.Stack(list, axis), g.elems[k]); err != nil {
			return err
		}
	}
	return nil
}

// round runs one round of a body in a scope of its own, so that a loop of many rounds
// holds the memory of one.
func (c *call) round(body *program, in []*value) (out []*value, err error) {
	for _, v := range in {
		if v.constant == nil {
			v.refs++ // the loop's
		}
	}
	err = tensor.Scope(func() error {
		if out, err = c.call(body, in); err != nil {
			return err
		}
		for _, v := range out {
			keepAll(v)
		}
		return nil
	})
	return out, err
}

// keepAll excepts a value's tensors from the release at the end of a scope.
func keepAll(v *value) {
	if v.constant != nil {
		return
	}
	v.refs++
	if v.form == formTensor {
		tensor.Keep(v.t)
	}
	for _, x := range v.list {
		keepAll(x)
	}
}

// scan runs a body over the slices of operands.
func scan(n *node) kernel {
	body := n.subgraph("body")
	scanned := n.int("num_scan_inputs")
	states := len(n.in) - scanned
	if n.spec.Since < 9 {
		n.refuse("Scan of opset 8")
		return nil
	}
	if n.err == nil && (states < 0 || scanned < 1 || len(body.inputs) != states+scanned || len(body.outputs) < states || len(n.file.Outputs) > len(body.outputs)) {
		n.refuse("a body of %d inputs and %d outputs for %d states and %d scanned operands", len(body.inputs), len(body.outputs), states, scanned)
	}
	inAxes, inBack := n.ints("scan_input_axes"), n.ints("scan_input_directions")
	outAxes, outBack := n.ints("scan_output_axes"), n.ints("scan_output_directions")
	pick := func(list []int, i int) int {
		if i < len(list) {
			return list[i]
		}
		return 0
	}
	return func(cl *call) error {
		c := *cl
		c.in, c.out = append([]*value{}, cl.in...), make([]*value, len(cl.out))
		at, steps, err := c.scanned(states, func(k int) int { return pick(inAxes, k) })
		if err != nil {
			return err
		}
		state := append([]*value{}, c.in[:states]...)
		each := newGathered(len(body.outputs) - states)
		for i := range steps {
			in := append([]*value{}, state...)
			for k := range scanned {
				place := i
				if pick(inBack, k) == 1 {
					place = steps - 1 - i
				}
				in = append(in, &value{t: c.t(states+k).Select(at[k], place), elem: c.elem(states + k), borrowed: true})
			}
			out, err := c.round(body, in)
			if err != nil {
				return err
			}
			state = out[:states]
			each.add(out[states:])
		}
		copy(cl.out, state)
		return each.put(cl, states, func(k int) (int, bool) { return pick(outAxes, k), pick(outBack, k) == 1 })
	}
}

// scanned returns the axes along which the operands behind the states are scanned, and how many
// steps that are.
func (c *call) scanned(states int, axisOf func(k int) int) (at []int, steps int, err error) {
	for k := range len(c.in) - states {
		x := c.t(states + k)
		a, err := axis(axisOf(k), x.Rank())
		if err != nil {
			return nil, 0, err
		}
		if size := x.Size(a); k > 0 && size != steps {
			return nil, 0, fmt.Errorf("operands of %d and %d steps", steps, size)
		} else {
			steps = size
		}
		at = append(at, a)
	}
	return at, steps, nil
}

// mapped runs a body for every element of a sequence, and with it the elements of other
// sequences at its place, and tensors.
func mapped(n *node) kernel {
	body := n.subgraph("body")
	if n.err == nil && (len(n.in) < 1 || len(body.inputs) != len(n.in) || len(n.file.Outputs) > len(body.outputs)) {
		n.refuse("a body of %d inputs and %d outputs for %d operands and %d results", len(body.inputs), len(body.outputs), len(n.in), len(n.file.Outputs))
	}
	return func(cl *call) error {
		c := *cl
		c.in, c.out = append([]*value{}, cl.in...), make([]*value, len(cl.out))
		if err := c.sequence(0); err != nil {
			return err
		}
		lists := make([]*value, len(cl.out))
		for k := range lists {
			lists[k] = &value{form: formSequence, elem: c.in[0].elem}
		}
		for i := range c.in[0].list {
			in := make([]*value, len(c.in))
			for k, v := range c.in {
				if in[k] = v; v == nil || v.form != formSequence {
					continue
				}
				if len(v.list) <= i {
					return fmt.Errorf("sequences of %d and %d elements", len(c.in[0].list), len(v.list))
				}
				in[k] = v.list[i]
			}
			out, err := c.round(body, in)
			if err != nil {
				return err
			}
			for k, list := range lists {
				list.list, list.elem = append(list.list, out[k]), out[k].elem
			}
		}
		copy(cl.out, lists)
		return nil
	}
}
