package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/examples/compile/models"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A training is a network with the arguments of its step, and PyTorch's name for it.
type training struct {
	name      string
	network   func() nn.Module
	optimizer func([]*nn.Parameter) (optim.Optimizer, error)
	in        []operand
	torch     string       // with %s for how
	dtype     tensor.DType // of parameters and of the first argument; float32 where it is not given
	peak      float64      // the most of eager code's memory that a program may need
}

func labels(n, classes int) operand {
	return operand{Shape: []int{n}, DType: "int64", Below: classes}
}

// trainings are the networks of compiled rows; small ones where nothing is judged.
func (w *workload) trainings() (mlp, digits, resnet, halved, block training) {
	mlp = training{"MLP 784-1024-1024-10", newPerceptron, newSGD, []operand{f32(128, 784), labels(128, 10)}, "mlp(torch.optim.SGD, 0.01, how='%s')", 0, 1}
	digits = training{"digits example, batch 64", newDigits, newAdam, []operand{f32(64, 1, 8, 8), labels(64, 10)}, "digits(how='%s')", 0, 0.9}
	resnet = training{"ResNet-50, batch 64", func() nn.Module { return models.NewResNet(1000, 64, 3, 4, 6, 3) }, newSGD,
		[]operand{f32(64, 3, 224, 224), labels(64, 1000)}, "resnet50(how='%s')", 0, 0.9}
	block = training{"transformer block", newBlockClassifier(1024, 16), newSGD, []operand{f32(16, 256, 1024), labels(16, 1024)}, "", 0, 0.85}
	if !w.judged {
		mlp.network, mlp.in = func() nn.Module { return models.Perceptron(8, 16, 10) }, []operand{f32(4, 8), labels(4, 10)}
		digits.in = []operand{f32(2, 1, 8, 8), labels(2, 10)}
		resnet.network, resnet.in = func() nn.Module { return models.NewResNet(10, 4, 1, 1) }, []operand{f32(2, 3, 32, 32), labels(2, 10)}
		block.network, block.in = newBlockClassifier(16, 2), []operand{f32(2, 4, 16), labels(2, 16)}
	}
	halved = resnet
	halved.dtype, halved.torch = tensor.BFloat16, "resnet50(torch.bfloat16, how='%s')"
	return mlp, digits, resnet, halved, block
}

// A blockClassifier is a transformer block whose mean vector has the scores of the classes.
type blockClassifier struct{ Block *models.Block }

// Forward maps [batch, steps, width] to [batch, width].
func (b *blockClassifier) Forward(x T) T { return b.Block.Forward(x).Mean(tensor.Dim(1)) }

func newBlockClassifier(width, heads int) func() nn.Module {
	return func() nn.Module { return &blockClassifier{models.NewBlock(width, heads)} }
}

// compiledRows are steps of training as programs, beside PyTorch's in a CUDA graph and, under
// the same names, without one.
func (w *workload) compiledRows() []row {
	mlp, digits, resnet, halved, block := w.trainings()
	var rows []row
	step := func(t training, name string, tf32 bool, targets ...target) {
		for _, how := range []string{"graph", "eager"} {
			r := row{name: "compiled " + name, tf32: tf32, in: t.in, ours: t.compiled(), torch: "step(a, b)", setup: "step = " + t.how(how),
				clock: wallTime, unit: microseconds, targets: targets}
			if how == "eager" {
				r.name, r.ours, r.targets = "eager "+name, t.eager(), nil
			}
			if t.name == resnet.name {
				r.unit, r.work = images, float64(t.in[0].Shape[0])
			}
			rows = append(rows, r)
		}
	}
	step(mlp, mlp.name+", SGD, fp32", false, atMost(1, byPyTorch), atMost(112, absolute))
	step(mlp, mlp.name+", SGD, TF32", true, atMost(1, byPyTorch), atMost(95, absolute))
	step(digits, digits.name, false, atMost(1, byPyTorch))
	step(resnet, resnet.name+", SGD, TF32", true, atLeast(1, byPyTorch), atLeast(1988, absolute))
	step(halved, halved.name+", SGD, bfloat16", false, atLeast(1, byPyTorch))
	for n := range 4 {
		for _, t := range []training{mlp, resnet} {
			rows = append(rows, row{name: fmt.Sprintf("%s, TF32, on %d streams", t.name, n+1), in: t.in, ours: t.compiled(compile.Streams(n + 1)),
				tf32: true, clock: wallTime, unit: microseconds})
		}
	}
	for _, t := range []training{mlp, block} {
		most := 100.0
		if t.name == block.name {
			most = 1000
		}
		rows = append(rows, row{name: "recording a step of the " + t.name, in: t.in, clock: hostTime, unit: microseconds, ours: t.recorded(), targets: []target{atMost(most, absolute)}})
	}
	rows = append(rows,
		row{name: "host time of a captured step, arguments in place", unit: microseconds, fact: mlp.hostTime(1), targets: []target{atMost(8, absolute)}},
		row{name: "host time of a captured step, arguments copied", unit: microseconds, fact: mlp.hostTime(2)})
	for _, t := range []training{mlp, digits, resnet, block} {
		rows = append(rows, row{name: "peak memory over eager code's, " + t.name, unit: plain, fact: t.peakShare, targets: []target{atMost(t.peak, absolute)}})
	}
	return grouped("Compiled steps of training", rows)
}

