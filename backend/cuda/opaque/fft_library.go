package opaque

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/backend/cuda/cufft"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/ir"
)

// libraryFFTC2C is FFTC2C by cuFFT: as many axes at once as a plan takes, from the
// last, and from the second time on in place.
func libraryFFTC2C(g library.GPU, c *ir.Call) error {
	lib, err := cufft.Open()
	if err != nil {
		return err
	}
	axes, inverse, scale, err := c2cOf(c)
	if err != nil {
		return err
	}
	x, d := c.In[0], c.Out[0]
	f := fourier{g, c.FFTPlans, d.DType}
	out, err := contiguous(g, d, d.DType)
	if err != nil {
		return err
	}
	if x, err = onDevice(g, x, x.DType); err != nil {
		return err
	}
	for end := len(axes); end > 0; end -= cufft.MaxRank {
		group := axes[max(0, end-cufft.MaxRank):end]
		if err := f.stage(g, lib, cufft.C2C, x, out.View, group, inverse); err != nil {
			return err
		}
		x = out.View
	}
	if err := f.scale(out.Addr, out.NumElements(), scale, false); err != nil {
		return err
	}
	return out.finish(g)
}

// libraryFFTR2C is FFTR2C by cuFFT.
func libraryFFTR2C(g library.GPU, c *ir.Call) error { return libraryBins(g, c, 0, nil, false) }

// libraryFFTR2CConj is FFTR2CConj by cuFFT.
func libraryFFTR2CConj(g library.GPU, c *ir.Call) error { return libraryBins(g, c, 0, nil, true) }

// libraryFFTR2CPlanes is FFTR2CPlanes by cuFFT, in one plan.
func libraryFFTR2CPlanes(g library.GPU, c *ir.Call) error {
	axes, err := ir.Axes(c.Attrs[0].Ints, len(c.In[0].Shape))
	if err != nil {
		return err
	}
	return libraryBins(g, c, 1, axes, false)
}

// libraryBins is FFTR2C by cuFFT of a call with attribute dim at a place, transformed along axes too, and
// turned where that is wanted.
func libraryBins(g library.GPU, c *ir.Call, dim int, axes []int, turned bool) error {
	lib, err := cufft.Open()
	if err != nil {
		return err
	}
	b, err := r2cOf(c, dim)
	if err != nil {
		return err
	}
	b.turned = turned
	x, d := c.In[0], c.Out[0]
	f := fourier{g, c.FFTPlans, d.DType}
	out, err := contiguous(g, d, d.DType)
	if err != nil {
		return err
	}
	if x, err = f.aligned(x); err != nil {
		return err
	}
	if err := f.stage(g, lib, cufft.R2C, x, out.View, append(slices.Clone(axes), b.axis), false); err != nil {
		return err
	}
	if b.inner == 1 {
		err = f.scale(out.Addr, out.NumElements(), b.edge, turned)
	} else {
		outer, along, inner := around(out.Shape, b.axis)
		err = f.weigh(out.Addr, out.Addr, outer, inner, along*inner, b)
	}
	if err != nil {
		return err
	}
	return out.finish(g)
}

// libraryFFTC2R is FFTC2R by cuFFT.
func libraryFFTC2R(g library.GPU, c *ir.Call) error { return libraryReals(g, c, 0, nil, false) }

// libraryFFTC2RConj is FFTC2RConj by cuFFT.
func libraryFFTC2RConj(g library.GPU, c *ir.Call) error { return libraryReals(g, c, 0, nil, true) }

// libraryFFTC2RPlanes is FFTC2RPlanes by cuFFT, in one plan.
func libraryFFTC2RPlanes(g library.GPU, c *ir.Call) error {
	axes, err := ir.Axes(c.Attrs[0].Ints, len(c.In[0].Shape))
	if err != nil {
		return err
	}
	return libraryReals(g, c, 1, axes, false)
}

// libraryReals is FFTC2R by cuFFT of a call with attribute dim at a place, of the inverse transform along
// axes, where there are any, which with dim are the last, and of conjugates where that is wanted. The
// library overwrites its operand and says nothing of numbers that no real tensor has: it is given a copy
// without these.
func libraryReals(g library.GPU, c *ir.Call, dim int, axes []int, turned bool) error {
	lib, err := cufft.Open()
	if err != nil {
		return err
	}
	b, err := c2rOf(c, dim)
	if err != nil {
		return err
	}
	b.turned = turned
	x, d := c.In[0], c.Out[0]
	f := fourier{g, c.FFTPlans, x.DType}
	dense, err := g.Dense(x, x.DType)
	if err != nil {
		return err
	}
	weighed := dense
	if dense.Addr == x.Addr || len(axes) > 0 { // what others read, too, or is read at two places
		if weighed, err = scratchView(g, x.Shape, x.DType); err != nil {
			return err
		}
	}
	if len(axes) > 0 {
		err = f.planes(weighed.Addr, dense.Addr, x.Shape, axes, b)
	} else {
		outer, along, inner := around(x.Shape, b.axis)
		err = f.weigh(weighed.Addr, dense.Addr, outer, inner, along*inner, b)
	}
	if err != nil {
		return err
	}
	out, err := contiguous(g, d, d.DType)
	if err == nil && out.Addr%uint64(f.dtype.Size()) != 0 {
		out, err = copied(g, d, d.DType)
	}
	if err != nil {
		return err
	}
	if err := f.stage(g, lib, cufft.C2R, weighed, out.View, append(slices.Clone(axes), b.axis), true); err != nil {
		return err
	}
	return out.finish(g)
}

