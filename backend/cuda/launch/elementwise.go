package launch

import (
	"fmt"
	"math/bits"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
)

const (
	elementwiseThreads = 256 // of a block, at most
	unaryThreads       = 128 // of a block that reads one contiguous operand
	fewThreads         = 64  // of a block, where the device is not filled
	vectorsEach        = 2   // vectors a thread of the contiguous loop
	stridedEach        = 4   // elements a thread of the strided loop
	vectorBytes        = 16
	warp               = 32 // threads
)

// elementwise computes a body over an iteration space.
func (x *Context) elementwise(c *ir.Call) error {
	if len(c.Out) != len(c.Kernel.Out) || len(c.In) != len(c.Kernel.In) {
		return fmt.Errorf("%s: %d results and %d operands for %d and %d", c.Op.Name, len(c.Out), len(c.In), len(c.Kernel.Out), len(c.Kernel.In))
	}
	n := int64(ir.NumElements(c.Space))
	if n == 0 {
		return nil
	}
	if len(c.Out) > 1 {
		return x.several(c, n)
	}
	if from := c.Copied(); from != nil {
		return x.Store(c.Out[0], *from)
	}
	e := elements{set: x.device.loopsOf(c.Kernel), count: n, result: c.Kernel.Out[0].DType}
	if !x.plain(c, &e) {
		if err := x.operands(c, &e); err != nil {
			return err
		}
	}
	out := &c.Out[0]
	if out.DType != e.result {
		natural, err := x.dense(c.Space, e.result)
		if err != nil {
			return err
		}
		if err := x.loop(c, &natural, &e); err != nil {
			return err
		}
		return x.Store(*out, natural)
	}
	return x.loop(c, out, &e)
}

// elements is an element-wise call whose operands are as its kernel wants them:
// in the context's views, or in its values where numbers has their bit.
type elements struct {
	set     *loopSet
	count   int64
	result  ir.DType // what the kernel stores
	widest  int      // bytes of the largest element
	numbers uint32   // bit 1+i: operand i is passed by value
}

// plain makes ready the operands of a call that needs no conversion: all are in
// device memory, and these and the result of the dtypes of the kernel's ports. It
// reports whether c is so.
func (x *Context) plain(c *ir.Call, e *elements) bool {
	ports := c.Kernel.In
	e.widest = e.result.Size()
	for i := range c.In {
		v := &c.In[i]
		if v.DType != ports[i].DType || v.Ptr != nil {
			return false
		}
		e.widest = max(e.widest, v.DType.Size())
	}
	x.views = c.In
	return len(c.In) > 0 && c.Out[0].DType == e.result
}

// operands makes c's operands ready: numbers are read, others converted where the
// kernel wants another dtype.
func (x *Context) operands(c *ir.Call, e *elements) error {
	e.widest = e.result.Size()
	ready, ports := true, c.Kernel.In
	for i := range c.In {
		v, want := &c.In[i], ports[i].DType
		ready = ready && v.Ptr == nil && v.DType == want
		e.widest = max(e.widest, want.Size())
	}
	if ready {
		x.views = c.In
		return nil
	}
	x.made, x.values = x.made[:0], x.values[:0]
	for i := range c.In {
		v, want := c.In[i], ports[i].DType
		var n number
		switch compute := want.Compute(); {
		case !v.Given():
			return fmt.Errorf("%s: operand %s is missing", c.Op.Name, ports[i].Name)
		case v.Ptr != nil && len(c.In) > 1 && compute.Size() <= 8 && i < 31:
			n = readNumber(v.Ptr, v.DType, compute)
			e.numbers |= 1 << (1 + i)
		case v.Ptr != nil:
			addr, err := x.uploadNumber(readNumber(v.Ptr, v.DType, want), want)
			if err != nil {
				return err
			}
			v.Ptr, v.Addr, v.DType = nil, addr, want
		case v.DType != want:
			var err error
			if v, err = x.converted(v, want); err != nil {
				return err
			}
		}
		x.made, x.values = append(x.made, v), append(x.values, n)
	}
	x.views = x.made
	return nil
}

// uploadNumber returns scratch that holds n.
func (x *Context) uploadNumber(n number, dt ir.DType) (uint64, error) {
	addr, err := x.Scratch(int64(dt.Size()))
	if err != nil {
		return 0, err
	}
	return addr, x.fill(addr, 1, dt, n)
}

