package main

import (
	"os"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	_ "github.com/sinter-go/sinter/generated/tensor" // which installs the machine's devices
	"github.com/sinter-go/sinter/runtime/device"
)

// own is the driver of the machine's own GPUs, of which there may be none.
var own device.Driver

func TestMain(m *testing.M) {
	own, _ = device.DriverOf(device.KindCUDA)
	device.Install(sim.New(sim.Config{Devices: 1, Async: true}))
	os.Exit(m.Run())
}

func TestPick(t *testing.T) {
	if p, err := pick([]string{"devices", "timing", "-n", "8"}); err != nil || p == nil {
		t.Errorf("timing is no program: %v", err)
	}
	for _, args := range [][]string{{"devices"}, {"devices", "-n", "timing"}, {"devices", "clocks"}} {
		if _, err := pick(args); err == nil || !strings.Contains(err.Error(), "threedevices, timing") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
