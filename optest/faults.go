package optest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/random"
)

// errInjected is what operations are made to fail with.
var errInjected = errors.New("injected fault")

// faultKinds are the operations that are made to fail.
var faultKinds = []struct {
	kind  sim.Fault
	name  string
	count func(c sim.Counters) int64
}{
	{sim.FaultAlloc, "allocation", func(c sim.Counters) int64 { return c.Allocs }},
	{sim.FaultLaunch, "launch", func(c sim.Counters) int64 { return c.Launches }},
	{sim.FaultExecute, "kernel", func(c sim.Counters) int64 { return c.Launches }},
}

// RunFaults makes every allocation, every launch and every kernel of every operator
// of the table fail, one at a time, forward and backward, on a simulated device that
// works as calls are made or, async, on one that works later. The error reaches the caller;
// nothing panics; no device memory and no goroutine is left; and a run without a fault,
// after each few of them, gives the bits of one that nothing ever went wrong before. Of the faults of
// a kind every step-th is tried; where that is not each, every fourth operator works in one
// of the two ways. It installs devices of its own and turns caching of device memory off
// until t has ended: no test may run beside it. A seed other than 0 tries other samples and
// dtypes, and begins with other operations.
func RunFaults(t *testing.T, table []Operator, step int, async bool, seed uint64) {
	setTF32(t, false)
	installOracle() // or what is installed here would stay as the oracle
	before, _ := device.DriverOf(device.KindSim)
	percent := debug.SetGCPercent(1000) // little is alive and much is made
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		memory.SetCaching(true)
		device.Install(before)
	})
	memory.SetCaching(false)
	d := sim.New(sim.Config{Devices: 1, Async: async, Run: OnCPU})
	device.Install(d)
	const ways = 8
	clean, turn := true, 0
	if async {
		turn = ways / 2
	}
	for i := range table {
		if step > 1 && i%ways != turn { // a part of the operations, and of the table each way
			continue
		}
		o := &table[i]
		t.Run(o.Op.Name, func(t *testing.T) {
			f := faultCheck{runner: runner{o: o, dev: oracle}, driver: d, async: async, step: step, seed: seed, clean: &clean}
			for _, err := range f.run() {
				t.Error(err)
			}
		})
	}
}

// OnCPU computes a call by the CPU's kernels: for simulated devices of tests that compare a
// device with itself.
func OnCPU(c *ir.Call) error {
	d, err := device.DriverOf(device.KindCPU)
	if err != nil {
		return err
	}
	return d.Launch(0, 0, c)
}

// A faultCheck makes one operator's work fail.
type faultCheck struct {
	runner
	driver *sim.Driver
	async  bool
	step   int
	seed   uint64
	clean  *bool // nothing was left of what was tried before
}

// run tries the smallest sample with elements that each of up to two dtypes accepts: the
// first real one that gradients flow in, and the first complex one.
func (f *faultCheck) run() (errs []error) {
	tried := 0
	samples := slices.Clone(f.samples())
	slices.SortStableFunc(samples, func(a, b Sample) int { return sampleSize(a) - sampleSize(b) })
	dtypes := f.dtypes()
	if f.seed != 0 {
		dtypes = f.o.Op.DTypes.List()
		draw := newSource(f.o.Op.Name, f.seed)
		draw.Shuffle(len(samples), func(i, j int) { samples[i], samples[j] = samples[j], samples[i] })
		draw.Shuffle(len(dtypes), func(i, j int) { dtypes[i], dtypes[j] = dtypes[j], dtypes[i] })
		dtypes = dtypes[:min(2, len(dtypes))]
	}
	for _, dt := range dtypes {
		for _, s := range samples {
			if !hasElements(s) {
				continue
			}
			g := gradientCheck{runner: f.runner, tr: trial{s, dt, contiguous}}
			g.values = g.draw(g.tr, false)
			g.avoidKinks()
			err := f.try(&g)
			if errors.Is(err, errRefused) {
				continue
			}
			tried++
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", g.tr, err))
			}
			break
		}
	}
	if tried == 0 && f.seed == 0 && slices.ContainsFunc(samples, hasElements) && !f.mayRefuse() {
		errs = append(errs, errRefused)
	}
	return errs
}

