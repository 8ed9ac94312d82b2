package launch

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// As in joint.cuh.
const (
	jointTensors = 64   // tensors of each list that a launch takes
	jointChunk   = 4096 // elements a block takes
	jointThreads = 256
)

// A batch is the tensors that one launch changes: of each place those that are written,
// then the other operands.
type batch struct {
	elements [jointTensors]int64
	at       [ir.MaxJoint][jointTensors]uint64
	first    [jointTensors + 1]int32 // blocks before each tensor
	count    int
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// joint changes lists of tensors, up to jointTensors in a launch.
func (x *Context) joint(c *ir.Call) error {
	results, operands := len(c.Op.Out), len(c.Op.In)
	n := len(c.Out) / max(results, 1)
	if n*results != len(c.Out) || n*operands != len(c.In) || results+operands > ir.MaxJoint {
		return fmt.Errorf("%s: %d results and %d operands for lists of %d and %d, %d at most", c.Op.Name, len(c.Out), len(c.In), results, operands, ir.MaxJoint)
	}
	if n == 0 {
		return nil
	}
	out, in, err := x.denseLists(c, n)
	if err != nil {
		return err
	}
	loop, err := jointLoop(c, in)
	if err != nil {
		return err
	}
	set := x.device.loopsOf(c.Kernel)
	b := batches.Get().(*batch)
	defer batches.Put(b)
	b.count = 0
	for k := range n {
		size := out[k].NumElements()
		if size == 0 {
			continue
		}
		for i := range results {
			b.at[i][b.count] = out[i*n+k].Addr
		}
		for i := range operands {
			b.at[results+i][b.count] = in[i*n+k].Addr
		}
		b.add(size)
		if b.count == jointTensors {
			if err := x.launchBatch(c, set, loop, b, results+operands); err != nil {
				return err
			}
		}
	}
	if err := x.launchBatch(c, set, loop, b, results+operands); err != nil {
		return err
	}
	for i, v := range c.Out {
		if out[i].Addr != v.Addr {
			if err := x.Store(v, out[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// jointLoop returns the loop for the dtype that the operands have.
func jointLoop(c *ir.Call, in []ir.View) (loop int, err error) {
	for i, v := range in {
		if v.DType != in[0].DType || !c.Op.Reads(v.DType, c.DType) {
			return 0, fmt.Errorf("%s: operand %d is %s, others are %s and results %s", c.Op.Name, i, v.DType, in[0].DType, c.DType)
		}
	}
	if len(in) == 0 || in[0].DType == c.DType {
		return contiguousLoop, nil
	}
	return contiguousLoop + 1 + slices.Index(ir.Narrow(), in[0].DType), nil
}

// denseLists returns the results and operands of a call without gaps: those with
// gaps are copies, and an operand without axes as many elements as the result has.
func (x *Context) denseLists(c *ir.Call, n int) (out, in []ir.View, err error) {
	out, in = c.Out, c.In
	for i, v := range c.Out {
		if v.IsContiguous() {
			continue
		}
		if &out[0] == &c.Out[0] {
			out = slices.Clone(out)
		}
		if out[i], err = x.Dense(v, v.DType); err != nil {
			return nil, nil, err
		}
	}
	for i, v := range c.In {
		if like := c.Out[i%n].Shape; len(v.Shape) == 0 && len(like) > 0 {
			v.Shape, v.Strides = like, make([]int, len(like))
		}
		if v.Ptr == nil && v.IsContiguous() {
			continue
		}
		if &in[0] == &c.In[0] {
			in = slices.Clone(in)
		}
		if in[i], err = x.Dense(v, v.DType); err != nil {
			return nil, nil, err
		}
	}
	return out, in, nil
}

// add takes the tensors whose addresses are at place count into the batch.
func (b *batch) add(size int) {
	b.elements[b.count] = int64(size)
	b.first[b.count+1] = b.first[b.count] + int32((int64(size)+jointChunk-1)/jointChunk)
	b.count++
}

// launchBatch enqueues the kernel over the batch, unless it is empty, and empties it.
func (x *Context) launchBatch(c *ir.Call, set *loopSet, loop int, b *batch, lists int) error {
	if b.count == 0 {
		return nil
	}
	clear(b.elements[b.count:])
	clear(b.first[b.count+1:])
	x.params.Reset()
	for _, n := range b.elements {
		x.params.Int64(n)
	}
	for i := range lists {
		clear(b.at[i][b.count:])
		for _, at := range b.at[i] {
			x.params.Uint64(at)
		}
	}
	for _, first := range b.first {
		x.params.Int32(first)
	}
	x.params.Int32(int32(b.count))
	blocks := b.first[b.count]
	b.count = 0
	if err := x.functor(c); err != nil {
		return err
	}
	return x.launch(set, loop, driver.Dim3{X: uint32(blocks), Y: 1, Z: 1}, driver.Dim3{X: jointThreads, Y: 1, Z: 1})
}
