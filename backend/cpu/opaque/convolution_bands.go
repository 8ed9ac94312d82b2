package opaque

import (
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/ir"
)

// An image that is larger than a cache is laid out and convolved in bands: some rows of
// windows along its first axis, and what they read.

// bands returns into how many bands an image is cut, 1 where its frames are small, and
// where rows of windows are no bands.
func (v *convolution) bands(dtype ir.DType) int {
	if len(v.out) == 1 || v.out[0] == 1 {
		return 1
	}
	f := geometryOf(v, dtype).frame
	image := v.groups * v.channels * f.Size * f.Elem
	row := image / f.Extent[0]
	both := v.dilation[0]*(v.kernel[0]-1) + 1 - v.stride[0] // rows that neighbouring bands read
	if image < 2*bandBytes || row*both > bandBytes/2 {
		return 1
	}
	return min(v.out[0], (image+bandBytes-1)/bandBytes)
}

// banded sets out to the convolution of images in so many bands.
func banded[T float](v *convolution, x ir.View, weight unsafe.Pointer, out ir.View, bands int) {
	row := v.outSize / v.out[0]
	work := v.groups * v.outs * v.terms() * v.outSize / bands
	pool.For(v.images*bands, max(1, mulWork/max(1, work)), func(lo, hi int) {
		for ; lo < hi; lo++ {
			u, i := lo/bands, lo%bands
			first, end := i*v.out[0]/bands, (i+1)*v.out[0]/bands
			b, image := v.band(x, u, first, end)
			to := unsafe.Add(out.Ptr, (u*v.groups*v.outs*v.outSize+first*row)*out.DType.Size())
			correlateFrames[T](b, image, weight, out.DType, to, v.outSize)
		}
	})
}

// band returns the convolution for the windows [first, end) along the first axis, and the
// part of image u that it is of.
func (v *convolution) band(x ir.View, u, first, end int) (*convolution, ir.View) {
	b := *v
	from := first*v.stride[0] - v.padding[0]
	to := (end-1)*v.stride[0] - v.padding[0] + (v.kernel[0]-1)*v.dilation[0] + 1
	lo := min(max(from, 0), v.in[0]-1)
	hi := max(min(to, v.in[0]), lo+1)
	b.images, b.then = 1, shifted(v.then, u, first*ir.NumElements(v.out[1:]))
	b.in, b.out, b.padding = slices.Clone(v.in), slices.Clone(v.out), slices.Clone(v.padding)
	b.in[0], b.out[0], b.padding[0] = hi-lo, end-first, lo-from
	b.inSize, b.outSize = ir.NumElements(b.in), ir.NumElements(b.out)
	x.Ptr = unsafe.Add(x.Ptr, (u*x.Strides[0]+lo*x.Strides[2])*x.DType.Size())
	x.Shape = slices.Clone(x.Shape)
	x.Shape[0], x.Shape[2] = 1, hi-lo
	return &b, x
}
