// Package launch turns calls of operators into launches of CUDA kernels: for
// element-wise operators, reductions, scans and copies by the loop templates of
// package kernels, for the others by the function in their descriptor. It decides
// launch shapes and conversions; it knows nothing of tensors, of where device code
// comes from, or of how memory is managed.
//
// # Dtypes
//
// A kernel is named after the dtype that the operands which take part in
// promotion are stored as. Where the operands agree on one that computes in the
// call's dtype, and the result is stored as it follows from that, the kernel reads
// and writes them in place. Otherwise the kernel is the one named after the
// compute dtype: operands of other dtypes are converted into scratch memory
// before it, and a result after it, so that every value is rounded once.
// Operands in host memory, which have one element, are passed by value in the
// compute dtype.
package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/memory"
)

// A Loader finds device code.
type Loader interface {
	// Function returns a kernel of a module, on device dev, from src or, where
	// that is nil or has no such module, the standard sources.
	Function(dev int, src fs.FS, module, name string) (driver.Function, error)
}

// Memory is where scratch memory comes from.
type Memory interface {
	// Scratch returns device memory for work on s, aligned to 512 bytes. Work that
	// was given to s before the block is freed may use it.
	Scratch(dev int, s driver.Stream, bytes int64) (memory.Block, error)
	// Trap returns the address of the record of faults of a stream, never 0.
	Trap(dev int, s driver.Stream) uint64
}

// A Stager is a Memory that keeps what copies read which are recorded, to be done
// later and again.
type Stager interface {
	// Stage returns a copy of data that a copy on s is to read instead; nil where the
	// copy is done now.
	Stage(dev int, s driver.Stream, data []byte) (unsafe.Pointer, error)
}

// A Device launches on one device. Any goroutine may call Run.
type Device struct {
	api         driver.API
	dev         int
	loader      Loader
	memory      Memory
	sms         int
	threadsPer  int // threads of a multiprocessor
	capability  int
	sharedLimit int
	early       bool // kernels that can may begin before the one in front has ended

	loops   table[uint32, *loopSet] // by the serials of kernels
	kernels table[kernelKey, *kernel]
	recent  [recentLoops]atomic.Pointer[loopSet] // of loops
}

// New returns the launcher of a device.
func New(api driver.API, dev int, loader Loader, memory Memory) (*Device, error) {
	d := &Device{api: api, dev: dev, loader: loader, memory: memory}
	var major, minor int
	for _, a := range []struct {
		attribute driver.Attribute
		value     *int
	}{
		{driver.Multiprocessors, &d.sms}, {driver.MaxThreadsPerSM, &d.threadsPer},
		{driver.ComputeCapabilityMajor, &major}, {driver.ComputeCapabilityMinor, &minor},
		{driver.MaxSharedPerBlockOptin, &d.sharedLimit},
	} {
		var err error
		if *a.value, err = api.DeviceAttribute(dev, a.attribute); err != nil {
			return nil, err
		}
	}
	d.capability = 10*major + minor
	d.early = wantsEarly(api, d.capability)
	return d, nil
}

// context returns the context of a call.
func (d *Device) context(s driver.Stream, c *ir.Call) *Context {
	x := contexts.Get().(*Context)
	x.device, x.stream, x.of = d, s, names.Of(c.Kernel)
	return x
}

func (x *Context) run(c *ir.Call) error {
	switch c.Op.Kind {
	case ir.Elementwise:
		return x.elementwise(c)
	case ir.Joint:
		return x.joint(c)
	case ir.Reduction:
		return x.reduction(c)
	case ir.Scan:
		return x.scan(c)
	case ir.Opaque:
		if launch := names.Of(c.Kernel).Launch; launch != nil {
			return launch(x, c)
		}
		return fmt.Errorf("%s: not implemented for %s on cuda", c.Op.Name, c.Compute)
	}
	return errors.New("operators of this kind are not launched")
}
