package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/exec"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/ir"
)

// cpuCallRows are about what a call costs beside its work.
func (w *workload) cpuCallRows() []row {
	one, v, m := f32(1), f32(small), f32(16, 16)
	rows := []row{
		{name: "add of one element", in: repeated(one, 2), ours: result(func(x []T) T { return x[0].Add(x[1]) }), torch: "a + b", targets: []target{atMost(0.25, byPyTorch)}},
		{name: "add of one element, not released", in: repeated(one, 2), ours: action(func(x []T) error { return x[0].Add(x[1]).Err() }), torch: "a + b"},
		{name: "add of one element, out", in: repeated(one, 3), ours: action(func(x []T) error { return out.Add(x[2], x[0], x[1]) }), torch: "torch.add(a, b, out=c)"},
		{name: "add 1024", in: repeated(v, 2), ours: result(func(x []T) T { return x[0].Add(x[1]) }), torch: "a + b"},
		{name: "relu 1024", in: repeated(v, 1), ours: result(func(x []T) T { return x[0].ReLU() }), torch: "torch.relu(a)"},
		{name: "sum 1024", in: repeated(v, 1), ours: result(func(x []T) T { return x[0].Sum() }), torch: "a.sum()"},
		{name: "matmul 16x16", in: repeated(m, 2), ours: result(func(x []T) T { return x[0].MatMul(x[1]) }), torch: "a @ b"},
		{name: "empty 1024", ours: emptyMaker, torch: "torch.empty(1024, device=device)"},
	}
	for i := range rows {
		rows[i].again, rows[i].threads, rows[i].targets = true, 1, append(rows[i].targets, atMost(1, byPyTorch))
	}
	rows = measured(hostTime, nanoseconds, rows)
	for _, of := range rows {
		if len(of.in) > 0 {
			rows = append(rows, row{name: "Go allocations of " + of.name, unit: allocations, fact: countOf(of)})
		}
	}
	d := dispatch{n: 8}
	rows = append(rows,
		row{name: "dispatch of a kernel, 8 elements", unit: nanoseconds, threads: 1, fact: d.time, targets: []target{atMost(15, absolute)}},
		row{name: "Go allocations of a dispatch", unit: allocations, fact: d.allocations, targets: []target{atMost(1e-9, absolute)}},
		row{name: "collection beside exp " + size(w.longest()), unit: milliseconds, fact: w.collection, targets: []target{atMost(2, absolute)}},
	)
	return grouped("Cost of a call", rows)
}

// longest is the longest vector there is time for.
func (w *workload) longest() int {
	sizes := w.cpuSizes()
	return sizes[len(sizes)-1].n
}

// A dispatch is a call of the CPU backend for an addition of n elements, below
// everything that makes tensors.
type dispatch struct{ n int }

func (d dispatch) call() *ir.Call {
	memory := make([]float32, 3*d.n)
	shape, strides := []int{d.n}, []int{1}
	view := func(i int) ir.View {
		return ir.View{Ptr: unsafe.Pointer(&memory[i*d.n]), DType: ir.Float32, Shape: shape, Strides: strides}
	}
	return &ir.Call{
		Kernel: ops.AddOp().Kernel(0, ir.Float32), Out: []ir.View{view(0)}, In: []ir.View{view(1), view(2)}, Space: shape, Flat: true,
	}
}

// time returns the nanoseconds of a dispatch.
func (d dispatch) time(_ context.Context, b *bench) (float64, error) {
	c := d.call()
	best := 0.0
	for range b.workload.rounds {
		const calls = 10000
		began := time.Now()
		for range calls {
			if err := exec.Run(c); err != nil {
				return 0, err
			}
		}
		if t := float64(time.Since(began).Nanoseconds()) / calls; best == 0 || t < best {
			best = t
		}
	}
	return best, nil
}

func (d dispatch) allocations(context.Context, *bench) (float64, error) {
	c := d.call()
	var err error
	n := testing.AllocsPerRun(1000, func() { err = exec.Run(c) })
	return n, err
}

// collection returns the milliseconds for which a garbage collection waits until all
// goroutines have stopped, while some compute on long vectors: the median of many.
func (w *workload) collection(_ context.Context, b *bench) (float64, error) {
	x, err := f32(w.longest()).make(b.ours.dev)
	if err != nil {
		return 0, err
	}
	defer x.Release()
	done, stop := make(chan error, 1), make(chan struct{})
	go func() {
		for {
			y := x.Exp()
			err := y.Err()
			y.Release()
			select {
			case <-stop:
				done <- err
				return
			default:
				if err != nil {
					done <- err
					return
				}
			}
		}
	}()
	var waits []float64
	before := stops()
	for range 21 {
		time.Sleep(3 * time.Millisecond)
		runtime.GC()
		after := stops()
		waits = append(waits, longestStop(before, after)*1e3)
		before = after
	}
	close(stop)
	err = <-done
	return median(waits), err
}

