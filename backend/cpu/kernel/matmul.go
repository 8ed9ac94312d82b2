package kernel

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

type mulFunc func(m, n, k int, a, b, c gemm.Matrix, add bool)

var muls = table[mulFunc]{
	ir.Uint8: gemm.Mul[uint8], ir.Int8: gemm.Mul[int8], ir.Int16: gemm.Mul[int16], ir.Int32: gemm.Mul[int32], ir.Int64: gemm.Mul[int64],
	ir.Float32: gemm.Mul[float32], ir.Float64: gemm.Mul[float64], ir.Complex64: gemm.Mul[complex64], ir.Complex128: gemm.Mul[complex128],
}

// mulWork is how many products are worth another processor.
const mulWork = 64 * 1024

// MatMul multiplies matrices: the last two axes of x and y. A tensor of one axis
// is a row on the left and a column on the right; leading axes broadcast.
func MatMul(c *ir.Call) error {
	mul, err := muls.of(c.Compute)
	if err != nil {
		return err
	}
	if c.Out[0].NumElements() == 0 {
		return nil
	}
	x, y := computable(c.In[0], c.Compute), computable(c.In[1], c.Compute)
	d := tile.TargetOf(c.Out[0], c.Compute)
	into(mul, x, y, d, false)
	tile.Finish(c.Out[0], d)
	return nil
}

// into sets z, which is dense, to the product of x and y, or adds this to it.
func into(mul mulFunc, x, y, z ir.View, add bool) {
	if len(x.Shape) == 1 {
		x, z = insertAxis(x, 0), insertAxis(z, len(z.Shape)-min(1, len(y.Shape)-1))
	}
	if len(y.Shape) == 1 {
		y, z = insertAxis(y, 1), insertAxis(z, len(z.Shape))
	}
	x, z = foldRows(x, y, z)
	multiply(mul, x, y, z, add)
}

// computable returns v if its elements are of dtype, else a copy that are.
func computable(v ir.View, dtype ir.DType) ir.View {
	if v.DType == dtype {
		return v
	}
	return tile.Dense(v, dtype)
}

// insertAxis returns v with an axis of extent 1 before axis at.
func insertAxis(v ir.View, at int) ir.View {
	insert := func(list []int, e int) []int {
		return append(append(append(make([]int, 0, len(list)+1), list[:at]...), e), list[at:]...)
	}
	v.Shape, v.Strides = insert(v.Shape, 1), insert(v.Strides, 0)
	return v
}

// foldRows makes one product of many where y is the same for all of x's leading
// axes and these lie in memory as more rows.
func foldRows(x, y, z ir.View) (ir.View, ir.View) {
	if len(y.Shape) != 2 || len(x.Shape) < 3 || !x.IsContiguous() {
		return x, z
	}
	k, n := y.Shape[0], y.Shape[1]
	rows := ir.NumElements(x.Shape[:len(x.Shape)-1])
	x.Shape, x.Strides = []int{rows, k}, []int{k, 1}
	z.Shape, z.Strides = []int{rows, n}, []int{n, 1}
	return x, z
}

// multiply sets each matrix of z to the product of those of x and y, or adds this
// to it.
func multiply(mul mulFunc, x, y, z ir.View, add bool) {
	lead := len(z.Shape) - 2
	batch, size := z.Shape[:lead], z.DType.Size()
	m, n, k := z.Shape[lead], z.Shape[lead+1], x.Shape[len(x.Shape)-1]
	xs := ir.ExpandStrides(x.Shape[:len(x.Shape)-2], x.Strides[:len(x.Shape)-2], batch)
	ys := ir.ExpandStrides(y.Shape[:len(y.Shape)-2], y.Strides[:len(y.Shape)-2], batch)
	work := m * n * max(k, 1)
	pool.For(ir.NumElements(batch), max(1, mulWork/work), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			a, b := matrix(x), matrix(y)
			offA, offB, r := 0, 0, i
			for ax := lead - 1; ax >= 0; ax-- {
				at := r % batch[ax]
				r /= batch[ax]
				offA, offB = offA+at*xs[ax], offB+at*ys[ax]
			}
			a.Ptr, b.Ptr = unsafe.Add(a.Ptr, offA*size), unsafe.Add(b.Ptr, offB*size)
			mul(m, n, k, a, b, gemm.Matrix{Ptr: unsafe.Add(z.Ptr, i*m*n*size), Row: n, Col: 1}, add)
		}
	})
}

// matrix returns the first matrix of v.
func matrix(v ir.View) gemm.Matrix {
	r := len(v.Shape)
	return gemm.Matrix{Ptr: v.Ptr, Row: v.Strides[r-2], Col: v.Strides[r-1]}
}
