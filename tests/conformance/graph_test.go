package conformance_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/runtime/stream"
)

// captured returns a graph of what f gives a device, which the test frees at its end.
func captured(t testing.TB, d device.Device, f func() error, opts ...graph.Option) *graph.Graph {
	t.Helper()
	g := graph.New(d)
	must(t, g.Capture(f, opts...))
	t.Cleanup(func() { must(t, g.Reset()) })
	return g
}

// errorsOf returns the errors that tensors carry.
func errorsOf(tensors ...T) error {
	var all []error
	for _, x := range tensors {
		all = append(all, x.Err())
	}
	return errors.Join(all...)
}

// temporary returns what f returns and releases all else that f makes.
func temporary(f func() T) (out T) {
	out, _ = tensor.ScopeValue(func() (T, error) { return f(), nil }) // an error sticks to the tensor
	return out
}

// During a capture a copy between host and device needs page-locked host memory and
// must not block. Each replay then reads or writes that memory, which the graph holds.
func TestP31(t *testing.T) {
	d := one(t)
	live(t, d)
	x := tensor.Zeros([]int{2}, tensor.On(d))
	defer x.Release()
	plain := tensor.From([]float32{1, 2})
	for name, copy := range map[string]func() error{
		"from the host": func() error { return x.CopyFrom(plain, tensor.NonBlocking()) },
		"to the host":   func() error { return plain.CopyFrom(x) },
	} {
		var inner error
		err := graph.New(d).Capture(func() error {
			inner = copy()
			return nil
		})
		fails(t, "a copy "+name, inner, device.ErrCapturing, "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned")
		fails(t, "its capture", err, device.ErrCapturing, "unless the CPU tensor is pinned")
		_, _ = x.Err(), plain.Err() // looked at
	}
	in := tensor.From([]float32{3, 4}).PinMemory(d)
	var out T
	g := captured(t, d, func() error {
		must(t, x.CopyFrom(in, tensor.NonBlocking()))
		must(t, x.MulScalarInPlace(10))
		out = x.To(device.CPU, tensor.NonBlocking())
		return out.Err()
	})
	replay := func(want ...float64) {
		t.Helper()
		must(t, g.Replay())
		must(t, stream.Synchronize(background, d))
		equal(t, "what a replay left in page-locked memory", values(t, out), want)
	}
	replay(30, 40)
	must(t, in.AddScalarInPlace(1))
	replay(40, 50)
	in.Release() // the graph still reads it
	must(t, stream.Synchronize(background, d))
	for range 4 {
		defer tensor.From([]float32{7, 7}).PinMemory(d).Release()
	}
	replay(40, 50)
}

// A capture records the work given to a stream without doing it, and each replay does
// it with the addresses of the capture: data is put where the work reads, and found
// where it writes.
func TestP79(t *testing.T) {
	d := one(t)
	live(t, d)
	x := tensor.Full([]int{5}, 1.0, tensor.On(d))
	defer x.Release()
	side := stream.New(d, 0)
	must(t, side.WaitStream(stream.Current(d)))
	must(t, side.Do(func() error {
		for range 3 {
			x.MulScalar(2).Release()
		}
		return nil
	}))
	must(t, stream.Current(d).WaitStream(side))
	var y T
	g := captured(t, d, func() error {
		y = x.MulScalar(2)
		return y.Err()
	})
	defer y.Release()
	before, err := y.DevicePointer()
	must(t, err)
	for _, v := range []float64{3, 4} {
		overwrite(t, x, v)
		must(t, g.Replay())
		equal(t, fmt.Sprintf("y after a replay with x = %g", v), values(t, y), []float64{2 * v, 2 * v, 2 * v, 2 * v, 2 * v})
	}
	after, err := y.DevicePointer()
	must(t, err)
	equal(t, "y's address", after, before)
	equal(t, "what was captured", g.Nodes(), 1)
}

// TestReplayBlocks: where launches block, a replay has been done when it returns, and
// returns what its work went wrong with.
func TestReplayBlocks(t *testing.T) {
	d := one(t)
	x, _, gather := gatherOutOfRange(d)
	must(t, stream.Synchronize(background, d))
	var y T
	g := captured(t, d, func() error {
		y = gather()
		return y.Err()
	})
	cuda.SetLaunchBlocking(true)
	defer cuda.SetLaunchBlocking(false)
	err := g.Replay()
	fails(t, "the replay", err, nil, "77")
	equal(t, "the stream is done", idle(t, stream.Default(d)), true)
	must(t, stream.Synchronize(background, d))
	equal(t, "the operand", values(t, x)[:2], []float64{0, 1})
}

