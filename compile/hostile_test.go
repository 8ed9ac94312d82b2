package compile_test

import (
	"errors"
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/tests/brief"
	"github.com/sinter-go/sinter/tests/patience"
)

// A rig is a training with every kind of state: parameters, gradients, moments, running
// statistics, counters, a schedule and random numbers.
type rig struct {
	model    *nn.Sequential
	first    *nn.Linear
	sgd      optim.Optimizer
	schedule *optim.Scheduler
	other    tensor.Tensor // that is not declared
	x        tensor.Tensor
	kept     tensor.Tensor
	line     string // that an error must name; "" for that of the call
	drv      *sim.Driver
	// bad is done after the state changed
	bad func(r *rig, loss tensor.Tensor) error
}

// newRig returns a rig that made two eager steps.
func newRig(t *testing.T, drv *sim.Driver) *rig {
	random.Seed(7)
	r := &rig{first: nn.NewLinear(3, 4), other: tensor.Ones([]int{3}), x: tensor.Randn([]int{4, 3}), drv: drv}
	r.model = nn.NewSequential(r.first, nn.NewBatchNorm(4), nn.NewDropout(0.3), nn.NewLinear(4, 2))
	var err error
	r.sgd, err = optim.NewSGD(nn.Parameters(r.model), 0.1, optim.Momentum(0.9))
	must(t, err)
	r.schedule = optim.NewScheduler(r.sgd, optim.Cosine(20, 0.1))
	for range 2 {
		_, err := r.train(r.x)
		must(t, err)
	}
	return r
}

// train makes one step.
func (r *rig) train(x ...tensor.Tensor) (tensor.Tensor, error) {
	return tensor.ScopeValue(func() (tensor.Tensor, error) {
		if err := r.sgd.ZeroGrad(); err != nil {
			return tensor.Tensor{}, err
		}
		loss := r.model.Forward(x[0]).Square().Mean()
		if err := loss.Backward(); err != nil {
			return tensor.Tensor{}, err
		}
		if err := r.sgd.Step(); err != nil {
			return tensor.Tensor{}, err
		}
		r.schedule.Step()
		if r.bad != nil {
			if err := r.bad(r, loss); err != nil {
				return tensor.Tensor{}, err
			}
		}
		return loss.Detach(), nil
	})
}

// host returns what a step changes on the host.
func (r *rig) host() string {
	return fmt.Sprint(r.schedule, r.sgd.LearningRate(), random.Current().State())
}

// state returns all that a step changes, to the bit.
func (r *rig) state(t *testing.T) map[string]string {
	t.Helper()
	left := map[string]string{"host": r.host()}
	add := func(name string, x tensor.Tensor) {
		if x.Err() != nil {
			left[name] = x.Err().Error()
			return
		}
		raw, err := x.Bytes()
		must(t, err)
		left[name] = fmt.Sprint(raw, x.Version(), x.RequiresGrad())
	}
	for name, p := range nn.Named(r.model) {
		add(name, p.Tensor)
		if g, ok := p.Grad(); ok {
			add(name+".grad", g)
		}
	}
	for name, b := range nn.NamedBuffers(r.model) {
		add(name, b.Tensor)
	}
	moments, err := r.sgd.State()
	must(t, err)
	for name, m := range moments {
		raw, err := m.Bytes()
		must(t, err)
		left["moments "+name] = fmt.Sprint(raw)
	}
	return left
}

// with calls a step with another tensor in the place of a parameter's.
func (r *rig) with(bias tensor.Tensor, step *compile.Compiled[tensor.Tensor]) error {
	was := r.first.Bias.Tensor
	defer func() { r.first.Bias.Tensor = was }()
	r.first.Bias.Tensor = bias
	_, err := step.Call(r.x)
	return err
}

// here returns v and notes the line that it stands in as that which the error must name.
func here[T any](r *rig, v T) T {
	_, file, line, _ := goruntime.Caller(1)
	r.line = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	return v
}

