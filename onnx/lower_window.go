package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/runtime/core"
)

// windows are convolutions and poolings.
var windows = map[string]lowering{
	"Conv":              {make: convolve},
	"ConvTranspose":     {make: convolveTransposed},
	"MaxPool":           {make: maxPool},
	"MaxUnpool":         {make: maxUnpool},
	"AveragePool":       {make: averagePool},
	"LpPool":            {make: lpPool},
	"Col2Im":            {make: fold},
	"DeformConv":        {make: deform},
	"GlobalAveragePool": plain(global(func(x tensor.Tensor, dims []int) tensor.Tensor { return mean(x, dims, true) })),
	"GlobalMaxPool": plain(global(func(x tensor.Tensor, dims []int) tensor.Tensor {
		return tensor.Max(x, tensor.Dim(dims...), tensor.KeepDim())
	})),
	"GlobalLpPool": {make: func(n *node) kernel {
		p := float64(n.int("p"))
		return global(func(x tensor.Tensor, dims []int) tensor.Tensor {
			return sum(x.Abs().PowScalar(p), dims, true).PowScalar(1 / p)
		})
	}},
}

// fold adds windows up where they overlap: the gradient of taking them.
func fold(n *node) kernel {
	w0 := window{strides: n.ints("strides"), dilations: n.ints("dilations"), pads: n.ints("pads")}
	n.lacks(0, func(dt tensor.DType) bool { return dt == tensor.Bool })
	return func(c *call) error {
		image, err := c.ints(1)
		if err != nil {
			return err
		}
		block, err := c.ints(2)
		if err != nil {
			return err
		}
		w, err := w0.on(image, block)
		if err != nil {
			return err
		}
		x, d := c.t(0), len(image)
		if x.Rank() != 3 {
			return fmt.Errorf("columns of shape %v for blocks of %v", x.Shape(), block)
		}
		full := slices.Clone(image) // with the padding
		for i := range d {
			full[i] += w.pads[i] + w.pads[d+i]
		}
		if err := c.size(append([]int{x.Size(0), x.Size(1)}, full...)); err != nil {
			return err
		}
		y := x.Col2im(full, block, tensor.Dilation(w.dilations...), tensor.Stride(w.strides...))
		for i := range d {
			y = y.Narrow(2+i, w.pads[i], image[i])
		}
		return c.put(0, y)
	}
}

// deform convolves at places that are moved by offsets.
func deform(n *node) kernel {
	w0, groups, parts := windowOf(n), n.int("group"), n.int("offset_group")
	if len(w0.kernel) > 0 && len(w0.kernel) != 2 {
		n.refuse("a deformable convolution with %d spatial axes", len(w0.kernel))
	}
	return func(c *call) error {
		x, weight, offset := c.t(0), c.t(1), c.t(2)
		if x.Rank() != 4 || weight.Rank() != 4 || offset.Rank() != 4 {
			return fmt.Errorf("%w: a deformable convolution of %v with %v", ErrUnsupported, x.Shape(), weight.Shape())
		}
		w, err := w0.on(x.Shape()[2:], weight.Shape()[2:])
		if err != nil {
			return err
		}
		if x.Size(1) != groups*weight.Size(1) || offset.Size(1) != parts*2*product(weight.Shape()[2:]) {
			return fmt.Errorf("%d groups and %d of offsets %v for a deformable convolution of %v with %v", groups, parts, offset.Shape(), x.Shape(), weight.Shape())
		}
		pads := w.pads[:2]
		if !w.even() {
			x, pads = x.Pad(w.around()), make([]int, 2)
		}
		opts := []tensor.Option{tensor.Stride(w.strides...), tensor.Dilation(w.dilations...), tensor.Padding(pads...)}
		if err := c.shaped(3, weight.Size(0)); err != nil {
			return err
		}
		if c.has(3) {
			opts = append(opts, tensor.Bias(c.t(3)))
		}
		if c.has(4) {
			opts = append(opts, tensor.Mask(c.t(4)))
		}
		return c.put(0, x.DeformConv2d(offset, weight, opts...))
	}
}

// spatial returns the axes after the channels.
func spatial(x tensor.Tensor) []int { return last(x.Rank(), max(x.Rank()-2, 0)) }

// global reduces the axes after the channels.
func global(f func(x tensor.Tensor, dims []int) tensor.Tensor) kernel {
	return func(c *call) error {
		x := c.t(0)
		if x.Rank() < 3 {
			return fmt.Errorf("a pooling of %v, which has no spatial axes", x.Shape())
		}
		return c.put(0, f(x, spatial(x)))
	}
}

