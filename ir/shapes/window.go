package shapes

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// A window is how a kernel moves along one spatial axis.
type window struct {
	kernel, stride, padding, dilation int
	ceil                              bool
}

// extent returns the number of windows over n elements.
func (w window) extent(n int) (int, error) {
	switch {
	case w.kernel < 1:
		return 0, ir.ShapeErrorf("kernel extent %d is less than 1", w.kernel)
	case w.stride < 1:
		return 0, ir.ShapeErrorf("stride %d is less than 1", w.stride)
	case w.dilation < 1:
		return 0, ir.ShapeErrorf("dilation %d is less than 1", w.dilation)
	case w.padding < 0:
		return 0, ir.ShapeErrorf("padding %d is negative", w.padding)
	}
	reach, ok := ir.MulInts(w.dilation, w.kernel-1)
	if !ok {
		return 0, ir.ShapeErrorf("kernel extent %d with dilation %d is too large", w.kernel, w.dilation)
	}
	padded, ok := ir.SumInts(n, w.padding, w.padding)
	if !ok {
		return 0, ir.ShapeErrorf("padding %d is too large", w.padding)
	}
	if reach >= padded {
		return 0, ir.ShapeErrorf("kernel extent %d with dilation %d does not fit %d elements with padding %d", w.kernel, w.dilation, n, w.padding)
	}
	free := padded - reach - 1
	out := free/w.stride + 1
	if w.ceil && free%w.stride != 0 && out <= (n+w.padding-1)/w.stride {
		out++ // the window that starts at out*stride begins before the right padding
	}
	return out, nil
}

// windows returns the extents of a result over the spatial axes.
func windows(spatial, kernel, stride, padding, dilation []int, ceil bool) ([]int, error) {
	n := len(spatial)
	for _, l := range []struct {
		name string
		list []int
	}{{"kernel", kernel}, {"stride", stride}, {"padding", padding}, {"dilation", dilation}} {
		if len(l.list) != n {
			return nil, ir.ShapeErrorf("%s %v must have one entry for each of the %d spatial axes", l.name, l.list, n)
		}
	}
	out := make([]int, n)
	for i := range out {
		e, err := window{kernel[i], stride[i], padding[i], dilation[i], ceil}.extent(spatial[i])
		if err != nil {
			return nil, err
		}
		out[i] = e
	}
	return out, nil
}

// ConvolutionShape returns the shape [n, out, spatial...] of the convolution of
// x [n, channels, spatial...] with weight [out, channels/groups, kernel...].
func ConvolutionShape(x, weight, stride, padding, dilation []int, groups int) ([]int, error) {
	if len(x) < 3 || len(weight) != len(x) {
		return nil, ir.ShapeErrorf("a convolution takes x [n, channels, spatial...] and weight [out, channels/groups, kernel...] of one rank, have %v and %v", x, weight)
	}
	if groups < 1 || x[1]%groups != 0 || weight[0]%groups != 0 {
		return nil, ir.ShapeErrorf("groups %d must divide the %d channels of x %v and the %d of weight %v", groups, x[1], x, weight[0], weight)
	}
	if x[1]/groups != weight[1] {
		return nil, ir.ShapeErrorf("weight %v expects %d channels in each of %d groups, x %v has %d", weight, weight[1], groups, x, x[1]/groups)
	}
	spatial, err := windows(x[2:], weight[2:], stride, padding, dilation, false)
	if err != nil {
		return nil, err
	}
	out := append([]int{x[0], weight[0]}, spatial...)
	return out, ir.CheckShape(out)
}

// ConvolutionBiasShape is ConvolutionShape of a convolution plus bias, which has one element for each
// channel of the result.
func ConvolutionBiasShape(x, weight, bias, stride, padding, dilation []int, groups int) ([]int, error) {
	out, err := ConvolutionShape(x, weight, stride, padding, dilation, groups)
	if err == nil && !slices.Equal(bias, out[1:2]) {
		return nil, ir.ShapeErrorf("bias %v must have one element for each of the %d channels of the result", bias, out[1])
	}
	return out, err
}

// ConvolutionGradInputShape returns input, the shape of x in a convolution with
// weight whose result has g's shape.
func ConvolutionGradInputShape(g, weight, input, stride, padding, dilation []int, groups int) ([]int, error) {
	if err := ir.CheckShape(input); err != nil {
		return nil, err
	}
	want, err := ConvolutionShape(input, weight, stride, padding, dilation, groups)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(want, g) {
		return nil, ir.ShapeErrorf("the convolution of %v with weight %v has shape %v, not %v", input, weight, want, g)
	}
	return input, nil
}

