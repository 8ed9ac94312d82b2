package main

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
)

// besideWorks are operators of rows whose gradients are kernels, alone and with what a program folds with them.
func besideWorks(n int) []fusedWork {
	whole := func(m, line operand) []operand { return []operand{m} }
	two := func(m, line operand) []operand { return []operand{m, m} }
	weighted := func(m, line operand) []operand { return []operand{m, line} }
	last := []int{n}
	return []fusedWork{
		{"softmax", whole, one(func(x ...T) T { return x[0].Softmax(-1) }), "torch.softmax(a, -1)"},
		{"softmax beside products", two, one(func(x ...T) T { return x[0].MulScalar(0.125).Softmax(-1).Mul(x[1]) }), "torch.softmax(a * 0.125, -1) * b"},
		{"rms norm beside a product and a sum", weighted, one(func(x ...T) T {
			return x[0].RMSNorm(last, tensor.Weight(x[1])).MulScalar(0.5).Add(x[0])
		}), fmt.Sprintf("F.rms_norm(a, (%d,), b) * 0.5 + a", n)},
		{"layer norm beside a product and a sum", weighted, one(func(x ...T) T {
			return x[0].LayerNorm(last, tensor.Weight(x[1])).MulScalar(0.5).Add(x[0])
		}), fmt.Sprintf("F.layer_norm(a, (%d,), b) * 0.5 + a", n)},
	}
}

// cpuBesideRows are the gradients of such works, and of what they come from, on the CPU: as calls and as
// a program.
func (w *workload) cpuBesideRows(compiled bool) (rows []row) {
	shapes := [][2]int{{512, 512}, {4096, 64}, {8192, 128}, {256, 4096}, {2048, 768}}
	if !w.judged {
		shapes = [][2]int{{8, 16}}
	}
	for _, threads := range cpuThreads {
		for _, s := range shapes {
			for _, f := range besideWorks(s[1]) {
				f.name += fmt.Sprintf(" %dx%d", s[0], s[1])
				list := f.gradientRows(f32(s[0], s[1]), f32(s[1]), compiled)
				for k := range list {
					list[k].unit, list[k].work, list[k].clock = microseconds, 0, wallTime
				}
				for _, r := range grouped("Gradients of rows and what is beside them", list) {
					rows = append(rows, r.with(threads))
				}
			}
		}
	}
	return rows
}