// cpuCompiledRows are steps of training as programs on the CPU, beside eager code, the matrix
// products of the perceptron's step and, where compiled is set, what PyTorch's compiler makes.
func (w *workload) cpuCompiledRows(compiled bool) (rows []row) {
	mlp, digits, _, _, _ := w.trainings()
	how := "eager"
	if compiled {
		how = "compile"
	}
	for _, threads := range cpuThreads {
		add := func(t training, name, how string, ours maker, targets ...target) {
			r := row{name: name, in: t.in, ours: ours, setup: "step = " + t.how(how), torch: "step(a, b)", targets: targets}
			if how == "" {
				r.in, r.setup, r.torch = mlpFactors(t.in[0].Shape[0]), "", mlpProducts
			}
			rows = append(rows, measured(wallTime, microseconds, []row{r})[0].with(threads))
		}
		const products = "products of a step of the MLP"
		add(mlp, products, "", eachProduct)
		add(mlp, "step of the MLP, eager", "eager", trainer(mlp.network, mlp.optimizer))
		add(mlp, "step of the MLP, compiled", how, mlp.compiled(), atMost(1, byPyTorch), atMost(1.1, withThreads(products, threads)))
		const eager = "step of the digits example, eager"
		add(digits, eager, "eager", trainer(digits.network, digits.optimizer))
		add(digits, "step of the digits example, compiled", how, digits.compiled(), atMost(1, byPyTorch), atMost(0.8, withThreads(eager, threads)))
	}
	return grouped("Steps of training as programs", rows)
}

// mlpFactors are the pairs of matrices that a step of training of the perceptron multiplies.
func mlpFactors(batch int) []operand {
	const in, hidden, out = 784, 1024, 10
	list := []operand{
		f32(batch, in), f32(in, hidden), f32(batch, hidden), f32(hidden, hidden), f32(batch, hidden), f32(hidden, out),
		turned(out, batch), f32(batch, hidden), f32(batch, out), turned(out, hidden), turned(hidden, batch), f32(batch, hidden),
		f32(batch, hidden), turned(hidden, hidden), turned(hidden, batch), f32(batch, in),
	}
	for i := range list {
		list[i].Name, list[i].List = "a", true
	}
	return list
}

// turned is an operand that lies in memory with its axes swapped.
func turned(rows, columns int) operand {
	o := f32(rows, columns)
	o.Transposed = true
	return o
}

const mlpProducts = "[x @ y for x, y in zip(a[::2], a[1::2])]"

// eachProduct makes the products of pairs.
func eachProduct(*ourSide) (call, error) {
	return func(x []T) error {
		for ; len(x) > 1; x = x[2:] {
			y := x[0].MatMul(x[1])
			if err := y.Err(); err != nil {
				return err
			}
			y.Release()
		}
		return nil
	}, nil
}

// how returns PyTorch's statement for the step, as eager calls or in a CUDA graph.
func (t training) how(how string) string { return fmt.Sprintf(t.torch, how) }

