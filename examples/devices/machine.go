package main

import (
	"flag"
	"fmt"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
)

// deviceFlag declares the flag whose value use takes.
func deviceFlag() *string {
	return flag.String("device", "auto", "what to run on: cuda, sim for simulated GPUs, or auto for GPUs where there are any")
}

// A machine is what an example runs on.
type machine struct {
	GPUs      int
	Simulated bool
}

// String returns "2 GPUs" or "one simulated GPU".
func (m machine) String() string {
	what := "GPU"
	if m.Simulated {
		what = "simulated GPU"
	}
	if m.GPUs == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", m.GPUs, what)
}

// use makes the CUDA devices of this process the GPUs ("cuda"), so many simulated
// ones ("sim"), or GPUs where there are any and simulated ones elsewhere ("auto"). The
// simulated ones reach one another's memory and take delay for each copy and kernel.
func use(name string, simulated int, delay time.Duration) (machine, error) {
	if name == "auto" {
		if name = "cuda"; !cuda.IsAvailable() {
			name = "sim"
		}
	}
	switch name {
	case "cuda":
		return machine{GPUs: cuda.DeviceCount()}, cuda.Unavailable()
	case "sim":
		device.Install(sim.New(sim.Config{Devices: simulated, Kind: device.KindCUDA, Async: true, Delay: delay}))
		return machine{GPUs: simulated, Simulated: true}, nil
	}
	return machine{}, fmt.Errorf("no devices are called %q; want cuda, sim or auto", name)
}