// hostile is what programs do wrong.
var hostile = []struct {
	name string
	want error
	text string
	bad  func(r *rig, loss tensor.Tensor) error
	opts []compile.Option
	// call is made in the place of a call of the step
	call func(r *rig, step *compile.Compiled[tensor.Tensor]) error
	runs int  // calls before it, which record the step without what is bad
	sim  bool // on a simulated device alone
	gone bool // the device: what follows is on the processor
}{
	{name: "host read", want: compile.ErrHostRead, text: "data: ", bad: func(r *rig, loss tensor.Tensor) error {
		_, err := here(r, loss).Item()
		return err
	}},
	{name: "host read of state", want: compile.ErrHostRead, text: "float32 [4 3]", bad: func(r *rig, _ tensor.Tensor) error {
		_, err := tensor.Data[float32](here(r, r.first.Weight.Tensor))
		return err
	}},
	{name: "swallowed host read", want: compile.ErrHostRead, text: "data: ", bad: func(r *rig, loss tensor.Tensor) error {
		_, _ = here(r, loss).Item()
		return nil
	}},
	{name: "printed", want: compile.ErrHostRead, text: "float32 []", bad: func(r *rig, loss tensor.Tensor) error {
		_ = fmt.Sprint(here(r, loss))
		return nil
	}},
	{name: "shape of values", want: compile.ErrHostRead, text: "nonzero: ", bad: func(r *rig, loss tensor.Tensor) error {
		return here(r, loss).Nonzero().Err()
	}},
	{name: "kept", want: compile.ErrEscaped, text: "left the recording", bad: func(r *rig, loss tensor.Tensor) error {
		r.kept = loss.Detach()
		tensor.Keep(r.kept)
		return nil
	}, call: func(r *rig, step *compile.Compiled[tensor.Tensor]) error {
		if err := step.Prepare(here(r, r.x)); err != nil { // the line of the recording that it left
			return err
		}
		return r.kept.Add(r.x).Err()
	}},
	{name: "kept with its graph", want: compile.ErrEscaped, text: "left the recording", bad: func(r *rig, loss tensor.Tensor) error {
		r.kept = r.first.Weight.Sum()
		tensor.Keep(r.kept)
		return nil
	}, call: func(r *rig, step *compile.Compiled[tensor.Tensor]) error {
		if err := step.Prepare(here(r, r.x)); err != nil { // the line of the recording that it left
			return err
		}
		return r.kept.Backward()
	}},
	{name: "another goroutine", want: compile.ErrEscaped, text: "left the recording", bad: func(r *rig, loss tensor.Tensor) error {
		done := make(chan error)
		go func() { done <- here(r, loss).Neg().Err() }()
		return <-done
	}},
	{name: "read by another goroutine", want: compile.ErrEscaped, text: "left the recording", bad: func(r *rig, loss tensor.Tensor) error {
		done := make(chan error)
		go func() { _, err := here(r, loss).Item(); done <- err }()
		return <-done
	}},
	{name: "error", want: errOnPurpose, text: "on purpose", bad: func(*rig, tensor.Tensor) error { return errOnPurpose }},
	{name: "error of an operator", want: tensor.ErrShape, text: "matmul: ", bad: func(r *rig, loss tensor.Tensor) error {
		return here(r, r.first.Weight).MatMul(r.first.Weight.Tensor).Err()
	}},
	{name: "panic", want: errOnPurpose, bad: func(*rig, tensor.Tensor) error { panic(errOnPurpose) },
		call: func(r *rig, step *compile.Compiled[tensor.Tensor]) (err error) {
			defer func() { err, _ = recover().(error) }()
			_, err = step.Call(r.x)
			return err
		}},
	{name: "goroutine that ends", want: errOnPurpose, bad: func(*rig, tensor.Tensor) error { goruntime.Goexit(); return nil },
		call: func(r *rig, step *compile.Compiled[tensor.Tensor]) (err error) {
			done, dev := make(chan error), r.x.Device()
			go func() {
				defer func() { done <- err }()
				err = errOnPurpose
				_ = tensor.WithDefaults(tensor.Defaults{Device: dev}, func() error { _, err = step.Call(r.x); return nil })
			}()
			return <-done
		}},
	{name: "another shape", want: tensor.ErrShape, text: "[4 5]", runs: 3, call: func(r *rig, step *compile.Compiled[tensor.Tensor]) error {
		_, err := step.Call(tensor.Ones([]int{4, 5}))
		return err
	}},
	{name: "undeclared capture", want: compile.ErrUndeclared, text: "float32 [3]", bad: func(r *rig, loss tensor.Tensor) error {
		return here(r, r.other).Mul(loss).Err()
	}},
	{name: "changed capture", want: compile.ErrUndeclared, text: "float32 [3]", bad: func(r *rig, loss tensor.Tensor) error {
		return here(r, r.other).AddScalarInPlace(1)
	}},
	{name: "seed", want: compile.ErrUnrecordable, text: "seeded", bad: func(*rig, tensor.Tensor) error { random.Seed(3); return nil }},
	{name: "frozen parameter", want: compile.ErrUnrecordable, text: "require_grad", bad: func(r *rig, _ tensor.Tensor) error {
		return here(r, r.first.Bias).SetRequireGrad(false)
	}},
	{name: "changed Go state", want: compile.ErrUnrecordable, text: "evaluation", bad: func(r *rig, _ tensor.Tensor) error {
		nn.Eval(r.model)
		return nil
	}, call: func(r *rig, step *compile.Compiled[tensor.Tensor]) error {
		defer nn.Train(r.model)
		_, err := step.Call(r.x)
		return err
	}},
	{name: "released parameter", want: tensor.ErrReleased, text: "released", runs: 3, call: func(r *rig, step *compile.Compiled[tensor.Tensor]) error {
		released := r.first.Bias.Detach()
		released.Release()
		return r.with(released, step)
	}},
	{name: "parameter of another shape", want: tensor.ErrShape, text: "[7]", runs: 3, call: func(r *rig, step *compile.Compiled[tensor.Tensor]) error {
		return r.with(tensor.Ones([]int{7}).RequireGrad(), step)
	}},
	{name: "too large", want: device.ErrOutOfMemory, text: "clone", bad: func(r *rig, loss tensor.Tensor) error {
		return here(r, loss).Expand(1<<15, 1<<15, 1<<14).Clone().Sum().Err() // virtually
	}},
	{name: "too large for a buffer", want: device.ErrOutOfMemory, text: "clone", bad: func(r *rig, loss tensor.Tensor) error {
		wide := loss.Expand(1<<20, 1<<10, 1<<12)
		return here(r, wide).Clone().Narrow(0, 1<<20-1, 1).Sum().Err()
	}},
	{name: "lost", want: device.ErrLost, text: "lost", sim: true, gone: true, runs: 1, opts: []compile.Option{compile.CallByCall()},
		call: func(r *rig, step *compile.Compiled[tensor.Tensor]) error {
			if err := r.drv.Fail(0, sim.FaultLost, 3, errOnPurpose); err != nil {
				return err
			}
			_, err := step.Call(r.x)
			return err
		}},
}