// A default stream cannot be captured.
func TestP80(t *testing.T) {
	d := one(t)
	g := graph.New(d)
	called := false
	err := g.Capture(func() error { called = true; return nil }, graph.CaptureStream(stream.Default(d)))
	fails(t, "capture on the default stream", err, graph.ErrDefaultStream, "CUDA graphs must be captured on a non-default stream.")
	if called {
		t.Error("the function was called")
	}
}

// What has to wait for the device, or to read from it, fails while its stream is
// captured, and so does the capture; the device and the tensors are as before.
func TestP81(t *testing.T) {
	d := one(t)
	live(t, d)
	x, host := tensor.Full([]int{1}, 7.0, tensor.On(d)), tensor.From([]float32{1})
	defer x.Release()
	pinned := tensor.From([]float32{1}).PinMemory(d)
	inside := stream.NewEvent()
	for name, do := range map[string]func() error{
		"an element on the host": func() error { _, err := x.Item(); return err },
		"all elements":           func() error { _, err := tensor.Data[float32](x); return err },
		"a copy to the host":     func() error { return x.CPU().Err() },
		"a copy from the host":   func() error { return host.To(d).Err() },
		"one over a tensor":      func() error { return x.CopyFrom(host, tensor.NonBlocking()) },
		"one that blocks":        func() error { return x.CopyFrom(pinned) },
		"a wait for the stream":  func() error { return stream.Current(d).Synchronize(background) },
		"a wait for the device":  func() error { return stream.Synchronize(background, d) },
		"a question":             func() error { _, err := stream.Current(d).Query(); return err },
		"a wait for an event":    func() error { return inside.Synchronize(background) },
	} {
		for _, hidden := range []bool{false, true} {
			g := graph.New(d)
			var inner error
			err := g.Capture(func() error {
				must(t, inside.Record(stream.Current(d)))
				must(t, x.MulScalarInPlace(2))
				inner = do()
				_ = x.Err() // that of a copy over it
				if hidden {
					return nil // the capture has failed all the same
				}
				return inner
			})
			fails(t, name+", the call", inner, device.ErrCapturing, "")
			fails(t, name+", the capture", err, device.ErrCapturing, "graph: capture")
			fails(t, name+", a replay", g.Replay(), graph.ErrEmpty, "")
		}
	}
	equal(t, "a tensor after the failures", values(t, x), []float64{7})
}

// Host code is not part of a graph: a replay does what the device was given. Work
// that other streams are given meanwhile is no part of it either, and is done.
//
// Differs: a second capture at the same time is allowed on another stream, by another
// goroutine too, for captures are the runtime's to tell apart.
func TestP82(t *testing.T) {
	d := one(t)
	x, y := tensor.Zeros([]int{1}, tensor.On(d)), tensor.Zeros([]int{1}, tensor.On(d))
	host, calls := tensor.From([]float32{0}), 0
	var second *graph.Graph
	first := captured(t, d, func() error {
		calls++
		must(t, host.AddScalarInPlace(1))
		done := make(chan error)
		go func() { // no part of the capture
			done <- y.AddScalarInPlace(10)
		}()
		must(t, <-done)
		second = captured(t, d, func() error { return x.MulScalarInPlace(3) }, graph.CaptureStream(stream.New(d, 0)))
		return x.AddScalarInPlace(1)
	})
	for range 3 {
		must(t, first.Replay())
		must(t, second.Replay())
	}
	equal(t, "calls of the function", calls, 1)
	equal(t, "work on the host", values(t, host), []float64{1})
	equal(t, "work beside the capture", values(t, y), []float64{10})
	equal(t, "the graphs' work", values(t, x), []float64{39})
}

// A program can ask whether a stream, and the current one, is being captured.
func TestP83(t *testing.T) {
	d := asCUDA(t, 1)[0]
	x := tensor.Zeros([]int{1}, tensor.On(d))
	other := stream.New(d, 0)
	check := func(where string, s stream.Stream, want bool) {
		t.Helper()
		got, err := s.Capturing()
		must(t, err)
		equal(t, where, got, want)
	}
	equal(t, "before", cuda.IsCurrentStreamCapturing(), false)
	captured(t, d, func() error {
		check("the captured stream", stream.Current(d), true)
		check("another stream", other, false)
		check("the default stream", stream.Default(d), false)
		equal(t, "the current stream", cuda.IsCurrentStreamCapturing(), true)
		must(t, stream.Default(d).Do(func() error { equal(t, "in another scope", cuda.IsCurrentStreamCapturing(), false); return nil }))
		return x.AddScalarInPlace(1)
	})
	equal(t, "after", cuda.IsCurrentStreamCapturing(), false)
}

