// Package index reads and writes parts of tensors that a program names by numbers,
// ranges, tensors of places and masks, with PyTorch's rules. It is handed the
// operators that this is made of, so it knows none by itself, and what it reads is
// differentiated by those. What the words of an index mean is told where programs
// write them, at Tensor.Index of package tensor.
package index

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// Open is the bound of a range that goes as far as the axis does.
const Open = -1 << 31

// Operators are what indexing is made of.
type Operators struct {
	Region       func(x *core.Tensor, start, extents, step []int) *core.Tensor
	RegionPut    func(x, src *core.Tensor, start, step []int) *core.Tensor
	Flip         func(x *core.Tensor, dims []int) *core.Tensor
	Reshape      func(x *core.Tensor, shape []int) *core.Tensor
	Expand       func(x *core.Tensor, shape []int) *core.Tensor
	WrappedIndex func(places *core.Tensor, n int) *core.Tensor
	AxisIndex    func(index *core.Tensor, dim, n, stride int) *core.Tensor
	Steps        func(shape []int, length, step int, place *core.Placement) *core.Tensor
	IndexSelect  func(x *core.Tensor, dim int, index *core.Tensor) *core.Tensor
	Scatter      func(x *core.Tensor, dim int, index, src *core.Tensor) *core.Tensor
	ScatterOut   func(dst, x *core.Tensor, dim int, index, src *core.Tensor) error
	IndexAdd     func(x *core.Tensor, dim int, index, src *core.Tensor) *core.Tensor
	IndexAddOut  func(dst, x *core.Tensor, dim int, index, src *core.Tensor) error
	MaskedSelect func(x, mask *core.Tensor) *core.Tensor
	Nonzero      func(x *core.Tensor) *core.Tensor
	Where        func(cond, x, y *core.Tensor) *core.Tensor
	Add          func(x, y *core.Tensor) *core.Tensor
	AddInPlace   func(x, y *core.Tensor) error
	Full         func(shape []int, value ir.Scalar, place *core.Placement) *core.Tensor
	SumTo        func(x *core.Tensor, shape []int) *core.Tensor
}

// The names of what programs call, for messages.
var (
	readOp = &ir.Op{Name: "index"}
	setOp  = &ir.Op{Name: "at.set"}
	addOp  = &ir.Op{Name: "at.add"}
)

// Read returns the part of x that ix names: a view where ix holds only numbers,
// ranges that go up and new axes, else new memory.
func (o *Operators) Read(x *core.Tensor, ix []any) *core.Tensor {
	if t := core.FirstError(x); t != nil {
		return t
	}
	out := core.Composing(func() *core.Tensor {
		p, err := newPart(x, ix)
		if err != nil {
			return core.Fail(readOp, err)
		}
		return o.read(x, p)
	})
	core.Composed(readOp, []*core.Tensor{x}, out)
	return out
}

// read returns the part p of x.
func (o *Operators) read(x *core.Tensor, p *part) *core.Tensor {
	if p.plain() {
		r := p.region(o, x, 0)
		return o.Reshape(p.flipped(o, r, 0), p.shape())
	}
	if m := p.wholeMask(); m != nil {
		return o.MaskedSelect(x, m)
	}
	if err := p.placed(o); err != nil {
		return core.Fail(readOp, err)
	}
	if axis, at := p.single(o); at != nil {
		r := o.IndexSelect(p.region(o, x, 0), axis, o.WrappedIndex(at, p.of[axis]))
		return o.Reshape(p.flipped(o, r, 0), p.shape())
	}
	rows := p.rows(o, x)
	at := p.positions(o)
	chosen := o.IndexSelect(rows, 0, o.Reshape(at, []int{core.Look(at).NumElements()}))
	return o.Reshape(p.flipped(o, chosen, p.lead), p.shape())
}