// planes writes the halves at src of spectra along axes, which with that of the bins are the last, to dst
// with what makes real numbers of them.
func (f *fourier) planes(dst, src uint64, shape, axes []int, b bins) error {
	m := [2]int{1, 1}
	for i, a := range axes {
		m[len(m)-len(axes)+i] = shape[a]
	}
	count := ir.NumElements(shape)
	along := b.n/2 + 1
	var p driver.Params
	p.Uint64(dst)
	p.Uint64(src)
	for _, v := range []int{count / (m[0] * m[1] * along), m[0], m[1], along, b.n} {
		p.Int64(int64(v))
	}
	p.Float64(b.edge)
	p.Float64(b.edge * b.inner)
	return f.run(ofType("fft_planes", f.dtype), count, &p)
}

// aligned returns a real operand on the device at an address that the library reads
// pairs from.
func (f *fourier) aligned(x ir.View) (ir.View, error) {
	if x.Ptr != nil {
		return f.Dense(x, x.DType)
	}
	if x.Addr%uint64(f.dtype.Size()) == 0 {
		return x, nil
	}
	own, err := scratchView(f, x.Shape, x.DType)
	if err != nil {
		return own, err
	}
	return own, f.Store(own, x)
}

// stage enqueues one transform of x to out along at most cufft.MaxRank axes. Where
// the library knows no layout like theirs, and where copies and a transform of
// neighbours are faster than it, the axes are moved last in copies.
func (f *fourier) stage(g library.GPU, lib *cufft.Library, kind cufft.Kind, x, out ir.View, axes []int, inverse bool) error {
	if p, ok := f.describe(kind, x, out, axes); ok && !f.scattered(&p) {
		return lib.Run(g, f.plans, &p, x.Addr, out.Addr, inverse)
	}
	from, to := lastAxes(x, axes...), lastAxes(out, axes...)
	moved := to
	if !to.IsContiguous() {
		var err error
		if to, err = scratchView(g, moved.Shape, out.DType); err != nil {
			return err
		}
	}
	from, err := f.gathered(kind, from, to)
	if err != nil {
		return err
	}
	at := make([]int, len(axes))
	for i := range at {
		at[i] = len(x.Shape) - len(axes) + i
	}
	p, ok := f.describe(kind, from, to, at)
	if !ok {
		return fmt.Errorf("%w: shape %v, axes %v", cufft.ErrUnsupported, x.Shape, axes)
	}
	if err := lib.Run(g, f.plans, &p, from.Addr, to.Addr, inverse); err != nil || to.Addr == moved.Addr {
		return err
	}
	return g.Store(moved, to)
}

// gathered returns x without gaps: x itself, or a copy, which is where the result
// goes if that may be overwritten.
func (f *fourier) gathered(kind cufft.Kind, x, to ir.View) (ir.View, error) {
	if kind != cufft.C2C || x.IsContiguous() {
		return f.Dense(x, x.DType)
	}
	return to, f.Store(to, x)
}

// onePass is the bytes of a line that a multiprocessor can hold: a longer one goes
// through memory at least twice.
const onePass = 128 << 10

// scattered reports whether p is of lines that take several passes, with gaps between
// their points, which cost each of the passes more than a copy does.
func (f *fourier) scattered(p *cufft.Problem) bool {
	return p.Rank == 1 && (p.InStride > 1 || p.OutStride > 1) && p.N[0]*int64(f.dtype.Size()) > onePass
}

// describe returns the plan's problem; ok is false where the other axes of x and out
// are no single sequence, or those to transform do not lie in each other.
func (f *fourier) describe(kind cufft.Kind, x, out ir.View, axes []int) (p cufft.Problem, ok bool) {
	p = cufft.Problem{Kind: kind, DType: f.dtype, Rank: len(axes), Batch: 1, InDist: 1, OutDist: 1}
	for i, a := range axes {
		p.N[i] = int64(max(x.Shape[a], out.Shape[a]))
	}
	if p.InStride, ok = embed(&p.InEmbed, x, axes); !ok {
		return p, false
	}
	if p.OutStride, ok = embed(&p.OutEmbed, out, axes); !ok {
		return p, false
	}
	k := len(axes) - 1
	for a := len(x.Shape) - 1; a >= 0; a-- {
		switch n := int64(x.Shape[a]); {
		case k >= 0 && axes[k] == a:
			k--
		case n == 1:
		case p.Batch == 1:
			p.Batch, p.InDist, p.OutDist = n, int64(x.Strides[a]), int64(out.Strides[a])
			if p.InDist < 1 || p.OutDist < 1 {
				return p, false
			}
		case int64(x.Strides[a]) == p.Batch*p.InDist && int64(out.Strides[a]) == p.Batch*p.OutDist:
			p.Batch *= n
		default:
			return p, false
		}
	}
	return p, true
}

// embed sets the extents of the memory that axes of v lie in, and returns the stride
// of the last.
func embed(to *[cufft.MaxRank]int64, v ir.View, axes []int) (stride int64, ok bool) {
	last := len(axes) - 1
	stride = int64(max(v.Strides[axes[last]], 1))
	inner := stride
	for i := last; i >= 0; i-- {
		n, s := int64(v.Shape[axes[i]]), int64(v.Strides[axes[i]])
		to[i] = n
		if n > 1 && s < 1 {
			return 0, false
		}
		if i < last && n > 1 {
			// The axis inside is as long as this one's steps are wide.
			if s%inner != 0 || s/inner < to[i+1] {
				return 0, false
			}
			to[i+1] = s / inner
			inner = s
		} else if i < last {
			inner *= to[i+1]
		}
	}
	return stride, true
}
