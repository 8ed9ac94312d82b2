// Package driver is the CUDA driver API as one Go interface, with a binding that
// opens the driver's library at run time: no cgo, no header, no toolkit. It
// knows nothing of tensors, operators or streams' meaning, and decides nothing:
// a method is a call.
//
// Importing the package calls nothing. Open opens the library, once a process,
// and says what is missing where there is no driver or no device.
//
// # Threads
//
// Any goroutine may call any method at any time. A method that needs a context
// names its device by ordinal, makes the device's primary context current, and
// calls, both in one go on one thread: nothing depends on which thread a
// goroutine is on, or on what ran there before. The context stays
// current on that thread; code that calls the driver by itself sets its own
// before each call, as this package does, or runs inside Do.
//
// # Memory
//
// Pointers to host memory in asynchronous calls must stay valid until the stream
// has passed the call: Go memory kept alive, page-locked memory not freed. All
// other arguments are read before a method returns. Launches, copies, and calls
// on streams and events allocate no Go memory unless they fail.
//
// # Errors
//
// A failed call returns an *Error, which wraps its Code. Asynchronous errors of
// earlier work may come from any call.
package driver

import (
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// A Ptr is an address in a device's memory.
type Ptr uint64

// Handles of the driver's objects. 0 is none; for a Stream it is the device's
// default stream, which waits for the others and is waited for by them unless
// they were created with StreamNonBlocking.
type (
	Context  uintptr
	Stream   uintptr
	Event    uintptr
	Module   uintptr
	Function uintptr
)

// A Dim3 is the extents of a grid or a block; each is at least 1.
type Dim3 struct{ X, Y, Z uint32 }

// A Launch is a kernel and what it runs on.
type Launch struct {
	Function    Function
	Grid, Block Dim3
	Shared      uint32 // bytes of dynamic shared memory a block
	Stream      Stream
	// Early lets the kernel begin before the one in front of it on the stream has ended: it
	// waits itself for what it needs (griddepcontrol.wait).
	Early bool
	// Params is the kernel's parameters, laid out as C lays out a struct of
	// them, without padding at the end. See Params.
	Params []byte
	// Frame is memory for the call, of a caller that keeps it for its launches and
	// gives it to one at a time; nil where it has none.
	Frame *Frame
}

// A Frame is memory for one call of the driver.
type Frame = dl.Frame

// NewFrame returns a frame that the caller keeps.
func NewFrame() *Frame { return dl.Get() }

// API is the driver of this process. Devices are ordinals from 0, as
// CUDA_VISIBLE_DEVICES leaves them. Sizes are bytes.
type API interface {
	// Version returns the newest CUDA version the driver supports, such as 12040
	// for 12.4.
	Version() int
	// ErrorName returns the driver's name for a code, ErrorText its description.
	ErrorName(Code) string
	ErrorText(Code) string

	// These make no context.
	DeviceCount() int
	DeviceName(dev int) (string, error)
	DeviceUUID(dev int) ([16]byte, error)
	DeviceTotalMem(dev int) (int64, error)
	DeviceAttribute(dev int, a Attribute) (int, error)

	// PrimaryContext returns the device's primary context, which it creates if
	// this is the first call that needs one. It is held until
	// ReleasePrimaryContext, after which the next call creates another; what was
	// made in the old one is then gone, and must not be in use.
	PrimaryContext(dev int) (Context, error)
	ReleasePrimaryContext(dev int) error
	// ContextActive reports whether the device has a primary context, whoever made
	// it. It makes none.
	ContextActive(dev int) (bool, error)
	// Do runs f on one thread with the device's primary context current, and
	// restores the thread. f may call other libraries, and methods for the same
	// device. It returns f's error or its own.
	Do(dev int, f func(Context) error) error
	// Enter is Do for calls that must cost little: it locks the goroutine to its
	// thread and makes the device's primary context current, until Leave on the
	// same goroutine. The context stays current on the thread. Where Enter fails,
	// there is nothing to leave.
	Enter(dev int) error
	Leave()
	// Synchronize waits for all work of the device.
	Synchronize(dev int) error

	MemGetInfo(dev int) (free, total int64, err error)
	MemAlloc(dev int, bytes int64) (Ptr, error)
	MemFree(dev int, p Ptr) error
	// MemHostAlloc returns page-locked host memory, which is not Go's.
	MemHostAlloc(dev int, bytes int64, flags HostFlags) (unsafe.Pointer, error)
	MemFreeHost(dev int, p unsafe.Pointer) error
	// HostRegister page-locks host memory that is there. Go memory must be kept
	// alive until HostUnregister.
	HostRegister(dev int, p unsafe.Pointer, bytes int64, flags HostFlags) error
	HostUnregister(dev int, p unsafe.Pointer) error

	MemcpyHtoDAsync(dev int, dst Ptr, src unsafe.Pointer, bytes int64, s Stream) error
	MemcpyDtoHAsync(dev int, dst unsafe.Pointer, src Ptr, bytes int64, s Stream) error
	MemcpyDtoDAsync(dev int, dst, src Ptr, bytes int64, s Stream) error
	// MemcpyPeerAsync copies from srcDev to dstDev on a stream of dev, which is
	// one of the two.
	MemcpyPeerAsync(dev int, dst Ptr, dstDev int, src Ptr, srcDev int, bytes int64, s Stream) error
	MemsetD8Async(dev int, dst Ptr, value uint8, bytes int64, s Stream) error
	// MemsetD32Async writes count words of 4 bytes; dst is aligned to 4.
	MemsetD32Async(dev int, dst Ptr, value uint32, count int64, s Stream) error

	CanAccessPeer(dev, peer int) (bool, error)
	// EnablePeerAccess lets work of dev use peer's memory. It is no error when it
	// could before, as it is none of DisablePeerAccess when it could not.
	EnablePeerAccess(dev, peer int) error
	DisablePeerAccess(dev, peer int) error

	// StreamPriorityRange returns the lowest and the highest priority; lower
	// numbers are higher priorities.
	StreamPriorityRange(dev int) (lowest, highest int, err error)
	StreamCreate(dev int, flags StreamFlags, priority int) (Stream, error)
	// StreamDestroy returns at once; the stream goes when its work is done.
	StreamDestroy(dev int, s Stream) error
	// StreamQuery reports whether all work of the stream is done.
	StreamQuery(dev int, s Stream) (bool, error)
	// StreamSynchronize waits for all work of the stream, and holds a thread
	// while it does.
	StreamSynchronize(dev int, s Stream) error
	// StreamWaitEvent makes later work of s wait for e, of any device.
	StreamWaitEvent(dev int, s Stream, e Event) error
	// StreamWaitValue32 makes later work of s wait until the word at addr, memory of
	// the device or page-locked and mapped, is value or up to 1<<31-1 beyond it. With
	// flush, which CanFlushRemoteWrites allows, that work also sees what other devices
	// wrote before the word.
	StreamWaitValue32(dev int, s Stream, addr Ptr, value uint32, flush bool) error
	StreamCaptureStatus(dev int, s Stream) (CaptureStatus, error)

	EventCreate(dev int, flags EventFlags) (Event, error)
	EventDestroy(dev int, e Event) error
	EventRecord(dev int, e Event, s Stream) error
	// EventQuery reports whether the work before the event's last record is done;
	// true if it was never recorded.
	EventQuery(dev int, e Event) (bool, error)
	// EventSynchronize waits for that, and holds a thread while it does.
	EventSynchronize(dev int, e Event) error
	// EventElapsed returns the time between two recorded events, both without
	// EventDisableTiming; NotReady if one is not done.
	EventElapsed(dev int, start, end Event) (time.Duration, error)

	// ModuleLoad loads a cubin, a fat binary, or PTX text, which it compiles for
	// the device. The error's detail is the compiler's log.
	ModuleLoad(dev int, image []byte) (Module, error)
	ModuleUnload(dev int, m Module) error
	ModuleFunction(dev int, m Module, name string) (Function, error)
	ModuleGlobal(dev int, m Module, name string) (Ptr, int64, error)
	FunctionAttribute(dev int, f Function, a FunctionAttribute) (int, error)
	SetFunctionAttribute(dev int, f Function, a FunctionAttribute, value int) error
	// OccupancyBlocks returns how many blocks of that many threads fit a
	// multiprocessor at once.
	OccupancyBlocks(dev int, f Function, threads, shared int) (int, error)
	// OccupancyBlockSize returns the threads a block, at most limit (0: no limit),
	// that keep the device busiest, and the least grid to do so.
	OccupancyBlockSize(dev int, f Function, shared, limit int) (grid, threads int, err error)
	LaunchKernel(dev int, l Launch) error

	GraphAPI
	VirtualAPI
	IPCAPI
}

// HostFlags are properties of page-locked memory.
type HostFlags uint32

const (
	HostPortable      HostFlags = 1 // page-locked for every device
	HostMapped        HostFlags = 2 // addressable by the device
	HostWriteCombined HostFlags = 4 // of MemHostAlloc: fast to send, slow to read
)

// StreamFlags are properties of a stream.
type StreamFlags uint32

const (
	StreamDefault     StreamFlags = 0
	StreamNonBlocking StreamFlags = 1 // independent of the default stream
)

// EventFlags are properties of an event.
type EventFlags uint32

const (
	EventDefault       EventFlags = 0
	EventBlockingSync  EventFlags = 1 // EventSynchronize sleeps rather than spins
	EventDisableTiming EventFlags = 2
	EventInterprocess  EventFlags = 4 // with EventDisableTiming
)

// A CaptureStatus says whether a stream's work is being captured into a graph.
type CaptureStatus int

const (
	CaptureNone CaptureStatus = iota
	CaptureActive
	CaptureInvalidated // active, and an error has made the capture useless
)

// An Attribute is a number that describes a device: the driver's CUdevice_attribute.
type Attribute int32

const (
	MaxThreadsPerBlock      Attribute = 1
	MaxBlockX               Attribute = 2
	MaxBlockY               Attribute = 3
	MaxBlockZ               Attribute = 4
	MaxGridX                Attribute = 5
	MaxGridY                Attribute = 6
	MaxGridZ                Attribute = 7
	MaxSharedPerBlock       Attribute = 8
	WarpSize                Attribute = 10
	ClockRate               Attribute = 13 // kHz
	Multiprocessors         Attribute = 16
	Integrated              Attribute = 18
	ComputeMode             Attribute = 20
	ConcurrentKernels       Attribute = 31
	MemoryClockRate         Attribute = 36 // kHz
	MemoryBusWidth          Attribute = 37 // bits
	L2CacheSize             Attribute = 38 // bytes
	MaxThreadsPerSM         Attribute = 39
	AsyncEngines            Attribute = 40
	UnifiedAddressing       Attribute = 41
	ComputeCapabilityMajor  Attribute = 75
	ComputeCapabilityMinor  Attribute = 76
	MaxSharedPerSM          Attribute = 81
	MaxRegistersPerSM       Attribute = 82
	PageableMemoryAccess    Attribute = 88
	RegisteredSameAddress   Attribute = 91 // host memory of HostRegister is for the device where it is for the host
	CooperativeLaunch       Attribute = 95
	MaxSharedPerBlockOptin  Attribute = 97 // the most FunctionMaxDynamicShared may be
	CanFlushRemoteWrites    Attribute = 98
	MemoryPoolsSupported    Attribute = 115
	VirtualMemoryManagement Attribute = 102
)

// A FunctionAttribute is a number that describes a kernel: the driver's
// CUfunction_attribute.
type FunctionAttribute int32

const (
	FunctionMaxThreads       FunctionAttribute = 0 // a block
	FunctionShared           FunctionAttribute = 1 // static bytes a block
	FunctionConst            FunctionAttribute = 2 // bytes
	FunctionLocal            FunctionAttribute = 3 // bytes a thread
	FunctionRegisters        FunctionAttribute = 4 // a thread
	FunctionPTXVersion       FunctionAttribute = 5
	FunctionBinaryVersion    FunctionAttribute = 6
	FunctionMaxDynamicShared FunctionAttribute = 8 // bytes a block; may be set
	FunctionSharedCarveout   FunctionAttribute = 9 // percent, -1 for the driver's choice; may be set
)