// converted returns v in another dtype: a copy in scratch that repeats elements
// where v does.
func (x *Context) converted(v ir.View, dt ir.DType) (ir.View, error) {
	shape := make([]int, len(v.Shape))
	for a, n := range v.Shape {
		shape[a] = n
		if v.Strides[a] == 0 {
			shape[a] = 1
		}
	}
	out, err := x.dense(shape, dt)
	if err != nil {
		return ir.View{}, err
	}
	from := v
	from.Shape = shape
	// The views of the call so far outlive this use of the context's memory.
	if err := x.Store(out, from); err != nil {
		return ir.View{}, err
	}
	for a := range v.Shape {
		if v.Strides[a] == 0 {
			out.Strides[a] = 0
		}
	}
	out.Shape = v.Shape
	return out, nil
}

// loop launches the kernel for a layout: the contiguous one, that of rows, or the
// strided one.
func (x *Context) loop(c *ir.Call, out *ir.View, e *elements) error {
	if x.runs(c, out, e) {
		return x.contiguous(c, out, e)
	}
	x.strides = append(x.strides[:0], out.Strides)
	for i := range x.views {
		x.strides = append(x.strides, x.views[i].Strides)
	}
	x.order = natural(x.order, c.Space)
	if !c.Indexed {
		nearest(x.order, x.strides...)
	}
	l := &x.space
	l.set(c.Space, x.order, x.strides)
	switch l.rank() {
	case 0:
		return x.contiguous(c, out, e)
	case 1:
		if l.contiguous() && x.numbersOnly(e) && x.aligned(out, e) {
			return x.contiguous(c, out, e)
		}
	}
	if l.fits(true) {
		return x.anyLayout(c, out, e, l, 0, nil)
	}
	return l.pieces(true, func(p *piece) error {
		return x.anyLayout(c, out, e, &p.layout, p.first, p.offsets)
	})
}

// runs reports whether out and every operand that is not a number is contiguous
// and aligned for vectors, or so small that it does not matter. The call says so where
// there are no numbers; operands made of row-major ones are row-major, too.
func (x *Context) runs(c *ir.Call, out *ir.View, e *elements) bool {
	return (c.Flat || e.numbers != 0 && x.allContiguous(out, e)) && (e.count < 1<<14 || x.aligned(out, e))
}

func (x *Context) allContiguous(out *ir.View, e *elements) bool {
	if !out.IsContiguous() {
		return false
	}
	for i := range x.views {
		if e.numbers>>(1+i)&1 == 0 && !x.views[i].IsContiguous() {
			return false
		}
	}
	return true
}

// numbersOnly reports whether the operands that a space of contiguous operands
// would exclude are numbers.
func (x *Context) numbersOnly(e *elements) bool {
	for i := range x.views {
		if e.numbers>>(1+i)&1 == 0 && x.space.stride(0, 1+i) != 1 {
			return false
		}
	}
	return x.space.stride(0, 0) == 1
}

// aligned reports whether all addresses are multiples of a vector.
func (x *Context) aligned(out *ir.View, e *elements) bool {
	elements, _ := vectorsOf(e.widest)
	width := uint64(elements)
	if out.Addr%(width*uint64(out.DType.Size())) != 0 {
		return false
	}
	for i := range x.views {
		v := &x.views[i]
		if e.numbers>>(1+i)&1 == 0 && v.Addr%(width*uint64(v.DType.Size())) != 0 {
			return false
		}
	}
	return true
}

// contiguous launches the loop over contiguous operands, which takes any count.
func (x *Context) contiguous(c *ir.Call, out *ir.View, e *elements) error {
	x.params.Reset()
	x.params.Int64(e.count)
	x.pointers(out, e, nil)
	if err := x.functor(c); err != nil {
		return err
	}
	grid, block := x.contiguousShape(e)
	return x.launch(e.set, contiguousLoop, grid, block)
}

// vectorsOf returns the elements of a vector and the vectors a thread computes,
// for the largest element's size.
func vectorsOf(widest int) (width, each int64) {
	return min(8, int64(vectorBytes/widest)), vectorsEach
}