// hasElements reports whether all operands of a sample have elements: otherwise there is
// nothing to launch.
func hasElements(s Sample) bool {
	return !slices.ContainsFunc(s.Shapes, func(shape []int) bool { return ir.NumElements(shape) == 0 })
}

func (f *faultCheck) dtypes() (list []ir.DType) {
	has := f.o.Op.DTypes
	for _, class := range [][]ir.DType{{ir.Float32, ir.Float64, ir.Int64, ir.Bool}, {ir.Complex64}} {
		if i := slices.IndexFunc(class, has.Has); i >= 0 {
			list = append(list, class[i])
		}
	}
	if list == nil && has != 0 {
		list = has.List()[:1]
	}
	return list
}

// try makes the work of one trial fail, operation by operation.
func (f *faultCheck) try(g *gradientCheck) error {
	routines := runtime.NumGoroutine()
	var in, wanted []*core.Tensor
	var problem error
	core.InScope(func(*core.Scope) {
		if in, wanted, problem = g.leaves(g.values); problem != nil {
			problem = fmt.Errorf("%w: %w", errRefused, problem)
			return
		}
		if problem = f.settle(); problem == nil {
			problem = f.each(g, in, wanted)
		}
	})
	if problem == nil {
		problem = waitUntil(func() (int, error) {
			n := runtime.NumGoroutine()
			if n > routines {
				return n, fmt.Errorf("%d goroutines, there were %d", n, routines)
			}
			return n, nil
		})
	}
	return problem
}

func (f *faultCheck) each(g *gradientCheck, in, wanted []*core.Tensor) error {
	if !*f.clean {
		collect()
	}
	*f.clean = false
	live := f.driver.Counters(0)
	if _, err := f.work(g, in, wanted); err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	want, err := f.work(g, in, wanted) // plans and tables are there from the first run
	if err != nil {
		return err
	}
	if err := f.nothingLeft(live); err != nil {
		return fmt.Errorf("without a fault: %w", err)
	}
	start := f.driver.Counters(0)
	if _, err = f.work(g, in, wanted); err != nil {
		return err
	}
	after := f.driver.Counters(0)
	for _, kind := range faultKinds {
		n := int(kind.count(after) - kind.count(start))
		tried := 0
		for k := 1 + (len(f.o.Op.Name)+int(kind.kind)+int(f.seed%1000))%f.step; k <= n; k += f.step {
			if err := f.one(g, in, wanted, kind.kind, k, want); err != nil {
				return fmt.Errorf("%s %d of %d: %w", kind.name, k, n, err)
			}
			if tried++; tried%(againEvery+n/16) != 0 && k+f.step <= n {
				continue // a run without a fault takes longer than one that ends with it
			}
			if err := f.again(g, in, wanted, want); err != nil {
				return fmt.Errorf("after %s %d of %d and up to %d before: %w", kind.name, k, n, againEvery+n/16-1, err)
			}
		}
	}
	if err := f.nothingLeft(live); err != nil {
		return fmt.Errorf("after a fault at every operation: %w", err)
	}
	*f.clean = true
	return nil
}

// one makes the k-th operation of a kind fail, and then none.
func (f *faultCheck) one(g *gradientCheck, in, wanted []*core.Tensor, kind sim.Fault, k int, want [][]byte) error {
	if err := f.driver.Fail(0, kind, k, errInjected); err != nil {
		return err
	}
	got, err := f.work(g, in, wanted)
	if left := f.driver.Heal(0); left != 0 {
		return fmt.Errorf("the fault was not reached; the error is %v", err)
	}
	switch same := err == nil && slices.EqualFunc(got, want, bytes.Equal); {
	case same: // what failed is a part that these results are not made of
	case !errors.Is(err, errInjected):
		return fmt.Errorf("the error is %v", err)
	}
	return nil
}

