package gpu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/allocations"
)

// fillOp fills its result with an attribute, by way of scratch memory.
var fillOp = ir.Op{
	Name: "fill", Kind: ir.Opaque, Out: []ir.Result{{Name: "out"}}, Attrs: []ir.Attr{{Name: "value", Kind: ir.AttrFloat}},
	Code: []ir.Code{{For: "cuda", Of: &code.Kernels{Launch: func(g code.GPU, c *ir.Call) error {
		n := c.Out[0].NumElements()
		temp, err := g.Scratch(int64(4 * n))
		if err != nil {
			return err
		}
		var p driver.Params
		p.Int64(int64(n))
		p.Uint64(temp)
		p.Float32(float32(c.Attrs[0].Scalar.Float()))
		if err := g.Launch("copy", "fill_b4", [3]int{1, 1, 1}, [3]int{256, 1, 1}, 0, p.Bytes()); err != nil {
			return err
		}
		return g.Copy(c.Out[0].Addr, temp, int64(4*n))
	}}}},
}

func fillCall(out uint64, n int, value float64) *ir.Call {
	return &ir.Call{
		Kernel: fillOp.Kernel(0, ir.Float32), Out: []ir.View{{Addr: out, DType: ir.Float32, Shape: []int{n}, Strides: []int{1}}},
		Attrs: []ir.Value{ir.FloatValue(value)}, Scalars: []ir.Scalar{ir.FloatScalar(value)},
	}
}

// uploadOp sends bytes of the host to its result.
func uploadOp(data []byte) *ir.Op {
	return &ir.Op{Name: "upload", Kind: ir.Opaque, Out: []ir.Result{{Name: "out"}}, Code: []ir.Code{{For: "cuda", Of: &code.Kernels{Launch: func(g code.GPU, c *ir.Call) error {
		at, err := g.Upload(data)
		if err != nil {
			return err
		}
		return g.Copy(c.Out[0].Addr, at, int64(len(data)))
	}}}}}
}

// record captures what f gives to a new stream.
func record(t *testing.T, d *Driver, o device.CaptureOptions, f func(s device.StreamID)) device.Recording {
	t.Helper()
	s, err := d.NewStream(0, 0)
	must(t, err)
	id, err := d.BeginCapture(0, s, o)
	must(t, err)
	if id == 0 || d.CaptureOf(0, s) != id || d.CaptureOf(0, 0) != 0 {
		t.Errorf("capture %d, of its stream %d", id, d.CaptureOf(0, s))
	}
	f(s)
	r, err := d.EndCapture(0, s)
	must(t, err)
	if d.CaptureOf(0, s) != 0 {
		t.Error("the stream is captured after the end")
	}
	must(t, d.DestroyStream(0, s))
	return r
}

// graphAPI is a CUDA driver that notes what is done with graphs.
type graphAPI struct {
	driver.API
	log       []string
	next      uintptr // address or handle
	capturing bool
	last      driver.GraphNode
}

func (g *graphAPI) note(format string, args ...any) error {
	g.log = append(g.log, fmt.Sprintf(format, args...))
	return nil
}

func (g *graphAPI) Version() int                                           { return 12000 }
func (g *graphAPI) DeviceCount() int                                       { return 1 }
func (g *graphAPI) DeviceName(int) (string, error)                         { return "fake", nil }
func (g *graphAPI) DeviceUUID(int) (id [16]byte, err error)                { return id, nil }
func (g *graphAPI) DeviceTotalMem(int) (int64, error)                      { return 1 << 30, nil }
func (g *graphAPI) DeviceAttribute(int, driver.Attribute) (int, error)     { return 9, nil }
func (g *graphAPI) ModuleLoad(int, []byte) (driver.Module, error)          { return 1, nil }
func (g *graphAPI) MemFreeHost(int, unsafe.Pointer) error                  { return nil }
func (g *graphAPI) MemFree(int, driver.Ptr) error                          { return nil }
func (g *graphAPI) GraphNodes(int, driver.Graph) (int, error)              { return int(g.last), nil }
func (g *graphAPI) GraphDestroy(int, driver.Graph) error                   { return g.note("forget nodes") }
func (g *graphAPI) StreamBeginCapture(int, driver.Stream) error            { g.capturing = true; return nil }
func (g *graphAPI) GraphExecDestroy(int, driver.GraphExec) error           { return g.note("destroy") }
func (g *graphAPI) GraphLaunch(int, driver.GraphExec, driver.Stream) error { return g.note("launch") }

func (g *graphAPI) ModuleFunction(int, driver.Module, string) (driver.Function, error) { return 5, nil }

func (g *graphAPI) GraphInstantiate(int, driver.Graph) (driver.GraphExec, error) { return 8, nil }

func (g *graphAPI) StreamCreate(int, driver.StreamFlags, int) (driver.Stream, error) {
	g.next += 2 << 20
	return driver.Stream(g.next), nil
}

func (g *graphAPI) StreamDestroy(int, driver.Stream) error { return nil }

func (g *graphAPI) MemAlloc(_ int, bytes int64) (driver.Ptr, error) {
	g.next += 64 << 20
	return driver.Ptr(g.next), nil
}

