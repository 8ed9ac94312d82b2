// Package cuda is about the program's NVIDIA GPUs: whether there are any, the current
// device, streams, events, graphs and memory.
//
//	if !cuda.IsAvailable() {
//		return cuda.Unavailable() // says why
//	}
//	x := tensor.Randn([]int{1000, 1000}, tensor.On(cuda.Device()))
//	y := x.MatMul(x)              // returns before the product is done
//	mean, err := y.Mean().Item() // waits for it
//	if err != nil {
//		return err
//	}
//	fmt.Println(mean, cuda.MaxMemoryAllocated())
//
// The chapter docs/guide/devices.md of the guide shows more. Programs that run on every kind
// of device need package device rather than this one.
//
// # Devices
//
// Functions with optional devices are about the calling goroutine's current device where
// none is given. A device of another kind is an error; functions without an error result
// answer as for a device without memory. The package can be imported in programs and on
// machines without CUDA. Importing it calls no driver.
//
// # Streams and graphs
//
// Work is given to the current stream, and calls return before it is done. NewStream makes
// a stream for work beside it, and Stream.Do uses that. NewGraph records work once, to be
// replayed in one call of the driver.
//
// # Memory
//
// Freed memory is cached. MemoryAllocated is what tensors hold, MemoryReserved includes the
// cache, and EmptyCache gives that back. SnapshotMemory, RecordMemoryHistory and
// WriteMemoryProfile show where memory is.
//
// # Other bindings of CUDA
//
// Code over gorgonia.org/cu or another binding shares the device's primary context with
// this module, so handles and addresses pass both ways:
//
//   - Streams: ExternalStream is a stream that the program's code made; the ID of
//     a Stream is its CUstream.
//   - Memory: a tensor's DevicePointer is a CUdeviceptr, tensor.FromDevicePointer
//     makes a tensor over memory of the program's. WaitStream and events order work
//     on several streams. Tensor.RecordStream keeps a tensor's memory until another
//     stream is done with it.
//   - Contexts: the driver package's API.PrimaryContext is the context; built with
//     the tag cu, its Context.CUContext is it for gorgonia.org/cu.
//
// A call of the driver leaves its context current on the thread it ran on, and a
// goroutine may find itself on any thread: the program's own code locks its thread
// and sets its context before its calls.
package cuda

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// Device returns the CUDA device with the given index, or with none the current
// one at the moment of use.
func Device(index ...int) device.Device { return device.CUDA(index...) }

// IsAvailable reports whether there is a GPU that can be used. It makes no
// context and never fails.
func IsAvailable() bool { return DeviceCount() > 0 }

// DeviceCount returns how many GPUs the program sees, as CUDA_VISIBLE_DEVICES
// leaves them; 0 where there is no driver.
func DeviceCount() int { return device.Count(device.KindCUDA) }

// Unavailable returns why there is no GPU to use: no CUDA backend in the program,
// no driver, one that is too old, no device. It is nil when IsAvailable is true.
func Unavailable() error {
	drv, err := device.DriverOf(device.KindCUDA)
	if err != nil {
		return err
	}
	n, err := drv.DeviceCount()
	if n > 0 {
		return nil
	}
	if err == nil {
		return fmt.Errorf("%w: the driver sees no CUDA device", device.ErrUnavailable)
	}
	return fmt.Errorf("%w: %w", device.ErrUnavailable, err)
}

// CurrentDevice returns the index of the calling goroutine's current device: 0
// outside of WithDevice and of stream scopes.
func CurrentDevice() int { return device.Current(device.KindCUDA).Index }

// WithDevice calls f with a device as the calling goroutine's current one.
// What was current before is again when f returns or panics. Other goroutines are
// not affected. It returns f's error, or that there is no such device, and then f is not
// called.
func WithDevice(index int, f func() error) error { return device.With(device.CUDA(index), f) }

// find returns the one device in d, or the current one, and its driver.
func find(d []device.Device) (device.Device, device.Driver, error) {
	switch {
	case len(d) > 1:
		return d[0], nil, fmt.Errorf("%w: %d devices, want one or none", device.ErrInvalid, len(d))
	case len(d) == 0:
		return device.Find(device.CUDA())
	case d[0].Kind != device.KindCUDA:
		return d[0], nil, fmt.Errorf("%w: Expected a cuda device, but got: %s", device.ErrInvalid, d[0])
	}
	return device.Find(d[0])
}

// Synchronize waits for all work given to a device so far, and returns what went
// wrong with it. An index is Device(i), a string what device.Parse makes of
// it. The work goes on when ctx ends the wait.
func Synchronize(ctx context.Context, d ...device.Device) error {
	on, _, err := find(d)
	if err != nil {
		return err
	}
	return stream.Synchronize(ctx, on)
}

// GetDeviceProperties describes a device. It makes no context.
func GetDeviceProperties(d ...device.Device) (device.Properties, error) {
	on, drv, err := find(d)
	if err != nil {
		return device.Properties{}, err
	}
	return drv.Properties(on.Index)
}

// CanAccessPeer reports whether dev can read and write the memory of peer.
func CanAccessPeer(dev, peer device.Device) (bool, error) {
	a, drv, err := find([]device.Device{dev})
	if err != nil {
		return false, err
	}
	b, _, err := find([]device.Device{peer})
	if err != nil {
		return false, err
	}
	return drv.CanAccessPeer(a.Index, b.Index), nil
}

// EnablePeerAccess lets each of two devices use the other's memory, so that
// element-wise operators take operands on both. The result is on the first
// operand's device, and the current streams of both devices order the work. It is
// an error where the machine has no such access; other operators still refuse.
func EnablePeerAccess(dev, peer device.Device) error {
	return ofPair(dev, peer, device.EnablePeerAccess)
}

// DisablePeerAccess makes operators refuse operands on both devices again, as they
// do before EnablePeerAccess. Copies go the direct way all the same.
func DisablePeerAccess(dev, peer device.Device) error {
	return ofPair(dev, peer, device.DisablePeerAccess)
}

func ofPair(dev, peer device.Device, do func(a, b device.Device) error) error {
	a, _, err := find([]device.Device{dev})
	if err != nil {
		return err
	}
	b, _, err := find([]device.Device{peer})
	if err != nil {
		return err
	}
	return do(a, b)
}
