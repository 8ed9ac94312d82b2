package driver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// Options of cuModuleLoadDataEx.
const (
	jitErrorLog      = 5
	jitErrorLogBytes = 6
	logBytes         = 8192
)

func (b *binding) ModuleLoad(dev int, image []byte) (Module, error) {
	if err := checkImage(image); err != nil {
		return 0, b.refuse(cuModuleLoadDataEx, dev, InvalidImage, "%v", err)
	}
	if image[len(image)-1] != 0 { // PTX is a C string; other images do not mind
		image = append(image[:len(image):len(image)], 0)
	}
	log := make([]byte, logBytes)
	c := dl.Get()
	defer c.Free()
	// Words: the module, two options (32 bits each), and their values.
	*(*[2]int32)(unsafe.Pointer(&c.Words[1])) = [2]int32{jitErrorLog, jitErrorLogBytes}
	c.Words[2] = c.Keep(unsafe.Pointer(&log[0]))
	c.Words[3] = logBytes
	err := b.onFrame(cuModuleLoadDataEx, dev, c, c.Addr(0), c.Keep(unsafe.Pointer(&image[0])), 2, c.Addr(1), c.Addr(2))
	runtime.KeepAlive(image)
	if err != nil {
		text, _, _ := strings.Cut(string(log), "\x00")
		if text = strings.TrimSpace(text); text != "" {
			err = detailed(err, "%s", text)
		}
		return 0, err
	}
	return Module(c.Words[0]), nil
}

// checkImage refuses images that end before their own tables do: the driver is
// not told where an image ends.
func checkImage(image []byte) error {
	if len(image) == 0 {
		return errors.New("the image is empty")
	}
	if !strings.HasPrefix(string(image[:min(4, len(image))]), "\x7fELF") {
		return nil
	}
	const header = 64
	if len(image) < header {
		return fmt.Errorf("the image is cut short: %d bytes do not hold an ELF header", len(image))
	}
	le := binary.LittleEndian
	for _, table := range []struct{ offset, entry, count int }{{0x20, 0x36, 0x38}, {0x28, 0x3A, 0x3C}} {
		end := le.Uint64(image[table.offset:]) + uint64(le.Uint16(image[table.entry:]))*uint64(le.Uint16(image[table.count:]))
		if end > uint64(len(image)) {
			return fmt.Errorf("the image is cut short: it has %d bytes, its tables end at %d", len(image), end)
		}
	}
	return nil
}

func (b *binding) ModuleUnload(dev int, m Module) error { return b.on(cuModuleUnload, dev, uintptr(m)) }

func (b *binding) ModuleFunction(dev int, m Module, name string) (Function, error) {
	c := dl.Get()
	defer c.Free()
	if err := b.onFrame(cuModuleGetFunction, dev, c, c.Addr(0), uintptr(m), c.CString(name)); err != nil {
		return 0, detailed(err, "kernel %q", name)
	}
	return Function(c.Words[0]), nil
}

func (b *binding) ModuleGlobal(dev int, m Module, name string) (Ptr, int64, error) {
	c := dl.Get()
	defer c.Free()
	if err := b.onFrame(cuModuleGetGlobal, dev, c, c.Addr(0), c.Addr(1), uintptr(m), c.CString(name)); err != nil {
		return 0, 0, detailed(err, "variable %q", name)
	}
	return Ptr(c.Words[0]), int64(c.Words[1]), nil
}

func (b *binding) FunctionAttribute(dev int, f Function, a FunctionAttribute) (int, error) {
	c := dl.Get()
	defer c.Free()
	if err := b.onFrame(cuFuncGetAttribute, dev, c, c.Addr(0), uintptr(a), uintptr(f)); err != nil {
		return 0, detailed(err, "attribute %d", a)
	}
	return int(int32(c.Words[0])), nil
}

func (b *binding) SetFunctionAttribute(dev int, f Function, a FunctionAttribute, value int) error {
	return detailed(b.on(cuFuncSetAttribute, dev, uintptr(f), uintptr(a), uintptr(value)), "attribute %d = %d", a, value)
}

