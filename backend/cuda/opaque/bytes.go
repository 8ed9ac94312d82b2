package opaque

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// A byteProduct is a product of bytes as kernels/bytes.cu sees it, or a convolution, which is
// one of a weight with the windows of images.
type byteProduct struct {
	kernel                 string
	out                    uint64
	left, right            ir.View // contiguous
	leftZero, rightZero    ir.View
	m, n, k, batch, groups int
	moved                  bool  // y or the weight, which may have a sign, has none
	window                 []int // of a convolution: what Bytes there has from height on
}

const (
	bytesDepth = 64 // terms that a kernel takes at once, of which a slice has at least twice as many
	// windowNumbers is how many numbers describe the windows of a convolution.
	windowNumbers = 11
)

// launch enqueues the product.
func (p *byteProduct) launch(g code.GPU) error {
	rows, columns := 64, 64
	tiles := func() int64 { return ceil(int64(p.m), int64(rows)) * ceil(int64(p.n), int64(columns)) }
	sms := int64(g.Multiprocessors())
	if p.m <= 16 {
		rows, columns = 16, 128
	} else if rows, columns = 128, 128; tiles()*int64(p.batch) < sms {
		rows, columns = 64, 64
	}
	blocks := tiles() * min(int64(p.batch), gridLimit)
	if max(p.m, p.n, p.k) >= productLimit || tiles() >= math.MaxInt32 {
		return fmt.Errorf("a product of %d x %d x %d bytes is too large for cuda", p.m, p.n, p.k)
	}
	slices := max(1, min(2*sms/blocks, int64(p.k)/(2*bytesDepth)))
	if slices > 1 {
		if err := g.Zero(p.out, int64(p.batch)*int64(p.m)*int64(p.n)*4); err != nil {
			return err
		}
	}
	var params driver.Params
	for _, addr := range []uint64{p.out, p.left.Addr, p.right.Addr, p.leftZero.Addr, p.rightZero.Addr} {
		params.Uint64(addr)
	}
	flag := func(v bool) int {
		if v {
			return 1
		}
		return 0
	}
	numbers := []int{
		p.m, p.n, p.k, int(slices), flag(p.leftZero.NumElements() > 1), flag(p.rightZero.NumElements() > 1),
		flag(p.k%16 == 0 && p.left.Addr%16 == 0), flag(p.n%4 == 0 && p.right.Addr%4 == 0), p.batch, p.groups, flag(p.moved),
	}
	window := p.window
	if window == nil {
		window = make([]int, windowNumbers)
	}
	for _, n := range append(numbers, window...) {
		params.Int32(int32(n))
	}
	params.Align(8)
	size := [3]int{int(tiles()), int(slices), min(p.batch, gridLimit)}
	return g.Launch("bytes", fmt.Sprintf("bytes_%s_%dx%d", p.kernel, rows, columns), size, block(blockThreads), 0, params.Bytes())
}

// Int8Product returns the product of x [..., m, k], uint8 less its zero, with y [k, n], bytes
// less their zero, which is one number or one for each column.
func Int8Product(g code.GPU, c *ir.Call) error {
	out := c.Out[0]
	return ofBytes(g, c, c.In[0], func(in []ir.View) (byteProduct, error) {
		k, n := in[1].Shape[0], in[1].Shape[1]
		return byteProduct{
			kernel: "product", left: in[0], right: in[1], leftZero: in[2], rightZero: in[3],
			m: out.NumElements() / n, n: n, k: k, batch: 1, groups: 1, moved: in[1].DType == ir.Uint8,
		}, nil
	})
}

// ofBytes computes the product that describe makes of operands without gaps, or zeros where
// factor, one of them, has no elements.
func ofBytes(g code.GPU, c *ir.Call, factor ir.View, describe func(in []ir.View) (byteProduct, error)) error {
	out := c.Out[0]
	if out.NumElements() == 0 {
		return nil
	}
	if factor.NumElements() == 0 {
		return zero(g, out)
	}
	in, err := dense(g, c.In)
	if err != nil {
		return err
	}
	p, err := describe(in)
	if err != nil {
		return err
	}
	to, err := contiguous(g, out, ir.Int32)
	if err != nil {
		return err
	}
	p.out = to.Addr
	if err := p.launch(g); err != nil {
		return err
	}
	return to.finish(g)
}

