package main

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter/examples/tf32/experiment"
)

// tf32Rows are the reference document's example of TF32: the time of
// its products beside PyTorch's, and the errors, whose bounds are those of the
// behaviour's statement.
func (w *workload) tf32Rows() []row {
	n := 10240
	if w.side < 8192 {
		n = w.side
	}
	var known experiment.Result // measured once for all rows
	fact := func(of func(experiment.Result) float64) func(context.Context, *bench) (float64, error) {
		return func(context.Context, *bench) (_ float64, err error) {
			if known.N == 0 {
				known, err = experiment.Run(w.dev, n)
			}
			return of(known), err
		}
	}
	rows := measured(deviceTime, milliseconds, []row{
		{name: fmt.Sprintf("product %d, TF32", n), tf32: true, in: []operand{f32(n, n), f32(n, n)}, torch: "torch.matmul(a, b)"},
		{name: fmt.Sprintf("product %d, FP32", n), in: []operand{f32(n, n), f32(n, n)}, torch: "torch.matmul(a, b)"},
	})
	for i := range rows {
		rows[i].ours = result(func(x []T) T { return x[0].MatMul(x[1]) })
	}
	rows = append(rows,
		row{name: "mean of the product", unit: plain, fact: fact(func(r experiment.Result) float64 { return r.Mean })},
		row{name: "TF32, largest error", unit: plain, fact: fact(func(r experiment.Result) float64 { return r.TF32.Max })},
		row{name: "TF32, error over mean", unit: plain, fact: fact(func(r experiment.Result) float64 { return r.TF32.Relative })},
		row{name: "FP32, largest error", unit: plain, fact: fact(func(r experiment.Result) float64 { return r.Full.Max })},
		row{name: "FP32, error over mean", unit: plain, fact: fact(func(r experiment.Result) float64 { return r.Full.Relative })},
	)
	if n == 10240 {
		for i, t := range map[int][]target{
			0: {atMost(1/0.95, byPyTorch)}, 1: {atMost(1/0.95, byPyTorch)}, 2: {atLeast(79.93, absolute), atMost(81.55, absolute)},
			4: {atLeast(5e-4, absolute), atMost(1e-2, absolute)}, 6: {atMost(2e-4, absolute)},
		} {
			rows[i].targets = t
		}
	}
	return grouped("The TF32 example", rows)
}
