package memory

import (
	"unsafe"

	"github.com/sinter-go/sinter/runtime/device"
)

// hostDriver provides host memory and nothing else.
type hostDriver struct{ device.Driver }

func (hostDriver) Alloc(_ int, bytes int64) (device.Memory, error) {
	data := make([]byte, bytes)
	return device.Memory{Host: unsafe.Pointer(&data[0]), Bytes: bytes}, nil
}

func (d hostDriver) AllocHost(bytes int64) (device.Memory, error) { return d.Alloc(0, bytes) }
func (hostDriver) FreeHost(device.Memory) error                   { return nil }
