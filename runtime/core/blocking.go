package core

import (
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/caller"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
)

// Environment variables that switch launch blocking on from the start: ours and
// the one people know.
var blockingVariables = [...]string{"SINTER_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING"}

func init() {
	for _, name := range blockingVariables {
		if os.Getenv(name) == "1" {
			stream.SetBlocking(true)
		}
	}
}

// SetLaunchBlocking makes every operator, copy and replay of a graph wait until its
// device has done it, so that an error of the device's is reported by the
// operator that caused it, with the line of the program that called it. It is
// on from the start where the environment has SINTER_LAUNCH_BLOCKING=1 or
// CUDA_LAUNCH_BLOCKING=1.
func SetLaunchBlocking(on bool) { stream.SetBlocking(on) }

// LaunchBlocking reports whether operators wait for their device.
func LaunchBlocking() bool { return stream.Blocking() }

// blocked waits for what was given to a stream last where operators wait.
func blocked(drv device.Driver, dev device.Device, q device.StreamID) error {
	if !stream.Blocking() || graph.Of(drv, dev.Index, q) != nil {
		return nil
	}
	return stream.SettleIfBlocking(drv, dev, q)
}

// A SyncDebug says what happens where a call that was not asked to wait for a device
// has to: a copy that blocks, a value read on the host.
type SyncDebug int32

// The modes of SetSyncDebug.
const (
	SyncDebugOff  SyncDebug = iota // it waits
	SyncDebugWarn                  // it waits, and the line that called it is logged
	SyncDebugFail                  // it is refused
)

var syncDebug atomic.Int32

// SetSyncDebug sets the mode for the whole process. What waits by name, the methods
// Synchronize, and what allocators wait for when memory is short, is not concerned.
func SetSyncDebug(m SyncDebug) error {
	if m < SyncDebugOff || m > SyncDebugFail {
		return fmt.Errorf("sync debug mode %d: want %d (off), %d (warn) or %d (fail)", m, SyncDebugOff, SyncDebugWarn, SyncDebugFail)
	}
	syncDebug.Store(int32(m))
	return nil
}

// SyncDebugMode returns the mode.
func SyncDebugMode() SyncDebug { return SyncDebug(syncDebug.Load()) }

// synchronizing is called before a wait for dev that the program did not ask for by
// name. What says which it is.
func synchronizing(dev device.Device, what string) error {
	switch SyncDebugMode() {
	case SyncDebugWarn:
		slog.Warn("sinter: called a synchronizing operation", "operation", what, "device", dev.String(), "caller", caller.Line())
	case SyncDebugFail:
		return fmt.Errorf("called a synchronizing operation: %s waits for %s; copy to or from pinned memory with NonBlocking, or allow it with sync debug mode %d",
			what, dev, SyncDebugOff)
	}
	return nil
}
