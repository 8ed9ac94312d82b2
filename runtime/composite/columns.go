package composite

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/shapes"
	"github.com/sinter-go/sinter/runtime/core"
)

// Columns are the operators that blocks are taken apart by.
type Columns struct {
	IndexSelect pick
	PadConstant padWith
	Unfold      narrow
	Slice       func(x *core.Tensor, dim, start, end, step int) *core.Tensor
	Permute     withInts
	Reshape     withInts
	Clone       copyOf
}

// A fold puts blocks together.
type fold = func(x *core.Tensor, size, kernel, stride, padding, dilation []int) *core.Tensor

// A blocking is how an image is cut into blocks, which may overlap.
type blocking struct{ image, kernel, dilation, padding, stride []int }

// newBlocking returns a blocking of len(image) axes: one entry of a list stands for all.
func newBlocking(image, kernel, dilation, padding, stride []int) (*blocking, error) {
	b := &blocking{image, kernel, dilation, padding, stride}
	least := []int{0, 1, 1, 0, 1}
	names := []string{"extents", "kernel_size", "dilation", "padding", "stride"}
	for i, list := range []*[]int{&b.image, &b.kernel, &b.dilation, &b.padding, &b.stride} {
		if len(*list) == 1 {
			*list = slices.Repeat(*list, len(image))
		}
		if len(*list) != len(image) || len(image) == 0 || slices.Min(*list) < least[i] {
			return nil, fmt.Errorf("%w: %s are %v, want a number of at least %d for each of %d axes, or one for all", ir.ErrShape, names[i], *list, least[i], len(image))
		}
	}
	for i, list := range [][]int{b.image, b.kernel, b.dilation, b.padding, b.stride} {
		if slices.Max(list) > mostElements {
			return nil, fmt.Errorf("%w: %s are %v, want at most %d", ir.ErrShape, names[i], list, mostElements)
		}
	}
	if err := ir.CheckShape(b.image); err != nil {
		return nil, err
	}
	if err := ir.CheckShape(slices.Concat(b.count(), b.kernel)); err != nil {
		return nil, err
	}
	if n := ir.NumElements(b.count()) * ir.NumElements(b.kernel); n > mostElements {
		return nil, fmt.Errorf("%w: %d elements of blocks, want at most %d", ir.ErrShape, n, mostElements)
	}
	if slices.Min(b.count()) < 1 {
		return nil, fmt.Errorf("%w: an image of extents %v with padding %v holds no block of kernel_size %v and dilation %v", ir.ErrShape, b.image, b.padding, b.kernel, b.dilation)
	}
	return b, nil
}

// count returns how many blocks there are along each axis.
func (b *blocking) count() []int {
	out := make([]int, len(b.image))
	for i, n := range b.image {
		if free := n + 2*b.padding[i] - b.dilation[i]*(b.kernel[i]-1) - 1; free >= 0 {
			out[i] = free/b.stride[i] + 1
		}
	}
	return out
}

// places returns where in an image, read as one axis, the elements of blocks lie: those of
// all blocks for the first element of a block, then for its second one. Padding is behind
// the image.
func (b *blocking) places() []int64 {
	count, outside := b.count(), int64(ir.NumElements(b.image))
	list := make([]int64, 0, ir.NumElements(b.kernel)*ir.NumElements(count))
	for k := range ir.NumElements(b.kernel) {
		for l := range ir.NumElements(count) {
			at, step, rest, block := int64(0), 1, k, l
			for i := len(b.image) - 1; i >= 0; i-- {
				p := block%count[i]*b.stride[i] + rest%b.kernel[i]*b.dilation[i] - b.padding[i]
				if p < 0 || p >= b.image[i] {
					at = outside
					break
				}
				at += int64(p * step)
				step *= b.image[i]
				rest, block = rest/b.kernel[i], block/count[i]
			}
			list = append(list, at)
		}
	}
	return list
}

// viewedAxes is the number of axes whose blocks are a view: one has two axes for each, and two more.
const viewedAxes = 3

