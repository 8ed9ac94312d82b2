package kernel

import (
	"slices"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// SGDStep makes p -= rate*(g + decay*p). Lists: results p, operands g. Attributes:
// rate, decay.
func SGDStep(g ir.GPU, c *ir.Call) error {
	return stepOf(g, c, "sgd_step", [stepLists]int{0, 1, none}, 3, func(p *driver.Params) {
		p.Float64(floatAttr(c, 0))
		p.Float64(0) // momentum
		p.Float64(1)
		p.Float64(floatAttr(c, 1))
		p.Bool(false)
	})
}

// SGDMomentumStep is SGDStep with momentum. Lists: results p and v, operands g.
// Attributes: rate, momentum, share, decay, nesterov.
func SGDMomentumStep(g ir.GPU, c *ir.Call) error {
	return stepOf(g, c, "sgd_step", [stepLists]int{0, 2, 1}, 3, func(p *driver.Params) {
		for i := range 4 {
			p.Float64(floatAttr(c, i))
		}
		p.Bool(c.Attrs[4].Int != 0)
	})
}

// AdamStep makes a step of Adam. Lists: results p, m and v, operands g. Attributes:
// rate, beta1, beta2, eps, decay, shrink.
func AdamStep(g ir.GPU, c *ir.Call) error {
	return stepOf(g, c, "adam_step", [stepLists]int{0, 3, 1, 2}, 4, func(p *driver.Params) {
		for i := range 6 {
			p.Float64(floatAttr(c, i))
		}
	})
}

func floatAttr(c *ir.Call, i int) float64 { return c.Attrs[i].Scalar.Float() }

// As in optimizer.cu.
const (
	stepLists   = 4    // lists a kernel has at most
	stepTensors = 64   // tensors a launch takes
	stepChunk   = 4096 // elements a block takes
	stepThreads = 256
)

// none stands for a list that is not there: null pointers.
const none = -1

// A batch is the tensors that one launch changes.
type batch struct {
	elements [stepTensors]int64
	at       [stepLists][stepTensors]uint64
	first    [stepTensors + 1]int32 // blocks before each tensor
	count    int
	params   driver.Params
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// stepOf launches a kernel over the lists of a call, in the kernel's order: each is
// the index of a result or, from len(Op.Out) on, of an operand. args adds the
// kernel's numbers.
func stepOf(g ir.GPU, c *ir.Call, kernel string, order [stepLists]int, lists int, args func(*driver.Params)) error {
	out, in, after, err := denseLists(g, c)
	if err != nil {
		return err
	}
	results := len(c.Op.Out)
	n := len(out) / results
	name := ofType(kernel, out[0].DType)
	b := batches.Get().(*batch)
	defer batches.Put(b)
	b.count = 0
	for k := range n {
		size := out[k].NumElements()
		if size == 0 {
			continue
		}
		for slot, list := range order[:lists] {
			switch {
			case list == none:
				b.at[slot][b.count] = 0
			case list < results:
				b.at[slot][b.count] = out[list*n+k].Addr
			default:
				b.at[slot][b.count] = in[(list-results)*n+k].Addr
			}
		}
		b.add(size)
		if b.count == stepTensors {
			if err := b.launch(g, name, lists, args); err != nil {
				return err
			}
		}
	}
	if err := b.launch(g, name, lists, args); err != nil {
		return err
	}
	for i := range after {
		if err := after[i].finish(g); err != nil {
			return err
		}
	}
	return nil
}

// denseLists returns the results and operands of a call without gaps: those with
// gaps are copies, and an operand without axes as many elements as the result has.
// after are the results that are to be written from their copies.
func denseLists(g ir.GPU, c *ir.Call) (out, in []ir.View, after []target, err error) {
	out, in = c.Out, c.In
	n := len(out) / len(c.Op.Out)
	for i, v := range c.Out {
		if v.IsContiguous() {
			continue
		}
		if len(after) == 0 {
			out = slices.Clone(out)
		}
		if out[i], err = g.Dense(v, v.DType); err != nil {
			return nil, nil, nil, err
		}
		after = append(after, target{View: out[i], result: v, copied: true})
	}
	copied := false
	for i, v := range c.In {
		if like := c.Out[i%n].Shape; len(v.Shape) == 0 && len(like) > 0 {
			v.Shape, v.Strides = like, make([]int, len(like))
		}
		if v.Ptr == nil && v.IsContiguous() {
			continue
		}
		if !copied {
			in, copied = slices.Clone(in), true
		}
		if in[i], err = g.Dense(v, v.DType); err != nil {
			return nil, nil, nil, err
		}
	}
	return out, in, after, nil
}

// add takes the tensor whose addresses are at place count into the batch.
func (b *batch) add(size int) {
	b.elements[b.count] = int64(size)
	b.first[b.count+1] = b.first[b.count] + int32(ceil(int64(size), stepChunk))
	b.count++
}

// launch enqueues the kernel over the batch, unless it is empty, and empties it.
func (b *batch) launch(g ir.GPU, name string, lists int, args func(*driver.Params)) error {
	if b.count == 0 {
		return nil
	}
	clear(b.elements[b.count:])
	clear(b.first[b.count+1:])
	p := &b.params
	p.Reset()
	for _, n := range b.elements {
		p.Int64(n)
	}
	for i := range lists {
		clear(b.at[i][b.count:])
		for _, at := range b.at[i] {
			p.Uint64(at)
		}
	}
	for _, first := range b.first {
		p.Int32(first)
	}
	p.Int32(int32(b.count))
	args(p)
	p.Align(8) // the struct of numbers ends so
	blocks := int(b.first[b.count])
	b.count = 0
	return g.Launch("optimizer", name, [3]int{blocks, 1, 1}, block(stepThreads), 0, p.Bytes())
}
