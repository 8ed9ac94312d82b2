package driver

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// minVersion is CUDA 12.0, which driver 525 brought.
const minVersion = 12000

// libraries are the names the driver's library is looked for by: as the system's
// loader finds it, and where WSL and containers put it without telling the loader.
var libraries = []string{
	"libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
}

var process = sync.OnceValues(func() (API, error) {
	b, err := open(libraries)
	if err != nil {
		return nil, err
	}
	return bound(b), nil
})

// Open returns the process's driver. The first call opens and initialises it, and
// settles the answer. The error wraps ErrNoLibrary, ErrOldDriver or ErrNoDevice
// and says what was looked for, or it is what the driver answered.
func Open() (API, error) { return process() }

// open makes the binding of the first library there is.
func open(names []string) (*binding, error) {
	lib, err := dl.Open(names...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w; it comes with NVIDIA's driver, 525 or newer", ErrNoLibrary, err)
	}
	b := &binding{lib: lib}
	for _, s := range []symbol{cuGetErrorName, cuGetErrorString, cuDriverGetVersion, cuInit} {
		if err := b.resolve(s); err != nil {
			return nil, fmt.Errorf("%w: %w: it is not NVIDIA's driver", ErrNoLibrary, err)
		}
	}
	if err := b.checkVersion(); err != nil {
		return nil, err
	}
	for s := range symbols {
		if err := b.resolve(s); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrOldDriver, err)
		}
	}
	if err := b.direct(cuInit, -1, 0); err != nil {
		return nil, b.initError(err)
	}
	return b, b.findDevices()
}

func (b *binding) checkVersion() error {
	c := dl.Get()
	defer c.Free()
	if err := b.directFrame(cuDriverGetVersion, -1, c, c.Addr(0)); err != nil {
		return fmt.Errorf("%s: %w", b.lib.Name(), err)
	}
	b.version = int(int32(c.Words[0]))
	if b.version < minVersion {
		return fmt.Errorf("%w: %s supports CUDA %d.%d; 12.0 is needed, which driver 525 and newer have",
			ErrOldDriver, b.lib.Name(), b.version/1000, b.version%1000/10)
	}
	return nil
}

// initError explains why cuInit failed.
func (b *binding) initError(err error) error {
	switch {
	case errors.Is(err, NoDevice):
		return noDevice(err)
	case errors.Is(err, StubLibrary):
		return fmt.Errorf("%w: %s is a toolkit's stub, for linking only: %w", ErrNoLibrary, b.lib.Name(), err)
	case errors.Is(err, SystemDriverMismatch):
		return fmt.Errorf("%s and the kernel's NVIDIA module are of different versions; a restart of the machine usually ends that: %w", b.lib.Name(), err)
	}
	return fmt.Errorf("%s: %w", b.lib.Name(), err)
}

// noDevice says that there is no device, and whether the environment hides them.
func noDevice(err error) error {
	if v, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		return fmt.Errorf("%w: the environment has CUDA_VISIBLE_DEVICES=%q, which decides what there is: %w", ErrNoDevice, v, err)
	}
	return fmt.Errorf("%w: the driver is there, and sees no NVIDIA GPU: %w", ErrNoDevice, err)
}

func (b *binding) findDevices() error {
	c := dl.Get()
	defer c.Free()
	if err := b.directFrame(cuDeviceGetCount, -1, c, c.Addr(0)); err != nil {
		return b.initError(err)
	}
	n := int(int32(c.Words[0]))
	if n == 0 {
		return noDevice(NoDevice)
	}
	b.devices = make([]deviceState, n)
	for i := range b.devices {
		c.Words[0] = 0
		if err := b.directFrame(cuDeviceGet, i, c, c.Addr(0), uintptr(i)); err != nil {
			return err
		}
		b.devices[i].handle = c.Words[0]
	}
	return nil
}
