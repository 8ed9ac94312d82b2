package gpu

import (
	"os"

	"github.com/sinter-go/sinter/backend/cuda/nvml"
	"github.com/sinter-go/sinter/runtime/device"
)

var _ device.ProcessMemory = (*Driver)(nil)

// ProcessMemory returns what this process takes of the GPU, contexts and libraries
// included, as the driver's management library knows it.
func (d *Driver) ProcessMemory(dev int) (int64, error) {
	p, err := d.Properties(dev)
	if err != nil {
		return 0, err
	}
	l, err := nvml.Open()
	if err != nil {
		return 0, err
	}
	return l.ProcessMemory(p.UUID, os.Getpid())
}
