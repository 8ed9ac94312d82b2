package gpu

import "github.com/sinter-go/sinter/runtime/plans"

var _ plans.Planner = (*Driver)(nil)

// FFTPlans returns the plans of Fourier transforms that a GPU keeps: cuFFT's, or
// those of kernels of our own. It makes no context.
func (d *Driver) FFTPlans(dev int) (*plans.Cache, error) {
	if _, err := d.known(dev); err != nil {
		return nil, err
	}
	return d.gpus[dev].plans, nil
}
