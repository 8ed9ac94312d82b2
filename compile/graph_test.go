package compile_test

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// wholes calls f for the accelerators, with the device as the default.
func wholes(t *testing.T, f func(t *testing.T, dev device.Device)) {
	each(t, func(t *testing.T, dev device.Device) {
		if dev.Accelerator() {
			f(t, dev)
		}
	})
}

// asGraph fails the test unless the latest program of a compiled function is given to its
// device as one graph.
func asGraph[T compile.Results](t *testing.T, f *compile.Compiled[T]) {
	t.Helper()
	if s := f.Stats(); s.Nodes == 0 || s.OneByOne != "" || s.Traces != 1 {
		t.Errorf("no graph: %+v", s)
	}
}

// TestGraphArguments: a graph reads arguments where they are and where they move to, and
// results of earlier calls stay as they are.
func TestGraphArguments(t *testing.T) {
	wholes(t, func(t *testing.T, dev device.Device) {
		f := compile.Func(func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
			return []tensor.Tensor{x[0].Add(x[1]), x[1].MulScalar(2), x[1]}, nil
		})
		still := tensor.From([]float32{10, 20})
		var got, want []string
		var results [][]tensor.Tensor
		for i := range 6 {
			wide := tensor.Full([]int{4}, float32(i)) // a part of a larger storage
			list, err := f.Call(still, wide.Narrow(0, 1, 2))
			must(t, err)
			results = append(results, list)
			want = append(want, fmt.Sprint([]float32{float32(10 + i), float32(20 + i)}, []int{2 * i, 2 * i}, []int{i, i}))
		}
		for _, r := range results {
			got = append(got, fmt.Sprint(values(t, r[0]), values(t, r[1]), values(t, r[2])))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		asGraph(t, f)
	})
}

// large is a shape of tensors whose addresses graphs are given, and not copies of them.
var large = []int{256, 512}

// TestGraphBinds: large results are written where they stay, and large arguments are read
// where they are, without copies; results of earlier calls stay as they are.
func TestGraphBinds(t *testing.T) {
	wholes(t, func(t *testing.T, dev device.Device) {
		f := compile.Func(func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
			return []tensor.Tensor{x[0].Add(x[1]).MulScalar(2), x[1].Sum(tensor.Dim(1), tensor.KeepDim()).Add(x[0])}, nil
		})
		still := tensor.Full(large, 10)
		var results [][]tensor.Tensor
		var before, after int64
		for i := range 7 {
			x := tensor.Full([]int{large[0]*large[1] + 1}, float32(i))
			from := 0
			if i == 5 {
				from = 1 // an address of which the kernels may be others
			}
			arg := x.Narrow(0, from, large[0]*large[1]).View(large...)
			before = copies(dev)
			list, err := f.Call(still, arg)
			must(t, err)
			after = max(after, copies(dev)-before)
			if results = append(results, list); i < 5 && after != 0 {
				t.Errorf("call %d copies %d times", i, after)
			}
		}
		for i, list := range results {
			a, b := values(t, list[0]), values(t, list[1])
			n := len(a) - 1
			if got, want := [...]float32{a[0], a[n], b[0], b[n]}, [...]float32{float32(20 + 2*i), float32(20 + 2*i), float32(10 + 512*i), float32(10 + 512*i)}; got != want {
				t.Errorf("call %d: %v, want %v", i, got, want)
			}
		}
		asGraph(t, f)
	})
}

// copies returns how many copies a simulated device was given.
func copies(dev device.Device) int64 {
	if dev.Kind != device.KindSim {
		return 0
	}
	return simulated.Counters(dev.Index).OnDevice.Copies
}

// TestGraphCopies: small arguments that move and small results are copied by the graph itself;
// what it is given besides is one launch.
func TestGraphCopies(t *testing.T) {
	wholes(t, func(t *testing.T, dev device.Device) {
		f := compile.Func(func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
			return []tensor.Tensor{x[0].Add(x[1]), x[1].ToType(tensor.Uint8)}, nil
		})
		still := tensor.From([]float32{10, 20, 30})
		var results [][]tensor.Tensor
		for i := range 8 {
			x := tensor.Full([]int{3}, float32(i))
			before := copies(dev)
			list, err := f.Call(still, x)
			must(t, err)
			if n := copies(dev) - before; n != 0 {
				t.Errorf("call %d copies %d times", i, n)
			}
			results = append(results, list)
		}
		for i, r := range results {
			got := fmt.Sprint(values(t, r[0]), values(t, r[1].ToType(tensor.Float32)))
			if want := fmt.Sprint([]int{10 + i, 20 + i, 30 + i}, []int{i, i, i}); got != want {
				t.Errorf("call %d: %s, want %s", i, got, want)
			}
		}
		asGraph(t, f)
	})
}