// dense returns views on the device without gaps, each of its own dtype.
func dense(g code.GPU, views []ir.View) ([]ir.View, error) {
	list := make([]ir.View, len(views))
	for i, v := range views {
		var err error
		if list[i], err = g.Dense(v, v.DType); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Int8Convolution returns the cross-correlation of x [n, channels, height, width], uint8
// less its zero, with weight [out, channels/groups, kernel...], bytes less their zero, which is
// one number or one for each of out. Attributes: stride, padding, dilation and groups.
func Int8Convolution(g code.GPU, c *ir.Call) error {
	out := c.Out[0]
	return ofBytes(g, c, c.In[1], func(in []ir.View) (byteProduct, error) {
		x, w, groups := in[0].Shape, in[1].Shape, int(c.Attrs[3].Int)
		if size := w[1] * x[2] * x[3]; size >= productLimit {
			return byteProduct{}, fmt.Errorf("a convolution over %d bytes of a group of an image is too large for cuda", size)
		}
		p := byteProduct{
			kernel: "convolution", left: in[1], right: in[0], leftZero: in[3], rightZero: in[2],
			m: w[0] / groups, n: out.Shape[2] * out.Shape[3], k: w[1] * w[2] * w[3], batch: x[0] * groups, groups: groups, moved: in[1].DType == ir.Uint8,
			window: []int{x[2], x[3], out.Shape[3], w[2], w[3]},
		}
		for _, a := range c.Attrs[:3] {
			p.window = append(p.window, a.Ints...)
		}
		return p, nil
	})
}

// Int8LSTMSequence returns the outputs and cells, [steps, batch, width], of an LSTM over
// gates [steps, batch, 4*width], in the order input, output, forget, cell, from a first
// output and cell [batch, width], whose outputs are quantized before they are multiplied with
// weight [width, 4*width], int8 less its zero and times its scale. Attribute: reverse.
func Int8LSTMSequence(g code.GPU, c *ir.Call) error {
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	in, err := dense(g, c.In)
	if err != nil {
		return err
	}
	r := &recurrence{gpu: g, dtype: c.Out[0].DType, steps: c.Out[0].Shape[0], batch: c.Out[0].Shape[1], width: c.Out[0].Shape[2], gates: 4, reverse: c.Attrs[0].Int != 0}
	for _, v := range c.Out {
		out, err := contiguous(g, v, r.dtype)
		if err != nil {
			return err
		}
		r.out = append(r.out, out)
	}
	state := []int{r.batch, r.width}
	q, err := scratchView(g, state, ir.Uint8)
	if err != nil {
		return err
	}
	sums, err := scratchView(g, []int{r.batch, 4 * r.width}, ir.Int32)
	if err != nil {
		return err
	}
	by, err := scratchView(g, []int{2}, ir.Float32) // the scale of the bytes, and behind it their zero
	if err != nil {
		return err
	}
	zero := ir.View{Addr: by.Addr + 4, DType: ir.Uint8}
	p := byteProduct{
		kernel: "product", out: sums.Addr, left: q, right: in[3], leftZero: zero, rightZero: in[5],
		m: r.batch, n: 4 * r.width, k: r.width, batch: 1, groups: 1,
	}
	step := func(gates, before, cell, h uint64) error {
		scales := int32(min(1, in[4].NumElements()-1))
		return r.byteStep([]uint64{gates, sums.Addr, in[4].Addr, before, cell, h, q.Addr, by.Addr, zero.Addr}, scales)
	}
	if err := step(0, 0, 0, in[1].Addr); err != nil {
		return err
	}
	before := in[2].Addr
	err = g.Repeat(r.steps, func(i int) error {
		if err := p.launch(g); err != nil {
			return err
		}
		t := r.at(i)
		cell := r.state(r.out[1].Addr, t)
		if err := step(r.gate(in[0].Addr, t), before, cell, r.state(r.out[0].Addr, t)); err != nil {
			return err
		}
		before = cell
		return nil
	})
	if err != nil {
		return err
	}
	return r.finish()
}

// byteStep launches what lies between two products of an LSTM of bytes, of the addresses
// that the kernel's struct begins with; scale is how far apart those of two columns are.
func (r *recurrence) byteStep(addrs []uint64, scale int32) error {
	var p driver.Params
	for _, addr := range addrs {
		p.Uint64(addr)
	}
	p.Int32(int32(r.batch))
	p.Int32(int32(r.width))
	p.Int32(scale)
	p.Align(8)
	return r.gpu.Launch("bytes", ofType("bytes_lstm", r.dtype), [3]int{1, 1, 1}, block(largestBlock), 0, p.Bytes())
}
