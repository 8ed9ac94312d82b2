package compile_test

import (
	"errors"
	"os"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
	"github.com/sinter-go/sinter/tests/self"
)

// TestManyPlans: nine thousand programs that are made and dropped after seven thousand others
// leave nothing. A short run makes fewer, and has no eye on Go's memory, where pools still fill. Objects are
// counted, not bytes: the memory of simulated devices is Go's, a block of 2 MiB from when it is
// first touched. They are those of a process of its own, in which no other test leaves any.
func TestManyPlans(t *testing.T) {
	const alone = "SINTER_TEST_MANY_PLANS"
	if os.Getenv(alone) == "" && !testing.Short() {
		if out, err := self.Command(t, []string{alone + "=1"}, "-test.run=^TestManyPlans$").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	drv := sim.New(sim.Config{Devices: 1})
	device.Install(drv)
	defer device.Install(simulated)
	on := tensor.On(device.Sim(0))
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].AddScalar(1).Mul(x[0]).Sum(), nil }, compile.Plans(4))
	// What is kept for programs to come, and what cleanups let go in lots, fills in the first part.
	most, filled := 16_000, 7_000
	if testing.Short() {
		most, filled = 500, 100
	}
	all := tensor.Zeros([]int{most}, on)
	objects := func() uint64 {
		patience.Collect(t)
		var m goruntime.MemStats
		goruntime.ReadMemStats(&m)
		return m.HeapObjects
	}
	var at [2]uint64
	var live [2]int64
	for n := range most {
		x := all.Narrow(0, 0, n+1)
		must(t, f.Prepare(x))
		for range 3 * (1 - min(1, n%100)) { // of every hundredth a graph
			y, err := f.Call(x)
			must(t, err)
			y.Release()
		}
		x.Release()
		switch n {
		case filled - 1:
			at[0], live[0] = objects(), drv.Counters(0).LiveBytes
		case most - 1:
			at[1], live[1] = objects(), drv.Counters(0).LiveBytes
		}
	}
	if s := f.Stats(); s.Traces != most || s.Evicted != most-4 || s.Plans != 4 {
		t.Errorf("%+v", s)
	}
	few := uint64(most-filled) * 8 / 9 // less than one a program; plans of programs to come are kept in lots
	for range 100 {
		if testing.Short() || at[1] <= at[0]+few {
			break
		}
		at[1] = objects()
	}
	if !testing.Short() && at[1] > at[0]+few || live[1] > live[0] {
		t.Errorf("%d objects of Go's live after %d programs, %d after %d; %d and %d bytes of the device's", at[1], most, at[0], filled, live[1], live[0])
	}
	f.Close()
	if c := drv.Counters(0); c.LiveGraphs != 0 {
		t.Errorf("%+v", c)
	}
}

// TestOutOfMemory: a program that finds no memory is an error and changes nothing.
func TestOutOfMemory(t *testing.T) {
	drv := sim.New(sim.Config{Devices: 1, Memory: 2 << 20})
	device.Install(drv)
	defer device.Install(simulated)
	must(t, tensor.WithDefaults(tensor.Defaults{Device: device.Sim(0)}, func() error {
		p := nn.NewParameter(tensor.Ones([]int{1 << 9}))
		wide := 2000
		f := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return tensor.ScopeValue(func() (tensor.Tensor, error) {
				must(t, p.ZeroGrad())
				y := p.Mul(x[0]).Expand(wide, 1<<9).Clone()
				if err := y.Sum().Backward(); err != nil {
					return y, err
				}
				return y.Sum().Detach(), tensor.NoGrad(func() error { return p.AddInPlace(x[0]) })
			})
		}, compile.State(p), compile.Key(func() any { return wide }))
		x := tensor.Ones([]int{1})
		_, err := f.Call(x)
		if !errors.Is(err, device.ErrOutOfMemory) || !strings.Contains(err.Error(), "limits_test.go:") {
			t.Errorf("error %v", err)
		}
		if _, ok := p.Grad(); ok || p.Version() != 0 || values(t, p.Narrow(0, 0, 1).Detach())[0] != 1 {
			t.Error("the state changed")
		}
		wide = 5
		for range 3 {
			_, err := f.Call(x)
			must(t, err)
		}
		if d := cmp.Diff([]float32{4}, values(t, p.Narrow(0, 0, 1).Detach())); d != "" {
			t.Error(d)
		}
		return x.Neg().Err()
	}))
}

// TestCollected: a program keeps what it reads.
func TestCollected(t *testing.T) {
	w := tensor.Full([]int{2}, float32(3))
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Mul(w), nil }, compile.State(w))
	x := tensor.Ones([]int{2})
	for range 3 {
		y, err := f.Call(x)
		must(t, err)
		w = tensor.Tensor{}
		goruntime.GC()
		goruntime.GC()
		if d := cmp.Diff([]float32{3, 3}, values(t, y)); d != "" {
			t.Error(d)
		}
	}
}
