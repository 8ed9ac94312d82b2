package dist_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// simulated are the accelerators of these tests.
const simulated = 64

func TestMain(m *testing.M) {
	device.Install(sim.New(sim.Config{Devices: simulated, Async: true}))
	act()
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// kinds are the devices that a group of n ranks is tried on, by name.
func kinds(n int) map[string][]device.Device {
	cpu, accelerators := make([]device.Device, n), make([]device.Device, n)
	for i := range n {
		accelerators[i] = device.Sim(i)
	}
	return map[string][]device.Device{"cpu": cpu, "sim": accelerators}
}

// each runs a test for groups of n ranks on every kind of device.
func each(t *testing.T, n int, f func(t *testing.T, devices []device.Device)) {
	t.Helper()
	for name, devices := range kinds(n) {
		t.Run(fmt.Sprint(name, n), func(t *testing.T) { f(t, devices) })
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
