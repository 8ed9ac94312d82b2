package main

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// patterns are what people write of several operators, besides the works above.
func (w *workload) patterns() []fusedWork {
	m, n := w.patternSides()
	return slices.Concat(layerPatterns(m, n), foldPatterns(m, n), elementPatterns(m, n), typePatterns(m, n))
}

// patternSides are the rows and columns of what patterns are given, in the second cache or the third.
func (w *workload) patternSides() (m, n int) {
	if !w.judged {
		return 16, 64
	}
	return 512, 1024
}

// layerPatterns are layers of networks and their losses.
func layerPatterns(m, n int) []fusedWork {
	x, planes, channels := f32(m, n), f32(m/8, 32, 16, 16), f32(32, 1, 1)
	return []fusedWork{
		{"gelu MLP", of(f32(m, n/4), f32(n/2, n/4), f32(n/2), named(f32(n/4, n/2), "d")), one(func(x ...T) T {
			return x[0].Linear(x[1], tensor.Bias(x[2])).GELU().Linear(x[3])
		}), "F.linear(F.gelu(F.linear(a, b, c)), d)"},
		{"residual and layer norm", of(x, x, f32(n)), one(func(x ...T) T {
			return x[0].Add(x[1]).LayerNorm([]int{n}, tensor.Weight(x[2]))
		}), fmt.Sprintf("F.layer_norm(a + b, (%d,), c)", n)},
		{"cross entropy with smooth labels", of(x, labels(m, n)), one(func(x ...T) T {
			return x[0].CrossEntropy(x[1], tensor.LabelSmoothing(0.1))
		}), "F.cross_entropy(a, b, label_smoothing=0.1)"},
		{"attention of parts with a mask", of(f32(2, 8, m/4, 64), f32(2, 8, m/4, 64), f32(2, 8, m/4, 64), named(operand{Shape: []int{m / 4, m / 4}, DType: "int64", Below: 2}, "d")), one(func(x ...T) T {
			s := x[0].MatMul(x[1].Transpose(-1, -2)).MulScalar(0.125).MaskedFillScalar(x[3].EqScalar(0), -1e9)
			return s.Softmax(-1).MatMul(x[2])
		}), "torch.softmax((a @ b.transpose(-1, -2) * 0.125).masked_fill(d == 0, -1e9), -1) @ c"},
		{"batch norm of parts and relu", of(planes, channels, channels), one(func(x ...T) T {
			all := []tensor.Option{tensor.Dim(0, 2, 3), tensor.KeepDim()}
			c := x[0].Sub(x[0].Mean(all...))
			return c.Mul(c.Square().Mean(all...).AddScalar(1e-5).Rsqrt()).Mul(x[1]).Add(x[2]).ReLU()
		}), "(lambda z: F.relu(z * torch.rsqrt(z.square().mean((0, 2, 3), True) + 1e-5) * b + c))(a - a.mean((0, 2, 3), True))"},
	}
}

// foldPatterns fold axes, alone or beside what they are made of.
func foldPatterns(m, n int) []fusedWork {
	return []fusedWork{
		{"means over two axes", of(f32(m/4, 16, 8, 64)), one(func(x ...T) T {
			return x[0].Square().Mean(tensor.Dim(1, 3)).Sqrt()
		}), "a.square().mean((1, 3)).sqrt()"},
		{"sums over two outer axes", of(f32(m/4, 16, 8, 64), f32(m/4, 16, 8, 64)), one(func(x ...T) T {
			return x[0].Mul(x[1]).Sum(tensor.Dim(0, 2))
		}), "(a * b).sum((0, 2))"},
		{"softmax of parts, rows of 64", of(f32(m*n/64, 64)), softmaxParts, fusedWorks[2].torch},
		{"distances of points", of(f32(64, 1, 64), f32(1, 64, 64)), one(func(x ...T) T {
			return x[0].Sub(x[1]).Square().Sum(tensor.Dim(-1)).Sqrt()
		}), "(a - b).square().sum(-1).sqrt()"},
		{"columns set to mean 0 and variance 1", of(f32(m, n/4)), one(func(x ...T) T {
			first := []tensor.Option{tensor.Dim(0), tensor.KeepDim()}
			c := x[0].Sub(x[0].Mean(first...))
			return c.Div(c.Square().Mean(first...).AddScalar(1e-5).Sqrt())
		}), "(lambda z: z / (z.square().mean(0, True) + 1e-5).sqrt())(a - a.mean(0, True))"},
	}
}

