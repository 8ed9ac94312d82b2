package opaque

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// maxRadix is the largest prime that a pass is done by; lengths with a larger one are
// done as a convolution.
const maxRadix = 61

// An ownPlan says how rows are transformed by kernels of our own. It holds no device
// memory: their tables are computed in each call.
type ownPlan struct {
	passes []int // radices, in order; none where chirp is set
	chirp  int   // the length of the convolution, or 0
}

// An ownKey is what an ownPlan is kept by.
type ownKey struct {
	dtype   ir.DType
	rows, n int
}

func newOwnPlan(n int) *ownPlan {
	p, left := new(ownPlan), n
	for left%4 == 0 {
		p.passes, left = append(p.passes, 4), left/4
	}
	for r := 2; r <= maxRadix; r++ {
		for left%r == 0 {
			p.passes, left = append(p.passes, r), left/r
		}
	}
	switch {
	case left > 1:
		return &ownPlan{chirp: 1 << bits.Len(uint(2*n-2))}
	case n == 1:
		p.passes = []int{1}
	}
	return p
}

// with calls do with the plan of rows of n points, which the device keeps.
func (f *fourier) with(rows, n int, do func(*ownPlan) error) error {
	if f.plans == nil {
		return do(newOwnPlan(n))
	}
	return f.plans.Use(ownKey{f.dtype, rows, n}, func() (any, error) { return newOwnPlan(n), nil }, func(p any) error {
		return do(p.(*ownPlan))
	})
}

// transform writes the transforms of dense rows of n points at src to dst.
func (f *fourier) transform(dst, src uint64, rows, n int, inverse bool, scale float64) error {
	return f.with(rows, n, func(p *ownPlan) error {
		if p.chirp != 0 {
			return f.convolve(p.chirp, dst, src, rows, n, inverse, scale)
		}
		return f.stockham(p.passes, dst, src, rows, n, inverse, scale)
	})
}

// stockham does the passes, between two pieces of scratch, the last to dst.
func (f *fourier) stockham(passes []int, dst, src uint64, rows, n int, inverse bool, scale float64) error {
	bytes := int64(n) * int64(f.dtype.Size())
	roots, err := f.Scratch(bytes)
	if err != nil {
		return err
	}
	var p driver.Params
	p.Uint64(roots)
	p.Int64(int64(n))
	if err := f.run(ofType("fft_roots", f.dtype), n, &p); err != nil {
		return err
	}
	var work [2]uint64
	for i := range min(len(passes)-1, len(work)) {
		if work[i], err = f.Scratch(bytes * int64(rows)); err != nil {
			return err
		}
	}
	stride := 1
	for i, r := range passes {
		to, by := work[i%2], 1.0
		if i == len(passes)-1 {
			to, by = dst, scale
		}
		name, threads := "fft_pass_any", rows*n
		if r >= 2 && r <= 5 {
			name, threads = fmt.Sprintf("fft_pass_%d", r), rows*(n/r)
		}
		p.Reset()
		for _, addr := range []uint64{to, src, roots} {
			p.Uint64(addr)
		}
		for _, v := range []int{rows, n, stride} {
			p.Int64(int64(v))
		}
		p.Int32(int32(r))
		p.Int32(flag(inverse))
		p.Float64(by)
		if err := f.run(ofType(name, f.dtype), threads, &p); err != nil {
			return err
		}
		src, stride = to, stride*r
	}
	return nil
}