// againEvery is after how many faults there is a run without one, where operations are few.
const againEvery = 4

// again works without a fault.
func (f *faultCheck) again(g *gradientCheck, in, wanted []*core.Tensor, want [][]byte) error {
	got, err := f.work(g, in, wanted)
	if err != nil {
		return fmt.Errorf("again, without a fault: %w", err)
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			return fmt.Errorf("again, without a fault: result or gradient %d is another", i)
		}
	}
	return nil
}

// work applies the operator, takes its gradients, those that can be differentiated
// again too, and returns the bytes of it all. A panic is an error that has its stack.
func (f *faultCheck) work(g *gradientCheck, in, wanted []*core.Tensor) (out [][]byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	core.InScope(func(*core.Scope) {
		err = random.With(random.New(1), func() (err error) { out, err = f.results(g, in, wanted); return err })
	})
	if late := f.settle(); err == nil {
		err = late
	}
	return out, err
}

func (f *faultCheck) results(g *gradientCheck, in, wanted []*core.Tensor) (out [][]byte, err error) {
	take := func(list []*core.Tensor) error {
		var first error // of all, so that none is left that nobody looked at
		for _, t := range list {
			if t == nil {
				continue
			}
			b, err := core.Bytes(core.Copy(t))
			if first == nil {
				first = err
			}
			out = append(out, bytes.Clone(b))
		}
		return first
	}
	outs := g.o.Call(g.args(g.tr, in, g.dev))
	if err := take(outs); err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		return out, nil
	}
	roots, weights, err := g.weigh(outs)
	if err != nil || len(roots) == 0 {
		return out, err
	}
	if first := core.FirstError(weights...); first != nil {
		return nil, first.Err()
	}
	for _, o := range []core.BackwardOptions{{Retain: true, Ops: &engine}, {CreateGraph: true, Ops: &engine}} {
		grads, err := core.Gradients(roots, weights, wanted, o)
		if err != nil {
			return nil, err
		}
		if err := take(grads); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// settle waits until all work is done, and returns what went wrong in it.
func (f *faultCheck) settle() error {
	err := f.driver.SyncDevice(context.Background(), 0)
	return errors.Join(err, f.driver.DeviceFault(0))
}

// nothingLeft reports device memory beyond what was there before.
func (f *faultCheck) nothingLeft(before sim.Counters) error {
	return waitUntil(func() (int, error) {
		now := f.driver.Counters(0)
		n := int(now.LiveAllocs + now.LiveStreams + now.LiveEvents)
		if now.LiveAllocs > before.LiveAllocs || now.LiveStreams > before.LiveStreams || now.LiveEvents > before.LiveEvents {
			return n, fmt.Errorf("%d blocks of device memory, %d streams and %d events are left, before there were %d, %d and %d",
				now.LiveAllocs, now.LiveStreams, now.LiveEvents, before.LiveAllocs, before.LiveStreams, before.LiveEvents)
		}
		return n, nil
	})
}

// stuck is how long as much is left before it stays: goroutines that end on a busy machine take
// their time, and so do cleanups.
const stuck = time.Minute

// waitUntil asks until there is no error, or nothing less is left any more. The collector, which
// costs most, finds what nothing reaches.
func waitUntil(f func() (left int, err error)) error {
	least, err := f()
	since := time.Now()
	for i := 0; err != nil && time.Since(since) < stuck; i++ {
		if i > 0 {
			collect()
		}
		for range 5 { // cleanups run after a collection
			var n int
			if n, err = f(); err == nil {
				break
			}
			if n < least {
				least, i, since = n, min(i, 1), time.Now()
			}
			_ = memory.EmptyCache(oracle) // what the collector found is given back by the next call
			time.Sleep(time.Duration(1+min(i, 20)*min(i, 20)) * 20 * time.Microsecond)
		}
	}
	return err
}

// collect gives back the memory of what nothing reaches any more.
func collect() {
	runtime.GC()
	_ = memory.EmptyCache(oracle)
}
