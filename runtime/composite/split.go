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
