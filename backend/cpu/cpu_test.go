package cpu

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

func TestMemory(t *testing.T) {
	d := &Driver{}
	for _, n := range []int64{1, 63, 64, 1000, clearWork, clearWork + 1, 1<<20 + 3} {
		m, err := d.Alloc(0, n)
		if err != nil {
			t.Fatal(err)
		}
		if m.Host == nil || m.Addr != 0 || m.Bytes != n || uintptr(m.Host)%64 != 0 {
			t.Errorf("Alloc(%d): %+v", n, m)
		}
		b := unsafe.Slice((*byte)(m.Host), n)
		for i := range b {
			b[i] = 1
		}
		if err := d.Zero(0, 0, m, n-1); err != nil || bytes.IndexByte(b[:n-1], 1) >= 0 || b[n-1] != 1 {
			t.Errorf("Zero of %d of %d bytes: %v", n-1, n, err)
		}
		if err := d.Zero(0, 0, m, n+1); err == nil {
			t.Error("Zero past the end: no error")
		}
		if err := d.Free(0, m); err != nil {
			t.Error(err)
		}
	}
	for _, n := range []int64{0, -1, 1 << 62} {
		if _, err := d.Alloc(0, n); !errors.Is(err, device.ErrOutOfMemory) {
			t.Errorf("Alloc(%d): %v", n, err)
		}
	}
	if _, err := d.Alloc(1, 8); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("Alloc on cpu:1: %v", err)
	}
	if err := d.CopyOnDevice(0, 0, 1, 2, 3); err == nil {
		t.Error("CopyOnDevice: no error")
	}
}

func TestStreamsAndEvents(t *testing.T) {
	d, ctx := &Driver{}, context.Background()
	s, err := d.NewStream(0, 0)
	if err != nil || s == 0 {
		t.Fatalf("NewStream: %d, %v", s, err)
	}
	var at [2]device.EventID
	for i := range at {
		if at[i], err = d.NewEvent(0, true); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Elapsed(0, at[0], at[1]); err == nil {
		t.Error("time between events not recorded: no error")
	}
	if done, err := d.EventDone(0, at[0]); !done || err != nil {
		t.Errorf("an event never recorded: %v, %v", done, err)
	}
	for _, e := range at {
		if err := errors.Join(d.RecordEvent(0, e, s), d.WaitEvent(0, 0, 0, e), d.SyncEvent(ctx, 0, e)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if dt, err := d.Elapsed(0, at[0], at[1]); err != nil || dt < time.Millisecond {
		t.Errorf("Elapsed: %v, %v", dt, err)
	}
	plain, _ := d.NewEvent(0, false)
	if _, err := d.Elapsed(0, plain, at[1]); err == nil || !strings.Contains(err.Error(), "timing") {
		t.Errorf("Elapsed without timing: %v", err)
	}
	if err := errors.Join(d.SyncStream(ctx, 0, s), d.SyncDevice(ctx, 0), d.DestroyStream(0, s), d.DestroyEvent(0, plain)); err != nil {
		t.Error(err)
	}
	if _, err := d.StreamIdle(0, s); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("destroyed stream: %v", err)
	}
	if err := d.DestroyEvent(0, plain); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("destroyed event: %v", err)
	}
}

func TestProperties(t *testing.T) {
	d := &Driver{}
	if n, err := d.DeviceCount(); n != 1 || err != nil || d.Kind() != device.KindCPU {
		t.Errorf("DeviceCount: %d, %v", n, err)
	}
	p, err := d.Properties(0)
	if err != nil || p.Name == "" || p.Multiprocessors < 1 {
		t.Errorf("Properties: %+v, %v", p, err)
	}
	if free, total, err := d.MemoryInfo(0); err == nil && (free <= 0 || free > total) {
		t.Errorf("MemoryInfo: %d of %d", free, total)
	}
	if _, err := d.Properties(1); err == nil {
		t.Error("Properties of cpu:1: no error")
	}
	if !d.CanAccessPeer(0, 0) || d.CanAccessPeer(0, 1) || d.EnablePeerAccess(0, 0) != nil {
		t.Error("peer access")
	}
}

func TestLaunch(t *testing.T) {
	double := func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		out, x := unsafe.Slice((*float32)(p[0]), n), unsafe.Slice((*float32)(p[1]), n)
		for i := range out {
			out[i] = 2 * x[i]
		}
	}
	op := &ir.Op{
		Name: "double", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}},
		Code: []ir.Code{{For: "cpu", Of: &vector.Code{Loops: []*[ir.NumDTypes]vector.Func{{
			ir.Float32: double,
			ir.Float64: func(int, []unsafe.Pointer, []ir.Scalar, int64) { panic("loop") },
		}}}}},
	}
	x := cputest.From(ir.Float32, []int{3}, 1, 2, 3)
	c := &ir.Call{Kernel: op.Kernel(0, ir.Float32), Space: []int{3}, Out: []ir.View{x}, In: []ir.View{x}}
	d := &Driver{}
	if err := d.Launch(0, 0, c); err != nil {
		t.Fatal(err)
	}
	if got := cputest.Reals(x); got[0] != 2 || got[2] != 6 {
		t.Errorf("got %v", got)
	}
	c.Kernel = op.Kernel(0, ir.Float64)
	if err := d.Launch(0, 0, c); err == nil || !strings.Contains(err.Error(), "panicked: loop") {
		t.Errorf("a loop that panics: %v", err)
	}
	if err := d.Launch(0, 99, c); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("a stream that is not there: %v", err)
	}
	first := &ir.Call{Kernel: (&ir.Op{Name: "first", Kind: ir.Elementwise, In: op.In, Out: op.Out, Code: op.Code}).Kernel(0, ir.Float32), Space: c.Space, Out: c.Out, In: c.In}
	y := cputest.From(ir.Float32, []int{3}, 1, 2, 3) // calls beside each other touch nothing of one another's
	c.Out, c.In = []ir.View{y}, []ir.View{y}
	if err := d.LaunchAll(0, 0, []*ir.Call{first, c}); err == nil || !strings.HasPrefix(err.Error(), "double: ") || !strings.Contains(err.Error(), "panicked: loop") {
		t.Errorf("a loop that panics beside another one: %v", err)
	}
	if got := cputest.Reals(x); got[0] != 4 || got[2] != 12 {
		t.Errorf("the other one: %v", got)
	}
}
