package core_test

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// needsWidePointers skips a test where no pointer holds a simulated device's address.
func needsWidePointers(t *testing.T) {
	if ^uintptr(0) <= math.MaxUint32 {
		t.Skip("pointers have 32 bits, addresses of simulated devices more")
	}
}

// TestDevicePointer: the address is that of the first element, also of views.
func TestDevicePointer(t *testing.T) {
	needsWidePointers(t)
	s := simulate(t, sim.Config{Devices: 1})
	x := core.From([]float32{1, 2, 3, 4, 5, 6}, []int{2, 3}, on(device.Sim(0)))
	base, err := x.DevicePointer()
	must(t, err)
	if p, err := transpose(x).DevicePointer(); p != base || err != nil {
		t.Errorf("the transpose begins at %#x, %v, want %#x", p, err, base)
	}
	row := core.FromDevicePointer(device.Sim(0), base+3*4, ir.Float32, []int{3})
	if p, err := row.DevicePointer(); p != base+12 || err != nil {
		t.Errorf("a tensor over %#x begins at %#x, %v", base+12, p, err)
	}
	if p, err := core.Empty([]int{0, 3}, on(device.Sim(0))).DevicePointer(); p != 0 || err != nil {
		t.Errorf("no elements begin at %#x, %v", p, err)
	}

	// A program's own call, by the driver.
	must(t, s.Zero(0, 0, device.Memory{Addr: uint64(base)}, 8))
	want(t, x, 0, 0, 3, 4, 5, 6)
	want(t, row, 4, 5, 6)

	released := vector(device.Sim(0), 1)
	released.Release()
	for name, c := range map[string]struct {
		t    T
		want error
	}{
		"host":     {vector(device.CPU, 1), device.ErrInvalid},
		"released": {released, core.ErrReleased},
		"zero":     {nil, core.ErrZeroTensor},
		"failed":   {core.Failed(ir.ErrShape), ir.ErrShape},
	} {
		if p, err := c.t.DevicePointer(); p != 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: %#x, %v", name, p, err)
		}
	}
	if _, err := vector(device.CPU, 1).DevicePointer(); !strings.Contains(err.Error(), "device_pointer: ") || !strings.Contains(err.Error(), "Data") {
		t.Errorf("a host tensor: %v", err)
	}
}

// TestFromDevicePointer: a tensor over a program's memory is one like others, but
// that its memory is never given back and never counted.
func TestFromDevicePointer(t *testing.T) {
	needsWidePointers(t)
	s := simulate(t, sim.Config{Devices: 1})
	const n = 4
	own, err := s.Alloc(0, n*4)
	must(t, err)
	over := func() T { return core.FromDevicePointer(device.Sim(0), uintptr(own.Addr), ir.Float32, []int{2, 2}) }

	before := memory.StatsOf(device.Sim(0))
	x, y := over(), over()
	if diff := cmp.Diff(before, memory.StatsOf(device.Sim(0))); diff != "" {
		t.Errorf("making tensors changes the figures: %s", diff)
	}
	if x.Device() != device.Sim(0) || !x.IsContiguous() || x.SharesStorage(y) || x.StorageElements() != n {
		t.Errorf("%v on %s, %d elements", x.Layout(), x.Device(), x.StorageElements())
	}
	must(t, core.CopyFrom(x, core.From([]float32{1, 2, 3, 4}, []int{2, 2}, on(device.CPU)), core.TransferOptions{}, nil))
	want(t, y, 1, 2, 3, 4)
	core.InScope(func(*core.Scope) { want(t, mul(x, transpose(y)), 1, 6, 6, 16) })

	// Neither a stream that was recorded nor the last handle matters to the memory.
	must(t, x.RecordStream(stream.New(device.Sim(0), 0)))
	view := transpose(x)
	x.Release()
	want(t, view, 1, 3, 2, 4)
	view.Release()
	if err := view.Err(); !errors.Is(err, core.ErrReleased) {
		t.Errorf("a released tensor: %v", err)
	}
	y.Release()
	for range 3 {
		over()
		runtime.GC() // has nothing to give back
	}
	must(t, memory.EmptyCache(device.Sim(0)))
	want(t, over(), 1, 2, 3, 4)
	if got := memory.Allocated(device.Sim(0)); got != before.AllocatedBytes.All.Current {
		t.Errorf("%d bytes are held, %d before", got, before.AllocatedBytes.All.Current)
	}
	must(t, s.Free(0, own)) // still the program's, once
}

// TestGradientOverPointer: tensors over a program's memory take part in gradients.
func TestGradientOverPointer(t *testing.T) {
	needsWidePointers(t)
	s := simulate(t, sim.Config{Devices: 1})
	own, err := s.Alloc(0, 4)
	must(t, err)
	x := core.FromDevicePointer(device.Sim(0), uintptr(own.Addr), ir.Float32, nil)
	must(t, core.CopyFrom(x, core.From([]float32{3}, []int{}, on(device.Sim(0))), core.TransferOptions{}, nil))
	must(t, x.SetRequiresGrad(true))
	y := mul(x, x)
	must(t, core.Backward([]T{y}, nil, core.BackwardOptions{Ops: &engine}))
	want(t, x.Grad(), 6)
	if p, err := x.Grad().DevicePointer(); uint64(p) == own.Addr || err != nil {
		t.Errorf("the gradient is at %#x, %v", p, err)
	}
}

// TestBadDevicePointers: what no tensor is made over.
func TestBadDevicePointers(t *testing.T) {
	simulate(t, sim.Config{Devices: 1})
	for _, c := range []struct {
		dev   device.Device
		ptr   uintptr
		dtype ir.DType
		shape []int
		is    error
		want  string
	}{
		{device.CPU, 512, ir.Float32, []int{2}, device.ErrInvalid, "cpu has no device pointers, want an accelerator"},
		{device.Sim(7), 512, ir.Float32, []int{2}, device.ErrUnavailable, "sim:7"},
		{device.Sim(0), 512, ir.Invalid, []int{2}, core.ErrDType, "want "},
		{device.Sim(0), 512, ir.Float32, []int{2, -1}, ir.ErrShape, "[2 -1]"},
		{device.Sim(0), 0, ir.Float32, []int{2}, nil, "a null pointer to 8 bytes"},
		{device.Sim(0), 514, ir.Float32, []int{2}, nil, "address 0x202 is not a multiple of 4"},
		{device.Sim(0), 520, ir.Complex128, nil, nil, "address 0x208 is not a multiple of 16"},
		{device.Sim(0), ^uintptr(0) - 3, ir.Float32, []int{2}, nil, "past the end of memory"},
	} {
		err := core.FromDevicePointer(c.dev, c.ptr, c.dtype, c.shape).Err()
		if err == nil || !strings.Contains(err.Error(), "from_device_pointer: ") || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s %#x %s %v: %v, want %q", c.dev, c.ptr, c.dtype, c.shape, err, c.want)
		}
	}
	x := core.FromDevicePointer(device.Sim(0), 0, ir.Float32, []int{0, 2})
	if err := x.Err(); err != nil || x.NumElements() != 0 {
		t.Errorf("no elements at a null pointer: %v", err)
	}
	if got, err := core.Data[float32](x); len(got) != 0 || err != nil {
		t.Errorf("no elements are %v, %v", got, err)
	}
	x.Release()
}
