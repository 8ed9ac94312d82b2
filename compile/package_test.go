package compile_test

import (
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/device"
)

// simulated provides sim:0 and sim:1, which work while the program goes on and ask for
// images whose channels are last. They compute by the CPU's kernels: tests compare a device
// with itself.
var simulated = sim.New(sim.Config{Devices: 2, Memory: 1 << 34, Async: true, ChannelsLast: true, Run: optest.OnCPU})

// firstSeed moves the seeds of all random programs, so that runs have others.
var firstSeed = flag.Uint64("seed", 0, "added to the seeds of random programs")

func TestMain(m *testing.M) {
	device.Install(simulated)
	os.Exit(m.Run())
}

// devices are the processor, a simulated accelerator, and the GPU where there is one.
func devices() []device.Device {
	if cuda.Unavailable() != nil {
		return []device.Device{device.CPU, device.Sim(0)}
	}
	return []device.Device{device.CPU, device.Sim(0), device.CUDA(0)}
}

// each calls f in a test of its own for each of the devices, which is the default there.
func each(t *testing.T, f func(t *testing.T, dev device.Device)) {
	for _, dev := range devices() {
		t.Run(dev.Kind.String(), func(t *testing.T) {
			must(t, tensor.WithDefaults(tensor.Defaults{Device: dev}, func() error { f(t, dev); return nil }))
		})
	}
}

// alike returns how results of compiled code may differ from those of eager code: not at
// all, but for GPUs, where libraries choose another kernel for memory that is aligned
// otherwise.
func alike(dev device.Device) cmp.Option {
	if dev.Kind == device.KindCUDA {
		return roughly
	}
	return cmp.Options{}
}

// roughly is how floats may differ that were summed or multiplied in another order.
var roughly = cmpopts.EquateApprox(1e-3, 1e-5)

// finely is roughly for float64.
var finely = cmpopts.EquateApprox(1e-9, 1e-12)
