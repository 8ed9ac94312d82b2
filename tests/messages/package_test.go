// Package messages_test holds what the library says: the errors of wrong calls, of every
// operator with operands that nobody should use, and of calls whose error was passed
// over, and how tensors are printed.
package messages_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
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

// settle collects garbage until no more than want bytes are held on d, for a
// while, and returns what is held then. What programs drop goes back this way.
func settle(d device.Device, want int64) int64 {
	for range 200 {
		if allocated(d) <= want {
			break
		}
		runtime.GC()
		time.Sleep(5 * time.Millisecond) // cleanups run on a goroutine of their own
	}
	return allocated(d)
}
