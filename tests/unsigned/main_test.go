// Package unsigned_test computes with uint16, uint32 and uint64 what Go computes with its
// own, on every kind of device that there is: devices have no code for them, so what holds
// on one says little of another.
package unsigned_test

import (
	"os"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
)

func TestMain(m *testing.M) {
	device.Install(sim.New(sim.Config{Devices: 1}))
	os.Exit(m.Run())
}

// must fails the test when err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
