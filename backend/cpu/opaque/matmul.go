package opaque

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// factors are matrices to be multiplied: one product, or a batch of them.
type factors struct {
	m, n, k int
	a, b, c gemm.Matrix // of the first product
	bias    unsafe.Pointer
	packed  *gemm.Packed // b, or nil
	serial  bool         // use the calling goroutine only
	then    func(i0, i1, j0, j1 int)

	size   int   // bytes of an element of a factor
	out    int   // and of the result
	batch  []int // leading axes
	as, bs []int // their strides
}

// compute computes the first product, or with at n of them, of a dtype that kernels
// compute in or of bfloat16.
func (f *factors) compute(dtype ir.DType, n int, at locator) {
	switch dtype {
	case ir.Uint8:
		mul[uint8](f, n, at)
	case ir.Int8:
		mul[int8](f, n, at)
	case ir.Int16:
		mul[int16](f, n, at)
	case ir.Int32:
		mul[int32](f, n, at)
	case ir.Int64:
		mul[int64](f, n, at)
	case ir.Float32:
		mul[float32](f, n, at)
	case ir.Float64:
		mul[float64](f, n, at)
	case ir.Complex64:
		mul[complex64](f, n, at)
	case ir.Complex128:
		mul[complex128](f, n, at)
	case ir.BFloat16:
		mulHalves(f, n, at)
	}
}

// A locator returns where the operands and the result of a product of a batch begin.
type locator func(i int) (a, b, c unsafe.Pointer)

func mul[T number](f *factors, n int, at locator) {
	p := gemm.Product[T]{M: f.m, N: f.n, K: f.k, A: f.a, B: f.b, C: f.c, Bias: f.bias, Packed: f.packed, Serial: f.serial, Done: f.then}
	if at == nil {
		p.Run()
	} else {
		p.Each(n, at)
	}
}

func mulHalves(f *factors, n int, at locator) {
	p := gemm.HalfProduct{M: f.m, N: f.n, K: f.k, A: f.a, B: f.b, C: f.c, Bias: f.bias, Wide: f.out == ir.Float32.Size(), Serial: f.serial}
	for i := range n {
		if at != nil {
			p.A.Ptr, p.B.Ptr, p.C.Ptr = at(i)
		}
		p.Run()
	}
}

// halves reports whether the processor multiplies matrices of bfloat16 to such or to
// float32, if that is what these are. Their rows must lie one after the other in the
// result.
func halves(x, y, out ir.View) bool {
	return gemm.Halves() && x.DType == ir.BFloat16 && y.DType == ir.BFloat16 && (out.DType == ir.BFloat16 || out.DType == ir.Float32) &&
		out.IsContiguous() && x.Shape[len(x.Shape)-1] > 0
}

// mulWork is how many products are worth another processor.
const mulWork = 64 * 1024

// MatMul multiplies matrices: the last two axes of x and y. A tensor of one axis
// is a row on the left and a column on the right; leading axes broadcast.
func MatMul(c *ir.Call) error { return multiply(c, ir.View{}, nil) }

// multiply is MatMul with a bias that is added to each row, where it is given, and calls
// then, where that is not nil, for what is finished.
func multiply(c *ir.Call, bias ir.View, then func(i0, i1, j0, j1 int)) error {
	if c.Compute == ir.Bool {
		return unsupported(c.Compute)
	}
	x, y, out := c.In[0], c.In[1], c.Out[0]
	if out.NumElements() == 0 {
		return nil
	}
	wide := widened(c.Compute, out.NumElements()*x.Shape[len(x.Shape)-1])
	if bias.Given() {
		if bias.DType != wide || !bias.IsContiguous() {
			bias = tile.Dense(bias, wide)
		}
	}
	dtype := wide
	switch {
	case halves(x, y, out):
		dtype, wide = ir.BFloat16, out.DType
	case x.DType != wide || y.DType != wide:
		v, block := computable(x, wide)
		defer release(block)
		w, other := computable(y, wide)
		defer release(other)
		x, y = v, w
	}
	d := out
	if out.DType != wide || !out.IsContiguous() {
		block := scratch.Get(out.NumElements() * wide.Size())
		defer block.Put()
		d = ir.View{Ptr: block.Ptr(), DType: wide, Shape: out.Shape, Strides: ir.ContiguousStrides(out.Shape)}
	}
	var f factors
	f.set(x, y, d)
	f.bias = bias.Ptr
	if len(f.batch) == 0 && dtype != ir.BFloat16 && d.Ptr == out.Ptr {
		f.then, then = then, nil
	}
	if len(f.batch) == 0 {
		if y.Ptr == c.In[1].Ptr {
			f.keep(c.KeptOf(1), dtype)
		}
		f.compute(dtype, 1, nil)
	} else {
		f.each(dtype)
	}
	if d.Ptr != out.Ptr {
		tile.Copy(out, d)
	}
	if then != nil {
		columns := out.Shape[len(out.Shape)-1]
		then(0, out.NumElements()/columns, 0, columns)
	}
	return nil
}

// A packing says which matrix of what is kept was packed, and for which kernels.
type packing struct {
	b     gemm.Matrix
	k, n  int
	dtype ir.DType
	level simd.Level
}

// keep has products read the form of b that is packed, where it is kept.
func (f *factors) keep(kept *ir.Kept, dtype ir.DType) {
	if kept == nil {
		return
	}
	switch dtype {
	case ir.Float32:
		keepPacked[float32](f, kept, dtype)
	case ir.Float64:
		keepPacked[float64](f, kept, dtype)
	}
}