// elementPatterns are element by element, of parts of tensors, lines and other dtypes.
func elementPatterns(m, n int) []fusedWork {
	x, whole := f32(m, n), operand{Shape: []int{m, n}, DType: "int64", Below: 100}
	return []fusedWork{
		{"concatenated, added, relu", of(f32(m, n/2), f32(m, n/2), x), one(func(x ...T) T {
			return tensor.Cat([]T{x[0].Tanh(), x[1].MulScalar(2)}, 1).Add(x[2]).ReLU()
		}), "F.relu(torch.cat([torch.tanh(a), b * 2], 1) + c)"},
		{"halves turned (rotary)", of(f32(m, 8, 64), f32(m, 1, 32), f32(m, 1, 32)), one(func(x ...T) T {
			a, b := x[0].Narrow(2, 0, 32), x[0].Narrow(2, 32, 32)
			return tensor.Cat([]T{a.Mul(x[1]).Sub(b.Mul(x[2])), b.Mul(x[1]).Add(a.Mul(x[2]))}, 2)
		}), "(lambda p, q: torch.cat([p * b - q * c, q * b + p * c], 2))(a[..., :32], a[..., 32:])"},
		{"a column and a row", of(x, f32(m, 1), f32(n)), one(func(x ...T) T {
			return x[0].Mul(x[1]).Add(x[2]).Tanh().Sub(x[1])
		}), "torch.tanh(a * b + c) - b"},
		{"a column and a row, rows of 8", of(f32(m*n/8, 8), f32(m*n/8, 1), f32(8)), one(func(x ...T) T {
			return x[0].Mul(x[1]).Mul(x[2])
		}), "a * b * c"},
		{"two dropouts", of(x, x), one(func(x ...T) T {
			return x[0].ReLU().Dropout(0.1).Add(x[1]).Dropout(0.2).MulScalar(0.5)
		}), "F.dropout(F.dropout(F.relu(a), 0.1) + b, 0.2) * 0.5"},
		{"masks of int64", of(whole, whole), one(func(x ...T) T {
			return tensor.Where(x[0].Gt(x[1]).LogicalAnd(x[0].NeScalar(7)), x[0].Mul(x[1]), x[0].Sub(x[1]).AddScalar(3))
		}), "torch.where((a > b) & (a != 7), a * b, a - b + 3)"},
		{"places counted", of(x, x), one(func(x ...T) T { return x[0].Gt(x[1]).Sum() }), "(a > b).sum()"},
		{"complex products", of(ofType(x, "complex64"), ofType(x, "complex64")), one(func(x ...T) T {
			return x[0].Mul(x[1]).Add(x[0]).Abs()
		}), "(a * b + a).abs()"},
	}
}

// typePatterns are works above in other dtypes.
func typePatterns(m, n int) (list []fusedWork) {
	for _, dtype := range []string{"bfloat16", "float16", "float64"} {
		y, l := ofType(f32(m, n), dtype), ofType(f32(n), dtype)
		list = append(list,
			fusedWork{"chain of " + dtype, of(y, y, y), chain, fusedWorks[0].torch},
			fusedWork{"rms norm of parts of " + dtype, of(y, l), normParts, fusedWorks[1].torch})
		if dtype != "float64" {
			list = append(list,
				fusedWork{"softmax of parts of " + dtype, of(y), softmaxParts, fusedWorks[2].torch},
				fusedWork{"mean square error of " + dtype, of(y, y), one(func(x ...T) T { return x[0].MulScalar(0.5).MSELoss(x[1]) }), "F.mse_loss(a * 0.5, b)"},
				fusedWork{"means of columns of " + dtype, of(y, y), one(func(x ...T) T { return x[0].Sub(x[1]).Square().Mean(tensor.Dim(0)) }), "(a - b).square().mean(0)"})
		}
	}
	return list
}

// of gives a work these operands.
func of(list ...operand) func(operand, operand) []operand {
	return func(operand, operand) []operand { return list }
}

// ofType returns o in another dtype.
func ofType(o operand, dtype string) operand { o.DType = dtype; return o }

// named returns o with a name in the statement.
func named(o operand, name string) operand { o.Name = name; return o }

// gradientPatterns are works of 16 bits whose gradients are measured, too.
func (w *workload) gradientPatterns() (list []fusedWork) {
	for _, dtype := range []string{"bfloat16", "float16"} {
		for _, f := range fusedWorks {
			list = append(list, fusedWork{f.name + " of " + dtype, func(m, line operand) []operand {
				m.DType, line.DType = dtype, dtype
				return f.in(m, line)
			}, f.ours, f.torch})
		}
	}
	return list
}

// one makes a work's function of one that returns a tensor with its error.
func one(f func(x ...T) T) func(x ...T) (T, error) {
	return func(x ...T) (T, error) {
		y := f(x...)
		return y, y.Err()
	}
}

// cpuPatternRows are these on the CPU: a program is not to be slower than the
// calls one by one, nor than what PyTorch compiles.
func (w *workload) cpuPatternRows(compiled bool) (rows []row) {
	m, n := w.patternSides()
	for _, threads := range cpuThreads {
		var pairs [][]row
		for _, f := range w.patterns() {
			pairs = append(pairs, f.rows(f32(1), f32(1), compiled))
		}
		for _, f := range w.gradientPatterns() {
			pairs = append(pairs, f.gradientRows(f32(m, n), f32(n), compiled))
		}
		for _, list := range pairs {
			for k := range list {
				list[k].name = "pattern " + list[k].name
				list[k].unit, list[k].work, list[k].clock = microseconds, 0, wallTime
			}
			eager := withThreads(list[0].name, threads)
			list[1].targets = []target{atMost(1, eager)}
			if compiled {
				list[1].targets = append(list[1].targets, atMost(1, byPyTorch))
			}
			for _, r := range grouped("Several operators as people write them", list) {
				rows = append(rows, r.with(threads))
			}
		}
	}
	return rows
}
