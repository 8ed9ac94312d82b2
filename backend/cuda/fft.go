package cuda

import (
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/fftplans"
)

// FFTPlans is a cache of plans of Fourier transforms, [fftplans.Handle]. Its methods:
//
//   - Size() int is how many plans it holds, and MaxSize() int how many it may hold.
//   - SetMaxSize(n int) error changes that; Clear() error drops all plans.
//   - At(index int) FFTPlans is the cache of the GPU with that index.
//   - Device() is the GPU it is of.
type FFTPlans = fftplans.Handle

// FFTPlanCache returns the cache of plans of Fourier transforms of a GPU, or without
// one that of the calling goroutine's current device at each use:
// FFTPlanCache().At(1).SetMaxSize(10). A plan is kept for each
// geometry (shape, layout, axes, dtype) that was transformed, up to MaxSize, which is
// 4096 at first; the one that was used least recently goes. Plans of cuFFT hold
// memory of the device that the allocator's figures do not count.
//
// Transforms of several axes may take a plan for each group of up to three axes, and
// one more where a real axis is among them.
func FFTPlanCache(d ...device.Device) FFTPlans {
	if len(d) == 0 {
		return fftplans.Of(device.CUDA())
	}
	return fftplans.Of(d[0])
}
