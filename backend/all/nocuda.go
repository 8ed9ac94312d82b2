//go:build !linux || android || !(amd64 || arm64) || nocuda

package all

import (
	"github.com/sinter-go/sinter/backend/cpu"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/runtime/device"
)

// Install makes the backends' devices available to the process, and says why there are no
// GPUs. Package tensor calls it once.
func Install() {
	device.Install(new(cpu.Driver))
	device.Missing(device.KindCUDA, dl.Supported())
}
