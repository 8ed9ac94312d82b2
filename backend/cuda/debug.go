package cuda

import "github.com/sinter-go/sinter/runtime/core"

// SetLaunchBlocking makes every operator, copy and replay of a graph wait until its
// device has done it, so that an error of the device's appears at the operator
// that caused it, with the line of the program that called it. It is on from the
// start where the environment has CUDA_LAUNCH_BLOCKING=1 or SINTER_LAUNCH_BLOCKING=1.
func SetLaunchBlocking(on bool) { core.SetLaunchBlocking(on) }

// LaunchBlocking reports whether operators wait for their device.
func LaunchBlocking() bool { return core.LaunchBlocking() }

// A SyncDebugMode says what happens where a call that was not asked to wait for a
// device has to.
type SyncDebugMode = core.SyncDebug

// The modes of SetSyncDebugMode.
const (
	SyncDebugOff  = core.SyncDebugOff  // it waits
	SyncDebugWarn = core.SyncDebugWarn // it waits, and the line that called it is logged
	SyncDebugFail = core.SyncDebugFail // it is refused
)

// SetSyncDebugMode sets the mode for the whole process; others than the three are an
// error. It is SyncDebugOff from the start.
func SetSyncDebugMode(m SyncDebugMode) error { return core.SetSyncDebug(m) }

// GetSyncDebugMode returns the mode.
func GetSyncDebugMode() SyncDebugMode { return core.SyncDebugMode() }
