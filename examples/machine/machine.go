// Package machine sees to the GPUs that an example is about: those of the machine,
// or simulated ones that stand for them. It knows nothing of what the examples do.
package machine

import (
	"fmt"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
)

// Usage describes the values that Use takes, for a flag.
const Usage = "what to run on: cuda, sim for simulated GPUs, or auto for GPUs where there are any"

// A Machine is what an example runs on.
type Machine struct {
	GPUs      int
	Simulated bool
}

// String returns "2 GPUs" or "one simulated GPU".
func (m Machine) String() string {
	what := "GPU"
	if m.Simulated {
		what = "simulated GPU"
	}
	if m.GPUs == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", m.GPUs, what)
}

// Use makes the CUDA devices of this process the GPUs ("cuda"), so many simulated
// ones ("sim"), or GPUs where there are any and simulated ones elsewhere ("auto"). The
// simulated ones reach one another's memory and take delay for each copy and kernel.
func Use(name string, simulated int, delay time.Duration) (Machine, error) {
	if name == "auto" {
		if name = "cuda"; !cuda.IsAvailable() {
			name = "sim"
		}
	}
	switch name {
	case "cuda":
		return Machine{GPUs: cuda.DeviceCount()}, cuda.Unavailable()
	case "sim":
		device.Install(sim.New(sim.Config{Devices: simulated, Kind: device.KindCUDA, Async: true, Delay: delay}))
		return Machine{GPUs: simulated, Simulated: true}, nil
	}
	return Machine{}, fmt.Errorf("no devices are called %q; want cuda, sim or auto", name)
}