func (g *graphAPI) MemHostAlloc(_ int, bytes int64, _ driver.HostFlags) (unsafe.Pointer, error) {
	return unsafe.Pointer(&make([]uint64, bytes/8+1)[0]), nil
}

func (g *graphAPI) StreamEndCapture(int, driver.Stream) (driver.Graph, error) {
	g.capturing = false
	return 7, nil
}

func (g *graphAPI) StreamCaptureInfo(int, driver.Stream) (driver.CaptureInfo, error) {
	if !g.capturing {
		return driver.CaptureInfo{}, nil
	}
	return driver.CaptureInfo{Status: driver.CaptureActive, ID: 3, Last: g.last}, nil
}

func (g *graphAPI) LaunchKernel(_ int, l driver.Launch) error {
	g.last++
	return g.note("kernel of %v", valueIn(l))
}

func (g *graphAPI) MemcpyDtoDAsync(int, driver.Ptr, driver.Ptr, int64, driver.Stream) error {
	g.last++
	return g.note("copy")
}

func (g *graphAPI) SetKernelNode(_ int, x driver.GraphExec, n driver.GraphNode, l driver.Launch) error {
	return g.note("node %d of %d: %v", n, x, valueIn(l))
}

// valueIn returns fillOp's attribute among a kernel's parameters.
func valueIn(l driver.Launch) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(l.Params[16:]))
}

// TestRefresh: attributes that change are given to the kernels' nodes, and nothing is
// when they do not. The graph that has the nodes is there until then.
func TestRefresh(t *testing.T) {
	api := &graphAPI{}
	d := &Driver{open: func() (driver.API, error) { return api, nil }}
	if _, err := d.DeviceCount(); err != nil {
		t.Fatal(err)
	}
	value, changed := 1.0, false
	r := record(t, d, device.CaptureOptions{Refresh: func(c *ir.Call) func(*ir.Call) (bool, error) {
		if c.Attrs[0].Scalar.Float() != 1 {
			return nil
		}
		return func(c *ir.Call) (bool, error) {
			c.Attrs[0] = ir.FloatValue(value)
			return changed, nil
		}
	}}, func(s device.StreamID) {
		must(t, d.Launch(0, s, fillCall(64, 4, 1)))
		must(t, d.Launch(0, s, fillCall(64, 4, 9)))
	})
	must(t, r.Launch(0))
	value, changed = 2, true
	must(t, r.Launch(0))
	must(t, r.Launch(0)) // it says that it changed, and is the same
	changed = false
	must(t, r.Launch(0))
	must(t, r.Destroy())
	want := []string{"kernel of 1", "copy", "kernel of 9", "copy", "launch", "node 1 of 8: 2", "launch", "launch", "launch", "forget nodes", "destroy"}
	if diff := cmp.Diff(want, api.log); diff != "" || r.Nodes() != 4 {
		t.Errorf("%d nodes; %s", r.Nodes(), diff)
	}

	api.log = nil
	r = record(t, d, device.CaptureOptions{}, func(s device.StreamID) { must(t, d.Launch(0, s, fillCall(64, 4, 1))) })
	must(t, r.Launch(0))
	must(t, r.Destroy())
	want = []string{"kernel of 1", "copy", "forget nodes", "launch", "destroy"}
	if diff := cmp.Diff(want, api.log); diff != "" {
		t.Errorf("where nothing changes: %s", diff)
	}
}

// TestRefreshedAddresses: kernels are given other addresses; where a copy has one of them,
// the recording says that it cannot.
func TestRefreshedAddresses(t *testing.T) {
	api := &graphAPI{}
	d := &Driver{open: func() (driver.API, error) { return api, nil }}
	if _, err := d.DeviceCount(); err != nil {
		t.Fatal(err)
	}
	at := uint64(64)
	r := record(t, d, device.CaptureOptions{Refresh: func(*ir.Call) func(*ir.Call) (bool, error) {
		return func(c *ir.Call) (bool, error) {
			c.Out[0].Addr = at
			return true, nil
		}
	}}, func(s device.StreamID) { must(t, d.Launch(0, s, fillCall(64, 4, 1))) })
	must(t, r.Launch(0))
	at = 128
	if err := r.Launch(0); !errors.Is(err, device.ErrOtherKernels) {
		t.Error(err)
	}
	must(t, r.Destroy())
}

// lostInCapture is a driver that finds its context useless while a stream is captured.
type lostInCapture struct{ *graphAPI }

func (l lostInCapture) Synchronize(int) error {
	return &driver.Error{Call: "cuCtxSynchronize", Code: driver.IllegalAddress}
}

// TestCaptureOfLost: the capture of a device that is lost meanwhile can be ended, and
// is none afterwards.
func TestCaptureOfLost(t *testing.T) {
	api := &graphAPI{}
	d := &Driver{open: func() (driver.API, error) { return lostInCapture{api}, nil }}
	s, err := d.NewStream(0, 0)
	must(t, err)
	_, err = d.BeginCapture(0, s, device.CaptureOptions{})
	must(t, err)
	if err := d.failed(0, d.api.Synchronize(0)); !errors.Is(err, device.ErrLost) {
		t.Fatal(err)
	}
	if _, err := d.EndCapture(0, s); !errors.Is(err, device.ErrLost) {
		t.Error(err)
	}
	if n := d.captures.under.Load(); n != 0 {
		t.Errorf("%d captures are under way", n)
	}
}

