package composite

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/shapes"
	"github.com/sinter-go/sinter/runtime/core"
)

// maxParts bounds how many tensors one call makes.
const maxParts = 1 << 24

// A division cuts a tensor along axis into parts that follow one another. It is one node
// of the graph: its gradient is those of the parts side by side, written once, where the
// gradient that each part has by itself is as large as the tensor.
type division struct {
	op      *ir.Op
	axis    int
	extents []int     // of the parts along axis
	raise   alongAxis // gives a part's gradient the axis; nil where parts have it
	cat     joinLists
	pad     padWith
}

// The descriptors of divisions, which no call makes anew.
var (
	splitSizesOp = ir.Op{Name: "split_sizes", Kind: ir.Composition, Switch: -1, DTypes: ir.ClassAll, Tags: ir.TagHidden, In: whole, Out: part}
	splitOp      = ir.Op{Name: "split", Kind: ir.Composition, Switch: -1, DTypes: ir.ClassAll, Tags: ir.TagHidden, In: whole, Out: part}
	unbindOp     = ir.Op{Name: "unbind", Kind: ir.Composition, Switch: -1, DTypes: ir.ClassAll, Tags: ir.TagHidden, In: whole, Out: part}

	whole = []ir.Operand{{Name: "x"}}
	part  = []ir.Result{{Name: "out"}}
)

// apply returns the parts of x, views that cut makes.
func (d *division) apply(x *core.Tensor, cut func(at, n int) *core.Tensor) []*core.Tensor {
	if len(d.extents) == 0 {
		return nil
	}
	return core.Custom(core.Apply{Op: d.op, In: []*core.Tensor{x}, Backward: d.backward}, func() []*core.Tensor {
		out := make([]*core.Tensor, len(d.extents))
		at := 0
		for i, n := range d.extents {
			out[i] = cut(at, n)
			at += n
		}
		return out
	})
}

// backward puts the gradients of the parts side by side, and zeros where none arrived.
// A single one is padded.
func (d *division) backward(g *core.Grad) {
	shape := g.InShape(0)
	var parts []*core.Tensor
	alone := d.alone(g)
	at, end := 0, 0 // end is that of the last part with a gradient
	for i, n := range d.extents {
		if g.HasDy(i) {
			dy := g.Dy(i)
			if d.raise != nil {
				dy = d.raise(dy, d.axis)
			}
			if alone {
				g.Set(0, d.pad(dy, shapes.PadDim(len(shape), d.axis, at, shape[d.axis]-at-n), ir.IntScalar(0)))
				return
			}
			parts = append(d.fill(parts, dy, shape, at-end), dy)
			end = at + n
		}
		at += n
	}
	g.Set(0, d.cat(d.fill(parts, parts[0], shape, at-end), d.axis))
}

// alone reports whether the gradient of one part alone has arrived.
func (d *division) alone(g *core.Grad) bool {
	n := 0
	for i := range d.extents {
		if g.HasDy(i) {
			n++
		}
	}
	return n == 1
}

// fill appends zeros for so many elements along the axis to parts, with the dtype and the
// device of like.
func (d *division) fill(parts []*core.Tensor, like *core.Tensor, shape []int, n int) []*core.Tensor {
	if n == 0 {
		return parts
	}
	shape = slices.Clone(shape)
	shape[d.axis] = n
	return append(parts, core.Zeros(shape, *core.PlacementLike(look(like))))
}

// SplitSizes returns the parts of x along dim with the given extents.
func SplitSizes(cut narrow, cat joinLists, pad padWith, x *core.Tensor, sizes []int, dim int) []*core.Tensor {
	if bad := usable(x); bad != nil {
		return bad
	}
	axis, err := ownAxis(x, dim)
	if err != nil {
		return refuse("split_sizes", err)
	}
	total := 0
	for _, n := range sizes {
		if total += n; n < 0 {
			return refuse("split_sizes", fmt.Errorf("%w: negative extent in %v", ir.ErrShape, sizes))
		}
	}
	if have := look(x).Shape()[axis]; total != have {
		return refuse("split_sizes", fmt.Errorf("%w: extents %v add up to %d, dim %d of %v has %d", ir.ErrShape, sizes, total, dim, look(x).Shape(), have))
	}
	d := division{op: &splitSizesOp, axis: axis, extents: sizes, cat: cat, pad: pad}
	return d.apply(x, func(at, n int) *core.Tensor { return cut(x, axis, at, n) })
}

func ownAxis(x *core.Tensor, dim int) (int, error) {
	if look(x).Rank() == 0 {
		return 0, fmt.Errorf("%w: a scalar has no axis to divide", ir.ErrShape)
	}
	return ir.Axis(dim, look(x).Rank())
}

// Split returns the parts of x along dim with size elements each; the last may
// have fewer.
func Split(cut narrow, cat joinLists, pad padWith, x *core.Tensor, size, dim int) []*core.Tensor {
	if bad := usable(x); bad != nil {
		return bad
	}
	axis, err := ownAxis(x, dim)
	if err == nil && size < 1 {
		err = fmt.Errorf("%w: parts of %d elements", ir.ErrShape, size)
	}
	if err != nil {
		return refuse("split", err)
	}
	n := look(x).Shape()[axis]
	if n/size > maxParts {
		return refuse("split", fmt.Errorf("%w: %d parts of %d elements; at most %d are made", ir.ErrShape, n/size, size, maxParts))
	}
	extents := make([]int, 0, n/size+1)
	for at := 0; at < n || at == 0; at += size {
		extents = append(extents, min(size, n-at))
	}
	d := division{op: &splitOp, axis: axis, extents: extents, cat: cat, pad: pad}
	return d.apply(x, func(at, n int) *core.Tensor { return cut(x, axis, at, n) })
}

// Chunk returns at most n parts of x along dim with equally many elements; the
// last may have fewer.
func Chunk(cut narrow, cat joinLists, pad padWith, x *core.Tensor, n, dim int) []*core.Tensor {
	if bad := usable(x); bad != nil {
		return bad
	}
	axis, err := ownAxis(x, dim)
	if err == nil && n < 1 {
		err = fmt.Errorf("%w: %d parts", ir.ErrShape, n)
	}
	if err != nil {
		return refuse("chunk", err)
	}
	extent := look(x).Shape()[axis]
	if extent == 0 {
		if n > maxParts {
			return refuse("chunk", fmt.Errorf("%w: %d parts; at most %d are made", ir.ErrShape, n, maxParts))
		}
		return SplitSizes(cut, cat, pad, x, make([]int, n), axis)
	}
	n = min(n, extent)
	return Split(cut, cat, pad, x, (extent+n-1)/n, dim)
}

// Unbind returns the slices of x along dim, without that axis.
func Unbind(pick selectAt, raise alongAxis, cat joinLists, pad padWith, x *core.Tensor, dim int) []*core.Tensor {
	if bad := usable(x); bad != nil {
		return bad
	}
	axis, err := ownAxis(x, dim)
	if err != nil {
		return refuse("unbind", err)
	}
	n := look(x).Shape()[axis]
	if n > maxParts {
		return refuse("unbind", fmt.Errorf("%w: %d parts; at most %d are made", ir.ErrShape, n, maxParts))
	}
	d := division{op: &unbindOp, axis: axis, extents: slices.Repeat([]int{1}, n), raise: raise, cat: cat, pad: pad}
	return d.apply(x, func(at, _ int) *core.Tensor { return pick(x, axis, at) })
}