// Im2col returns the blocks of x [n, channels, spatial...] as columns
// [n, channels * elements of a block, blocks].
func Im2col(o Columns, x *core.Tensor, kernel, dilation, padding, stride []int) *core.Tensor {
	if t := core.FirstError(x); t != nil {
		return t
	}
	shape := look(x).Shape()
	if len(shape) < 3 {
		return core.Fail(op("im2col"), fmt.Errorf("%w: x must be [n, channels, spatial...], has shape %v", ir.ErrShape, shape))
	}
	b, err := newBlocking(shape[2:], kernel, dilation, padding, stride)
	if err != nil {
		return core.Fail(op("im2col"), err)
	}
	to := []int{shape[0], shape[1] * ir.NumElements(b.kernel), ir.NumElements(b.count())}
	if len(b.image) <= viewedAxes {
		return o.viewed(x, b, to)
	}
	flat := o.Reshape(x, []int{shape[0] * shape[1], ir.NumElements(b.image)})
	if slices.Max(b.padding) > 0 {
		flat = o.PadConstant(flat, []int{0, 1}, ir.IntScalar(0))
	}
	index := core.From(b.places(), nil, core.Placement{Device: look(x).Device()})
	return o.Reshape(o.IndexSelect(flat, 1, index), to)
}

// viewed returns the blocks of x in the shape to: a copy of a view in which they overlap.
func (o Columns) viewed(x *core.Tensor, b *blocking, to []int) *core.Tensor {
	axes, all := len(b.image), x
	if slices.Max(b.padding) > 0 {
		var padding []int // from the last axis on, before and behind
		for _, p := range slices.Backward(b.padding) {
			padding = append(padding, p, p)
		}
		all = o.PadConstant(x, padding, ir.IntScalar(0))
	}
	order := []int{0, 1}
	for i := range axes {
		all = o.Unfold(all, 2+i, b.dilation[i]*(b.kernel[i]-1)+1, b.stride[i])
		if b.dilation[i] > 1 {
			all = o.Slice(all, -1, 0, b.dilation[i]*b.kernel[i], b.dilation[i])
		}
		order = append(order, 2+axes+i)
	}
	for i := range axes {
		order = append(order, 2+i)
	}
	out := o.Reshape(o.Permute(all, order), to)
	if core.FirstError(out) == nil && look(out).SharesStorage(look(x)) { // of blocks of one element
		return o.Clone(out)
	}
	return out
}

// Col2im returns images [n, channels, size...] whose blocks are the columns of x, with or
// without n. Elements that are in several blocks get their sum.
func Col2im(foldBlocks, parts fold, reshape withInts, x *core.Tensor, size, kernel, dilation, padding, stride []int) *core.Tensor {
	if t := core.FirstError(x); t != nil {
		return t
	}
	shape := look(x).Shape()
	b, err := newBlocking(size, kernel, dilation, padding, stride)
	if err != nil {
		return core.Fail(op("col2im"), err)
	}
	area, blocks := ir.NumElements(b.kernel), ir.NumElements(b.count())
	rank := len(shape)
	if rank != 2 && rank != 3 || shape[rank-2]%area != 0 || shape[rank-1] != blocks {
		return core.Fail(op("col2im"), fmt.Errorf("%w: x must be [n, channels*%d, %d] or [channels*%d, %d], has shape %v", ir.ErrShape, area, blocks, area, blocks, shape))
	}
	if !look(x).DType().IsFloat() || len(size) > foldedAxes {
		foldBlocks = parts
	}
	planes := reshape(x, []int{ir.NumElements(shape[:rank-1]) / area, area, blocks})
	lead := append(slices.Clone(shape[:rank-2]), shape[rank-2]/area)
	return reshape(foldBlocks(planes, b.image, b.kernel, b.stride, b.padding, b.dilation), append(lead, size...))
}

// foldedAxes is the number of axes that kernels put blocks together along.
const foldedAxes = 6

// FoldBlocks returns planes of the extents size whose blocks are x [planes, elements of a
// block, blocks].
func FoldBlocks(add indexAdd, narrow narrow, reshape withInts, x *core.Tensor, size, kernel, stride, padding, dilation []int) *core.Tensor {
	if t := core.FirstError(x); t != nil {
		return t
	}
	b, err := newBlocking(size, kernel, dilation, padding, stride)
	if err != nil {
		return core.Fail(op("fold_blocks_parts"), err)
	}
	shape, n := look(x).Shape(), ir.NumElements(size)
	if _, err := shapes.FoldBlocksShape(shape, size, kernel, stride, padding, dilation); err != nil {
		return core.Fail(op("fold_blocks_parts"), err)
	}
	place := core.PlacementLike(look(x))
	index := core.From(b.places(), nil, core.Placement{Device: look(x).Device()})
	sums := add(core.Zeros([]int{shape[0], n + 1}, *place), 1, index, reshape(x, []int{shape[0], shape[1] * shape[2]}))
	return reshape(narrow(sums, 1, 0, n), append([]int{shape[0]}, size...))
}
