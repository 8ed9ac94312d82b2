package opaque

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// tails returns the shapes of x's and the result's spatial axes, and how many
// planes of them there are.
func tails(x, out []int, axes int) (in, res []int, planes int) {
	lead := len(x) - axes
	return x[lead:], out[lead:], ir.NumElements(x[:lead])
}

// A poolFunc pools planes of x.
type poolFunc func(w *windows, planes int, x ir.View, out []ir.View)

var maxPools = table[poolFunc]{
	ir.Uint8: maxPool[uint8], ir.Int8: maxPool[int8], ir.Int16: maxPool[int16], ir.Int32: maxPool[int32], ir.Int64: maxPool[int64],
	ir.Float32: maxPool[float32], ir.Float64: maxPool[float64],
}

// MaxPool returns the largest element of each window over the last axes of x, as
// many as attribute kernel has entries, and its place in these axes read as one.
// Attributes: kernel, stride, padding, dilation. The first of equal elements
// wins; NaN is the largest.
func MaxPool(c *ir.Call) error {
	f, err := maxPools.of(c.Compute)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	a := c.Attrs
	in, out, planes := tails(c.In[0].Shape, c.Out[0].Shape, len(a[0].Ints))
	w := newWindows(in, out, a[0].Ints, a[1].Ints, a[2].Ints, a[3].Ints)
	d := []ir.View{tile.TargetOf(c.Out[0], c.Compute), tile.TargetOf(c.Out[1], ir.Int64)}
	f(w, planes, tile.Dense(c.In[0], c.Compute), d)
	tile.Finish(c.Out[0], d[0])
	tile.Finish(c.Out[1], d[1])
	return nil
}

// lowest returns what padding counts as.
func lowest[T ordered]() T {
	var low T
	switch p := any(&low).(type) {
	case *float32:
		*p = float32(math.Inf(-1))
	case *float64:
		*p = math.Inf(-1)
	case *int8:
		*p = math.MinInt8
	case *int16:
		*p = math.MinInt16
	case *int32:
		*p = math.MinInt32
	case *int64:
		*p = math.MinInt64
	}
	return low
}

func maxPool[T ordered](w *windows, planes int, x ir.View, out []ir.View) {
	apart := w.apart()
	if x.DType.IsFloat() && !apart && maxVectors(w, planes, x, out) {
		return
	}
	src, dst, index := tile.Elements[T](x), tile.Elements[T](out[0]), tile.Elements[int64](out[1])
	size, positions, places := ir.NumElements(w.in), ir.NumElements(w.out), ir.NumElements(w.kernel)
	bases, low := w.rowBases(0, w.rows), lowest[T]()
	maxPlane := maxPlane[T]
	if apart {
		maxPlane = maxApart
	}
	pool.For(planes, max(1, moveWork/(positions*places)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			plane := src[lo*size : (lo+1)*size]
			maxPlane(w, bases, plane, dst[lo*positions:(lo+1)*positions], index[lo*positions:(lo+1)*positions], low)
		}
	})
}

// maxVectors pools floating-point numbers with vectors, if there are any. A plane that
// has the number that padding counts as among its results is left to maxPlane.
func maxVectors(w *windows, planes int, x ir.View, out []ir.View) bool {
	if w.far() {
		return false
	}
	if maxQuads(w, planes, x, out) {
		return true
	}
	places := w.places()
	f := conv.NewFrame(w.in, w.padding, w.out, w.stride, places, x.DType.Size())
	f.Low = true
	m := conv.NewMaxima(f, w.out, places, simd.Active())
	if m == nil {
		return false
	}
	size, positions, elem := ir.NumElements(w.in), ir.NumElements(w.out), x.DType.Size()
	source := conv.Source{DType: x.DType, Want: x.DType, Strides: ir.ContiguousStrides(w.in)}
	pool.For(planes, max(1, moveWork/max(1, positions)), func(lo, hi int) {
		block := scratch.Get(f.Size * elem)
		defer block.Put()
		for ; lo < hi; lo++ {
			src := unsafe.Add(x.Ptr, lo*size*elem)
			values, indices := unsafe.Add(out[0].Ptr, lo*positions*elem), unsafe.Add(out[1].Ptr, lo*positions*8)
			f.Fill(block.Ptr(), src, &source, 1, 0)
			if !m.Run(values, indices, block.Ptr()) {
				continue
			}
			if elem == 4 {
				maxAgain[float32](w, src, values, indices)
			} else {
				maxAgain[float64](w, src, values, indices)
			}
		}
	})
	return true
}

