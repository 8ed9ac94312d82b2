package onnx

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// A kernel computes an operator: from the call's operands to its results.
type kernel func(c *call) error

// A lowering says how an operator is computed by those of package tensor.
type lowering struct {
	make   func(n *node) kernel // reads attributes, refuses what is not there
	random bool                 // two calls differ
}

// A call is one use of a kernel.
type call struct {
	step  *step
	frame *frame // nil while constants are folded
	dev   device.Device
	host  bool // all operands are on the host, and the results will be
	limit int  // elements that a result may have, 0 for any number
	in    []*value
	out   []*value
}

// errLarge ends the folding of what would take too much memory.
var errLarge = errors.New("too large to be computed while loading")

// run calls the kernel where the operands are: on the host if all of them are there, and
// otherwise on the model's device.
func (c *call) run() error {
	if c.dev != tensorCPU {
		c.host = true
		for _, v := range c.in {
			if v != nil && v.constant == nil && v.form == formTensor && v.t.Device() != tensorCPU {
				c.host = false
				break
			}
		}
		if c.host {
			c.dev = tensorCPU
		}
	}
	known, err := c.compute()
	if err != nil {
		return err
	}
	for i, v := range c.out {
		if v == nil || v.form != formTensor {
			continue
		}
		if known && v.constant == nil {
			v.known = true
		}
		if err := v.t.Err(); err != nil {
			return err
		}
		if v.constant == nil && !v.borrowed {
			for _, x := range c.in {
				if x != nil && x.borrowed && x.form == formTensor && v.t.SharesStorage(x.t) {
					c.out[i].borrowed = true
				}
			}
		}
	}
	return nil
}

// compute calls the kernel, while a run is recorded outside of the recording if nothing but
// shapes decides what it computes, which it reports.
func (c *call) compute() (known bool, err error) {
	n := c.step.node
	if !core.Recording() || len(n.subgraphs) > 0 || n.lower.random {
		return false, c.step.kernel(c)
	}
	if n.spec.Domain != "" || n.spec.Name != "Shape" && n.spec.Name != "Size" {
		for _, v := range c.in {
			if v != nil && v.constant == nil && !v.known {
				return false, c.step.kernel(c)
			}
		}
	}
	core.Unrecorded(func() { err = c.step.kernel(c) })
	return true, err
}

// size notes that a result will have a shape, and fails while folding if it is large.
func (c *call) size(shape []int) error {
	n := 1
	for _, d := range shape {
		if d < 0 {
			return fmt.Errorf("a shape of %v", shape)
		}
		if d == 0 {
			return nil
		}
	}
	for _, d := range shape {
		if c.limit > 0 && n > c.limit/d {
			return errLarge
		}
		n *= d
	}
	return nil
}

// has reports whether operand i is given.
func (c *call) has(i int) bool { return i < len(c.in) && c.in[i] != nil && c.in[i].form != formNone }

// t returns operand i, a tensor, where the call computes.
func (c *call) t(i int) tensor.Tensor {
	v := c.in[i]
	if v == nil || v.form != formTensor {
		return tensor.Tensor{}
	}
	return v.on(c.dev)
}

// ts returns all operands from i.
func (c *call) ts(i int) []tensor.Tensor {
	out := make([]tensor.Tensor, 0, len(c.in))
	for ; i < len(c.in); i++ {
		out = append(out, c.t(i))
	}
	return out
}

// elem returns the type of the elements of operand i.
func (c *call) elem(i int) format.Elem { return c.in[i].elem }

// ints returns the elements of operand i on the host.
func (c *call) ints(i int) ([]int, error) {
	if c.in[i].form != formTensor {
		return nil, fmt.Errorf("%w: operand %d is no tensor", ErrInput, i)
	}
	if t := c.in[i].t; t.Rank() > 1 && t.NumElements() != t.Size(-1) { // [1, n] is a list to some exporters
		return nil, fmt.Errorf("operand %d has shape %v, want a list", i, c.in[i].t.Shape())
	}
	return c.in[i].ints()
}