// TestGraphBindsInPlace: an argument that is changed, and moves, is changed where it is.
func TestGraphBindsInPlace(t *testing.T) {
	wholes(t, func(t *testing.T, dev device.Device) {
		f := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return x[1].MulScalar(2), x[0].AddInPlace(x[1])
		})
		var list []tensor.Tensor
		one := tensor.Ones(large)
		for i := range 12 {
			x := tensor.Full(large, float32(i))
			_, err := f.Call(x, one)
			must(t, err)
			list = append(list, x)
		}
		for i, x := range list {
			if v := values(t, x); v[0] != float32(i+1) || v[len(v)-1] != float32(i+1) {
				t.Errorf("call %d: %v, want %d", i, v[0], i+1)
			}
		}
		asGraph(t, f)
	})
}

// TestGraphCannotBind: where a device cannot give kernels other addresses, what was to be
// bound is copied.
func TestGraphCannotBind(t *testing.T) {
	drv := sim.New(sim.Config{Devices: 1})
	device.Install(drv)
	defer device.Install(simulated)
	on := tensor.On(device.Sim(0))
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].AddScalar(1).Exp(), nil })
	var list []tensor.Tensor
	for i := range 7 {
		if i == 4 {
			must(t, drv.Fail(0, sim.FaultRefresh, 1, device.ErrOtherKernels))
		}
		y, err := f.Call(tensor.Full(large, float32(i), on))
		must(t, err)
		list = append(list, y)
	}
	for i, y := range list {
		if v := values(t, y); v[0] != values(t, tensor.Full([]int{1}, float32(i+1), on).Exp())[0] {
			t.Errorf("call %d: %v", i, v[0])
		}
	}
	asGraph(t, f)
	if n := drv.Counters(0).OnDevice.Copies; n == 0 {
		t.Error("no copies")
	}
}

// TestGraphInPlace: a graph changes arguments and state where they are.
func TestGraphInPlace(t *testing.T) {
	wholes(t, func(t *testing.T, dev device.Device) {
		state := tensor.Zeros([]int{3})
		f := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return x[0].Sum(), errors.Join(state.AddInPlace(x[0]), x[0].AddScalarInPlace(1))
		}, compile.State(state))
		x, other := tensor.Zeros([]int{3}), tensor.Zeros([]int{3})
		for i := range 8 {
			arg := x
			if i == 5 {
				arg = other
			}
			_, err := f.Call(arg)
			must(t, err)
		}
		if got := fmt.Sprint(values(t, state), values(t, x), values(t, other), x.Version(), state.Version()); got != "[21 21 21] [7 7 7] [1 1 1] 7 8" {
			t.Error(got)
		}
		asGraph(t, f)
		must(t, f.Prepare(x))
		if _, err := f.Call(state); err == nil {
			t.Error("state as an argument that is changed is no error")
		}
	})
}

// TestGraphGradients: gradients that somebody holds stay as they are; accumulation goes on.
func TestGraphGradients(t *testing.T) {
	wholes(t, func(t *testing.T, dev device.Device) {
		for _, accumulate := range []bool{false, true} {
			p := nn.NewParameter(tensor.From([]float32{1, 2}))
			f := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
				if !accumulate {
					must(t, nn.ZeroGrad(p))
				}
				loss := p.Mul(x[0]).Sum()
				return loss.Detach(), loss.Backward()
			}, compile.State(p))
			var held []tensor.Tensor
			var want []string
			sum := float32(0)
			for i := range 7 {
				_, err := f.Call(tensor.Full([]int{2}, float32(i+1)))
				must(t, err)
				if sum += float32(i + 1); !accumulate {
					sum = float32(i + 1)
				}
				if g, ok := p.Grad(); ok && i != 3 && (i > 1 || accumulate) {
					held = append(held, g.Clone())
					if !accumulate {
						held[len(held)-1] = g
					}
					want = append(want, fmt.Sprint([]float32{sum, sum}))
				}
			}
			var got []string
			for _, g := range held {
				got = append(got, fmt.Sprint(values(t, g)))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("accumulate %v: %s", accumulate, d)
			}
			if s := f.Stats(); s.OneByOne != "" {
				t.Errorf("accumulate %v: %+v", accumulate, s)
			}
		}
	})
}

