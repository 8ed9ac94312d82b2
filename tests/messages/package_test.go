// Package messages_test holds what the library says: the errors of wrong calls, of every
// operator with operands that nobody should use, and of calls whose error was passed
// over, and how tensors are printed.
package messages_test

import (
	"os"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

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

// allocated returns the bytes that tensors need on a device; their blocks may have
// more.
func allocated(d device.Device) int64 { return memory.StatsOf(d).RequestedBytes.All.Current }

// settle returns what is held on d once no more than want is.
func settle(t testing.TB, d device.Device, want int64) int64 {
	t.Helper()
	return patience.Settle(t, func() int64 { return allocated(d) }, want)
}
