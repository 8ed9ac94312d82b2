package device

import (
	"context"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// Memory is a block of raw memory. Exactly one of Host and Addr is set. The
// holder of a Memory owns it and returns it with Free once.
type Memory struct {
	Host  unsafe.Pointer // host memory; kept alive by this pointer
	Addr  uint64         // device memory
	Bytes int64
}

// Properties describes a device.
type Properties struct {
	Name            string
	TotalMemory     int64  // bytes
	Major, Minor    int    // compute capability; 0 where there is none
	Multiprocessors int    // 0 where there are none
	UUID            string // "" where there is none
}

// A StreamID is a driver's name for a stream of one device. 0 is the device's
// default stream.
type StreamID uint64

// An EventID is a driver's name for an event of one device.
type EventID uint64

// A Driver provides the devices of one kind. Every call names its device, so
// any goroutine may make any call at any time; nothing depends on the thread.
//
// Work given to a stream is done in order. A driver may do it before the call
// returns (the CPU does) or later. An error of late work is returned after a wait
// (Reporter), or by every later call if the device is lost by it (ErrLost).
// Pointers to host memory in an asynchronous call must stay valid until the
// stream has passed it.
type Driver interface {
	Kind() Kind

	// DeviceCount returns how many devices there are, without creating any
	// state on them. The error, if any, says why there are none.
	DeviceCount() (int, error)
	Properties(dev int) (Properties, error)
	// MemoryInfo returns the device's free and total bytes.
	MemoryInfo(dev int) (free, total int64, err error)

	// Alloc returns bytes > 0 of uninitialised memory, aligned to 64 bytes or
	// better, on an accelerator to 512. It is the raw call, which package memory's
	// allocators make for what they hand out in parts. An error wraps
	// ErrOutOfMemory when, and only when, there is no room; the device stays usable.
	Alloc(dev int, bytes int64) (Memory, error)
	// Free takes memory back once all work given to the device before is done; it
	// may wait for that.
	Free(dev int, m Memory) error

	// AllocHost returns page-locked host memory that the devices can copy from
	// and to asynchronously; Host is set in it.
	AllocHost(bytes int64) (Memory, error)
	FreeHost(m Memory) error

	// NewStream creates a stream. It and the default stream do not wait for one
	// another. Lower numbers mean higher priority.
	NewStream(dev, priority int) (StreamID, error)
	DestroyStream(dev int, s StreamID) error
	// PriorityRange returns the lowest and the highest priority.
	PriorityRange(dev int) (lowest, highest int)
	// StreamIdle reports whether all work given to s is done.
	StreamIdle(dev int, s StreamID) (bool, error)
	// SyncStream waits for all work given to s. The work goes on when ctx ends
	// the wait.
	SyncStream(ctx context.Context, dev int, s StreamID) error
	SyncDevice(ctx context.Context, dev int) error

	NewEvent(dev int, timing bool) (EventID, error)
	DestroyEvent(dev int, e EventID) error
	RecordEvent(dev int, e EventID, s StreamID) error
	// WaitEvent makes later work on stream s of device dev wait for event e of
	// device eventDev.
	WaitEvent(dev int, s StreamID, eventDev int, e EventID) error
	EventDone(dev int, e EventID) (bool, error)
	SyncEvent(ctx context.Context, dev int, e EventID) error
	// Elapsed returns the time between two recorded events made with timing.
	Elapsed(dev int, start, end EventID) (time.Duration, error)

	// The copies move n bytes in stream order. CopyPeer runs on a stream of the
	// source device.
	CopyFromHost(dev int, s StreamID, dst uint64, src unsafe.Pointer, n int64) error
	CopyToHost(dev int, s StreamID, dst unsafe.Pointer, src uint64, n int64) error
	CopyOnDevice(dev int, s StreamID, dst, src uint64, n int64) error
	CopyPeer(srcDev int, s StreamID, dstDev int, dst, src uint64, n int64) error
	// Zero clears n bytes in stream order.
	Zero(dev int, s StreamID, m Memory, n int64) error

	// CanAccessPeer reports whether dev can read and write peer's memory;
	// EnablePeerAccess lets its kernels do so.
	CanAccessPeer(dev, peer int) bool
	EnablePeerAccess(dev, peer int) error

	// Launch runs one kernel in stream order. The call's slices are read before
	// Launch returns. Views are in this driver's memory; zero-dimensional ones
	// may be in host memory and are then read before Launch returns.
	Launch(dev int, s StreamID, c *ir.Call) error
}
