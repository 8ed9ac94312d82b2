// Package composite holds the compositions that the schema's tensor language has
// no words for. Each is handed the operators it is made of, so the package knows
// none by itself, and its results are differentiated by those.
package composite

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// The types of the operators that compositions are handed.
type (
	narrow     = func(x *core.Tensor, dim, start, length int) *core.Tensor
	selectAt   = func(x *core.Tensor, dim, index int) *core.Tensor
	alongAxis  = func(x *core.Tensor, dim int) *core.Tensor
	joinLists  = func(xs []*core.Tensor, dim int) *core.Tensor
	withInts   = func(x *core.Tensor, list []int) *core.Tensor
	product    = func(x, y *core.Tensor) *core.Tensor
	indexAdd   = func(x *core.Tensor, dim int, index, src *core.Tensor) *core.Tensor
	restride   = func(x *core.Tensor, size, stride []int, offset int) *core.Tensor
	onDiagonal = func(x *core.Tensor, offset, dim0, dim1 int) *core.Tensor
	sumOver    = func(x *core.Tensor, dim []int, keepdim bool, dtype ir.DType) *core.Tensor
)

// maxParts bounds how many tensors one call makes.
const maxParts = 1 << 24

func op(name string) *ir.Op { return &ir.Op{Name: name} }

// refuse returns the list that stands for a failed composition.
func refuse(name string, err error) []*core.Tensor { return []*core.Tensor{core.Fail(op(name), err)} }

// usable returns x's error as the list that stands for a failed composition, or nil.
func usable(x *core.Tensor) []*core.Tensor {
	if t := core.FirstError(x); t != nil {
		return []*core.Tensor{t}
	}
	if x == nil {
		return []*core.Tensor{core.Absent()}
	}
	return nil
}

// SplitSizes returns the parts of x along dim with the given extents.
func SplitSizes(cut narrow, x *core.Tensor, sizes []int, dim int) []*core.Tensor {
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
	out := make([]*core.Tensor, len(sizes))
	at := 0
	for i, n := range sizes {
		out[i] = cut(x, axis, at, n)
		at += n
	}
	return out
}

func ownAxis(x *core.Tensor, dim int) (int, error) {
	if look(x).Rank() == 0 {
		return 0, fmt.Errorf("%w: a scalar has no axis to divide", ir.ErrShape)
	}
	return ir.Axis(dim, look(x).Rank())
}

// Split returns the parts of x along dim with size elements each; the last may
// have fewer.
func Split(cut narrow, x *core.Tensor, size, dim int) []*core.Tensor {
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
	out := make([]*core.Tensor, 0, n/size+1)
	for at := 0; at < n || at == 0; at += size {
		out = append(out, cut(x, axis, at, min(size, n-at)))
	}
	return out
}

// Chunk returns at most n parts of x along dim with equally many elements; the
// last may have fewer.
func Chunk(cut narrow, x *core.Tensor, n, dim int) []*core.Tensor {
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
		out := make([]*core.Tensor, n)
		for i := range out {
			out[i] = cut(x, axis, 0, 0)
		}
		return out
	}
	n = min(n, extent)
	return Split(cut, x, (extent+n-1)/n, dim)
}

// Unbind returns the slices of x along dim, without that axis.
func Unbind(pick selectAt, x *core.Tensor, dim int) []*core.Tensor {
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
	out := make([]*core.Tensor, n)
	for i := range out {
		out[i] = pick(x, axis, i)
	}
	return out
}

// Stack joins tensors of one shape along a new axis dim.
func Stack(raise alongAxis, cat joinLists, xs []*core.Tensor, dim int) *core.Tensor {
	if len(xs) == 0 {
		return core.Fail(op("stack"), fmt.Errorf("%w: no tensors", ir.ErrShape))
	}
	if t := core.FirstError(xs...); t != nil {
		return t
	}
	for i, x := range xs {
		if x == nil {
			return core.Absent()
		}
		if !slices.Equal(look(x).Shape(), look(xs[0]).Shape()) {
			return core.Fail(op("stack"), fmt.Errorf("%w: tensor %d has shape %v, tensor 0 %v", ir.ErrShape, i, look(x).Shape(), look(xs[0]).Shape()))
		}
	}
	raised := make([]*core.Tensor, len(xs))
	for i, x := range xs {
		raised[i] = raise(x, dim)
	}
	if dim < 0 {
		dim += look(xs[0]).Rank() + 1
	}
	return cat(raised, dim)
}

// Roll moves the elements of x by shifts along dims, around the ends. With no
// dims there is one shift, of the elements in row-major order.
func Roll(cut narrow, cat joinLists, reshape withInts, x *core.Tensor, shifts, dims []int) *core.Tensor {
	if bad := usable(x); bad != nil {
		return bad[0]
	}
	if len(dims) == 0 && len(shifts) == 1 {
		flat := reshape(x, []int{look(x).NumElements()})
		return reshape(Roll(cut, cat, reshape, flat, shifts, []int{0}), look(x).Shape())
	}
	if len(shifts) != len(dims) {
		return core.Fail(op("roll"), fmt.Errorf("%w: %d shifts for %d dims", ir.ErrShape, len(shifts), len(dims)))
	}
	for i, shift := range shifts {
		if t := core.FirstError(x); t != nil {
			return t
		}
		axis, err := ownAxis(x, dims[i])
		if err != nil {
			return core.Fail(op("roll"), err)
		}
		n := look(x).Shape()[axis]
		if n == 0 {
			continue
		}
		if shift = ((shift % n) + n) % n; shift != 0 {
			x = cat([]*core.Tensor{cut(x, axis, n-shift, shift), cut(x, axis, 0, n-shift)}, axis)
		}
	}
	return x
}

// AsStridedGrad returns the gradient of as_strided with respect to x from the
// gradient g of its result: what reaches each element of the storage is added
// up, and read back through x's layout.
func AsStridedGrad(add indexAdd, view restride, g, x *core.Tensor, size, stride []int, offset int) *core.Tensor {
	if t := core.FirstError(g, x); t != nil {
		return t
	}
	if offset < 0 {
		offset = look(x).Layout().Offset
	}
	n := look(x).StorageElements()
	l := ir.Layout{Shape: size, Strides: stride, Offset: offset}
	place := core.PlacementLike(g)
	if !l.SelfOverlaps() { // nothing need be added up
		total := core.Zeros([]int{n}, *place)
		if err := core.CopyFrom(view(total, size, stride, offset), g, core.TransferOptions{}, nil); err != nil {
			return core.Fail(op("as_strided_grad"), err)
		}
		return readThrough(view, total, look(x).Layout())
	}
	index := core.From(positions(l), nil, core.Placement{Device: place.Device})
	flat := core.Copy(g)
	flat = view(flat, []int{look(flat).NumElements()}, []int{1}, 0)
	return readThrough(view, add(core.Zeros([]int{n}, *place), 0, index, flat), look(x).Layout())
}

// readThrough reads a storage through a layout.
func readThrough(view restride, storage *core.Tensor, l ir.Layout) *core.Tensor {
	x := view(storage, l.Shape, l.Strides, l.Offset)
	if l.IsContiguous() && look(storage).NumElements() == ir.NumElements(l.Shape) {
		return x
	}
	return core.Copy(x)
}

// positions returns the storage positions of a layout's elements, row-major.
func positions(l ir.Layout) []int64 {
	out := []int64{int64(l.Offset)}
	for i, d := range l.Shape {
		next := make([]int64, 0, len(out)*d)
		for _, at := range out {
			for k := range d {
				next = append(next, at+int64(k*l.Strides[i]))
			}
		}
		out = next
	}
	return out
}