func keepPacked[T float](f *factors, kept *ir.Kept, dtype ir.DType) {
	p := gemm.Product[T]{M: f.m, N: f.n, K: f.k}
	if !p.Packs() {
		return
	}
	key := packing{f.b, f.k, f.n, dtype, simd.Active()}
	f.packed, _ = kept.Form(key, func() any { return gemm.Pack[T](f.b, f.k, f.n) }).(*gemm.Packed)
}

// widenWork is how many products of small integers are worth conversions.
const widenWork = 2048

// widened returns the dtype that products of one are computed in: that of int32, for
// which there are kernels, is the one of smaller integers when its upper bits are cut
// off.
func widened(dtype ir.DType, work int) ir.DType {
	switch dtype {
	case ir.Uint8, ir.Int8, ir.Int16:
		if work >= widenWork && gemm.Integers() {
			return ir.Int32
		}
	}
	return dtype
}

func release(b *scratch.Block) {
	if b != nil {
		b.Put()
	}
}

// computable returns v if its elements are of dtype, else a copy that are, in
// the order that v has in memory; the block, which may be nil, holds it.
func computable(v ir.View, dtype ir.DType) (ir.View, *scratch.Block) {
	if v.DType == dtype {
		return v, nil
	}
	block := scratch.Get(v.NumElements() * dtype.Size())
	d := ir.View{Ptr: block.Ptr(), DType: dtype, Shape: v.Shape, Strides: ir.ContiguousStrides(v.Shape)}
	if r := len(v.Shape); r >= 2 && v.Strides[r-1] > v.Strides[r-2] {
		turned := ir.ContiguousStrides(swapped(v.Shape))
		d.Strides = swapped(turned)
		tile.Copy(ir.View{Ptr: d.Ptr, DType: dtype, Shape: swapped(d.Shape), Strides: turned},
			ir.View{Ptr: v.Ptr, DType: v.DType, Shape: swapped(v.Shape), Strides: swapped(v.Strides)})
		return d, block
	}
	tile.Copy(d, v)
	return d, block
}

// swapped returns a list with its last two elements exchanged.
func swapped(list []int) []int {
	r := len(list)
	out := append([]int(nil), list...)
	out[r-1], out[r-2] = list[r-2], list[r-1]
	return out
}

// set reads the geometry; z has no gaps.
func (f *factors) set(x, y, z ir.View) {
	f.size, f.out = x.DType.Size(), z.DType.Size()
	rx, ry := len(x.Shape), len(y.Shape)
	f.m, f.n, f.k = 1, 1, x.Shape[rx-1]
	f.a, f.b = gemm.Matrix{Ptr: x.Ptr, Col: x.Strides[rx-1]}, gemm.Matrix{Ptr: y.Ptr, Row: y.Strides[ry-1]}
	lead := len(z.Shape)
	leadX, leadY := 0, 0
	if ry > 1 {
		leadY = ry - 2
		lead--
		f.n = y.Shape[ry-1]
		f.b.Row, f.b.Col = y.Strides[ry-2], y.Strides[ry-1]
	}
	if rx > 1 {
		leadX = rx - 2
		lead--
		f.m, f.a.Row = x.Shape[rx-2], x.Strides[rx-2]
	}
	f.c = gemm.Matrix{Ptr: z.Ptr, Row: f.n, Col: 1}
	if lead == 0 {
		return
	}
	row, even := evenRows(x)
	switch {
	case leadY == 0 && even: // one product of many rows
		f.m, f.a.Row = ir.NumElements(x.Shape[:rx-1]), row
	default:
		f.batch = z.Shape[:lead]
		f.as = ir.ExpandStrides(x.Shape[:leadX], x.Strides[:leadX], f.batch)
		f.bs = ir.ExpandStrides(y.Shape[:leadY], y.Strides[:leadY], f.batch)
	}
}

// evenRows returns how far apart the rows of all matrices in x lie, and whether that is
// the same from each to the next.
func evenRows(x ir.View) (row int, even bool) {
	n := 1 // of the rows that were looked at
	for a := len(x.Shape) - 2; a >= 0; a-- {
		switch {
		case x.Shape[a] == 1:
			continue
		case n == 1:
			row = x.Strides[a]
		case x.Strides[a] != n*row:
			return 0, false
		}
		n *= x.Shape[a]
	}
	return row, true
}

// each computes the products of a batch: several at once, or one after the other
// where there are few large ones.
func (f *factors) each(dtype ir.DType) {
	count, work := ir.NumElements(f.batch), f.m*f.n*max(f.k, 1)
	if count*work <= mulWork {
		f.some(dtype, 0, count, true)
		return
	}
	if procs := runtime.GOMAXPROCS(0); count < 4*procs && count%procs != 0 && work > 64*mulWork {
		f.some(dtype, 0, count, false)
		return
	}
	g := *f
	pool.For(count, max(1, mulWork/work), func(lo, hi int) { g.some(dtype, lo, hi, true) })
}

// some computes products [lo, hi) of the batch.
func (f *factors) some(dtype ir.DType, lo, hi int, serial bool) {
	one := *f
	one.serial = serial
	one.compute(dtype, hi-lo, func(i int) (a, b, c unsafe.Pointer) {
		offA, offB, r := 0, 0, lo+i
		for ax := len(f.batch) - 1; ax >= 0; ax-- {
			at := r % f.batch[ax]
			r /= f.batch[ax]
			offA, offB = offA+at*f.as[ax], offB+at*f.bs[ax]
		}
		return unsafe.Add(f.a.Ptr, offA*f.size), unsafe.Add(f.b.Ptr, offB*f.size), unsafe.Add(f.c.Ptr, (lo+i)*f.m*f.n*f.out)
	})
}
