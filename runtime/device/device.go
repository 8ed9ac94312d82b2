// Package device says what a device is, which ones the process has, and what a
// backend must implement to provide one. It knows nothing of tensors or of any
// particular backend: the program's one list of backends hands them to Install.
//
//	dev := device.Best() // cuda:0 if there is a GPU, otherwise cpu
//	if name := os.Getenv("DEVICE"); name != "" {
//		var err error
//		if dev, err = device.Parse(name); err != nil {
//			return err
//		}
//	}
//	x = tensor.Zeros([]int{2, 3}, tensor.On(dev))
package device

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// A Kind is a type of device.
type Kind uint8

// The kinds of device.
const (
	KindCPU  Kind = iota // the host; always present, index 0
	KindCUDA             // NVIDIA GPUs
	KindSim              // simulated accelerators, for tests

	numKinds = iota
)

var kindNames = [numKinds]string{"cpu", "cuda", "sim"}

// String returns the kind's name as it appears in device strings.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// CurrentIndex as a Device's index means the device that is current when the
// value is used.
const CurrentIndex = -1

// A Device names one device. Devices are comparable values; the zero Device is
// the CPU.
type Device struct {
	Kind  Kind
	Index int // from 0; CurrentIndex for the current device of the kind
}

// CPU is the host.
var CPU = Device{}

// CUDA returns the CUDA device with the given index, or with none the current
// one at the moment of use.
func CUDA(index ...int) Device { return of(KindCUDA, index) }

// Sim returns the simulated device with the given index, or with none the
// current one at the moment of use.
func Sim(index ...int) Device { return of(KindSim, index) }

func of(k Kind, index []int) Device {
	if len(index) == 0 {
		return Device{k, CurrentIndex}
	}
	return Device{k, index[0]}
}

// Sentinel errors about devices.
const (
	// ErrInvalid is wrapped by errors about device strings and indices.
	ErrInvalid ir.Error = "invalid device"
	// ErrUnavailable is wrapped when a device's backend is missing or has no such device.
	ErrUnavailable ir.Error = "device not available"
	// ErrMismatch is wrapped when operands are on devices that cannot work together.
	ErrMismatch ir.Error = "operands on different devices"
	// ErrOutOfMemory is wrapped when a device has no room for an allocation.
	ErrOutOfMemory ir.Error = "out of memory"
	// ErrLost is wrapped by every call on a device that work has made unusable for the
	// rest of the process. What was on it is lost. Other devices are not concerned
	// where the driver allows it: CUDA may answer an illegal address of one GPU by
	// refusing all GPUs to the process, and then they are lost as well.
	ErrLost ir.Error = "device lost"
)

// String returns "cpu", "cuda" or "cuda:1".
func (d Device) String() string {
	if d.Kind == KindCPU || d.Index == CurrentIndex {
		return d.Kind.String()
	}
	return d.Kind.String() + ":" + strconv.Itoa(d.Index)
}

// Parse reads a device string: a kind, or a kind and an index as in "cuda:1".
func Parse(s string) (Device, error) {
	name, num, indexed := strings.Cut(s, ":")
	for k, n := range kindNames {
		if name != n {
			continue
		}
		d := Device{Kind(k), CurrentIndex}
		if d.Kind == KindCPU {
			d.Index = 0
		}
		if !indexed {
			return d, nil
		}
		i, err := strconv.ParseUint(num, 10, 15)
		if err != nil || (i > 0 && num[0] == '0') || (d.Kind == KindCPU && i != 0) {
			return Device{}, invalidString(fmt.Sprintf("%q: bad index %q", s, num))
		}
		d.Index = int(i)
		return d, nil
	}
	return Device{}, invalidString(fmt.Sprintf("%q (have %s, each with an optional index as in cuda:0)", s, strings.Join(kindNames[:], ", ")))
}

// An invalidString is an error about a string that names no device. It is an ErrInvalid,
// whose text it does not repeat.
type invalidString string

func (e invalidString) Error() string { return "Invalid device string " + string(e) }

func (e invalidString) Unwrap() error { return ErrInvalid }

// Accelerator reports whether the device is not the host.
func (d Device) Accelerator() bool { return d.Kind != KindCPU }

// Resolve returns d with CurrentIndex replaced by the calling goroutine's
// current device of that kind. It does not look whether the device exists.
func (d Device) Resolve() Device {
	if d.Index == CurrentIndex {
		if d.Kind == KindCPU {
			return CPU
		}
		if d.Kind < numKinds {
			d.Index = current(d.Kind)
		}
	}
	return d
}

// Set makes d the device that a string names (flag.Value).
func (d *Device) Set(s string) error {
	if d == nil {
		return fmt.Errorf("%w: a nil *device.Device cannot be set", ErrInvalid)
	}
	parsed, err := Parse(s)
	if err == nil {
		*d = parsed
	}
	return err
}

// MarshalText returns the device string (encoding.TextMarshaler).
func (d Device) MarshalText() ([]byte, error) {
	s := d.String()
	if again, err := Parse(s); err != nil || again != d {
		return nil, fmt.Errorf("%w: no string stands for kind %d, index %d", ErrInvalid, d.Kind, d.Index)
	}
	return []byte(s), nil
}

// UnmarshalText makes d the device that a string names (encoding.TextUnmarshaler), as for
// flag.TextVar and JSON.
func (d *Device) UnmarshalText(text []byte) error { return d.Set(string(text)) }
