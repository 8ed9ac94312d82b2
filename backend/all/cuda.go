//go:build linux && !android && (amd64 || arm64) && !nocuda

package all

import (
	"github.com/sinter-go/sinter/backend/cpu"
	"github.com/sinter-go/sinter/backend/cuda/gpu"
	"github.com/sinter-go/sinter/runtime/device"
)

var (
	drivers = []device.Driver{new(cpu.Driver), new(gpu.Driver)}
	missing []absence
)
