package composite

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// regionOf is the view that region makes.
type regionOf = func(x *core.Tensor, start, extents, step []int) *core.Tensor

// placed returns zeros of the given shape but for g, which stands in the view of them: a
// pass that writes zeros, and one over g.
func placed(name string, g *core.Tensor, shape []int, view func(x *core.Tensor) *core.Tensor) *core.Tensor {
	if t := core.FirstError(g); t != nil {
		return t
	}
	out := core.Zeros(shape, *core.PlacementLike(look(g)))
	to := view(out)
	if t := core.FirstError(out, to); t != nil {
		return t
	}
	if err := core.CopyFrom(to, g, core.TransferOptions{}, nil); err != nil {
		return core.Fail(op(name), err)
	}
	return out
}

// RegionPlaced returns zeros of the shape input but for g, which is their region.
func RegionPlaced(region regionOf, g *core.Tensor, input, start, step []int) *core.Tensor {
	return placed("region_placed", g, input, func(x *core.Tensor) *core.Tensor { return region(x, start, look(g).Shape(), step) })
}

// RegionPut returns a copy of x whose region of src's shape is src.
func RegionPut(region regionOf, x, src *core.Tensor, start, step []int) *core.Tensor {
	out := core.Copy(x)
	to := region(out, start, look(src).Shape(), step)
	if t := core.FirstError(out, to); t != nil {
		return t
	}
	if err := core.CopyFrom(to, src, core.TransferOptions{}, nil); err != nil {
		return core.Fail(op("region_put"), err)
	}
	return out
}

// DiagonalPlaced returns zeros of the shape input but for g, which is their diagonal.
func DiagonalPlaced(diagonal onDiagonal, g *core.Tensor, input []int, offset, dim0, dim1 int) *core.Tensor {
	return placed("diagonal_grad", g, input, func(x *core.Tensor) *core.Tensor { return diagonal(x, offset, dim0, dim1) })
}

// AsStridedGrad returns the gradient of as_strided with respect to x from the
// gradient g of its result: what reaches each element of the storage is added
// up, and read back through x's layout.
func AsStridedGrad(add indexAdd, view restride, g, x *core.Tensor, size, stride []int, offset int) *core.Tensor {
	if t := core.FirstError(g, x); t != nil {
		return t
	}
	if err := core.WholeStorage(look(x)); err != nil {
		return core.Fail(op("as_strided_grad"), err)
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
