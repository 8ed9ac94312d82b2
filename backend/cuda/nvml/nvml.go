// Package nvml asks NVIDIA's management library, which comes with the driver, what
// processes take of a GPU. It makes no CUDA context and knows nothing of one.
package nvml

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// ErrUnknown is wrapped when the library does not list a process: containers often
// give their processes other numbers than the library knows.
var ErrUnknown = errors.New("the process is not among those on the device")

// A Library is the management library, initialised.
type Library struct {
	handle, processes dl.Func
}

// Open opens and initialises the library; once a process.
var Open = sync.OnceValues(func() (*Library, error) { return open("libnvidia-ml.so.1") })

func open(name string) (*Library, error) {
	lib, err := dl.Open(name)
	if err != nil {
		return nil, err
	}
	var start dl.Func
	l := &Library{}
	for name, f := range map[string]*dl.Func{
		"nvmlInit_v2": &start, "nvmlDeviceGetHandleByUUID": &l.handle, "nvmlDeviceGetComputeRunningProcesses_v3": &l.processes,
	} {
		if *f, err = lib.Func(name); err != nil {
			return nil, err
		}
	}
	c := dl.Get()
	defer c.Free()
	if code := call(start, c); code != success {
		return nil, failure("nvmlInit", code)
	}
	return l, nil
}

// Codes of the library.
const (
	success      = 0
	insufficient = 7 // there are more entries than there is room for
)

func call(f dl.Func, c *dl.Frame, args ...uintptr) int32 { return int32(f.Call(c, args...)) }

func failure(name string, code int32) error { return fmt.Errorf("%s: NVML error %d", name, code) }

// An entry is the library's nvmlProcessInfo_t: the process, its bytes, and what it
// runs in, in C's layout.
const (
	entrySize  = 24
	entryBytes = 8
	spare      = 8 // entries for processes that begin between two calls
)

// ProcessMemory returns the bytes that a process takes of the GPU with a UUID such
// as "GPU-7f3c...".
func (l *Library) ProcessMemory(uuid string, pid int) (int64, error) {
	c := dl.Get()
	defer c.Free()
	if code := call(l.handle, c, c.CString(uuid), c.Addr(0)); code != success {
		return 0, failure("nvmlDeviceGetHandleByUUID", code)
	}
	device := c.Words[0]
	c.Words[1] = 0 // how many entries there is room for, and then how many there are
	code := call(l.processes, c, device, c.Addr(1), 0)
	for tries := 0; code == insufficient && tries < 3; tries++ {
		n := int(uint32(c.Words[1])) + spare
		data, at := c.Bytes(n * entrySize)
		c.Words[1] = uintptr(n)
		if code = call(l.processes, c, device, c.Addr(1), at); code != success {
			continue
		}
		for i := range int(uint32(c.Words[1])) {
			entry := data[i*entrySize:]
			if int(binary.LittleEndian.Uint32(entry)) == pid {
				return int64(binary.LittleEndian.Uint64(entry[entryBytes:])), nil
			}
		}
	}
	if code != success {
		return 0, failure("nvmlDeviceGetComputeRunningProcesses", code)
	}
	return 0, fmt.Errorf("%w: process %d, %s", ErrUnknown, pid, uuid)
}