// maxQuads pools windows of two by two, or of two in lines, if those are what they are.
func maxQuads(w *windows, planes int, x ir.View, out []ir.View) bool {
	elem := x.DType.Size()
	q := conv.NewQuads(w.in, w.out, w.kernel, w.stride, w.padding, w.dilation, elem, simd.Active())
	if q == nil {
		return false
	}
	size, positions := ir.NumElements(w.in), ir.NumElements(w.out)
	pool.For(planes, max(1, moveWork/positions), func(lo, hi int) {
		q.Run(hi-lo, unsafe.Add(out[0].Ptr, lo*positions*elem), unsafe.Add(out[1].Ptr, lo*positions*8), unsafe.Add(x.Ptr, lo*size*elem))
	})
	return true
}

// maxAgain pools one plane.
func maxAgain[T float](w *windows, src, values, indices unsafe.Pointer) {
	n := ir.NumElements(w.out)
	maxPlane(w, w.rowBases(0, w.rows), unsafe.Slice((*T)(src), ir.NumElements(w.in)),
		unsafe.Slice((*T)(values), n), unsafe.Slice((*int64)(indices), n), lowest[T]())
}

// maxApart is maxPlane where windows are apart: window by window, each along its rows.
func maxApart[T ordered](w *windows, bases []int, plane, out []T, index []int64, low T) {
	width, stride, run := w.out[w.last], w.stride[w.last], w.kernel[w.last]
	for r := range w.rows {
		for i := range width {
			best, at := low, -1
			for k := r; k < len(bases); k += run * w.rows {
				if bases[k] < 0 {
					continue
				}
				from := bases[k] + i*stride
				row := plane[from : from+run]
				if at < 0 {
					best, at = row[0], from
				}
				for j, v := range row {
					if !(v <= best) && best == best {
						best, at = v, from+j
					}
				}
			}
			out[r*width+i], index[r*width+i] = best, int64(max(at, 0)) // no place: a window wholly in the padding
		}
	}
}

// maxPlane pools one plane, place by place of the kernel.
func maxPlane[T ordered](w *windows, bases []int, plane, out []T, index []int64, low T) {
	for i := range out {
		out[i], index[i] = low, -1
	}
	width, stride := w.out[w.last], w.stride[w.last]
	for k := range len(bases) / w.rows {
		shift, first, end := w.span(k)
		for r := range w.rows {
			base := bases[k*w.rows+r]
			if base < 0 {
				continue
			}
			to, at := out[r*width:(r+1)*width], index[r*width:(r+1)*width]
			for i := first; i < end; i++ {
				from := base + i*stride + shift
				if v := plane[from]; v > to[i] || at[i] < 0 || v != v && to[i] == to[i] {
					to[i], at[i] = v, int64(from)
				}
			}
		}
	}
	for i := range index {
		index[i] = max(index[i], 0) // a window wholly in the padding
	}
}

var maxUnpools = table[callFunc]{ir.Float32: maxUnpool[float32], ir.Float64: maxUnpool[float64]}

// MaxUnpool returns the gradient of MaxPool with respect to x, from the gradient g
// of its values and its indices. Attributes: input, the shape of x, and how many of its
// axes were pooled.
func MaxUnpool(c *ir.Call) error { return dispatch(c, &maxUnpools) }

func maxUnpool[T float](c *ir.Call) error {
	shape := c.Out[0].Shape
	lead := len(shape) - int(c.Attrs[1].Int)
	planes, size := ir.NumElements(shape[:lead]), ir.NumElements(shape[lead:])
	index, err := indices(c, 1, lead, size)
	if err != nil {
		return err
	}
	g, d := in[T](c, 0, c.Compute), tile.TargetOf(c.Out[0], c.Compute)
	dx, positions := tile.Elements[T](d), len(g)/max(1, planes)
	pool.For(planes, max(1, moveWork/max(1, size)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			plane, at := dx[lo*size:(lo+1)*size], index[lo*positions:(lo+1)*positions]
			clear(plane)
			for i, v := range g[lo*positions : (lo+1)*positions] {
				plane[at[i]] += v
			}
		}
	})
	tile.Finish(c.Out[0], d)
	return nil
}

var avgPools = table[poolFunc]{ir.Float32: avgPool[float32], ir.Float64: avgPool[float64]}

// avgWindows returns the windows of an average pooling with the given attributes
// kernel, stride and padding.
func avgWindows(a []ir.Value, x, out []int) (w *windows, planes int) {
	ones := make([]int, len(a[0].Ints))
	for i := range ones {
		ones[i] = 1
	}
	in, res, planes := tails(x, out, len(ones))
	return newWindows(in, res, a[0].Ints, a[1].Ints, a[2].Ints, ones), planes
}