// shaped fails unless operand i, if it is there, has a shape.
func (c *call) shaped(i int, want ...int) error {
	if c.has(i) && !slices.Equal(c.t(i).Shape(), want) {
		return fmt.Errorf("operand %d has shape %v, want %v", i, c.t(i).Shape(), want)
	}
	return nil
}

// spreads fails unless operand i, if it is there, can be broadcast to a shape.
func (c *call) spreads(i int, to []int) error {
	if !c.has(i) {
		return nil
	}
	s := c.t(i).Shape()
	good := len(s) <= len(to)
	for k := 0; k < len(s) && good; k++ {
		good = s[k] == 1 || s[k] == to[len(to)-len(s)+k]
	}
	if !good {
		return fmt.Errorf("operand %d has shape %v, which cannot be broadcast to %v", i, s, to)
	}
	return nil
}

// one returns the one element of operand i on the host.
func (c *call) one(i int) (float64, error) {
	t := c.in[i].t
	if t.NumElements() != 1 {
		return 0, fmt.Errorf("operand %d has shape %v, want one element", i, t.Shape())
	}
	return item(t)
}

// floats returns the elements of operand i on the host.
func (c *call) floats(i int) (out []float64, err error) {
	core.Unrecorded(func() { out, err = tensor.Data[float64](c.in[i].t.CPU().ToType(tensor.Float64)) })
	return out, err
}

// item returns the one element of a tensor.
func item(t tensor.Tensor) (x float64, err error) {
	core.Unrecorded(func() { x, err = t.Item() })
	return x, err
}

// derived returns what f makes of operand i. Of a constant it is made once, for all runs,
// and kept under a name.
func (c *call) derived(i int, name string, f func(t tensor.Tensor) tensor.Tensor) tensor.Tensor {
	t := c.t(i)
	k := c.in[i].constant
	if k == nil || c.limit > 0 {
		return f(t)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	name += "@" + c.dev.String()
	if d, ok := k.derived[name]; ok {
		return d
	}
	var d tensor.Tensor
	core.Unrecorded(func() {
		core.OutsideScope(func() {
			_ = tensor.Scope(func() error { // what f makes on the way goes at once
				d = f(t).Contiguous()
				tensor.Keep(d)
				return nil
			})
		})
	})
	if k.derived == nil {
		k.derived = map[string]tensor.Tensor{}
	}
	if d.Err() == nil {
		k.derived[name] = d
	}
	return d
}

// put makes t result i. Its elements have the type that the table says, or where it does
// not, the one that its dtype holds.
func (c *call) put(i int, t tensor.Tensor) error {
	if i >= len(c.out) {
		return nil
	}
	e := c.typeOf(i)
	if e == 0 || carriers[e] != t.DType() {
		if err := t.Err(); err != nil {
			return err
		}
		e = native[t.DType()]
	}
	return c.as(i, t, e)
}

// as makes t result i with elements of a type. A tensor that is an operand stays the
// value that it is.
func (c *call) as(i int, t tensor.Tensor, e format.Elem) error {
	if i >= len(c.out) {
		return nil
	}
	for _, v := range c.in {
		if v == nil || v.form != formTensor || v.t.Handle() != t.Handle() {
			continue
		}
		if v.elem == e {
			c.out[i] = v
			return nil
		}
		t = t.Clone() // one tensor is one value
	}
	c.out[i] = &value{t: t, elem: e}
	if c.limit > 0 && t.NumElements() > c.limit {
		return errLarge
	}
	return nil
}

// typeOf returns the type of the elements of result i by the table, 0 where it is silent.
func (c *call) typeOf(i int) format.Elem {
	n := c.step.node
	f, ok := formal(n.spec.Outputs, i)
	if !ok {
		return 0
	}
	for k, v := range c.in {
		if v == nil || v.form != formTensor {
			continue
		}
		if in, ok := formal(n.spec.Inputs, k); ok && in.Type == f.Type && (!in.Variadic || in.Alike) {
			return v.elem
		}
	}
	return 0
}
