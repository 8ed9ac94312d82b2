package gpu

import (
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/plans"
)

var _ plans.Planner = (*Driver)(nil)

// FFTPlans returns the plans of Fourier transforms that a GPU keeps: cuFFT's, or
// those of kernels of our own. It makes no context.
func (d *Driver) FFTPlans(dev int) (*plans.Cache, error) {
	if _, err := d.get(); err != nil {
		return nil, fmt.Errorf("%w: cuda:%d: %w", device.ErrUnavailable, dev, err)
	}
	if uint(dev) >= uint(len(d.gpus)) {
		return nil, fmt.Errorf("%w: cuda:%d: this process sees %d cuda devices", device.ErrInvalid, dev, len(d.gpus))
	}
	return d.gpus[dev].plans, nil
}