// ConvolutionGradWeightShape returns kernel, the shape of weight in a
// convolution of x whose result has g's shape.
func ConvolutionGradWeightShape(g, x, kernel, stride, padding, dilation []int, groups int) ([]int, error) {
	if err := ir.CheckShape(kernel); err != nil {
		return nil, err
	}
	want, err := ConvolutionShape(x, kernel, stride, padding, dilation, groups)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(want, g) {
		return nil, ir.ShapeErrorf("the convolution of %v with weight %v has shape %v, not %v", x, kernel, want, g)
	}
	return kernel, nil
}

// poolShape returns the shape of windows over the last axes of x.
func poolShape(x, kernel, stride, padding, dilation []int, ceil bool) ([]int, error) {
	switch {
	case len(x) == 0:
		return nil, ir.ShapeErrorf("kernel %v moves over axes, of which a scalar has none", kernel)
	case len(kernel) == 0 || len(kernel) > len(x):
		return nil, ir.ShapeErrorf("kernel %v must have between 1 and %d entries for shape %v", kernel, len(x), x)
	}
	lead := len(x) - len(kernel)
	spatial, err := windows(x[lead:], kernel, stride, padding, dilation, ceil)
	if err != nil {
		return nil, err
	}
	for i, p := range padding {
		if reach := dilation[i] * (kernel[i] - 1); p > (reach+1)/2 {
			return nil, ir.ShapeErrorf("padding %d is more than half of the window's extent %d", p, reach+1)
		}
	}
	out := append(slices.Clone(x[:lead]), spatial...)
	return out, ir.CheckShape(out)
}

// MaxPoolShape returns the shape of the largest elements of windows over the
// last axes of x, twice: for the values and for their positions.
func MaxPoolShape(x, kernel, stride, padding, dilation []int, ceil bool) ([][]int, error) {
	out, err := poolShape(x, kernel, stride, padding, dilation, ceil)
	if err != nil {
		return nil, err
	}
	return [][]int{out, out}, nil
}

// MaxUnpoolShape returns the shape input of what was pooled over its last axes, from
// the gradient g of the values and the positions of these.
func MaxUnpoolShape(g, indices, input []int, axes int) ([]int, error) {
	lead := len(input) - axes
	if axes < 1 || lead < 0 || len(g) != len(input) || !slices.Equal(g, indices) || !slices.Equal(g[:lead], input[:lead]) {
		return nil, ir.ShapeErrorf("g %v and indices %v are not those of %d axes of %v", g, indices, axes, input)
	}
	return input, ir.CheckShape(input)
}

// AvgPoolShape returns the shape of the means of windows over the last axes of x.
func AvgPoolShape(x, kernel, stride, padding []int, ceil bool) ([]int, error) {
	return poolShape(x, kernel, stride, padding, ones(len(kernel)), ceil)
}

// AvgPoolGradShape returns input, the shape of x in a pooling whose result has
// g's shape.
func AvgPoolGradShape(g, input, kernel, stride, padding []int, ceil bool) ([]int, error) {
	if err := ir.CheckShape(input); err != nil {
		return nil, err
	}
	want, err := AvgPoolShape(input, kernel, stride, padding, ceil)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(want, g) {
		return nil, ir.ShapeErrorf("windows %v over %v give shape %v, not %v", kernel, input, want, g)
	}
	return input, nil
}

// FoldBlocksShape returns the shape [planes, size...] of planes that x [planes, elements of
// a block, blocks] is put together to.
func FoldBlocksShape(x, size, kernel, stride, padding, dilation []int) ([]int, error) {
	if len(x) != 3 || len(size) == 0 {
		return nil, ir.ShapeErrorf("blocks are x [planes, elements of a block, blocks] and go to one axis or more, have %v and %v", x, size)
	}
	for _, list := range [][]int{size, kernel} {
		if err := ir.CheckShape(list); err != nil {
			return nil, err
		}
	}
	count, err := windows(size, kernel, stride, padding, dilation, false)
	if err != nil {
		return nil, err
	}
	if x[1] != ir.NumElements(kernel) || ir.CheckShape(count) != nil || x[2] != ir.NumElements(count) {
		return nil, ir.ShapeErrorf("windows %v over %v are %v blocks, not those of x %v", kernel, size, count, x)
	}
	out := append([]int{x[0]}, size...)
	return out, ir.CheckShape(out)
}

// Windows returns how many windows there are along each of the extents spatial, which have
// some.
func Windows(spatial, kernel, stride, padding, dilation []int) []int {
	count, err := windows(spatial, kernel, stride, padding, dilation, false)
	if err != nil {
		return nil
	}
	return count
}

func ones(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1
	}
	return list
}