// TestGraphStreams: calls from many goroutines on streams of their own follow one another.
func TestGraphStreams(t *testing.T) {
	wholes(t, func(t *testing.T, dev device.Device) {
		total := tensor.Zeros([]int{64})
		f := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return x[0].MulScalar(3).Exp().Log(), total.AddInPlace(x[0])
		}, compile.State(total))
		var all sync.WaitGroup
		all.Go(func() { // the graph is there before several streams change the state
			for range 2 {
				if _, err := f.Call(tensor.Zeros([]int{64}, tensor.On(dev))); err != nil {
					t.Error(err)
				}
			}
		})
		all.Wait()
		must(t, stream.Synchronize(t.Context(), dev))
		for g := range 6 {
			all.Go(func() {
				err := stream.New(dev, 0).Do(func() error {
					for i := range 10 {
						v := float32(g + i%3)
						y, err := f.Call(tensor.Full([]int{64}, v, tensor.On(dev)))
						if err != nil {
							return err
						}
						list, err := tensor.Data[float32](y)
						if err != nil {
							return err
						}
						for _, e := range list {
							if e < 3*v-0.001 || e > 3*v+0.001 {
								return fmt.Errorf("%v, want %v", e, 3*v)
							}
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		must(t, stream.Synchronize(t.Context(), dev))
		if v := values(t, total); v[0] != 60*2.5+54 {
			t.Errorf("%v, want %v", v[0], 60*2.5+54)
		}
		if s := f.Stats(); s.OneByOne != "" || s.Nodes == 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestCallByCall: what cannot be one graph says why, and so does what is told not to be.
func TestCallByCall(t *testing.T) {
	sim0 := tensor.On(device.Sim(0))
	add := func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].AddScalar(1), nil }
	for _, c := range []struct {
		name, why string
		f         func(x ...tensor.Tensor) (tensor.Tensor, error)
		x         tensor.Tensor
		opts      []compile.Option
	}{
		{"processor", "runs on cpu", add, tensor.Ones([]int{2}), nil},
		{"option", "option CallByCall", add, tensor.Ones([]int{2}, sim0), []compile.Option{compile.CallByCall()}},
		{"two devices", "runs on sim:1, others on sim:0", func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return x[0].AddScalar(1).To(device.Sim(1)), nil
		}, tensor.Ones([]int{2}, sim0), nil},
		{"nothing", "nothing to do", func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Transpose(0, 0), nil }, tensor.Ones([]int{2}, sim0), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := compile.Func(c.f, c.opts...)
			for range 3 {
				y, err := f.Call(c.x)
				must(t, err)
				values(t, y)
			}
			if s := f.Stats(); s.Nodes != 0 || !strings.Contains(s.OneByOne, c.why) || !strings.Contains(f.Explain(), c.why) {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestGraphInGraph: in a program's own capture calls are captured one by one.
func TestGraphInGraph(t *testing.T) {
	wholes(t, func(t *testing.T, dev device.Device) {
		f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].AddScalar(1).Square(), nil })
		x := tensor.Ones([]int{2})
		for range 3 {
			_, err := f.Call(x)
			must(t, err)
		}
		g := graph.New(dev)
		var y tensor.Tensor
		must(t, g.Capture(func() (err error) { y, err = f.Call(x); return err }))
		must(t, x.AddScalarInPlace(1))
		must(t, g.Replay())
		if d := cmp.Diff([]float32{9, 9}, values(t, y)); d != "" || g.Nodes() < 1 {
			t.Error(d, g.Nodes())
		}
		must(t, g.Reset())
	})
}

// TestGraphMemory: programs that are dropped give back their graphs and memory.
func TestGraphMemory(t *testing.T) {
	drv := sim.New(sim.Config{Devices: 1, Memory: 1 << 28, Async: true})
	device.Install(drv)
	defer device.Install(simulated)
	on := tensor.On(device.Sim(0))
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].AddScalar(1).Exp().Sum(), nil }, compile.Plans(2))
	var after [2]int64
	for round := range after {
		for n := range 12 {
			x := tensor.Ones([]int{100 + n}, on)
			for range 3 {
				y, err := f.Call(x)
				must(t, err)
				y.Release()
			}
			x.Release()
		}
		if live := drv.Counters(0).LiveGraphs; live != 2 {
			t.Errorf("%d graphs live, want those of 2 programs", live)
		}
		f.Close()
		goruntime.GC()
		after[round] = drv.Counters(0).LiveBytes
	}
	if c := drv.Counters(0); after[1] > after[0] || c.LiveGraphs != 0 || c.GraphLaunches != 2*12*2 {
		t.Errorf("%d bytes live, then %d; %+v", after[0], after[1], c)
	}
}

// TestGraphFails: a capture that fails leaves calls to be given one by one, and is tried
// again later; a run that fails is an error.
func TestGraphFails(t *testing.T) {
	drv := sim.New(sim.Config{Devices: 1})
	device.Install(drv)
	defer device.Install(simulated)
	fault := errors.New("on purpose")
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].AddScalar(1).Exp(), nil })
	x := tensor.Zeros([]int{100}, tensor.On(device.Sim(0)))
	call := func() error {
		y, err := f.Call(x)
		if err == nil {
			_, err = y.Bytes()
		}
		return err
	}
	must(t, call())
	must(t, drv.Fail(0, sim.FaultLaunch, 1, fault))
	must(t, call())
	if s := f.Stats(); !strings.Contains(s.OneByOne, "on purpose") {
		t.Errorf("%+v", s)
	}
	for range 16 {
		if s := f.Stats(); s.Nodes != 0 || !strings.Contains(f.Explain(), "on purpose; it is tried again after 16 runs") {
			t.Errorf("%+v", s)
		}
		must(t, call())
	}
	for range 2 {
		must(t, call())
	}
	if s := f.Stats(); s.OneByOne != "" || s.Nodes == 0 {
		t.Errorf("%+v", s)
	}
	must(t, drv.Fail(0, sim.FaultLost, 1, fault))
	x.Neg()
	if err := call(); !errors.Is(err, device.ErrLost) {
		t.Errorf("on a device that is lost: %v", err)
	}
}

