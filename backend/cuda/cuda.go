// Package cuda gives the program's NVIDIA GPUs the names people know: whether
// there are any, the current device, streams, events, memory figures. Tensors,
// device values, streams and events are the same types for devices of every kind;
// what is here needs nothing but the registry of devices, so it answers in
// programs and on machines without CUDA too. Importing the package calls no
// driver.
//
// Functions with optional devices are about the calling goroutine's current
// device where none is given. A device of another kind is an error, or has no
// memory where there is no error to return.
//
// # With a program's own CUDA code
//
// Code over gorgonia.org/cu or another binding shares the device's primary context
// with this module, so handles and addresses pass both ways:
//
//   - Streams: ExternalStream is a stream that the program's code made; the ID of
//     a Stream is its CUstream.
//   - Memory: a tensor's DevicePointer is a CUdeviceptr, tensor.FromDevicePointer
//     makes a tensor over memory of the program's. Work on several streams is
//     ordered by WaitStream and events, and told by RecordStream.
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
// one at the moment of use (S5).
func Device(index ...int) device.Device { return device.CUDA(index...) }

// IsAvailable reports whether there is a GPU that can be used. It makes no
// context and never fails (P35).
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
// outside of WithDevice and of stream scopes (S3).
func CurrentDevice() int { return device.Current(device.KindCUDA).Index }

// WithDevice calls f with a device as the calling goroutine's current one (S2).
// What was current before is again when f returns or panics. Other goroutines are
// not affected. F is not called when there is no such device.
func WithDevice(index int, f func()) error { return device.With(device.CUDA(index), f) }

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
// wrong with it (P20). An index is Device(i), a string what device.Parse makes of
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
// element-wise operators take operands on both (S13). The result is on the first
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