// AvgPool returns the mean of each window over the last axes of x. Attributes:
// kernel, stride, padding, ceil_mode and count_include_pad: whether padding
// counts in the divisor.
func AvgPool(c *ir.Call) error {
	f, err := avgPools.of(c.Compute)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	w, planes := avgWindows(c.Attrs, c.In[0].Shape, c.Out[0].Shape)
	d := tile.TargetOf(c.Out[0], c.Compute)
	f(w, planes, tile.Dense(c.In[0], c.Compute), []ir.View{d, divisors(w, c.Attrs[4].Int != 0, c.Compute)})
	tile.Finish(c.Out[0], d)
	return nil
}

// divisors returns, for every position of a result, how many places its window's
// mean is over: those inside the input and, if padded, inside its padding.
func divisors(w *windows, padded bool, dtype ir.DType) ir.View {
	exact := tile.NewDense(ir.Float64, w.out)
	div := tile.Elements[float64](exact)
	for i := range div {
		div[i] = 1
		r := i
		for a := w.last; a >= 0; a-- {
			start := r%w.out[a]*w.stride[a] - w.padding[a]
			end := min(start+w.kernel[a], w.in[a]+w.padding[a])
			if !padded {
				start, end = max(start, 0), min(end, w.in[a])
			}
			div[i] *= float64(max(0, end-start))
			r /= w.out[a]
		}
	}
	return tile.Dense(exact, dtype)
}

// sums returns the convolution of planes with a kernel of ones, and that kernel.
func (w *windows) sums(planes int, dtype ir.DType) (*convolution, ir.View) {
	v := &convolution{
		in: w.in, out: w.out, kernel: w.kernel, stride: w.stride, padding: w.padding, dilation: w.dilation,
		images: planes, groups: 1, channels: 1, outs: 1, places: ir.NumElements(w.kernel),
		inSize: ir.NumElements(w.in), outSize: ir.NumElements(w.out),
	}
	one := 1.0
	ones := tile.NewDense(dtype, append([]int{1, 1}, w.kernel...))
	tile.Copy(ones, ir.View{Ptr: unsafe.Pointer(&one), DType: ir.Float64, Shape: ones.Shape, Strides: make([]int, len(ones.Shape))})
	return v, ones
}

// images returns planes as images with one channel.
func images(planes int, v ir.View, shape []int) ir.View {
	v.Shape = append([]int{planes, 1}, shape...)
	v.Strides = ir.ContiguousStrides(v.Shape)
	return v
}

func avgPool[T float](w *windows, planes int, x ir.View, out []ir.View) {
	v, ones := w.sums(planes, x.DType)
	forward[T](v, images(planes, x, w.in), ones, images(planes, out[0], w.out))
	divide[T](v.outSize, planes, out[0], out[1], out[0])
}

// divide sets to to planes of x divided by those of div, which is one for all.
func divide[T float](n, planes int, x, div, to ir.View) {
	size := x.DType.Size()
	pool.For(planes, max(1, moveWork/n), func(lo, hi int) {
		for ; lo < hi; lo++ {
			conv.Divide(simd.Active(), size, n, unsafe.Add(x.Ptr, lo*n*size), div.Ptr, unsafe.Add(to.Ptr, lo*n*size))
		}
	})
}

var avgPoolGrads = table[poolFunc]{ir.Float32: avgPoolGrad[float32], ir.Float64: avgPoolGrad[float64]}

// AvgPoolGrad returns the gradient of AvgPool with respect to its input, from
// the gradient g of its result. Attributes: input, the input's shape, then those
// of AvgPool.
func AvgPoolGrad(c *ir.Call) error {
	f, err := avgPoolGrads.of(c.Compute)
	if err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	w, planes := avgWindows(c.Attrs[1:], c.Out[0].Shape, c.In[0].Shape)
	d := tile.TargetOf(c.Out[0], c.Compute)
	f(w, planes, tile.Dense(c.In[0], c.Compute), []ir.View{d, divisors(w, c.Attrs[5].Int != 0, c.Compute)})
	tile.Finish(c.Out[0], d)
	return nil
}

func avgPoolGrad[T float](w *windows, planes int, g ir.View, out []ir.View) {
	v, ones := w.sums(planes, g.DType)
	if v.outSize == 0 {
		clear(tile.Elements[T](out[0]))
		return
	}
	block := scratch.Get(planes * v.outSize * g.DType.Size())
	defer block.Put()
	shares := images(planes, g, w.out)
	shares.Ptr = block.Ptr()
	divide[T](v.outSize, planes, g, out[1], shares)
	gradInput[T](v, shares, ones, images(planes, out[0], w.in))
}
