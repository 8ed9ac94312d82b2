package cuda

import (
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/plans"
)

// FFTPlanCache returns the cache of plans of Fourier transforms of a GPU, or without
// one that of the calling goroutine's current device at each use (S49, S54). At
// takes an index: FFTPlanCache().At(1).SetMaxSize(10). A plan is kept for each
// geometry (shape, layout, axes, dtype) that was transformed, up to MaxSize, which is
// 4096 at first; the one that was used least recently goes. Plans of cuFFT hold
// memory of the device that the allocator's figures do not count.
//
// Transforms of several axes may take a plan for each group of up to three axes, and
// one more where a real axis is among them.
func FFTPlanCache(d ...device.Device) plans.Handle {
	if len(d) == 0 {
		return plans.Of(device.CUDA())
	}
	return plans.Of(d[0])
}
