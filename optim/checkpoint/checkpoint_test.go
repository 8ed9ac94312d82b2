package checkpoint_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/optim/checkpoint"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

var simulated = sim.New(sim.Config{Devices: 5, Memory: 1 << 22})

// TestMain switches the caching of device memory off, so that a device's counters,
// faults and room are about tensors.
func TestMain(m *testing.M) {
	os.Setenv("SINTER_NO_MEMORY_CACHING", "1")
	device.Install(simulated)
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// run is a training run with everything that a resumed one must have back:
// dropout, running statistics, moments, a schedule and a shuffled loader.
type run struct {
	dev    device.Device
	epoch  int
	loader *data.Loader
	state  checkpoint.State
	net    *nn.Sequential
}

func newRun(t testing.TB, seed int64, d device.Device) *run {
	t.Helper()
	g := random.New(seed)
	r := &run{dev: d}
	random.With(g, func() error {
		r.net = nn.NewSequential(nn.NewLinear(6, 8), nn.NewBatchNorm(8), nn.ReLU(), nn.NewDropout(0.3), nn.NewLinear(8, 3))
		return nil
	})
	must(t, nn.To(r.net, d))
	opt, err := optim.NewAdamW(nn.Parameters(r.net), 0.05, optim.WeightDecay(0.01))
	must(t, err)
	r.state = checkpoint.State{Model: r.net, Optimizer: opt, Scheduler: optim.NewScheduler(opt, optim.OneCycle(6, 20, 0.1, 0.01)), Random: g}
	random.With(random.New(77), func() error { // the same data for all runs
		set, err := data.Tensors(tensor.Randn([]int{21, 6}), tensor.Randint([]int{21}, 0, 3))
		must(t, err)
		r.loader = &data.Loader{Dataset: set, BatchSize: 5, Shuffle: true, DropLast: true, Prefetch: 2, Device: d}
		return nil
	})
	return r
}

// train makes epochs and returns the losses and the largest learning rate seen.
func (r *run) train(t testing.TB, epochs int) (losses []float64) {
	t.Helper()
	random.With(r.state.Random, func() error {
		for range epochs {
			for batch, err := range r.loader.Epoch(t.Context()) {
				must(t, err)
				loss, err := optim.Minimize(r.state.Optimizer, func() tensor.Tensor {
					return r.net.Forward(batch[0]).CrossEntropy(batch[1])
				})
				must(t, err)
				r.state.Scheduler.Step()
				value, err := loss.Item()
				must(t, err)
				losses = append(losses, value)
			}
			r.epoch++
			r.state.Metadata = map[string]string{"epoch": strconv.Itoa(r.epoch)}
		}
		return nil
	})
	return losses
}

// bits returns everything of a run that decides what it will do, to the bit.
func (r *run) bits(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{
		"rate": fmt.Sprint(math.Float64bits(r.state.Optimizer.LearningRate())), "schedule": fmt.Sprint(r.state.Scheduler.State()),
		"random": fmt.Sprint(r.state.Random.State()),
	}
	add := func(prefix string, tensors map[string]tensor.Tensor) {
		for name, v := range tensors {
			raw, err := v.Bytes()
			must(t, err)
			out[prefix+name] = fmt.Sprintf("%x", raw)
		}
	}
	add("model ", nn.StateDict(r.net))
	moments, err := r.state.Optimizer.State()
	must(t, err)
	add("optimizer ", moments)
	return out
}

func TestResume(t *testing.T) {
	for _, d := range []device.Device{device.CPU, device.Sim(1)} {
		path := filepath.Join(t.TempDir(), "run.safetensors")
		whole := newRun(t, 1, d)
		whole.train(t, 2)
		must(t, checkpoint.Save(path, whole.state))
		want := whole.train(t, 3)

		again := newRun(t, 2, d) // other weights, another sequence
		again.train(t, 1)
		metadata, err := checkpoint.Load(path, again.state)
		must(t, err)
		if diff := cmp.Diff(map[string]string{"epoch": "2"}, metadata); diff != "" {
			t.Error(diff)
		}
		got := again.train(t, 3)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("losses on %s after resuming: %s", d, diff)
		}
		if diff := cmp.Diff(whole.bits(t), again.bits(t)); diff != "" {
			t.Errorf("state on %s after resuming: %s", d, diff)
		}
		if len(got) != 12 {
			t.Errorf("%d steps in three epochs, want 12", len(got))
		}
	}
}

