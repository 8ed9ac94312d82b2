package opaque

import (
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A bytePacking says which matrix of bytes of what is kept was packed, and for which kernels.
type bytePacking struct {
	b     gemm.Matrix
	k, n  int
	moved bool
	level simd.Level
}

// packedBytes returns the matrix y [k, n] of bytes as kernels read it, with a sign: that which
// is kept, or a new one. Bytes without a sign are less by 128 there, as zeroBytes are.
func packedBytes(y ir.View, kept *ir.Kept) *gemm.Bytes {
	b, k, n := gemm.Matrix{Ptr: y.Ptr, Row: y.Strides[0], Col: y.Strides[1]}, y.Shape[0], y.Shape[1]
	moved := y.DType == ir.Uint8
	pack := func() any { return gemm.PackBytes(b, k, n, moved) }
	if p, ok := kept.Form(bytePacking{b, k, n, moved, simd.Active()}, pack).(*gemm.Bytes); ok {
		return p
	}
	return pack().(*gemm.Bytes)
}

// zeroBytes returns the zeros of bytes as such with a sign.
func zeroBytes(v ir.View) []int8 {
	if v.DType != ir.Uint8 {
		return tile.Elements[int8](tile.Dense(v, ir.Int8))
	}
	list := make([]int8, 0, v.NumElements())
	for _, z := range tile.Elements[uint8](tile.Dense(v, ir.Uint8)) {
		list = append(list, int8(z^0x80))
	}
	return list
}

// A byteZeros has what the zeros of the factors of a product take away from its sums.
type byteZeros struct {
	bias []int32 // for each column
	rows []int32 // for each column, times the sum of a row; nil: nothing
}

// newByteZeros returns what factors x and y, whose terms are k, less their zeros lack
// beside x times y, of columns whose sums are given, and keeps bias, which has as many: the
// product is x*y - xZero*sums(y) - yZero*sums(x) + k*xZero*yZero.
func newByteZeros(xZero, yZero ir.View, k int, sums, bias []int32) byteZeros {
	x, y := int32(tile.Elements[uint8](xZero)[0]), zeroBytes(yZero)
	z := byteZeros{bias: bias}
	for j, s := range sums {
		z.bias[j] = -x * s
	}
	if !slices.ContainsFunc(y, notZero) {
		return z
	}
	z.rows = make([]int32, len(sums))
	for j, v := range spread(y, len(sums)) {
		z.rows[j] = int32(v)
		z.bias[j] += x * int32(k) * int32(v)
	}
	return z
}

func notZero(v int8) bool { return v != 0 }

// spread returns a list of n numbers, one for each: those given, or the one that is for all.
func spread[T any](list []T, n int) []T {
	if len(list) == 1 {
		return slices.Repeat(list, n)
	}
	return list
}

// finish takes away from a row of sums what the zeros of y give with a row of x.
func (z *byteZeros) finish(sums []int32, x []uint8) {
	if z.rows == nil {
		return
	}
	s := gemm.SumBytes(x)
	for j, v := range z.rows {
		sums[j] -= v * s
	}
}

// Int8Product returns the product of x [..., m, k], uint8 less its zero, with y [k, n], bytes
// less their zero, which is one number or one for each column.
func Int8Product(c *ir.Call) error {
	x, y, out := c.In[0], c.In[1], c.Out[0]
	if out.NumElements() == 0 {
		return nil
	}
	b := packedBytes(y, c.KeptOf(1))
	k, n := y.Shape[0], y.Shape[1]
	m := out.NumElements() / n
	x = tile.Dense(x, ir.Uint8)
	row, a := b.Row(), x.Ptr
	block := scratch.Get(4*n + m*row)
	defer block.Put()
	if row != k {
		a = unsafe.Add(block.Ptr(), 4*n)
		copyRows(unsafe.Slice((*uint8)(a), m*row), tile.Elements[uint8](x), row, k)
	}
	d := tile.TargetOf(out, ir.Int32)
	z := newByteZeros(c.In[2], c.In[3], k, b.Sums(), scratch.Slice[int32](block, n))
	b.Mul(m, a, row, gemm.Matrix{Ptr: d.Ptr, Row: n, Col: 1}, z.bias)
	if z.rows != nil {
		sums, bytes := tile.Elements[int32](d), tile.Elements[uint8](x)
		for i := range m {
			z.finish(sums[i*n:(i+1)*n], bytes[i*k:(i+1)*k])
		}
	}
	tile.Finish(out, d)
	return nil
}

// copyRows copies rows of k bytes to ones of row bytes, with zeros behind them.
func copyRows(to, from []uint8, row, k int) {
	for ; len(to) > 0; to, from = to[row:], from[k:] {
		copy(to, from[:k])
		clear(to[k:row])
	}
}
