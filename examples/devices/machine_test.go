package main

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/runtime/device"
)

func TestUse(t *testing.T) {
	if device.Install(own); cuda.IsAvailable() {
		t.Skip("there is a GPU")
	}
	if _, err := use("cuda", 1, 0); err == nil {
		t.Error("GPUs are used where there are none")
	}
	if _, err := use("tpu", 1, 0); err == nil || !strings.Contains(err.Error(), `"tpu"; want cuda, sim or auto`) {
		t.Error(err)
	}
	m, err := use("auto", 3, 0)
	if err != nil || m.String() != "3 simulated GPUs" || cuda.DeviceCount() != 3 {
		t.Errorf("%s, %d devices, %v", m, cuda.DeviceCount(), err)
	}
	if s := (machine{GPUs: 1}).String(); s != "one GPU" {
		t.Error(s)
	}
}