// start returns an eager step on the side's device, and what it changes.
func (t training) start(o *ourSide) (func(x ...T) (T, error), []any, error) {
	model := t.network()
	if err := nn.To(model, o.dev); err != nil {
		return nil, nil, err
	}
	if t.dtype != ir.Invalid {
		if err := nn.ToType(model, t.dtype); err != nil {
			return nil, nil, err
		}
	}
	opt, err := t.optimizer(nn.Parameters(model))
	return func(x ...T) (T, error) {
		return optim.Minimize(opt, func() T {
			images := x[0]
			if t.dtype != ir.Invalid {
				images = images.ToType(t.dtype)
			}
			return model.Forward(images).CrossEntropy(x[1])
		})
	}, []any{model, opt}, err
}

// eager makes eager steps.
func (t training) eager() maker {
	return func(o *ourSide) (call, error) {
		step, _, err := t.start(o)
		return func(x []T) error {
			_, err := step(x...)
			return err
		}, err
	}
}

// compiled makes steps by a program.
func (t training) compiled(opts ...compile.Option) maker {
	return func(o *ourSide) (call, error) {
		f, state, err := t.start(o)
		if err != nil {
			return nil, err
		}
		step := compile.Step(f, append(opts, compile.State(state...))...)
		o.after = append(o.after, func() error { step.Close(); return nil })
		return func(x []T) error {
			loss, err := step.Call(x...)
			loss.Release()
			return err
		}, nil
	}
}

// recorded makes recordings of a step that was done before.
func (t training) recorded() maker {
	return func(o *ourSide) (call, error) {
		f, state, err := t.start(o)
		if err != nil {
			return nil, err
		}
		step := compile.Step(f, compile.State(state...))
		return func(x []T) error {
			step.Close()
			return step.Prepare(x...)
		}, nil
	}
}

// arguments draws so many sets of arguments.
func (t training) arguments(b *bench, sets int) (out [][]T, err error) {
	for range sets {
		var set []T
		for _, in := range t.in {
			x, err := in.make(b.ours.dev)
			if err != nil {
				return nil, err
			}
			set = append(set, x)
		}
		out = append(out, set)
	}
	return out, nil
}

// hostTime measures how long a call of the program takes to return while the device has
// nothing to do, with arguments that alternate between so many places.
func (t training) hostTime(places int) func(ctx context.Context, b *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (float64, error) {
		o := &ourSide{dev: b.ours.dev}
		call, err := t.compiled()(o)
		if err != nil {
			return 0, err
		}
		defer func() { _ = o.drop() }()
		if o.sets, err = t.arguments(b, places); err != nil {
			return 0, err
		}
		n := 400
		if !b.workload.judged {
			n = 8
		}
		var times []float64
		for i := range n {
			if err := stream.Synchronize(ctx, o.dev); err != nil {
				return 0, err
			}
			began := time.Now()
			if err := call(o.sets[i%places]); err != nil {
				return 0, err
			}
			times = append(times, time.Since(began).Seconds())
		}
		slices.Sort(times)
		return times[len(times)/2] / microseconds.scale, nil
	}
}

// peakShare measures the most memory of the device that steps of the program hold, over
// what those of eager code do, besides network and arguments.
func (t training) peakShare(ctx context.Context, b *bench) (float64, error) {
	var peaks [2]int64
	for i := range peaks {
		o := &ourSide{dev: b.ours.dev}
		sets, err := t.arguments(b, 1)
		if err != nil {
			return 0, err
		}
		f, state, err := t.start(o)
		if err != nil {
			return 0, err
		}
		step := compile.Step(f, compile.State(state...))
		if i == 1 {
			f = step.Call
		}
		for range 3 { // what other rows left is not given back while this one measures
			runtime.GC()
			time.Sleep(10 * time.Millisecond) // cleanups run
		}
		before := memory.Allocated(o.dev)
		for k := range 5 {
			if k == 4 { // from now on nothing is new
				memory.ResetPeak(o.dev)
			}
			loss, err := f(sets[0]...)
			if err != nil {
				return 0, err
			}
			loss.Release()
		}
		peaks[i] = memory.MaxAllocated(o.dev) - before
		step.Close()
		o.sets = sets
		if err := errors.Join(stream.Synchronize(ctx, o.dev), o.drop()); err != nil {
			return 0, err
		}
	}
	return float64(peaks[1]) / float64(peaks[0]), nil
}
