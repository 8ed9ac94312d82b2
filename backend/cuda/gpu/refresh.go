package gpu

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/launch"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// A refreshed is a captured call whose attributes or addresses change from one launch of
// the recording to the next. They are parameters of its kernels, in places that only
// the call's own launch code knows. So that code runs again, over a driver that
// enqueues nothing and gives the nodes their new parameters.
type refreshed struct {
	call    ir.Call // all of it its own
	stream  driver.Stream
	refresh func(*ir.Call) (bool, error)
	nodes   []kernelNode
	copies  []copyNode
	scratch []uint64 // addresses, in the order the call asked for them
}

// A kernelNode is a kernel as it is in the recording now.
type kernelNode struct {
	node driver.GraphNode
	driver.Launch
}

// A copyNode is a copy or, where there is no source, a clearing.
type copyNode struct {
	dst, src driver.Ptr
	n        int64
}

// A recorder is a launcher of one device that records or repeats the launches of
// one call at a time.
type recorder struct {
	mu       sync.Mutex // held while it works on a call
	launcher *launch.Device
	api      repeatedAPI
	memory   repeatedScratch
}

// repeatedAPI is the driver as the launch code of a refreshed call finds it.
type repeatedAPI struct {
	driver.API
	call *refreshed
	exec driver.GraphExec // whose nodes are to be changed; 0 while the call is recorded
	next int              // the node that comes next
	copy int              // the copy that comes next
}

// repeatedScratch is its memory.
type repeatedScratch struct {
	scratch
	api  *repeatedAPI
	next int
}

// errRepeat is wrapped where the launch code does something else than before.
const errRepeat = device.ErrOtherKernels

// LaunchKernel records a kernel, or gives its node the parameters of now.
func (a *repeatedAPI) LaunchKernel(dev int, l driver.Launch) error {
	if a.exec == 0 {
		if err := a.API.LaunchKernel(dev, l); err != nil {
			return err
		}
		info, err := a.API.StreamCaptureInfo(dev, l.Stream)
		if err != nil {
			return err
		}
		if info.Last == 0 {
			return fmt.Errorf("%w: the capture does not say which node is a kernel's", device.ErrCapturing)
		}
		l.Params = bytes.Clone(l.Params)
		a.call.nodes = append(a.call.nodes, kernelNode{info.Last, l})
		return nil
	}
	if a.next == len(a.call.nodes) || a.call.nodes[a.next].Function != l.Function {
		return errRepeat
	}
	n := &a.call.nodes[a.next]
	a.next++
	if n.Grid == l.Grid && n.Block == l.Block && n.Shared == l.Shared && bytes.Equal(n.Params, l.Params) {
		return nil
	}
	if err := a.API.SetKernelNode(dev, a.exec, n.node, l); err != nil {
		return err
	}
	n.Grid, n.Block, n.Shared, n.Params = l.Grid, l.Block, l.Shared, append(n.Params[:0], l.Params...)
	return nil
}

// Copies and clearings stay as they are when the call is repeated.

func (a *repeatedAPI) MemcpyHtoDAsync(dev int, dst driver.Ptr, src unsafe.Pointer, n int64, s driver.Stream) error {
	if a.exec != 0 {
		return errRepeat // what is sent could be other numbers
	}
	return a.API.MemcpyHtoDAsync(dev, dst, src, n, s)
}

func (a *repeatedAPI) MemcpyDtoDAsync(dev int, dst, src driver.Ptr, n int64, s driver.Stream) error {
	if again, err := a.copied(copyNode{dst, src, n}); again {
		return err
	}
	return a.API.MemcpyDtoDAsync(dev, dst, src, n, s)
}

func (a *repeatedAPI) MemsetD8Async(dev int, dst driver.Ptr, v uint8, n int64, s driver.Stream) error {
	if again, err := a.copied(copyNode{dst: dst, n: n}); again {
		return err
	}
	return a.API.MemsetD8Async(dev, dst, v, n, s)
}