// TestRecordings records on the GPU, and does it again.
func TestRecordings(t *testing.T) {
	d, ctx := onGPU(t), context.Background()
	const n = 1000
	m, err := d.Alloc(0, 4*n)
	must(t, err)
	defer func() { must(t, d.Free(0, m)) }()
	check := func(what string, want float32) {
		t.Helper()
		got := make([]float32, n)
		must(t, d.SyncDevice(ctx, 0))
		must(t, d.CopyToHost(0, 0, unsafe.Pointer(&got[0]), m.Addr, 4*n))
		must(t, d.SyncStream(ctx, 0, 0))
		for i, v := range got {
			if v != want {
				t.Fatalf("%s: element %d is %g, want %g", what, i, v, want)
			}
		}
	}
	must(t, d.Launch(0, 0, fillCall(m.Addr, n, 3)))
	value := 4.0
	r := record(t, d, device.CaptureOptions{Refresh: func(*ir.Call) func(*ir.Call) (bool, error) {
		return func(c *ir.Call) (bool, error) {
			changed := c.Attrs[0].Scalar.Float() != value
			c.Attrs[0] = ir.FloatValue(value)
			return changed, nil
		}
	}}, func(s device.StreamID) { must(t, d.Launch(0, s, fillCall(m.Addr, n, 4))) })
	check("recorded", 3)
	must(t, r.Launch(0))
	check("replayed", 4)
	value = 5
	must(t, r.Launch(0))
	check("with another attribute", 5)
	if r.Nodes() != 2 || r.Handle() == 0 {
		t.Errorf("%d nodes, handle %#x", r.Nodes(), r.Handle())
	}
	allocations.AtMost(t, 0, func() { must(t, r.Launch(0)) })
	must(t, r.Destroy())

	data := make([]byte, 4*n) // the host's bytes are those of the capture
	for i := range n {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(6))
	}
	call := fillCall(m.Addr, n, 0)
	call.Kernel, call.Attrs, call.Scalars = uploadOp(data).Kernel(0, ir.Float32), nil, nil
	r = record(t, d, device.CaptureOptions{}, func(s device.StreamID) { must(t, d.Launch(0, s, call)) })
	clear(data)
	must(t, r.Launch(0))
	check("host memory that has changed", 6)
	must(t, r.Destroy())
}

// TestRefusedCaptures: what cannot be recorded is refused before the CUDA driver sees
// it, and the stream is of use afterwards.
func TestRefusedCaptures(t *testing.T) {
	d, ctx := onGPU(t), context.Background()
	m, err := d.Alloc(0, 4096)
	must(t, err)
	defer func() { must(t, d.Free(0, m)) }()
	s, err := d.NewStream(0, 0)
	must(t, err)
	side, err := d.NewStream(0, 0)
	must(t, err)
	inside, err := d.NewEvent(0, true)
	must(t, err)
	outside, err := d.NewEvent(0, true)
	must(t, err)
	host := make([]byte, 4096)
	for name, f := range map[string]func() error{
		"query":           func() error { _, err := d.StreamIdle(0, s); return err },
		"wait":            func() error { return d.SyncStream(ctx, 0, s) },
		"device":          func() error { return d.SyncDevice(ctx, 0) },
		"event":           func() error { _, err := d.EventDone(0, inside); return err },
		"wait for event":  func() error { return d.SyncEvent(ctx, 0, inside) },
		"time":            func() error { _, err := d.Elapsed(0, inside, inside); return err },
		"pageable source": func() error { return d.CopyFromHost(0, s, m.Addr, unsafe.Pointer(&host[0]), 4096) },
		"pageable place":  func() error { return d.CopyToHost(0, s, unsafe.Pointer(&host[0]), m.Addr, 4096) },
		"work outside":    func() error { return d.WaitEvent(0, s, 0, outside) },
		"a branch": func() error {
			must(t, d.WaitEvent(0, side, 0, inside))
			must(t, d.Zero(0, side, m, 4096))
			_, err := d.EndCapture(0, s)
			return err
		},
	} {
		must(t, d.RecordEvent(0, outside, side))
		_, err := d.BeginCapture(0, s, device.CaptureOptions{})
		must(t, err)
		must(t, d.Zero(0, s, m, 4096))
		must(t, d.RecordEvent(0, inside, s))
		if err := f(); !errors.Is(err, device.ErrCapturing) {
			t.Errorf("%s: %v", name, err)
		}
		if name != "a branch" {
			if _, err := d.EndCapture(0, s); !errors.Is(err, device.ErrCapturing) {
				t.Errorf("%s, the end: %v", name, err)
			}
		}
		must(t, d.RecordEvent(0, inside, s))
		must(t, d.SyncEvent(ctx, 0, inside))
		must(t, d.SyncDevice(ctx, 0))
	}
}
