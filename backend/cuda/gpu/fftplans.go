package gpu

import "github.com/sinter-go/sinter/runtime/fftplans"

var _ fftplans.Planner = (*Driver)(nil)

// FFTPlans returns the plans of Fourier transforms that a GPU keeps: cuFFT's, or
// those of kernels of our own. It makes no context.
func (d *Driver) FFTPlans(dev int) (*fftplans.Cache, error) {
	if _, err := d.known(dev); err != nil {
		return nil, err
	}
	return d.gpus[dev].fftPlans, nil
}
