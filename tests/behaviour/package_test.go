// Package behaviour_test holds what a program may rely on that no single package makes.
//
// Differentiation, and what it and scopes hold of memory and give back: gradients of
// gradients, in-place operators, views, saved values, backward passes that fail.
//
// Results do not depend on where and how a program runs: on devices and between them, on
// any number of threads, from many goroutines, with the collector at work, and with shapes
// that no memory is there for.
//
// What the library says: the errors of wrong calls, of every operator with operands that
// nobody should use, and of calls whose error was passed over, and how tensors are printed.
package behaviour_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

// T is short for the tensors of the tests.
type T = tensor.Tensor

// simulated provides the devices sim:0 and sim:1 to all tests of the package.
var simulated = sim.New(sim.Config{Devices: 2, Memory: 1 << 28})

func TestMain(m *testing.M) {
	device.Install(simulated)
	os.Exit(m.Run())
}

// must fails the test when err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// values returns the elements of x, row-major, as float64.
func values(t testing.TB, x tensor.Tensor) []float64 {
	t.Helper()
	data, err := tensor.Data[float64](x.Detach().ToType(tensor.Float64))
	must(t, err)
	return data
}

// gradient returns the elements of x's gradient.
func gradient(t testing.TB, x tensor.Tensor) []float64 {
	t.Helper()
	g, ok := x.Grad()
	if !ok {
		t.Fatal("the tensor has no gradient")
	}
	return values(t, g)
}

// near compares floats to a few units of float32's precision.
var near = cmpopts.EquateApprox(1e-5, 1e-6)

// leafOf returns a float64 leaf that requires gradients.
func leafOf(data []float64, shape ...int) T { return tensor.From(data, shape...).RequireGrad() }

func wantValues(t testing.TB, what string, x T, want ...float64) {
	t.Helper()
	if diff := cmp.Diff(want, values(t, x), near); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantGradient(t testing.TB, what string, x T, want ...float64) {
	t.Helper()
	if diff := cmp.Diff(want, gradient(t, x), near); diff != "" {
		t.Errorf("gradient of %s (-want +got):\n%s", what, diff)
	}
}

// withSimulated installs a driver for the simulated devices until the test ends.
func withSimulated(t testing.TB, c sim.Config) *sim.Driver {
	t.Helper()
	d := sim.New(c)
	device.Install(d)
	t.Cleanup(func() { device.Install(simulated) })
	return d
}

// allocated returns the bytes that tensors need on a device; their blocks may have
// more.
func allocated(d device.Device) int64 { return memory.StatsOf(d).RequestedBytes.All.Current }

// settle returns what is held on d once no more than want is, or the test's time is over.
func settle(t testing.TB, d device.Device, want int64) int64 {
	t.Helper()
	return patience.Settle(t, func() int64 { return allocated(d) }, want)
}

// collected returns what is held on d that is no garbage.
func collected(t testing.TB, d device.Device) int64 {
	t.Helper()
	patience.Collect(t)
	return allocated(d)
}