// TestMoveBetweenDevices saves on one device and resumes on another.
func TestMoveBetweenDevices(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.safetensors")
	one := newRun(t, 1, device.Sim(1))
	one.train(t, 1)
	must(t, checkpoint.Save(path, one.state))
	two := newRun(t, 2, device.CPU)
	_, err := checkpoint.Load(path, two.state)
	must(t, err)
	if diff := cmp.Diff(one.bits(t), two.bits(t)); diff != "" {
		t.Error(diff)
	}
	two.train(t, 1)
}

// TestParts saves less than everything.
func TestParts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part.safetensors")
	r := newRun(t, 1, device.CPU)
	r.train(t, 1)
	random.With(random.New(5), func() error {
		tensor.Rand([]int{1})
		must(t, checkpoint.Save(path, checkpoint.State{Model: r.net}))
		return nil
	})
	other := newRun(t, 2, device.CPU)
	random.With(random.New(6), func() error {
		metadata, err := checkpoint.Load(path, checkpoint.State{Model: other.net})
		must(t, err)
		if len(metadata) != 0 {
			t.Errorf("metadata %v, want none", metadata)
		}
		if got := random.Current().State(); got != (random.State{Seed: 5, Offset: 1}) {
			t.Errorf("the goroutine's generator is at %+v", got)
		}
		return nil
	})
	x := tensor.Ones([]int{1, 6})
	nn.Eval(r.net)
	nn.Eval(other.net)
	if same, err := r.net.Forward(x).Equal(other.net.Forward(x)).All().Item(); err != nil || same != 1 {
		t.Errorf("the loaded model gives other numbers: %v, %v", same, err)
	}
	// A file without the model's names can be read by anything.
	tensors, _, err := data.LoadTensors(path, device.CPU)
	must(t, err)
	if _, ok := tensors["model.1.running_mean"]; !ok || len(tensors) != 8 {
		t.Errorf("the file holds %d tensors", len(tensors))
	}
}

func TestReadMetadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meta.safetensors")
	want := map[string]string{"epoch": "7", "": "empty", "scheduler.step": "not ours"}
	must(t, checkpoint.Save(path, checkpoint.State{Model: nn.NewLinear(1, 1), Metadata: want}))
	got, err := checkpoint.ReadMetadata(path)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLoadErrors checks that a load that fails says why and changes nothing.
