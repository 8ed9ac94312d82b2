package cpu

import (
	"github.com/sinter-go/sinter/backend/cpu/fft"
	"github.com/sinter-go/sinter/runtime/plans"
)

var _ plans.Planner = (*Driver)(nil)

// FFTPlans returns the plans of Fourier transforms that the host keeps, by length.
func (*Driver) FFTPlans(int) (*plans.Cache, error) { return fft.Plans, nil }
