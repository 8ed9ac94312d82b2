package dist_test

import (
	"errors"
	"flag"
	"fmt"
	"math/cmplx"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// simulated are the accelerators of these tests.
const simulated = 64

// kindName says which devices a group of accelerators has. On GPUs, groups of more ranks than
// there are GPUs are skipped, and so is what only simulated accelerators show.
var kindName = flag.String("kind", "sim", "the accelerators under test: sim or cuda")

func TestMain(m *testing.M) {
	device.Install(sim.New(sim.Config{Devices: simulated, Async: true, Run: optest.OnCPU}))
	other()
	act()
	flag.Parse()
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, what string, got, want any, opts ...cmp.Option) {
	t.Helper()
	if reflect.DeepEqual(want, got) { // which is quicker
		return
	}
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// averaged returns how averages over n ranks may differ whose parts have eps between 1 and
// the next number: not at all, but for NCCL's. It multiplies every part by 1/n, which is
// rounded where n is no power of two, before it adds them up.
func averaged(dev device.Device, n int, eps float64) cmp.Option {
	if dev.Kind != device.KindCUDA || n&(n-1) == 0 {
		return cmp.Options{}
	}
	least := float64(n) * eps
	return cmp.Options{
		cmpopts.EquateApprox(least, 0),
		cmp.Comparer(func(a, b complex128) bool { return cmplx.Abs(a-b) <= least*cmplx.Abs(b) }),
	}
}

// cpus are the devices of a group of n ranks that share the CPU.
func cpus(n int) []device.Device { return make([]device.Device, n) }

// accelerators are the devices of a group of n ranks of the kind under test. The test is
// skipped where there are fewer.
func accelerators(t testing.TB, n int) []device.Device {
	t.Helper()
	kind := device.KindSim
	if *kindName == "cuda" {
		kind = device.KindCUDA
	}
	if have := device.Count(kind); have < n {
		t.Skipf("needs %d devices, there are %d of kind %s", n, have, kind)
	}
	list := make([]device.Device, n)
	for i := range list {
		list[i] = device.Device{Kind: kind, Index: i}
	}
	return list
}

// freshly gives the test simulated accelerators of its own, until it ends.
func freshly(t testing.TB, n int) {
	t.Helper()
	before, err := device.DriverOf(device.KindSim)
	must(t, err)
	device.Install(sim.New(sim.Config{Devices: n, Async: true, Run: optest.OnCPU}))
	t.Cleanup(func() { device.Install(before) })
}

// onSimulated skips what GPUs do not show: NCCL compares no calls, and has other dtypes.
func onSimulated(t testing.TB) {
	t.Helper()
	if *kindName != "sim" {
		t.Skip("shown on simulated accelerators")
	}
}

// kinds are the devices that a test is tried on, by name, for groups of n ranks.
func kinds(t testing.TB, n int) map[string]func(t testing.TB) []device.Device {
	all := map[string]func(t testing.TB) []device.Device{
		*kindName: func(t testing.TB) []device.Device { return accelerators(t, n) },
	}
	if *kindName == "sim" {
		all["cpu"] = func(testing.TB) []device.Device { return cpus(n) }
	}
	return all
}

// each runs a test for groups of n ranks on every kind of device.
func each(t *testing.T, n int, f func(t *testing.T, devices []device.Device)) {
	t.Helper()
	for name, devices := range kinds(t, n) {
		t.Run(fmt.Sprint(name, n), func(t *testing.T) { f(t, devices(t)) })
	}
}

// together calls f for every rank at once, with a group whose timeout no test reaches,
// and returns the errors by rank.
func together(t testing.TB, devices []device.Device, f func(g *dist.Group) error) []error {
	t.Helper()
	return within(t, patience.Left(t), devices, f)
}

// within is together with a timeout.
func within(t testing.TB, timeout time.Duration, devices []device.Device, f func(g *dist.Group) error) []error {
	t.Helper()
	groups, err := dist.Local(devices, dist.Timeout(timeout))
	must(t, err)
	errs := make([]error, len(groups))
	var all sync.WaitGroup
	for rank, g := range groups {
		all.Go(func() { errs[rank] = f(g) })
	}
	all.Wait()
	for _, g := range groups {
		_ = g.Close() // a failed group says so again
	}
	return errs
}

// wantErrors checks that the error of every rank wraps target and has all texts.
func wantErrors(t testing.TB, errs []error, target error, texts ...string) {
	t.Helper()
	for rank, err := range errs {
		if !errors.Is(err, target) {
			t.Errorf("rank %d: %v; want one that wraps %q", rank, err, target)
			continue
		}
		for _, text := range append(texts, fmt.Sprint("rank ", rank)) {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("rank %d: %q does not say %q", rank, err, text)
			}
		}
	}
}

// contains checks that an error has a text.
func contains(t testing.TB, err error, text string) {
	t.Helper()
	if !strings.Contains(fmt.Sprint(err), text) {
		t.Errorf("%v: does not say %q", err, text)
	}
}

// data returns the elements of x.
func data[E tensor.Element](t testing.TB, x tensor.Tensor) []E {
	t.Helper()
	v, err := tensor.Data[E](x)
	must(t, err)
	return v
}