// contiguousShape chooses the blocks of a loop over contiguous operands. A thread of
// a full block has all its vectors under way at once; one of the last block, where
// that is not full, does them one after the other. A kernel that is over after one
// vector is that one's delay long, so few elements are one block of a vector a
// thread, and more are cut so that such threads have one, where that is possible.
func (x *Context) contiguousShape(e *elements) (grid, block driver.Dim3) {
	width, each := vectorsOf(e.widest)
	if vectors := (e.count + width - 1) / width; vectors <= elementwiseThreads {
		return driver.Dim3{X: 1, Y: 1, Z: 1}, driver.Dim3{X: uint32(vectors+warp-1) &^ (warp - 1), Y: 1, Z: 1}
	}
	threads := int64(elementwiseThreads)
	if len(x.views)-bits.OnesCount32(e.numbers) == 1 {
		threads = unaryThreads
	}
	filled := width * each * int64(x.device.sms)
	for threads > fewThreads && e.count < threads*filled { // larger ones would not fill the device
		threads /= 2
	}
	if e.count < fewThreads*filled {
		for t := threads; t <= elementwiseThreads; t *= 2 {
			if e.count&(t*width*each-1) <= t*width {
				threads = t
				break
			}
		}
	}
	per := threads * width * each // a power of two
	blocks := min((e.count+per-1)>>bits.TrailingZeros64(uint64(per)), space.Limit-1)
	return driver.Dim3{X: uint32(blocks), Y: 1, Z: 1}, driver.Dim3{X: uint32(threads), Y: 1, Z: 1}
}

// anyLayout launches the loop over rows or the strided one. offsets are those of
// position 0, nil for none.
func (x *Context) anyLayout(c *ir.Call, out *ir.View, e *elements, l *layout, first int64, offsets []int64) error {
	width, _ := vectorsOf(e.widest)
	loop, each := stridedLoop, int64(stridedEach)
	if e.rows(l, width) && x.rowsAligned(out, e, l, width, offsets) {
		l.vectors(width)
		loop, each = rowsLoop, 1
	}
	x.params.Reset()
	l.encode(&x.params, first)
	x.pointers(out, e, offsets)
	if err := x.functor(c); err != nil {
		return err
	}
	blocks := (l.count + elementwiseThreads*each - 1) / (elementwiseThreads * each)
	return x.launch(e.set, loop, driver.Dim3{X: uint32(blocks), Y: 1, Z: 1}, driver.Dim3{X: elementwiseThreads, Y: 1, Z: 1})
}

// rows reports whether the loop over rows takes a layout.
func (e *elements) rows(l *layout, width int64) bool {
	return width > 1 && l.rank() > 0 && l.stride(0, 0) == 1 && l.width(width, true) == width
}

// rowsAligned reports whether every operand's rows start at a multiple of its
// vectors.
func (x *Context) rowsAligned(out *ir.View, e *elements, l *layout, width int64, offsets []int64) bool {
	at := func(k int, v *ir.View) bool {
		if l.stride(0, k) == 0 {
			return true
		}
		addr := v.Addr
		if offsets != nil {
			addr += uint64(offsets[k] * int64(v.DType.Size()))
		}
		return addr%uint64(width*int64(v.DType.Size())) == 0
	}
	if !at(0, out) {
		return false
	}
	for i := range x.views {
		if e.numbers>>(1+i)&1 == 0 && !at(1+i, &x.views[i]) {
			return false
		}
	}
	return true
}

// pointers adds the struct Operands: addresses, numbers, and which are numbers.
// offsets are those of position 0, in elements, nil for none.
func (x *Context) pointers(out *ir.View, e *elements, offsets []int64) {
	if offsets == nil && e.numbers == 0 {
		x.params.Uint64(out.Addr)
		for i := range x.views {
			x.params.Uint64(x.views[i].Addr)
		}
		x.params.Uint64(0)
		return
	}
	at := out.Addr
	if offsets != nil {
		at += uint64(offsets[0] * int64(out.DType.Size()))
	}
	x.params.Uint64(at)
	for i := range x.views {
		if e.numbers>>(1+i)&1 != 0 {
			x.params.Uint64(x.values[i].low())
			continue
		}
		v := &x.views[i]
		at := v.Addr
		if offsets != nil {
			at += uint64(offsets[1+i] * int64(v.DType.Size()))
		}
		x.params.Uint64(at)
	}
	x.params.Uint32(e.numbers)
	x.params.Align(8)
}