// stops returns how long collections have waited for all goroutines to stop, in
// seconds.
func stops() *metrics.Float64Histogram {
	s := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64Histogram()
}

// longestStop returns the seconds of the longest wait that after has more of than
// before: the upper end of its bucket, where that has one.
func longestStop(before, after *metrics.Float64Histogram) float64 {
	for i := len(after.Counts) - 1; i >= 0; i-- {
		if after.Counts[i] > before.Counts[i] {
			if end := after.Buckets[i+1]; !math.IsInf(end, 1) {
				return end
			}
			return after.Buckets[i]
		}
	}
	return 0
}

// A convolved is a convolution as residual networks have them.
type convolved struct {
	batch, in, side, out, kernel, stride, groups int
}

func (c convolved) String() string {
	text := fmt.Sprintf("%dx%dx%dx%d, %dx%d", c.batch, c.in, c.side, c.side, c.kernel, c.kernel)
	if c.stride > 1 {
		text += fmt.Sprintf("/%d", c.stride)
	}
	text += fmt.Sprintf(" to %d", c.out)
	if c.groups > 1 {
		text += fmt.Sprintf(", %d groups", c.groups)
	}
	return text
}

var convolutions = []convolved{
	{8, 3, 224, 64, 7, 2, 1},
	{8, 64, 56, 64, 1, 1, 1},
	{8, 64, 56, 64, 3, 1, 1},
	{8, 64, 56, 256, 1, 1, 1},
	{8, 128, 56, 128, 3, 2, 1},
	{8, 128, 28, 128, 3, 1, 1},
	{8, 256, 14, 256, 3, 1, 1},
	{8, 512, 7, 512, 3, 1, 1},
	{1, 64, 56, 64, 3, 1, 1},
	{1, 256, 14, 256, 3, 1, 1},
	{8, 96, 28, 96, 3, 1, 96},
	{64, 16, 8, 32, 3, 1, 1},
}

// cpuConvolutionRows are convolutions and, with what they come from, their
// gradients with respect to input and weight.
func (w *workload) cpuConvolutionRows() []row {
	var rows []row
	for _, c := range convolutions {
		if w.spread == 0 && c.batch < 64 { // a quick run
			continue
		}
		pad, to := c.kernel/2, (c.side-1)/c.stride+1
		in := []operand{f32(c.batch, c.in, c.side, c.side), f32(c.out, c.in/c.groups, c.kernel, c.kernel)}
		forward := func(x []T) T {
			return x[0].Conv2d(x[1], tensor.Padding(pad), tensor.Stride(c.stride), tensor.Groups(c.groups))
		}
		call := fmt.Sprintf("F.conv2d(a, b, padding=%d, stride=%d, groups=%d)", pad, c.stride, c.groups)
		rows = append(rows,
			row{name: "conv2d " + c.String(), in: in, ours: result(forward), torch: call},
			row{name: "conv2d " + c.String() + ", and gradients", in: append(slices.Clone(in), f32(c.batch, c.out, to, to)),
				ours: action(func(x []T) error { return gradients(x, forward) }), setup: "a.requires_grad_(); b.requires_grad_()",
				torch: "torch.autograd.grad(" + call + ", (a, b), c)"})
	}
	for i := range rows {
		rows[i].targets = []target{atMost(1/0.9, byPyTorch)}
	}
	return grouped("Convolutions float32", measured(wallTime, microseconds, rows))
}

// gradients computes f of the first two tensors, and its gradients with respect to
// these for a gradient that is the third.
func gradients(x []T, f func([]T) T) error {
	return tensor.Scope(func() error {
		leaves := []T{x[0].Detach().RequireGrad(), x[1].Detach().RequireGrad()}
		_, err := tensor.Gradients([]T{f(leaves)}, leaves, tensor.WithGradient(x[2]))
		return err
	})
}

// cpuStepRows are training steps: of the digits example, and of a perceptron.
func (w *workload) cpuStepRows() []row {
	digits := row{
		name: "digits example, batch 64", in: []operand{f32(64, 1, 8, 8), {Shape: []int{64}, DType: "int64", Below: 10}},
		ours: trainer(newDigits, newAdam), setup: "step = digits()", torch: "step(a, b)", targets: []target{atMost(0.6, byPyTorch)},
	}
	rows := []row{digits}
	for _, r := range w.trainingRows(false) {
		r.targets = []target{atMost(1, byPyTorch)}
		rows = append(rows, r)
	}
	return grouped("A training step float32", measured(wallTime, microseconds, rows))
}
