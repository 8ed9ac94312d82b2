package kernel

import "github.com/sinter-go/sinter/ir"

// windows is how a kernel's windows lie over the spatial axes of its input.
type windows struct {
	in, out, kernel           []int // extents along each spatial axis
	stride, padding, dilation []int
	rows                      int // rows of the result: positions but for the last axis
	last                      int // the last spatial axis
}

func newWindows(in, out, kernel, stride, padding, dilation []int) *windows {
	return &windows{
		in: in, out: out, kernel: kernel, stride: stride, padding: padding, dilation: dilation,
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
	ceil := func(n int) int { return max(0, (n+w.stride[a]-1)/w.stride[a]) }
	lo, hi = min(ceil(-shift), w.out[a]), min(ceil(w.in[a]-shift), w.out[a])
	return shift, lo, max(lo, hi)
}

// unfold copies what the windows at result positions [lo, hi) read of one
// channel: one row of hi-lo elements for each place in the kernel, zeros for
// the padding.
func unfold[T float](w *windows, bases []int, channel, cols []T, lo, hi int) {
	width, stride := w.out[w.last], w.stride[w.last]
	r0, n := lo/width, len(bases)/ir.NumElements(w.kernel)
	for k := range len(bases) / n {
		shift, first, end := w.span(k)
		row := cols[k*(hi-lo) : (k+1)*(hi-lo)]
		for pos := lo; pos < hi; {
			x := pos % width
			count := min(width-x, hi-pos)
			to := row[pos-lo : pos-lo+count]
			base := bases[k*n+pos/width-r0]
			pos += count
			a, b := max(first-x, 0), min(end-x, count)
			if base < 0 || a >= b {
				clear(to)
				continue
			}
			clear(to[:a])
			from := channel[base+(x+a)*stride+shift:]
			if stride == 1 {
				copy(to[a:b], from)
			} else {
				for i := range to[a:b] {
					to[a+i] = from[i*stride]
				}
			}
			clear(to[b:])
		}
	}
}

// fold adds to one channel what unfold would have copied from it.
func fold[T float](w *windows, bases []int, channel, cols []T, lo, hi int) {
	width, stride := w.out[w.last], w.stride[w.last]
	r0, n := lo/width, len(bases)/ir.NumElements(w.kernel)
	for k := range len(bases) / n {
		shift, first, end := w.span(k)
		row := cols[k*(hi-lo) : (k+1)*(hi-lo)]
		for pos := lo; pos < hi; {
			x := pos % width
			count := min(width-x, hi-pos)
			from := row[pos-lo : pos-lo+count]
			base := bases[k*n+pos/width-r0]
			pos += count
			a, b := max(first-x, 0), min(end-x, count)
			if base < 0 || a >= b {
				continue
			}
			to := channel[base+(x+a)*stride+shift:]
			for i, v := range from[a:b] {
				to[i*stride] += v
			}
		}
	}
}