func (b *binding) OccupancyBlocks(dev int, f Function, threads, shared int) (int, error) {
	c := dl.Get()
	defer c.Free()
	err := b.onFrame(cuOccupancyMaxActiveBlocksPerMultiprocessor, dev, c,
		c.Addr(0), uintptr(f), uintptr(threads), uintptr(shared))
	return int(int32(c.Words[0])), detailed(err, "%d threads a block, %d bytes shared", threads, shared)
}

func (b *binding) OccupancyBlockSize(dev int, f Function, shared, limit int) (grid, threads int, err error) {
	c := dl.Get()
	defer c.Free()
	// The third argument would be a C function from threads to shared bytes.
	err = b.onFrame(cuOccupancyMaxPotentialBlockSize, dev, c,
		c.Addr(0), c.Addr(1), uintptr(f), 0, uintptr(shared), uintptr(limit))
	return int(int32(c.Words[0])), int(int32(c.Words[1])), err
}

// Keys of cuLaunchKernel's last argument, a list of keys and values.
const (
	launchEnd        = 0
	launchParams     = 1 // address of the packed parameters
	launchParamsSize = 2 // address of their size
)

// LaunchKernel copies the parameters into the frame, which does not move and is
// held until the driver has read them.
func (b *binding) LaunchKernel(dev int, l Launch) error {
	c := l.Frame
	if c == nil {
		c = dl.Get()
	}
	var extra, config uintptr
	n, more := len(l.Params), 0
	if l.Early {
		more = configSize
	}
	if n+more > 0 {
		room, at := c.Bytes(more + n)
		if l.Early {
			config = at
			l.config(room[:configSize], at)
			room, at = room[configSize:], at+configSize
		}
		copy(room, l.Params)
		w := &c.Words
		w[0], w[1], w[2], w[3], w[4], w[5] = launchParams, at, launchParamsSize, c.Addr(5), launchEnd, uintptr(n)
		extra = c.Addr(0)
	}
	var err error
	if l.Early {
		err = b.onFrame(cuLaunchKernelEx, dev, c, config, uintptr(l.Function), 0, extra)
	} else {
		err = b.onFrame(cuLaunchKernel, dev, c, uintptr(l.Function),
			uintptr(l.Grid.X), uintptr(l.Grid.Y), uintptr(l.Grid.Z),
			uintptr(l.Block.X), uintptr(l.Block.Y), uintptr(l.Block.Z),
			uintptr(l.Shared), uintptr(l.Stream), 0, extra)
	}
	if l.Frame == nil {
		c.Free()
	}
	if err != nil {
		return launchFailed(err, l.Grid, l.Block, l.Shared, len(l.Params))
	}
	return nil
}

// The driver's CUlaunchConfig in bytes, and behind it the one CUlaunchAttribute of an early launch.
const (
	configShared     = 24 // behind three words for the grid and three for the block
	configStream     = 32
	configAttributes = 40
	configCount      = 48
	configEnd        = 56
	configSize       = configEnd + 72
	attributeValue   = 8 // within the attribute
	earlyAttribute   = 6 // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
)

// config writes the driver's description of an early launch to buf, which lies at an address.
func (l *Launch) config(buf []byte, at uintptr) {
	clear(buf)
	le := binary.LittleEndian
	for i, v := range [...]uint32{l.Grid.X, l.Grid.Y, l.Grid.Z, l.Block.X, l.Block.Y, l.Block.Z} {
		le.PutUint32(buf[4*i:], v)
	}
	le.PutUint32(buf[configShared:], l.Shared)
	le.PutUint64(buf[configStream:], uint64(l.Stream))
	le.PutUint64(buf[configAttributes:], uint64(at)+configEnd)
	le.PutUint32(buf[configCount:], 1)
	le.PutUint32(buf[configEnd:], earlyAttribute)
	le.PutUint32(buf[configEnd+attributeValue:], 1)
}

func launchFailed(err error, grid, block Dim3, shared uint32, params int) error {
	return detailed(err, "grid (%d, %d, %d), block (%d, %d, %d), %d bytes shared, %d bytes of parameters",
		grid.X, grid.Y, grid.Z, block.X, block.Y, block.Z, shared, params)
}
