package composite

import "github.com/sinter-go/sinter/runtime/core"

// The types of the operators that triangles are handed.
type (
	ofAxes   = func(x *core.Tensor, n int) *core.Tensor
	triangle = func(x *core.Tensor, rows, cols, diagonal int) *core.Tensor
	banded   = func(x *core.Tensor, first, last int) *core.Tensor
)

// Tril returns the matrices in the last two axes of x with zeros above a diagonal: on
// the CPU by the kernel band, elsewhere by sized.
func Tril(axes ofAxes, sized triangle, band banded, x *core.Tensor, diagonal int) *core.Tensor {
	return triangular(axes, sized, x, diagonal, func(x *core.Tensor, rows, _ int) *core.Tensor { return band(x, -rows, diagonal) })
}

// Triu is Tril with zeros below the diagonal.
func Triu(axes ofAxes, sized triangle, band banded, x *core.Tensor, diagonal int) *core.Tensor {
	return triangular(axes, sized, x, diagonal, func(x *core.Tensor, _, cols int) *core.Tensor { return band(x, diagonal, cols) })
}

func triangular(axes ofAxes, sized triangle, x *core.Tensor, diagonal int, host func(x *core.Tensor, rows, cols int) *core.Tensor) *core.Tensor {
	x = axes(x, 2)
	if core.FirstError(x) != nil {
		return x
	}
	shape := x.Shape()
	rows, cols := shape[len(shape)-2], shape[len(shape)-1]
	if x.Device().Accelerator() {
		return sized(x, rows, cols, diagonal)
	}
	return host(x, rows, cols)
}
