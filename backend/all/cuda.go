//go:build linux && !android && (amd64 || arm64) && !nocuda

package all

import (
	"github.com/sinter-go/sinter/backend/cpu"
	"github.com/sinter-go/sinter/backend/cuda/gpu"
	"github.com/sinter-go/sinter/runtime/device"
)

// Install makes the backends' devices available to the process. Package tensor
// calls it once; it makes no call to any driver.
func Install() { device.Install(new(cpu.Driver), new(gpu.Driver)) }
