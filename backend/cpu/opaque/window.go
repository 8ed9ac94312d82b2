package opaque

import (
	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/ir"
)

// windows is how a kernel's windows lie over the spatial axes of its input.
type windows struct {
	in, out, kernel           []int // extents along each spatial axis
	stride, padding, dilation []int
	rows                      int // rows of the result: positions but for the last axis
	last                      int // the last spatial axis
}

func newWindows(in, out, kernel, stride, padding, dilation []int) *windows {
	return &windows{
		in: in, out: out, kernel: kernel, stride: stridesOf(out, kernel, stride, dilation), padding: padding, dilation: dilation,
		rows: ir.NumElements(out[:len(out)-1]), last: len(out) - 1,
	}
}

// rowBases returns, for each place k in the kernel and each row r of the result
// in [r0, r1), where the input row starts that place reads, as an element offset
// at index k*(r1-r0) + r-r0, or -1 where it lies in the padding.
func (w *windows) rowBases(r0, r1 int) []int {
	places := ir.NumElements(w.kernel)
	bases := make([]int, places*(r1-r0))
	for k := range places {
		for r := r0; r < r1; r++ {
			bases[k*(r1-r0)+r-r0] = w.rowBase(k, r)
		}
	}
	return bases
}

func (w *windows) rowBase(k, r int) int {
	base, size := 0, w.in[w.last]
	k /= w.kernel[w.last]
	for a := w.last - 1; a >= 0; a-- {
		i := r%w.out[a]*w.stride[a] - w.padding[a] + k%w.kernel[a]*w.dilation[a]
		if i < 0 || i >= w.in[a] {
			return -1
		}
		base += i * size
		size *= w.in[a]
		r, k = r/w.out[a], k/w.kernel[a]
	}
	return base
}

// span returns, for place k in the kernel, how far along the last axis the input
// element of a row's first window lies, and the windows [lo, hi) of a row whose
// element lies inside the input.
func (w *windows) span(k int) (shift, lo, hi int) {
	a := w.last
	shift = k%w.kernel[a]*w.dilation[a] - w.padding[a]
	ceil := func(n int) int {
		if n <= 0 {
			return 0
		}
		return (n-1)/w.stride[a] + 1
	}
	lo, hi = min(ceil(-shift), w.out[a]), min(ceil(w.in[a]-shift), w.out[a])
	return shift, lo, max(lo, hi)
}

// apartRun is how many places windows that are apart have along the last axis, at least.
const apartRun = 4

// apart reports whether windows lie beside each other along the last axis, inside of the
// input, and have some places there without gaps: then it is better to go along rows than
// from window to window.
func (w *windows) apart() bool {
	a := w.last
	return w.kernel[a] >= apartRun && w.dilation[a] == 1 && w.padding[a] == 0 && (w.out[a] == 1 || w.stride[a] >= w.kernel[a]) &&
		(w.out[a]-1)*w.stride[a]+w.kernel[a] <= w.in[a]
}

// places returns those of the kernel along each axis, counted from its first one.
func (w *windows) places() [][]int { return placesOf(w.kernel, w.dilation) }

func placesOf(kernel, dilation []int) [][]int {
	places := make([][]int, len(kernel))
	for a, n := range kernel {
		for k := range n {
			places[a] = append(places[a], k*dilation[a])
		}
	}
	return places
}

// stridesOf returns the strides, smaller where a single window makes them not matter.
func stridesOf(out, kernel, stride, dilation []int) []int {
	strides := make([]int, len(stride))
	for a, s := range stride {
		strides[a] = conv.Stride(s, out[a], (kernel[a]-1)*dilation[a])
	}
	return strides
}

// far reports whether windows along an axis reach so far into the padding, or lie or
// have their places so far apart, that an image with its padding would be much larger
// than both the image and what the windows read.
func far(in, out, kernel, stride, padding, dilation int) bool {
	reach := float64(out-1)*float64(stride) + float64(kernel-1)*float64(dilation) + float64(padding)
	return reach > 8*(float64(in)+float64(out)*float64(kernel))
}

// far reports whether that is so along some axis.
func (w *windows) far() bool {
	for a := range w.in {
		if far(w.in[a], w.out[a], w.kernel[a], w.stride[a], w.padding[a], w.dilation[a]) {
			return true
		}
	}
	return false
}