// Work of side streams that wait for the captured stream is part of the graph; the
// captured stream must wait for them before the end, and may not wait for work that
// is not part of it.
func TestP84(t *testing.T) {
	d := one(t)
	x, y, z := tensor.Full([]int{2}, 3.0, tensor.On(d)), tensor.Zeros([]int{2}, tensor.On(d)), tensor.Zeros([]int{2}, tensor.On(d))
	side := stream.New(d, 0)
	fork := func(join bool) func() error {
		return func() error {
			main := stream.Current(d)
			must(t, x.AddScalarInPlace(1))
			must(t, side.WaitStream(main))
			must(t, side.Do(func() error { must(t, y.CopyFrom(x)); return nil }))
			must(t, z.CopyFrom(x))
			if join {
				must(t, main.WaitStream(side))
			}
			return z.AddInPlace(y)
		}
	}
	g := captured(t, d, fork(true))
	must(t, g.Replay())
	equal(t, "what both branches gave", values(t, z), []float64{8, 8})
	must(t, g.Replay())
	equal(t, "a second time", values(t, z), []float64{10, 10})
	err := graph.New(d).Capture(fork(false))
	fails(t, "a branch that does not come back", err, device.ErrCapturing, "")

	must(t, stream.Synchronize(background, d))
	must(t, side.Do(func() error { must(t, y.AddScalarInPlace(1)); return nil }))
	var inner error
	err = graph.New(d).Capture(func() error {
		inner = stream.Current(d).WaitStream(side)
		return nil
	})
	fails(t, "waiting for work outside", inner, device.ErrCapturing, "")
	fails(t, "its capture", err, device.ErrCapturing, "")
	must(t, stream.Synchronize(background, d))
	equal(t, "the work outside", values(t, y), []float64{6, 6})
}

// A capture of nothing is no error, and is warned of.
func TestP85(t *testing.T) {
	d := one(t)
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(old)
	g := captured(t, d, func() error { return nil })
	if !strings.Contains(log.String(), "WARN") || !strings.Contains(log.String(), "The CUDA Graph is empty") {
		t.Errorf("logged %q", log.String())
	}
	must(t, g.Replay())
	must(t, stream.Synchronize(background, d))
}

// A replay goes to the current stream, whichever was captured. Reset frees the graph
// for another capture. Tensors that the capture made outlive the graph.
func TestP86(t *testing.T) {
	d := one(t)
	live(t, d)
	x := tensor.Zeros([]int{3}, tensor.On(d))
	defer x.Release()
	var y T
	g := graph.New(d)
	must(t, g.Capture(func() error {
		y = x.AddScalar(5)
		return errors.Join(y.Err(), x.AddScalarInPlace(1))
	}))
	side := stream.New(d, 0)
	must(t, stream.Synchronize(background, d))
	release := hold(t, side)
	must(t, side.Do(func() error { must(t, g.Replay()); return nil }))
	if !idle(t, stream.Default(d)) || idle(t, side) {
		t.Error("the replay did not go to the current stream")
	}
	release()
	must(t, side.Synchronize(background))
	must(t, g.Replay())
	equal(t, "after two replays on two streams", append(values(t, x)[:1], values(t, y)[0]), []float64{2, 6})
	fails(t, "a second capture", g.Capture(func() error { return nil }), graph.ErrCaptured, "")
	must(t, g.Reset())
	fails(t, "a replay after Reset", g.Replay(), graph.ErrEmpty, "")
	must(t, memory.EmptyCache(d))
	equal(t, "a result after the graph", values(t, y), []float64{6, 6, 6})
	overwrite(t, y, 1)
	equal(t, "its memory", values(t, y), []float64{1, 1, 1})
	y.Release()
	must(t, g.Capture(func() error { return x.MulScalarInPlace(10) }))
	must(t, g.Replay())
	equal(t, "captured again", values(t, x), []float64{20, 20, 20})
	must(t, g.Reset())
}

