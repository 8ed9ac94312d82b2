//go:build !linux || android || !(amd64 || arm64) || nocuda

package all

import (
	"github.com/sinter-go/sinter/backend/cpu"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/runtime/device"
)

var (
	drivers = []device.Driver{new(cpu.Driver)}
	missing = []absence{{device.KindCUDA, dl.Supported()}}
)
