// Package conformance_test holds one test for each statement about the behaviour
// of devices, streams, memory and graphs, named by the statement's id: TestS11 is
// statement S11. A test's comment says the statement; docs/semantics.md is made of
// these comments and of what the runs recorded.
//
// The tests run on simulated accelerators, or with -kind cuda on the GPUs of the
// machine. Those that cannot run there skip and say what they need. With -stand-in
// simulated accelerators stand for the GPUs, which tries what the tests do there.
package conformance_test

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// T is the tensor type.
type T = tensor.Tensor

var (
	kindName = flag.String("kind", "sim", "the devices under test: sim or cuda")
	seed     = flag.Uint64("seed", 1, "of the allocator's random steps")
	standIn  = flag.Bool("stand-in", false, "with -kind cuda: simulated accelerators stand for the GPUs, for work on the tests; it shows nothing of a GPU")
)

// kind is that of the devices under test.
var kind device.Kind

// simulated is what -kind sim tests: asynchronous, four devices, all of which
// reach one another but for 0 and 3.
var simulated = sim.Config{
	Devices: 4,
	Async:   true,
	Peer:    func(dev, peer int) bool { return dev+peer != 3 || dev*peer != 0 },
}

func TestMain(m *testing.M) {
	flag.Parse()
	var stand *wary
	switch *kindName {
	case "sim":
		kind = device.KindSim
		device.Install(sim.New(simulated))
	case "cuda":
		kind = device.KindCUDA
		if *standIn {
			stand = newWary()
			device.Install(stand)
		}
	default:
		os.Stderr.WriteString("-kind: want sim or cuda, have " + *kindName + "\n")
		os.Exit(2)
	}
	status := m.Run()
	if stand != nil && stand.complaints > 0 {
		status = 1
	}
	os.Exit(status)
}

// devices returns the first n devices of the kind under test; without as many, the
// test is skipped.
func devices(t testing.TB, n int) []device.Device {
	t.Helper()
	watch(t)
	if have := device.Count(kind); have < n {
		t.Skipf("needs %d devices, there are %d", n, have)
	}
	list := make([]device.Device, n)
	for i := range list {
		list[i] = device.Device{Kind: kind, Index: i}
	}
	return list
}

// one returns the first device of the kind under test.
func one(t testing.TB) device.Device {
	t.Helper()
	return devices(t, 1)[0]
}

// onGPU reports whether the devices under test are GPUs, not what stands for them.
func onGPU() bool { return kind == device.KindCUDA && !*standIn }

// hardware skips the test on simulated accelerators.
func hardware(t testing.TB, why string) {
	t.Helper()
	watch(t)
	if !onGPU() {
		t.Skipf("needs a GPU: %s", why)
	}
}

// fresh gives the test simulated accelerators of its own and returns their driver.
// After the test the usual ones are back.
func fresh(t testing.TB, c sim.Config) *sim.Driver {
	t.Helper()
	watch(t)
	if kind != device.KindSim {
		t.Skip("needs the simulated accelerator")
	}
	drv := sim.New(c)
	device.Install(drv)
	t.Cleanup(func() { device.Install(sim.New(simulated)) })
	return drv
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal compares what was got with what was wanted.
func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// values returns the elements of x as float64.
func values(t testing.TB, x T) []float64 {
	t.Helper()
	v, err := tensor.Data[float64](x.Detach().ToType(tensor.Float64))
	must(t, err)
	return v
}

// settle returns what is held of d once no more than want bytes are.
func settle(t testing.TB, d device.Device, want int64) int64 {
	t.Helper()
	return patience.Settle(t, func() int64 { return memory.Allocated(d) }, want)
}

// collected returns what is held of d that is no garbage.
func collected(t testing.TB, d device.Device) int64 {
	t.Helper()
	patience.Collect(t)
	return memory.Allocated(d)
}

// live checks when the test ends that no memory of d is held that was not before.
func live(t testing.TB, d device.Device) {
	t.Helper()
	must(t, cuda.ClearWorkspaces()) // they stay until they are cleared (P75)
	before := collected(t, d)
	t.Cleanup(func() {
		if err := cuda.ClearWorkspaces(); err != nil {
			t.Errorf("workspaces: %v", err)
		}
		if err := stream.Synchronize(context.Background(), d); err != nil {
			t.Errorf("waiting for %v: %v", d, err)
		}
		if after := settle(t, d, before); after > before {
			t.Errorf("%v holds %d bytes, %d before", d, after, before)
		}
	})
}
