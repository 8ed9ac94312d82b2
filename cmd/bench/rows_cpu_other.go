package main

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
)

// cpuOtherRows are operators that no target names, most of them among our slower
// ones.
func (w *workload) cpuOtherRows() []row {
	n, side, channels := 64<<10, 1024, 64
	if w.spread == 0 {
		n, side, channels = 1<<8, 32, 8
	}
	v, m, image := f32(n), f32(side, side), f32(8, channels, 28, 28)
	positive := v
	positive.Positive = true
	typed := func(dtype string, shape ...int) operand { return operand{Shape: shape, DType: dtype} }
	index := func(below int, shape ...int) operand { return operand{Shape: shape, DType: "int64", Below: below} }
	variance := f32(channels)
	variance.Positive = true
	rows := []row{
		{name: "power of 2", in: []operand{v}, ours: result(func(x []T) T { return x[0].PowScalar(2) }), torch: "a ** 2"},
		{name: "rsqrt", in: []operand{positive}, ours: result(func(x []T) T { return x[0].Rsqrt() }), torch: "a.rsqrt()"},
		{name: "remainder", in: []operand{v, positive}, ours: result(func(x []T) T { return x[0].Remainder(x[1]) }), torch: "a.remainder(b)"},
		{name: "neg, bfloat16", in: []operand{typed("bfloat16", n)}, ours: result(func(x []T) T { return x[0].Neg() }), torch: "-a"},
		{name: "add, bfloat16", in: []operand{typed("bfloat16", n), typed("bfloat16", n)}, ours: result(func(x []T) T { return x[0].Add(x[1]) }), torch: "a + b"},
		{name: "copysign, bfloat16", in: []operand{typed("bfloat16", n), typed("bfloat16", n)}, ours: result(func(x []T) T { return x[0].Copysign(x[1]) }), torch: "a.copysign(b)"},
		{name: "multiplication, complex64", in: []operand{typed("complex64", n), typed("complex64", n)}, ours: result(func(x []T) T { return x[0].Mul(x[1]) }), torch: "a * b"},
		{name: "conjugate, complex64", in: []operand{typed("complex64", n)}, ours: result(func(x []T) T { return x[0].Conj() }), torch: "a.conj().resolve_conj()"},
		{name: "magnitude, complex64", in: []operand{typed("complex64", n)}, ours: result(func(x []T) T { return x[0].Abs() }), torch: "a.abs()"},
		{name: "maximum, int32", in: []operand{{Shape: []int{n}, DType: "int32", Below: 1000}}, ours: result(func(x []T) T { return x[0].Max() }), torch: "a.max()"},
		{name: "maximum, uint8", in: []operand{{Shape: []int{n}, DType: "uint8", Below: 200}}, ours: result(func(x []T) T { return x[0].Max() }), torch: "a.max()"},
		{name: "maximum of rows, int32", in: []operand{{Shape: []int{side, side}, DType: "int32", Below: 1000}},
			ours: result(func(x []T) T { return x[0].Max(tensor.Dim(1)) }), torch: "a.amax(1)"},
		{name: "norm of a matrix", in: []operand{m}, ours: result(func(x []T) T { return x[0].Norm() }), torch: "a.norm()"},
		{name: "standard deviation of a matrix", in: []operand{m}, ours: result(func(x []T) T { return x[0].Std() }), torch: "a.std()"},
		{name: "logsumexp of rows", in: []operand{m}, ours: result(func(x []T) T { return x[0].Logsumexp([]int{1}) }), torch: "a.logsumexp(1)"},
		{name: "lower triangle", in: []operand{m}, ours: result(func(x []T) T { return x[0].Tril(0) }), torch: "a.tril()"},
		{name: "diagonals embedded", in: []operand{f32(side, 64)}, ours: result(func(x []T) T { return x[0].DiagEmbed() }), torch: "torch.diag_embed(a)"},
		{name: "negative log likelihood, bfloat16", in: []operand{typed("bfloat16", side, 1000), index(1000, side)},
			ours: result(func(x []T) T { return x[0].NLLLoss(x[1]) }), torch: "F.nll_loss(a, b)"},
		{name: "batch norm with given moments", in: []operand{image, f32(channels), variance},
			ours: result(func(x []T) T { return x[0].BatchNorm(x[1], x[2]) }), torch: "F.batch_norm(a, b, c)"},
		{name: "group norm", in: []operand{image}, ours: result(func(x []T) T { return x[0].GroupNorm(8) }), torch: "F.group_norm(a, 8)"},
		{name: "mean of images", in: []operand{image}, ours: result(func(x []T) T { return x[0].AdaptiveAvgPool2d(1, 1) }), torch: "F.adaptive_avg_pool2d(a, 1)"},
		{name: "embedding of 64", in: []operand{index(1000, 4*side), f32(1000, 64)},
			ours: result(func(x []T) T { return tensor.Embedding(x[0], x[1]) }), torch: "F.embedding(a, b)"},
		{name: "one-hot of 100", in: []operand{index(100, 4*side)}, ours: result(func(x []T) T { return tensor.OneHot(x[0], 100) }), torch: "F.one_hot(a, 100)"},
		{name: "samples of a grid", in: []operand{f32(8, 16, 32, 32), f32(8, 32, 32, 2)},
			ours: result(func(x []T) T { return x[0].GridSample(x[1]) }), torch: "F.grid_sample(a, b, align_corners=False)"},
		{name: "product, complex64", in: []operand{typed("complex64", side/4, side/4), typed("complex64", side/4, side/4)},
			ours: result(func(x []T) T { return x[0].MatMul(x[1]) }), torch: "a @ b"},
		{name: "product, int64", in: repeated(operand{Shape: []int{side / 2, side / 2}, DType: "int64", Below: 1000}, 2),
			ours: result(func(x []T) T { return x[0].MatMul(x[1]) }), torch: "a @ b"},
		{name: "product, int32", in: repeated(operand{Shape: []int{side / 2, side / 2}, DType: "int32", Below: 1000}, 2),
			ours: result(func(x []T) T { return x[0].MatMul(x[1]) }), torch: "a @ b"},
		{name: "product, uint8", in: repeated(operand{Shape: []int{side / 2, side / 2}, DType: "uint8", Below: 200}, 2),
			ours: result(func(x []T) T { return x[0].MatMul(x[1]) }), torch: "a @ b"},
		{name: "permutation", ours: result(func([]T) T { return tensor.Randperm(n) }), torch: fmt.Sprintf("torch.randperm(%d)", n)},
	}
	return grouped("Other operators", measured(wallTime, microseconds, rows))
}