// A window is the geometry of a convolution or a pooling, per axis.
type window struct {
	auto                             string
	kernel, strides, dilations, pads []int
	ceil                             bool
}

// windowOf reads the attributes of a window.
func windowOf(n *node) window {
	w := window{kernel: n.ints("kernel_shape"), strides: n.ints("strides"), dilations: n.ints("dilations"), pads: n.ints("pads"), ceil: n.flag("ceil_mode")}
	w.auto = "NOTSET"
	if _, ok := n.spec.Attribute("auto_pad"); ok {
		w.auto = n.oneOf("auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
	}
	for _, list := range [][]int{w.kernel, w.strides, w.dilations} {
		for _, v := range list {
			if v < 1 {
				n.refuse("a window of %v in steps of %v, dilated by %v", w.kernel, w.strides, w.dilations)
			}
		}
	}
	return w
}

// on returns the window for spatial extents, with what the file leaves out, and pads
// before and after each axis.
func (w window) on(extents, kernel []int) (window, error) {
	d := len(extents)
	fill := func(list []int, n, v int) []int {
		if list == nil {
			list = slices.Repeat([]int{v}, n)
		}
		return list
	}
	if w.kernel == nil {
		w.kernel = kernel
	} else if kernel != nil && !slices.Equal(kernel, w.kernel) {
		return w, fmt.Errorf("kernel_shape %v, and a weight of %v", w.kernel, kernel)
	}
	w.strides, w.dilations, w.pads = fill(w.strides, d, 1), fill(w.dilations, d, 1), fill(w.pads, 2*d, 0)
	if len(w.kernel) != d || len(w.strides) != d || len(w.dilations) != d || len(w.pads) != 2*d {
		return w, fmt.Errorf("kernel_shape %v, strides %v, dilations %v, pads %v for %d axes", w.kernel, w.strides, w.dilations, w.pads, d)
	}
	if w.auto == "SAME_UPPER" || w.auto == "SAME_LOWER" {
		w.pads = make([]int, 2*d)
		for i, n := range extents {
			out := (n + w.strides[i] - 1) / w.strides[i]
			total := max((out-1)*w.strides[i]+w.span(i)-n, 0)
			w.pads[i], w.pads[d+i] = total/2, total-total/2
			if w.auto == "SAME_LOWER" {
				w.pads[i], w.pads[d+i] = w.pads[d+i], w.pads[i]
			}
		}
	} else if w.auto == "VALID" {
		w.pads = make([]int, 2*d)
	}
	return w, nil
}

// over returns the window for a tensor [n, c, spatial...].
func (w window) over(x tensor.Tensor, kernel []int) (window, error) {
	if x.Rank() < 3 {
		return w, fmt.Errorf("windows over %v, which has no spatial axes", x.Shape())
	}
	return w.on(x.Shape()[2:], kernel)
}

// span returns the elements that a window reaches over along axis i.
func (w window) span(i int) int { return (w.kernel[i]-1)*w.dilations[i] + 1 }

// even reports whether all pads before and after are equal.
func (w window) even() bool {
	d := len(w.kernel)
	return slices.Equal(w.pads[:d], w.pads[d:])
}

// around returns the pads in the order that tensor.Pad takes them.
func (w window) around() []int {
	d := len(w.kernel)
	var out []int
	for i := d - 1; i >= 0; i-- {
		out = append(out, w.pads[i], w.pads[d+i])
	}
	return out
}

func convolve(n *node) kernel {
	w0, groups := windowOf(n), n.int("group")
	return func(c *call) error {
		x, weight := c.t(0), c.t(1)
		d := x.Rank() - 2
		if d < 1 || d > 3 || weight.Rank() != d+2 {
			return fmt.Errorf("%w: a convolution of %v with %v", ErrUnsupported, x.Shape(), weight.Shape())
		}
		w, err := w0.on(x.Shape()[2:], weight.Shape()[2:])
		if err != nil {
			return err
		}
		pads := w.pads[:d]
		if !w.even() {
			x, pads = x.Pad(w.around()), make([]int, d)
		}
		opts := []tensor.Option{tensor.Stride(w.strides...), tensor.Dilation(w.dilations...), tensor.Groups(groups), tensor.Padding(pads...)}
		if err := c.shaped(2, weight.Size(0)); err != nil {
			return err
		}
		f := [](func(x, w tensor.Tensor, opts ...tensor.Option) tensor.Tensor){tensor.Conv1d, tensor.Conv2d, tensor.Conv3d}[d-1]
		if !c.has(2) {
			return c.put(0, f(x, weight, opts...))
		}
		bias := c.t(2)
		if core.Recording() || x.DType() != tensor.Float32 || c.dev != tensorCPU {
			return c.put(0, f(x, weight, append(opts, tensor.Bias(bias))...))
		}
		// A program adds the bias while it computes blocks of the result, with the same sums.
		y := f(x, weight, opts...)
		if err := y.AddInPlace(bias.Reshape(append([]int{-1}, slices.Repeat([]int{1}, d)...)...)); err != nil {
			return err
		}
		return c.put(0, y)
	}
}

// convolveTransposed computes a transposed convolution as one of the operand with zeros
// between its elements; one of two axes by the operator for it.
func convolveTransposed(n *node) kernel {
	w0, groups := windowOf(n), n.int("group")
	outPad, outShape := n.ints("output_padding"), n.ints("output_shape")
	auto := w0.auto
	w0.auto = "NOTSET"
	if groups < 1 {
		n.refuse("%d groups, want at least 1", groups)
	}
	return func(c *call) error {
		x, weight := c.t(0), c.t(1)
		d := x.Rank() - 2
		if d < 1 || d > 3 || weight.Rank() != d+2 {
			return fmt.Errorf("%w: a transposed convolution of %v with %v", ErrUnsupported, x.Shape(), weight.Shape())
		}
		if err := c.shaped(2, groups*weight.Size(1)); err != nil {
			return err
		}
		extents := x.Shape()[2:]
		w, err := w0.on(extents, weight.Shape()[2:])
		if err != nil {
			return err
		}
		extra := outPad
		if extra == nil {
			extra = make([]int, d)
		}
		if len(extra) != d || slices.Min(extra) < 0 || outShape != nil && len(outShape) < d {
			return fmt.Errorf("output_padding %v, output_shape %v for %d axes", outPad, outShape, d)
		}
		w.pads = slices.Clone(w.pads)
		for i := range d {
			want := -1
			switch {
			case outShape != nil:
				want = outShape[len(outShape)-d+i]
			case auto == "SAME_UPPER" || auto == "SAME_LOWER":
				want = extents[i] * w.strides[i]
			}
			if want >= 0 {
				full := w.strides[i]*(extents[i]-1) + extra[i] + w.span(i)
				w.pads[i], w.pads[d+i] = sides(full-want, auto == "SAME_UPPER")
			}
		}
		if y, ok := w.transposed(c, extra, groups); ok {
			return c.put(0, y)
		}
		return c.put(0, w.turned(c, extra, groups))
	}
}

// sides returns what of a padding stands before and behind: the odd element behind if upper, and what
// is less than nothing, which stands for zeros, always.
func sides(total int, upper bool) (before, behind int) {
	less, more := total/2, total-total/2
	switch {
	case total < 0:
		return 0, total
	case upper:
		return less, more
	}
	return more, less
}

// turned is a transposed convolution by the convolution with the weight turned around, over an
// image with zeros between its elements.
func (w window) turned(c *call, extra []int, groups int) tensor.Tensor {
	x, weight := c.t(0), c.t(1)
	d, s := len(w.kernel), weight.Shape()
	turn := make([]int, d)
	for i := range turn {
		turn[i] = 2 + i
	}
	// [in, out/groups, k...] becomes [out, in/groups, k...]
	k := weight.Flip(turn...).Reshape(append([]int{groups, s[0] / groups, s[1]}, s[2:]...)...).Transpose(1, 2).
		Reshape(append([]int{groups * s[1], s[0] / groups}, s[2:]...)...)
	for i := range d {
		x = spread(x, 2+i, w.strides[i])
	}
	var around []int
	for i := d - 1; i >= 0; i-- {
		around = append(around, w.span(i)-1-w.pads[i], w.span(i)-1-w.pads[d+i]+extra[i])
	}
	opts := []tensor.Option{tensor.Dilation(w.dilations...), tensor.Groups(groups)}
	if c.has(2) {
		opts = append(opts, tensor.Bias(c.t(2)))
	}
	f := [](func(x, w tensor.Tensor, opts ...tensor.Option) tensor.Tensor){tensor.Conv1d, tensor.Conv2d, tensor.Conv3d}[d-1]
	return f(x.Pad(around), k, opts...)
}

// transposed is a transposed convolution by the operator for it, where there is one: not of
// three axes, nor with as much padding behind as no stride leaves room for.
func (w window) transposed(c *call, extra []int, groups int) (y tensor.Tensor, ok bool) {
	d, pads := len(w.kernel), w.pads
	f := map[int]func(x, w tensor.Tensor, opts ...tensor.Option) tensor.Tensor{1: tensor.ConvTranspose1d, 2: tensor.ConvTranspose2d}[d]
	more, less := make([]int, d), make([]int, d) // elements behind what the padding in front leaves
	for i := range d {
		more[i] = extra[i] + pads[i] - pads[d+i]
		if pads[i] < 0 || more[i] >= max(w.strides[i], w.dilations[i]) {
			return y, false
		}
		more[i], less[i] = max(more[i], 0), max(-more[i], 0)
	}
	if f == nil {
		return y, false
	}
	opts := []tensor.Option{tensor.Stride(w.strides...), tensor.Dilation(w.dilations...), tensor.Groups(groups), tensor.Padding(pads[:d]...), tensor.OutputPadding(more...)}
	if c.has(2) {
		opts = append(opts, tensor.Bias(c.t(2)))
	}
	y = f(c.t(0), c.t(1), opts...)
	for i, n := range less {
		if n > 0 && y.Err() == nil {
			y = y.Narrow(2+i, 0, y.Size(2+i)-n)
		}
	}
	return y, true
}

// spread puts step-1 zeros between the elements along an axis.
func spread(x tensor.Tensor, a, step int) tensor.Tensor {
	n := x.Size(a)
	if step == 1 || n == 0 {
		return x
	}
	x = x.Unsqueeze(a + 1)
	pads := make([]int, 2*(x.Rank()-a-1))
	pads[len(pads)-1] = step - 1
	return x.Pad(pads).Flatten(tensor.Start(a), tensor.End(a+1)).Narrow(a, 0, (n-1)*step+1)
}

// taps returns the windows of x as new last axes: [n, c, out..., kernel...], after padding
// with fill, and the places of the windows' elements for x as it was. What ceil_mode adds
// is padding, too.
func (w window) taps(x tensor.Tensor, fill float64) tensor.Tensor {
	d := len(w.kernel)
	pads := slices.Clone(w.pads)
	for i := range d {
		pads[d+i] += w.more(i, x.Size(2+i))
	}
	var around []int
	for i := d - 1; i >= 0; i-- {
		around = append(around, pads[i], pads[d+i])
	}
	if slices.ContainsFunc(around, func(v int) bool { return v != 0 }) {
		if isInt(x) {
			lowest, _ := limits(x.DType())
			x = x.Pad(around, tensor.Value(lowest))
		} else {
			x = x.Pad(around, tensor.Value(fill))
		}
	}
	for i := range d {
		x = x.Unfold(2+i, w.span(i), w.strides[i])
		if w.dilations[i] > 1 {
			x = x.Slice(x.Rank()-1, 0, w.span(i), w.dilations[i])
		}
	}
	return x
}

// more returns the padding that ceil_mode adds behind axis i of n elements: a window that
// begins in the tensor, or in the padding before it, counts.
func (w window) more(i, n int) int {
	d := len(w.kernel)
	room := n + w.pads[i] + w.pads[d+i] - w.span(i)
	if !w.ceil || room < 0 || room%w.strides[i] == 0 {
		return 0
	}
	out := (room + w.strides[i] - 1) / w.strides[i]
	if out*w.strides[i] >= n+w.pads[i] {
		return 0
	}
	return out*w.strides[i] - room
}

// last returns the last d axes of a rank.
func last(rank, d int) []int {
	out := make([]int, d)
	for i := range out {
		out[i] = rank - d + i
	}
	return out
}

func maxPool(n *node) kernel {
	w0, columns := windowOf(n), n.int("storage_order") == 1
	return func(c *call) error {
		x := c.t(0)
		d := x.Rank() - 2
		w, err := w0.over(x, nil)
		if err != nil {
			return err
		}
		if fits := len(c.out) == 1 && d == 2 && w.even() && !w.ceil && 2*w.pads[0] <= w.kernel[0] && 2*w.pads[1] <= w.kernel[1]; fits {
			return c.put(0, tensor.MaxPool2d(x, w.kernel, tensor.Stride(w.strides...), tensor.Padding(w.pads[:2]...), tensor.Dilation(w.dilations...)))
		}
		taps := w.taps(x, negativeInfinity)
		if err := c.put(0, tensor.Max(taps, tensor.Dim(last(taps.Rank(), d)...))); err != nil || len(c.out) < 2 {
			return err
		}
		shape := x.Shape()
		count := product(shape)
		places := tensor.Arange(0, count, 1, tensor.On(c.dev)).Reshape(shape...)
		if columns { // the last axes' numbers run the other way
			size := product(shape[2:])
			var order []int
			for i := d - 1; i >= 0; i-- {
				order = append(order, i)
			}
			turned := slices.Clone(shape[2:])
			slices.Reverse(turned)
			inner := tensor.Arange(0, size, 1, tensor.On(c.dev)).Reshape(turned...).Permute(order...)
			outer := tensor.Arange(0, count/max(size, 1), 1, tensor.On(c.dev)).MulScalar(size).Reshape(append([]int{shape[0], shape[1]}, slices.Repeat([]int{1}, d)...)...)
			places = outer.Add(inner)
		}
		flatTaps := taps.Flatten(tensor.Start(taps.Rank()-d), tensor.End(-1))
		at := tensor.Argmax(flatTaps, tensor.Dim(flatTaps.Rank()-1), tensor.KeepDim())
		index := w.taps(places.ToType(tensor.Float64), -1)
		index = index.Flatten(tensor.Start(index.Rank()-d), tensor.End(-1))
		return c.as(1, index.Gather(index.Rank()-1, at).Squeeze(index.Rank()-1).ToType(tensor.Int64), format.Int64)
	}
}

var negativeInfinity = math.Inf(-1)

func averagePool(n *node) kernel {
	w0, all := windowOf(n), n.flag("count_include_pad")
	return func(c *call) error {
		x := c.t(0)
		d := x.Rank() - 2
		w, err := w0.over(x, nil)
		if err != nil {
			return err
		}
		plainly := !slices.ContainsFunc(w.dilations, func(v int) bool { return v != 1 })
		if d == 2 && w.even() && !w.ceil && plainly && 2*w.pads[0] <= w.kernel[0] && 2*w.pads[1] <= w.kernel[1] {
			return c.put(0, tensor.AvgPool2d(x, w.kernel, tensor.Stride(w.strides...), tensor.Padding(w.pads[:2]...), tensor.CountIncludePad(all)))
		}
		ones := tensor.Ones(append([]int{1, 1}, x.Shape()[2:]...), tensor.OfType(x.DType()), tensor.On(x.Device()))
		inner := w
		if all { // padding counts, what ceil_mode adds does not
			ones = tensor.Pad(ones, w.around(), tensor.Value(1.0))
			inner.pads = make([]int, 2*d)
			for i := range d {
				inner.pads[d+i] = w.more(i, x.Size(2+i))
			}
			inner.ceil = false
		}
		taps, counts := w.taps(x, 0), inner.taps(ones, 0)
		return c.put(0, sum(taps, last(taps.Rank(), d), false).Div(sum(counts, last(counts.Rank(), d), false)))
	}
}

func lpPool(n *node) kernel {
	w0, p := windowOf(n), float64(n.int("p"))
	return func(c *call) error {
		x := c.t(0)
		w, err := w0.over(x, nil)
		if err != nil {
			return err
		}
		taps := w.taps(x.Abs().PowScalar(p), 0)
		return c.put(0, sum(taps, last(taps.Rank(), len(w.kernel)), false).PowScalar(1/p))
	}
}

// maxUnpool puts elements where indices, which count all elements of the result, say.
func maxUnpool(n *node) kernel {
	w0 := windowOf(n)
	return func(c *call) error {
		x := c.t(0)
		d := x.Rank() - 2
		w, err := w0.over(x, w0.kernel)
		if err == nil {
			err = c.shaped(1, x.Shape()...)
		}
		if err != nil {
			return err
		}
		shape := x.Shape()
		for i := range d {
			shape[2+i] = (shape[2+i]-1)*w.strides[i] - w.pads[i] - w.pads[d+i] + w.kernel[i]
		}
		if err := c.size(shape); err != nil {
			return err
		}
		flat := tensor.Zeros([]int{product(shape)}, tensor.OfType(x.DType()), tensor.On(c.dev))
		y := flat.Scatter(0, c.t(1).Reshape(x.NumElements()), x.Reshape(x.NumElements())).Reshape(shape...)
		if !c.has(2) {
			return c.put(0, y)
		}
		to, err := c.ints(2)
		if err != nil {
			return err
		}
		if len(to) != len(shape) || !slices.Equal(to[:2], shape[:2]) {
			return fmt.Errorf("output_shape %v for an unpooling to %v", to, shape)
		}
		fill := tensor.Zeros([]int{}, tensor.OfType(x.DType()), tensor.On(c.dev))
		for i := range d {
			if y, err = padAxis(y, 2+i, 0, to[2+i]-shape[2+i], "constant", fill); err != nil {
				return err
			}
		}
		return c.put(0, y)
	}
}
