package cpu

import (
	"github.com/sinter-go/sinter/backend/cpu/fft"
	"github.com/sinter-go/sinter/runtime/fftplans"
)

var _ fftplans.Planner = (*Driver)(nil)

// FFTPlans returns the plans of Fourier transforms that the host keeps, by length.
func (*Driver) FFTPlans(int) (*fftplans.Cache, error) { return fft.Plans, nil }
