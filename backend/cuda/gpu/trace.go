package gpu

import (
	"github.com/sinter-go/sinter/backend/cuda/cupti"
	"github.com/sinter-go/sinter/runtime/device"
)

// Trace begins to note when kernels, copies and clearings run, by CUPTI.
func (d *Driver) Trace() (device.Trace, error) {
	l, err := cupti.Open()
	if err != nil {
		return nil, err
	}
	return l.Trace()
}
