package onnx

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
