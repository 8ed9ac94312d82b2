package sim

import (
	"context"
	"time"

	"github.com/sinter-go/sinter/runtime/fftplans"
)

var _ fftplans.Planner = (*Driver)(nil)

// planWait bounds how long FFTPlans waits.
const planWait = time.Second

// FFTPlans returns the plans of Fourier transforms that a device keeps: the
// reference's roots of unity, for each geometry as on a GPU. A GPU's plan is made
// before the call that needs it returns, a simulated device's when the stream gets
// there; so that a program sees no difference, FFTPlans waits for the work that was
// given to the device, unless a stream is held up for a second.
func (d *Driver) FFTPlans(dev int) (*fftplans.Cache, error) {
	a, err := d.device(dev)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), planWait)
	defer cancel()
	for _, s := range d.streamsOf(a) {
		if s.wait(ctx) != nil {
			break
		}
	}
	return a.fftPlans, nil
}