// TestGraphWaits: who waits for a device does not meet the captures of compiled functions.
func TestGraphWaits(t *testing.T) {
	wholes(t, func(t *testing.T, dev device.Device) {
		f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Exp().Log().AddScalar(1), nil })
		x := tensor.Ones([]int{8})
		var all sync.WaitGroup
		stop := make(chan struct{})
		for range 2 {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if err := stream.Synchronize(t.Context(), dev); err != nil {
						t.Error(err)
						return
					}
					goruntime.Gosched()
				}
			})
		}
		for range 100 {
			for range 3 {
				y, err := f.Call(x)
				must(t, err)
				y.Release()
			}
			if s := f.Stats(); s.OneByOne != "" {
				t.Errorf("%+v", s)
			}
			f.Close()
		}
		close(stop)
		all.Wait()
	})
}

// TestGraphsAreDropped: memory of graphs whose calls are renewed at each run, because arguments
// move, are random or are numbers of an optimizer, goes back when nobody has the function.
func TestGraphsAreDropped(t *testing.T) {
	wholes(t, func(t *testing.T, dev device.Device) {
		held := func() int64 { goruntime.GC(); return memory.StatsOf(dev).AllocatedBytes.All.Current }
		before := held()
		for range 20 {
			must(t, tensor.Scope(func() error {
				f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
					return x[0].Add(x[1]).Dropout(0.5), nil
				})
				keep := tensor.Ones([]int{4})
				for range 4 {
					if _, err := f.Call(keep, tensor.Ones([]int{4})); err != nil {
						return err
					}
				}
				asGraph(t, f)
				return nil
			}))
		}
		if !patience.Until(t, func() bool { return held() <= before }) {
			t.Errorf("%d bytes of dropped functions are held", held()-before)
		}
	})
}