// convolve does transforms as convolutions of m points, in complex128.
func (f *fourier) convolve(m int, dst, src uint64, rows, n int, inverse bool, scale float64) error {
	const size = 16 // bytes of a complex128
	var table, spectrum, x, y uint64
	for _, s := range []struct {
		addr  *uint64
		count int
	}{{&table, n}, {&spectrum, m}, {&x, rows * m}, {&y, rows * m}} {
		var err error
		if *s.addr, err = f.Scratch(size * int64(s.count)); err != nil {
			return err
		}
	}
	launch := func(kernel string, count int, addrs ...uint64) error {
		var p driver.Params
		for _, a := range addrs {
			p.Uint64(a)
		}
		for _, v := range []int{rows, n, m} {
			p.Int64(int64(v))
		}
		p.Int32(flag(inverse))
		p.Float64(scale)
		return f.run(kernel, count, &p)
	}
	double := fourier{f.GPU, nil, ir.Complex128}
	for _, step := range []func() error{
		func() error { return launch("chirp_table", n, table) },
		func() error { return launch("chirp_kernel", m, x, table) },
		func() error { return double.transform(spectrum, x, 1, m, false, 1) },
		func() error { return launch(ofType("chirp_load", f.dtype), rows*m, x, src, table) },
		func() error { return double.transform(y, x, rows, m, false, 1) },
		func() error { return launch("chirp_multiply", rows*m, y, spectrum) },
		func() error { return double.transform(x, y, rows, m, true, 1) },
		func() error { return launch(ofType("chirp_store", f.dtype), rows*n, dst, x, table) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// ownFFTC2C is FFTC2C by kernels of our own: one axis after the other, moved last.
func ownFFTC2C(g code.GPU, c *ir.Call) error {
	axes, inverse, scale, err := c2cOf(c)
	if err != nil {
		return err
	}
	x, d := c.In[0], c.Out[0]
	f := fourier{g, c.FFTPlans, d.DType}
	for i := len(axes) - 1; i >= 0; i-- {
		by := 1.0
		if i == 0 {
			by = scale
		}
		src, err := f.Dense(lastAxes(x, axes[i]), f.dtype)
		if err != nil {
			return err
		}
		to, err := f.target(d, axes[i], i == 0)
		if err != nil {
			return err
		}
		n := d.Shape[axes[i]]
		if err := f.transform(to.Addr, src.Addr, d.NumElements()/n, n, inverse, by); err != nil {
			return err
		}
		x = movedBack(to, axes[i])
	}
	if x.Addr == d.Addr {
		return nil
	}
	return f.Store(d, x)
}

// target returns where to write what is like d with an axis moved last: d where that
// is the result and without gaps, else scratch.
func (f *fourier) target(d ir.View, axis int, result bool) (ir.View, error) {
	moved := lastAxes(d, axis)
	if result && moved.IsContiguous() {
		return moved, nil
	}
	return scratchView(f, moved.Shape, d.DType)
}

// ownFFTR2C is FFTR2C by kernels of our own, as a transform of complex numbers.
func ownFFTR2C(g code.GPU, c *ir.Call) error { return ownBins(g, c, 0, false) }

// ownFFTR2CConj is FFTR2CConj by kernels of our own.
func ownFFTR2CConj(g code.GPU, c *ir.Call) error { return ownBins(g, c, 0, true) }

// ownFFTR2CPlanes is FFTR2CPlanes by kernels of our own, one axis after the other.
func ownFFTR2CPlanes(g code.GPU, c *ir.Call) error {
	d := c.Out[0]
	inside, err := scratchView(g, d.Shape, d.DType)
	if err != nil {
		return err
	}
	first := *c
	first.Out = []ir.View{inside}
	if err := ownBins(g, &first, 1, false); err != nil {
		return err
	}
	return ownFFTC2C(g, c2cCall(c, inside, d, false))
}

// ownFFTC2RPlanes is FFTC2RPlanes by kernels of our own.
func ownFFTC2RPlanes(g code.GPU, c *ir.Call) error {
	x := c.In[0]
	inside, err := scratchView(g, x.Shape, x.DType)
	if err != nil {
		return err
	}
	if err := ownFFTC2C(g, c2cCall(c, x, inside, true)); err != nil {
		return err
	}
	last := *c
	last.In = []ir.View{inside}
	return ownReals(g, &last, 1, false)
}

// c2cCall is the call of FFTC2C along the first attribute of c.
func c2cCall(c *ir.Call, x, out ir.View, inverse bool) *ir.Call {
	along := *c
	along.In, along.Out = []ir.View{x}, []ir.View{out}
	along.Attrs = []ir.Value{c.Attrs[0], ir.BoolValue(inverse), ir.FloatValue(1)}
	return &along
}

func ownBins(g code.GPU, c *ir.Call, dim int, turned bool) error {
	b, err := r2cOf(c, dim)
	if err != nil {
		return err
	}
	b.turned = turned
	x, d := c.In[0], c.Out[0]
	f := fourier{g, c.FFTPlans, d.DType}
	src, err := f.Dense(lastAxes(x, b.axis), f.dtype)
	if err != nil {
		return err
	}
	whole, err := scratchView(f, src.Shape, f.dtype)
	if err != nil {
		return err
	}
	rows := src.NumElements() / b.n
	if err := f.transform(whole.Addr, src.Addr, rows, b.n, false, 1); err != nil {
		return err
	}
	to, err := f.target(d, b.axis, true)
	if err != nil {
		return err
	}
	if err := f.weigh(to.Addr, whole.Addr, rows, 1, b.n, b); err != nil || to.Addr == d.Addr {
		return err
	}
	return f.Store(lastAxes(d, b.axis), to)
}

// ownFFTC2R is FFTC2R by kernels of our own, as a transform of complex numbers.
func ownFFTC2R(g code.GPU, c *ir.Call) error { return ownReals(g, c, 0, false) }

// ownFFTC2RConj is FFTC2RConj by kernels of our own.
func ownFFTC2RConj(g code.GPU, c *ir.Call) error { return ownReals(g, c, 0, true) }

func ownReals(g code.GPU, c *ir.Call, dim int, turned bool) error {
	b, err := c2rOf(c, dim)
	if err != nil {
		return err
	}
	b.turned = turned
	x, d := c.In[0], c.Out[0]
	f := fourier{g, c.FFTPlans, x.DType}
	src, err := f.Dense(lastAxes(x, b.axis), f.dtype)
	if err != nil {
		return err
	}
	moved := lastAxes(d, b.axis)
	whole, err := scratchView(f, moved.Shape, f.dtype)
	if err != nil {
		return err
	}
	points, err := scratchView(f, moved.Shape, f.dtype)
	if err != nil {
		return err
	}
	rows := moved.NumElements() / b.n
	var p driver.Params
	p.Uint64(whole.Addr)
	p.Uint64(src.Addr)
	b.append(&p, rows, 1, b.n/2+1)
	if err := f.run(ofType("fft_spread", f.dtype), rows*b.n, &p); err != nil {
		return err
	}
	if err := f.transform(points.Addr, whole.Addr, rows, b.n, true, 1); err != nil {
		return err
	}
	return f.Store(moved, points) // which drops the imaginary parts
}
