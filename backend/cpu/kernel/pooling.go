package kernel

import (
	"math"

	"github.com/sinter-go/sinter/backend/cpu/pool"
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
	src, dst, index := tile.Elements[T](x), tile.Elements[T](out[0]), tile.Elements[int64](out[1])
	size, positions, places := ir.NumElements(w.in), ir.NumElements(w.out), ir.NumElements(w.kernel)
	bases, low := w.rowBases(0, w.rows), lowest[T]()
	pool.For(planes, max(1, moveWork/(positions*places)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			plane := src[lo*size : (lo+1)*size]
			maxPlane(w, bases, plane, dst[lo*positions:(lo+1)*positions], index[lo*positions:(lo+1)*positions], low)
		}
	})
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
	scale := divisors(w, c.Attrs[4].Int != 0)
	f(w, planes, tile.Dense(c.In[0], c.Compute), []ir.View{d, scale})
	tile.Finish(c.Out[0], d)
	return nil
}

// divisors returns, for every position of a result, how many places its window's
// mean is over: those inside the input and, if padded, inside its padding.
func divisors(w *windows, padded bool) ir.View {
	v := tile.NewDense(ir.Float64, w.out)
	div := tile.Elements[float64](v)
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
	return v
}

func avgPool[T float](w *windows, planes int, x ir.View, out []ir.View) {
	src, dst, div := tile.Elements[T](x), tile.Elements[T](out[0]), tile.Elements[float64](out[1])
	size, positions := ir.NumElements(w.in), len(div)
	bases := w.rowBases(0, w.rows)
	pool.For(planes, max(1, moveWork/(positions*ir.NumElements(w.kernel))), func(lo, hi int) {
		for ; lo < hi; lo++ {
			to, plane := dst[lo*positions:(lo+1)*positions], src[lo*size:(lo+1)*size]
			clear(to)
			eachPlace(w, bases, func(to0, from, n, stride int) {
				for i := range n {
					to[to0+i] += plane[from+i*stride]
				}
			})
			for i := range to {
				to[i] = T(float64(to[i]) / div[i])
			}
		}
	})
}

// eachPlace calls f for runs of windows and the input elements that one place of
// the kernel reads for them: n windows from position to, elements from offset
// from on, stride apart. Places come in row-major order.
func eachPlace(w *windows, bases []int, f func(to, from, n, stride int)) {
	width, stride := w.out[w.last], w.stride[w.last]
	for k := range len(bases) / w.rows {
		shift, first, end := w.span(k)
		for r := range w.rows {
			if base := bases[k*w.rows+r]; base >= 0 && first < end {
				f(r*width+first, base+first*stride+shift, end-first, stride)
			}
		}
	}
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
	scale := divisors(w, c.Attrs[5].Int != 0)
	f(w, planes, tile.Dense(c.In[0], c.Compute), []ir.View{d, scale})
	tile.Finish(c.Out[0], d)
	return nil
}

func avgPoolGrad[T float](w *windows, planes int, g ir.View, out []ir.View) {
	src, dst, div := tile.Elements[T](g), tile.Elements[T](out[0]), tile.Elements[float64](out[1])
	size, positions := ir.NumElements(w.in), len(div)
	bases := w.rowBases(0, w.rows)
	pool.For(planes, max(1, moveWork/max(1, positions*ir.NumElements(w.kernel))), func(lo, hi int) {
		for ; lo < hi; lo++ {
			from, plane := src[lo*positions:(lo+1)*positions], dst[lo*size:(lo+1)*size]
			clear(plane)
			eachPlace(w, bases, func(at, to, n, stride int) {
				for i := range n {
					plane[to+i*stride] += T(float64(from[at+i]) / div[at+i])
				}
			})
		}
	})
}