var errOnPurpose = errors.New("on purpose")

// TestHostile: what a program does wrong is an error that says what, with the program's line.
// It leaves all state as it was, to the bit, and no memory taken; eager code goes on, and so do
// programs that were there.
func TestHostile(t *testing.T) {
	for k, dev := range []device.Device{device.CPU, device.Sim(0)} {
		for i, c := range hostile {
			if brief.Skip(i, 2*k) { // each on one of them at most
				continue
			}
			if c.sim && dev.Kind != device.KindSim || c.want == device.ErrOutOfMemory && strconv.IntSize == 32 {
				continue
			}
			t.Run(dev.Kind.String()+"/"+c.name, func(t *testing.T) {
				drv := sim.New(sim.Config{Devices: 1})
				device.Install(drv)
				defer device.Install(simulated)
				must(t, tensor.WithDefaults(tensor.Defaults{Device: dev}, func() error {
					r := newRig(t, drv)
					step := compile.Step(r.train, append(c.opts, compile.State(r.model, r.sgd, r.schedule))...)
					defer step.Close()
					for range c.runs {
						_, err := step.Call(r.x)
						must(t, err)
					}
					if r.bad = c.bad; c.call == nil {
						c.call = func(r *rig, step *compile.Compiled[tensor.Tensor]) error { _, err := step.Call(r.x); return err }
					}
					before := r.state(t)
					err := c.call(r, step)
					if text := fmt.Sprint(err); !errors.Is(err, c.want) || !strings.Contains(text, c.text) || !strings.Contains(text, r.line) ||
						!strings.Contains(text, "hostile_test.go:") && c.name != "panic" && c.name != "goroutine that ends" {
						t.Errorf("error %v, want %v with %q and %q", err, c.want, c.text, r.line)
					}
					if core.Recording() {
						t.Fatal("the goroutine still records")
					}
					if c.gone {
						if d := cmp.Diff(before["host"], r.host()); d != "" {
							t.Errorf("the state changed: %s", d)
						}
						must(t, tensor.Ones([]int{2}, tensor.On(device.CPU)).Neg().Err())
						return nil
					}
					if d := cmp.Diff(before, r.state(t)); d != "" {
						t.Errorf("the state changed: %s", d)
					}
					held := func() int64 {
						goruntime.GC()
						return memory.Allocated(dev)
					}
					first := held()
					for range 3 {
						_ = c.call(r, step)
					}
					// a collection only begins what lets memory go
					if !patience.Until(t, func() bool { return held() <= first }) {
						t.Errorf("%d bytes are held, %d before", held(), first)
					}
					// what follows is what follows where nothing went wrong
					follow := func(r *rig) map[string]string {
						r.bad = nil
						step := compile.Step(r.train, compile.State(r.model, r.sgd, r.schedule))
						defer step.Close()
						for range 2 {
							_, err := r.train(r.x)
							must(t, err)
							_, err = step.Call(r.x)
							must(t, err)
						}
						return r.state(t)
					}
					got := follow(r)
					twin := newRig(t, drv)
					for range c.runs {
						_, err := twin.train(twin.x)
						must(t, err)
					}
					if d := cmp.Diff(follow(twin), got); d != "" {
						t.Errorf("later steps differ: %s", d)
					}
					return nil
				}))
			})
		}
	}
}
