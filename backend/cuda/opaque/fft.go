package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
)

// FFTC2C is the discrete Fourier transform of complex x along the axes in attribute
// dims, with the sign of the inverse one where attribute inverse says so, times
// attribute scale. Transforms go to cuFFT where it is there.
func FFTC2C(g code.GPU, c *ir.Call) error { return onCUFFT(g, c, libraryFFTC2C, ownFFTC2C) }

// FFTR2C is the first half of the transform of real x along attribute dim, times
// attribute scale and, where a result stands for two, attribute inner.
func FFTR2C(g code.GPU, c *ir.Call) error { return onCUFFT(g, c, libraryFFTR2C, ownFFTR2C) }

// FFTC2R is the real tensor of attribute n points along attribute dim whose
// transform's first half is x, multiplied first as FFTR2C multiplies results.
func FFTC2R(g code.GPU, c *ir.Call) error { return onCUFFT(g, c, libraryFFTC2R, ownFFTC2R) }

// FFTR2CConj is the conjugate of FFTR2C.
func FFTR2CConj(g code.GPU, c *ir.Call) error {
	return onCUFFT(g, c, libraryFFTR2CConj, ownFFTR2CConj)
}

// FFTC2RConj is FFTC2R of the conjugate of x.
func FFTC2RConj(g code.GPU, c *ir.Call) error {
	return onCUFFT(g, c, libraryFFTC2RConj, ownFFTC2RConj)
}

// FFTR2CPlanes is FFTR2C along attribute dim, transformed along attribute dims; these are the last
// axes, in order.
func FFTR2CPlanes(g code.GPU, c *ir.Call) error {
	return onCUFFT(g, c, libraryFFTR2CPlanes, ownFFTR2CPlanes)
}

// FFTC2RPlanes is FFTC2R along attribute dim of the inverse transform of x along attribute dims;
// these are the last axes, in order.
func FFTC2RPlanes(g code.GPU, c *ir.Call) error {
	return onCUFFT(g, c, libraryFFTC2RPlanes, ownFFTC2RPlanes)
}

// onCUFFT has the library compute c, or where it does not kernels of our own.
func onCUFFT(g code.GPU, c *ir.Call, by func(library.GPU, *ir.Call) error, own code.Launch) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	if l, ok := onLibrary(g); ok {
		if err := by(l, c); err == nil || !noCUFFT.covered(err) {
			return err
		}
	}
	return own(g, c)
}

// c2cOf returns the attributes of FFTC2C.
func c2cOf(c *ir.Call) (axes []int, inverse bool, scale float64, err error) {
	axes, err = ir.Axes(c.Attrs[0].Ints, len(c.In[0].Shape))
	return axes, c.Attrs[1].Int != 0, c.Attrs[2].Scalar.Float(), err
}

// r2cOf returns the attributes of FFTR2C, of which dim is the one at a place.
func r2cOf(c *ir.Call, dim int) (bins, error) {
	axis, err := axisOf(c, dim, c.In[0].Shape)
	if err != nil {
		return bins{}, err
	}
	return bins{axis: axis, n: c.In[0].Shape[axis], edge: c.Attrs[dim+1].Scalar.Float(), inner: c.Attrs[dim+2].Scalar.Float()}, nil
}

// c2rOf returns those of FFTC2R.
func c2rOf(c *ir.Call, dim int) (bins, error) {
	axis, err := axisOf(c, dim, c.In[0].Shape)
	if err != nil {
		return bins{}, err
	}
	return bins{axis: axis, n: c.Out[0].Shape[axis], edge: c.Attrs[dim+2].Scalar.Float(), inner: c.Attrs[dim+3].Scalar.Float(), real: true}, nil
}

// A fourier is the launch of one transform.
type fourier struct {
	code.GPU
	plans ir.FFTPlans // of the device
	dtype ir.DType    // complex
}

// A bins is the first half of spectra along an axis.
type bins struct {
	axis, n     int     // n points along the axis of the real side
	edge, inner float64 // factors: of all, and of those besides that stand for two
	real        bool    // numbers 0 and n/2 lose their imaginary part
	turned      bool    // numbers become their conjugates
}

// fourierModule is the .cu file of the kernels.
const fourierModule = "fft"

// eachThread is how many elements a thread of these kernels takes.
const eachThread = 4

// run launches a kernel for count elements.
func (f *fourier) run(kernel string, count int, p *driver.Params) error {
	return f.Launch(fourierModule, kernel, grid(int64(count), blockThreads*eachThread), block(blockThreads), 0, p.Bytes())
}

// weigh writes the bins at src to dst, which has no gaps: outer blocks of the bins of
// inner columns, which lie pitch elements apart in src. dst may be src.
func (f *fourier) weigh(dst, src uint64, outer, inner, pitch int, b bins) error {
	var p driver.Params
	p.Uint64(dst)
	p.Uint64(src)
	b.append(&p, outer, inner, pitch)
	return f.run(ofType("fft_bins", f.dtype), outer*inner*(b.n/2+1), &p)
}

// append adds a FftBins of fft.cu.
func (b *bins) append(p *driver.Params, outer, inner, pitch int) {
	for _, v := range []int{outer, b.n/2 + 1, inner, pitch, b.n} {
		p.Int64(int64(v))
	}
	p.Float64(b.edge)
	p.Float64(b.edge * b.inner)
	p.Int32(flag(b.real))
	p.Int32(flag(b.turned))
}

func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// scale multiplies count complex numbers, and turns them where turned says so.
func (f *fourier) scale(addr uint64, count int, by float64, turned bool) error {
	second := by
	if turned {
		second = -by
	}
	if by == 1 && !turned {
		return nil
	}
	var p driver.Params
	p.Uint64(addr)
	p.Int64(int64(2 * count))
	p.Float64(by)
	p.Float64(second)
	return f.run(ofType("fft_scale", f.dtype.Real()), count, &p)
}

// lastAxes returns v with some of its axes, in ascending order, moved behind the
// others.
func lastAxes(v ir.View, axes ...int) ir.View {
	v.Shape, v.Strides = movedLast(v.Shape, axes), movedLast(v.Strides, axes)
	return v
}

// movedLast returns list with the elements at places, ascending, moved to the end.
func movedLast(list, places []int) []int {
	out := make([]int, 0, len(list))
	k := 0
	for i, v := range list {
		if k < len(places) && places[k] == i {
			k++
			continue
		}
		out = append(out, v)
	}
	for _, i := range places {
		out = append(out, list[i])
	}
	return out
}

// movedBack undoes lastAxes.
func movedBack(v ir.View, axes ...int) ir.View {
	shape, strides := make([]int, len(v.Shape)), make([]int, len(v.Shape))
	at := make([]int, len(v.Shape))
	for i := range at {
		at[i] = i
	}
	for i, a := range movedLast(at, axes) {
		shape[a], strides[a] = v.Shape[i], v.Strides[i]
	}
	v.Shape, v.Strides = shape, strides
	return v
}