func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "full.safetensors")
	saved := newRun(t, 1, device.CPU)
	saved.train(t, 1)
	must(t, checkpoint.Save(full, saved.state))
	// spoiled returns a copy of the full checkpoint, changed.
	spoiled := func(change func(tensors map[string]tensor.Tensor, metadata map[string]string)) string {
		tensors, metadata, err := data.LoadTensors(full, device.CPU)
		must(t, err)
		change(tensors, metadata)
		path := filepath.Join(dir, "spoiled.safetensors")
		must(t, data.SaveTensors(path, tensors, data.Metadata(metadata)))
		return path
	}
	text := func(key, to string) string {
		return spoiled(func(_ map[string]tensor.Tensor, m map[string]string) { m[key] = to })
	}
	without := func(name string) string {
		return spoiled(func(ts map[string]tensor.Tensor, m map[string]string) { delete(ts, name); delete(m, name) })
	}
	for _, c := range []struct {
		name string
		path func() string
		into func(*checkpoint.State)
		text string
	}{
		{name: "missing tensor", path: func() string { return without("model.0.weight") }, text: `"0.weight" is missing`},
		{name: "missing moment", path: func() string { return without("optimizer.adamw.first_moment.2") }, text: "adamw.first_moment.2"},
		{name: "missing generator", path: func() string { return without("random.seed") }, text: `random.seed is ""`},
		{name: "missing step", path: func() string { return without("scheduler.step") }, text: `scheduler.step is ""`},
		{name: "wrong step", path: func() string { return text("scheduler.step", "-3") }, text: "scheduler.step is -3"},
		{name: "wrong base", path: func() string { return text("scheduler.base", "NaN") }, text: `scheduler.base is "NaN"`},
		{name: "other version", path: func() string { return text("checkpoint.version", "2") }, text: `"2"`},
		{name: "no checkpoint", path: func() string { return without("checkpoint.version") }, text: "no checkpoint of version 1"},
		{name: "other order", path: func() string { return text("optimizer.parameters", "4.bias") }, text: "4.bias"},
		{name: "unknown tensor", path: func() string {
			return spoiled(func(ts map[string]tensor.Tensor, _ map[string]string) { ts["ema.0"] = tensor.Ones([]int{1}) })
		}, text: `"ema.0"`},
		{name: "other shape", path: func() string {
			return spoiled(func(ts map[string]tensor.Tensor, _ map[string]string) { ts["model.0.bias"] = tensor.Ones([]int{7}) })
		}, text: `"0.bias" is float32 [7], the model has float32 [8]`},
		{name: "no optimizer", into: func(s *checkpoint.State) { s.Optimizer = nil }, text: "the state of the optimizer"},
		{name: "no scheduler", into: func(s *checkpoint.State) { s.Scheduler = nil }, text: "none is given"},
		{name: "no model", into: func(s *checkpoint.State) { s.Model = nil }, text: "none is given"},
		{name: "other optimizer", into: func(s *checkpoint.State) {
			opt, err := optim.NewAdam(s.Optimizer.Parameters(), 1)
			must(t, err)
			s.Optimizer = opt
		}, text: `"adam.learning_rate" is missing`},
		{name: "optimizer of another model", into: func(s *checkpoint.State) {
			opt, err := optim.NewAdamW(nn.Parameters(nn.NewLinear(1, 1)), 1)
			must(t, err)
			s.Optimizer = opt
		}, text: "parameter 0 of the optimizer is not in the model"},
	} {
		r := newRun(t, 2, device.CPU)
		r.train(t, 1)
		before, into, path := r.bits(t), r.state, full
		if c.into != nil {
			c.into(&into)
		}
		if c.path != nil {
			path = c.path()
		}
		if _, err := checkpoint.Load(path, into); !errors.Is(err, checkpoint.ErrFit) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.text)
		}
		if diff := cmp.Diff(before, r.bits(t)); diff != "" {
			t.Errorf("%s: a load that failed changed the run: %s", c.name, diff)
		}
	}
	if _, err := checkpoint.Load(filepath.Join(dir, "no"), saved.state); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a load of no file: %v", err)
	}
}

// TestLoadFault has a device fail at one operation of a load after the other.
func TestLoadFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.safetensors")
	saved := newRun(t, 1, device.CPU)
	saved.train(t, 1)
	must(t, checkpoint.Save(path, saved.state))
	fault := errors.New("bus error")
	for name, c := range map[string]struct {
		kind sim.Fault
		d    device.Device // a fault that is left over stays on it
	}{"copy": {sim.FaultCopy, device.Sim(2)}, "launch": {sim.FaultLaunch, device.Sim(3)}, "allocation": {sim.FaultAlloc, device.Sim(4)}} {
		r := newRun(t, 2, c.d)
		r.train(t, 1)
		before, failures := r.bits(t), 0
		for k := 1; ; k += 4 {
			must(t, simulated.Fail(c.d.Index, c.kind, k, fault))
			_, err := checkpoint.Load(path, r.state)
			if err == nil {
				break
			}
			failures++
			if !errors.Is(err, fault) {
				t.Fatalf("%s %d fails: %v", name, k, err)
			}
			if diff := cmp.Diff(before, r.bits(t)); diff != "" {
				t.Fatalf("%s %d fails and changes the run: %s", name, k, diff)
			}
		}
		if failures < 2 {
			t.Errorf("%s: only %d loads failed", name, failures)
		}
	}
}

func TestSaveErrors(t *testing.T) {
	r := newRun(t, 1, device.CPU)
	path := filepath.Join(t.TempDir(), "run.safetensors")
	must(t, checkpoint.Save(path, r.state))
	before, err := os.ReadFile(path)
	must(t, err)
	bad := r.state
	bad.Model = nn.NewSequential(nn.NewLinear(-1, 2))
	if err := checkpoint.Save(path, bad); err == nil {
		t.Error("a model that carries an error was saved")
	}
	bad = r.state
	bad.Model = nn.NewLinear(2, 2)
	if err := checkpoint.Save(path, bad); err == nil || !strings.Contains(err.Error(), "not in the model") {
		t.Errorf("an optimizer of another model: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("a save that failed changed the file: %v", err)
	}
}