// copied notes a copy that is recorded or, when the call is repeated, says that it is one of
// them.
func (a *repeatedAPI) copied(n copyNode) (again bool, err error) {
	if a.exec == 0 {
		a.call.copies = append(a.call.copies, n)
		return false, nil
	}
	if a.copy == len(a.call.copies) || a.call.copies[a.copy] != n {
		return true, errRepeat
	}
	a.copy++
	return true, nil
}

// Scratch returns memory, the second time the same.
func (m *repeatedScratch) Scratch(dev int, on driver.Stream, n int64) (memory.Block, error) {
	call := m.api.call
	if m.api.exec == 0 {
		b, err := m.scratch.Scratch(dev, on, n)
		if err == nil {
			call.scratch = append(call.scratch, b.Addr)
		}
		return b, err
	}
	if m.next == len(call.scratch) {
		return memory.Block{}, errRepeat
	}
	m.next++
	return memory.Block{Memory: device.Memory{Addr: call.scratch[m.next-1], Bytes: n}, Device: device.CUDA(dev)}, nil
}

// recorderOf returns a device's recorder, which the first call makes.
func (d *Driver) recorderOf(dev int) (*recorder, error) {
	if err := d.prepare(dev); err != nil {
		return nil, err
	}
	g := &d.gpus[dev]
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.recorder != nil {
		return g.recorder, nil
	}
	r := &recorder{api: repeatedAPI{API: d.api}}
	r.memory = repeatedScratch{scratch: scratch{d}, api: &r.api}
	var err error
	if r.launcher, err = launch.New(&r.api, dev, d.loader, &r.memory); err != nil {
		return nil, err
	}
	g.recorder = r
	return r, nil
}

// run runs a call's launch code.
func (r *recorder) run(c *refreshed, exec driver.GraphExec) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.api.call, r.api.exec, r.api.next, r.api.copy, r.memory.next = c, exec, 0, 0, 0
	err := r.launcher.Run(c.stream, &c.call)
	if err == nil && exec != 0 && (r.api.next != len(c.nodes) || r.api.copy != len(c.copies)) {
		err = errRepeat
	}
	r.api.call = nil
	return err
}

// recordCall enqueues a call on a captured stream, and notes its kernels.
func (d *Driver) recordCall(dev int, s device.StreamID, c *ir.Call) (*refreshed, error) {
	r, err := d.recorderOf(dev)
	if err != nil {
		return nil, err
	}
	d.gpus[dev].states.of(s).flight.Note(launch.Noted(c.Kernel))
	if c.Op.Kind == ir.Opaque {
		c.FFTPlans = d.gpus[dev].fftPlans
	}
	call := &refreshed{call: ownCall(c), stream: driver.Stream(s)}
	return call, r.run(call, 0)
}

// refreshCall gives the kernels of a call the attributes and addresses of now.
func (d *Driver) refreshCall(dev int, exec driver.GraphExec, c *refreshed) error {
	changed, err := c.refresh(&c.call)
	if err != nil || !changed {
		return err
	}
	r, err := d.recorderOf(dev)
	if err == nil {
		err = r.run(c, exec)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.call.Op.Name, err)
	}
	return nil
}

// ownCall returns a copy of c that shares nothing with its sender.
func ownCall(c *ir.Call) ir.Call {
	own := *c
	own.Space, own.Axes = slices.Clone(c.Space), slices.Clone(c.Axes)
	own.Scalars, own.Attrs = slices.Clone(c.Scalars), slices.Clone(c.Attrs)
	for i, v := range own.Attrs {
		own.Attrs[i].Ints = slices.Clone(v.Ints)
	}
	own.Out, own.In = ownViews(c.Out), ownViews(c.In)
	return own
}

// ownViews returns copies of views; those in host memory have one element, which is
// copied too.
func ownViews(views []ir.View) []ir.View {
	own := slices.Clone(views)
	for i := range own {
		v := &own[i]
		v.Shape, v.Strides = slices.Clone(v.Shape), slices.Clone(v.Strides)
		if v.Ptr != nil && v.Given() && v.NumElements() > 0 {
			element := new([2]uint64)
			copy((*[16]byte)(unsafe.Pointer(element))[:], unsafe.Slice((*byte)(v.Ptr), v.DType.Size()))
			v.Ptr = unsafe.Pointer(element)
		}
	}
	return own
}