// Random numbers in a graph: each replay goes on with the generator's sequence from
// where it is, by as many draws as were captured, and with the seed it has then.
// Recording draws nothing.
func TestP89(t *testing.T) {
	d := one(t)
	old := random.Current().State()
	defer random.Current().SetState(old)
	kinds := map[string]func(x T) T{
		"uniform":      func(x T) T { return tensor.RandLike(x) },
		"normal":       func(x T) T { return tensor.RandnLike(x) },
		"dropout":      func(x T) T { return x.Dropout(0.5) },
		"bernoulli":    func(x T) T { return x.Bernoulli() },
		"permutation":  func(x T) T { return tensor.Randperm(x.NumElements(), tensor.On(d)).ToType(tensor.Float32) },
		"multinomial":  func(x T) T { return x.Multinomial(3).ToType(tensor.Float32) },
		"rand integer": func(x T) T { return tensor.Randint(x.Shape(), 0, 1000, tensor.On(d)).ToType(tensor.Float32) },
	}
	x := tensor.Full([]int{64}, 0.5, tensor.On(d))
	for name, draw := range kinds {
		t.Run(name, func(t *testing.T) {
			random.Seed(5)
			var want [][]float64
			for range 6 {
				want = append(want, values(t, draw(x)))
			}
			random.Seed(9)
			other := values(t, draw(x))

			random.Seed(5)
			var a, b T
			g := captured(t, d, func() error {
				a, b = draw(x), draw(x)
				return errorsOf(a, b)
			})
			equal(t, "the generator after the capture", random.Current().State(), random.State{Seed: 5})
			var got [][]float64
			replay := func() {
				t.Helper()
				must(t, g.Replay())
				got = append(got, values(t, a), values(t, b))
			}
			replay()
			got = append(got, values(t, draw(x)), values(t, draw(x)))
			replay()
			equal(t, "replay, two calls, replay", got, want)
			random.Seed(9)
			must(t, g.Replay())
			equal(t, "after another seed", values(t, a), other)
			equal(t, "the generator after a replay", random.Current().State(), random.State{Seed: 9, Offset: 2})
		})
	}
}

// TestGraphedTrainingStep captures a whole training step: forward pass with dropout,
// backward pass, the optimizer's step. Replays train as steps outside of a graph do,
// the learning rate's changes and the count of steps included.
func TestGraphedTrainingStep(t *testing.T) {
	d := one(t)
	old := random.Current().State()
	defer random.Current().SetState(old)
	optimizers := map[string]func([]*nn.Parameter) (optim.Optimizer, error){
		"sgd": func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewSGD(p, 0.1) },
		"momentum": func(p []*nn.Parameter) (optim.Optimizer, error) {
			return optim.NewSGD(p, 0.1, optim.Momentum(0.9), optim.Dampening(0.5))
		},
		"adam": func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewAdam(p, 0.01) },
		"adamw": func(p []*nn.Parameter) (optim.Optimizer, error) {
			return optim.NewAdamW(p, 0.01, optim.WeightDecay(0.1))
		},
	}
	for name, make := range optimizers {
		t.Run(name, func(t *testing.T) {
			eager, graphed := trainBoth(t, d, make)
			equal(t, "the parameters", graphed, eager)
		})
	}
}

// trainBoth makes 7 steps of a small network without a graph, and in another of which
// all but the first are replays, and returns the parameters of both.
func trainBoth(t *testing.T, d device.Device, newOptimizer func([]*nn.Parameter) (optim.Optimizer, error)) (eager, graphed [][]float64) {
	t.Helper()
	const steps = 7
	run := func(step func(s func() error, opt optim.Optimizer, i int)) [][]float64 {
		random.Seed(11)
		l1, l2 := nn.NewLinear(4, 8, tensor.On(d)), nn.NewLinear(8, 1, tensor.On(d))
		params := append(nn.Parameters(l1), nn.Parameters(l2)...)
		opt, err := newOptimizer(params)
		must(t, err)
		x, y := tensor.Randn([]int{16, 4}, tensor.On(d)), tensor.Randn([]int{16, 1}, tensor.On(d))
		one := func() error {
			return tensor.Scope(func() error {
				loss := l2.Forward(l1.Forward(x).Tanh().Dropout(0.25)).Sub(y).Square().Mean()
				if err := loss.Backward(); err != nil {
					return err
				}
				return opt.Step()
			})
		}
		for i := range steps {
			if i == 4 {
				opt.SetLearningRate(opt.LearningRate() / 2)
			}
			step(one, opt, i)
		}
		var out [][]float64
		for _, p := range params {
			out = append(out, values(t, p.Tensor))
		}
		state, err := opt.State()
		must(t, err)
		for name, s := range state {
			if strings.HasSuffix(name, ".steps") {
				out = append(out, values(t, s))
			}
		}
		return out
	}
	eager = run(func(s func() error, opt optim.Optimizer, _ int) {
		must(t, opt.ZeroGrad())
		must(t, s())
	})
	var g *graph.Graph
	graphed = run(func(s func() error, opt optim.Optimizer, i int) {
		switch i {
		case 0: // what optimizers keep beside parameters is there after a step
			must(t, opt.ZeroGrad())
			must(t, s())
			return
		case 1:
			must(t, opt.ZeroGrad())
			g = captured(t, d, s)
		}
		must(t, g.Replay())
	})
	return eager, graphed
}
