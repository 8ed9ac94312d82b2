package core

import (
	"os"
	"sync/atomic"
)

// blocking makes every launch wait for its stream.
var blocking atomic.Bool

// Environment variables that switch launch blocking on from the start: ours and
// the one people know.
var blockingVariables = [...]string{"SINTER_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING"}

func init() {
	for _, name := range blockingVariables {
		if os.Getenv(name) == "1" {
			blocking.Store(true)
		}
	}
}

// SetLaunchBlocking makes every operator wait until its device has done it (S26),
// so that an error of the device's is reported by the operator that caused it
// (S27). It is on from the start where the environment has
// SINTER_LAUNCH_BLOCKING=1 or CUDA_LAUNCH_BLOCKING=1.
func SetLaunchBlocking(on bool) { blocking.Store(on) }

// LaunchBlocking reports whether operators wait for their device.
func LaunchBlocking() bool { return blocking.Load() }
