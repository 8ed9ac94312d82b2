package launch

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// A Context is the launch of one call: the code.GPU that functions written by hand
// are given, which besides has the driver's names of the device and the stream.
type Context struct {
	device *Device
	stream driver.Stream
	of     *named // the operator's device code
	blocks []memory.Block
	room   room      // where scratch comes from
	views  []ir.View // the operands as the kernel reads them: the call's own, or made

	// What follows is memory kept from call to call.
	frame       *driver.Frame
	params      driver.Params
	space       layout
	folded      layout
	order       []int
	foldedOrder []int
	strides     [][]int
	made        []ir.View // room for views
	values      []number
}

var _ code.GPU = (*Context)(nil)

var contexts = sync.Pool{New: func() any { return &Context{frame: driver.NewFrame()} }}

// release gives the context and its scratch memory back.
func (x *Context) release(err error) error {
	for i := range x.blocks {
		if gone := x.blocks[i].Free(); gone != nil {
			err = errors.Join(err, gone)
		}
		x.blocks[i] = memory.Block{}
	}
	x.blocks = x.blocks[:0]
	x.device, x.of, x.room = nil, nil, room{}
	x.forget()
	contexts.Put(x)
	return err
}

// forget clears what a run of launch code leaves.
func (x *Context) forget() {
	x.views = nil
	if len(x.made) > 0 {
		clear(x.made)
		x.made = x.made[:0]
	}
	if len(x.strides) > 0 {
		clear(x.strides)
		x.strides = x.strides[:0]
	}
}

// Device returns the device's ordinal.
func (x *Context) Device() int { return x.device.dev }

// Stream returns the stream that work is enqueued on.
func (x *Context) Stream() driver.Stream { return x.stream }

// API returns the driver.
func (x *Context) API() driver.API { return x.device.api }

// Multiprocessors returns how many the device has.
func (x *Context) Multiprocessors() int { return x.device.sms }

// Capability returns the device's compute capability, as 90 for 9.0.
func (x *Context) Capability() int { return x.device.capability }

// SharedLimit returns the most shared memory a block can ask for, in bytes.
func (x *Context) SharedLimit() int { return x.device.sharedLimit }

// Trap returns the address of the stream's record of faults.
func (x *Context) Trap() uint64 { return x.device.memory.Trap(x.device.dev, x.stream) }

// Launch enqueues a kernel of a module of the operator's, or of the standard ones.
func (x *Context) Launch(module, name string, grid, block [3]int, shared int, params []byte) error {
	if !x.Due() {
		return nil
	}
	k, err := x.device.kernel(x.of, module, name)
	if err != nil {
		return err
	}
	if shared > 0 {
		if err := k.allow(x.device, shared); err != nil {
			return fmt.Errorf("kernel %s: %w", name, err)
		}
	}
	err = x.device.api.LaunchKernel(x.device.dev, driver.Launch{
		Function: k.function, Grid: dim3(grid), Block: dim3(block), Shared: uint32(shared), Stream: x.stream,
		Early: k.early, Params: params, Frame: x.frame,
	})
	if err != nil {
		return fmt.Errorf("kernel %s: %w", name, err)
	}
	return nil
}

func dim3(d [3]int) driver.Dim3 {
	return driver.Dim3{X: uint32(d[0]), Y: uint32(d[1]), Z: uint32(d[2])}
}

// Keep returns device memory for work on the stream that stays until release.
func (x *Context) Keep(bytes int64) (addr uint64, release func() error, err error) {
	b, err := x.device.memory.Scratch(x.device.dev, x.stream, bytes)
	if err != nil {
		return 0, nil, err
	}
	return b.Addr, b.Free, nil
}

// Recording reports whether the work may run again, or later, than it is enqueued: it is
// being recorded.
func (x *Context) Recording() bool {
	return memory.Capturing(device.CUDA(x.device.dev))
}

// Upload returns scratch that holds a copy of data. The driver has read data when
// the copy is enqueued: it is not page-locked memory.
func (x *Context) Upload(data []byte) (uint64, error) {
	addr, err := x.Scratch(int64(len(data)))
	if err != nil || len(data) == 0 || !x.Due() {
		return addr, err
	}
	src := unsafe.Pointer(&data[0])
	if m, ok := x.device.memory.(Stager); ok {
		staged, err := m.Stage(x.device.dev, x.stream, data)
		if err != nil {
			return 0, err
		}
		if staged != nil {
			src = staged
		}
	}
	return addr, x.device.api.MemcpyHtoDAsync(x.device.dev, driver.Ptr(addr), src, int64(len(data)), x.stream)
}

// Zero clears device memory.
func (x *Context) Zero(addr uint64, bytes int64) error {
	if bytes == 0 || !x.Due() {
		return nil
	}
	return x.device.api.MemsetD8Async(x.device.dev, driver.Ptr(addr), 0, bytes, x.stream)
}

// Copy moves device memory from src to dst, which do not overlap.
func (x *Context) Copy(dst, src uint64, bytes int64) error {
	if bytes == 0 || !x.Due() {
		return nil
	}
	return x.device.api.MemcpyDtoDAsync(x.device.dev, driver.Ptr(dst), driver.Ptr(src), bytes, x.stream)
}

// Dense returns v where it is row-major without gaps, in device memory and of
// dtype dt, else such a copy of it in scratch.
func (x *Context) Dense(v ir.View, dt ir.DType) (ir.View, error) {
	if v.Ptr == nil && v.DType == dt && v.IsContiguous() {
		return v, nil
	}
	out, err := x.dense(v.Shape, dt)
	if err != nil {
		return ir.View{}, err
	}
	return out, x.Store(out, v)
}

// dense returns a new contiguous view in scratch.
func (x *Context) dense(shape []int, dt ir.DType) (ir.View, error) {
	addr, err := x.Scratch(int64(ir.NumElements(shape)) * int64(dt.Size()))
	return ir.View{Addr: addr, DType: dt, Shape: shape, Strides: ir.ContiguousStrides(shape)}, err
}
