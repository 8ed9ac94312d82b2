package cuda_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

var ctx = context.Background()

// install makes simulated devices stand for CUDA devices.
func install(devices int) *sim.Driver {
	d := sim.New(sim.Config{Kind: device.KindCUDA, Devices: devices, Memory: 64 << 20, Async: true})
	device.Install(d)
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnavailable asks everything where there is no device, as on a machine
// without a driver.
func TestUnavailable(t *testing.T) {
	asked := func(reason string) {
		t.Helper()
		if cuda.IsAvailable() || cuda.DeviceCount() != 0 {
			t.Errorf("%d devices", cuda.DeviceCount())
		}
		_, properties := cuda.GetDeviceProperties()
		_, _, info := cuda.MemGetInfo()
		_, _, priorities := cuda.PriorityRange()
		_, fraction := cuda.MemoryFraction()
		for i, err := range []error{
			cuda.Unavailable(), properties, info, priorities, fraction, cuda.Synchronize(ctx), cuda.NewStream().Err(), cuda.CurrentStream().Err(),
			cuda.DefaultStream().Synchronize(ctx), cuda.ExternalStream(5).Err(), cuda.ResetPeakMemoryStats(), cuda.SetMemoryFraction(0.5),
			cuda.WithDevice(0, func() error { t.Error("WithDevice called its function"); return nil }),
		} {
			if !errors.Is(err, device.ErrUnavailable) || !strings.Contains(err.Error(), reason) {
				t.Errorf("call %d: %v, want %q", i, err, reason)
			}
		}
		if cuda.MemoryAllocated() != 0 || cuda.MaxMemoryReserved() != 0 || len(cuda.MemoryStats()) != 0 || cuda.EmptyCache() != nil || cuda.EmptyHostCache() != nil {
			t.Error("there is memory")
		}
	}
	install(0)
	asked("no device is simulated")
}

func TestDevices(t *testing.T) {
	install(2)
	if !cuda.IsAvailable() || cuda.DeviceCount() != 2 || cuda.Unavailable() != nil {
		t.Error(cuda.DeviceCount(), cuda.Unavailable())
	}
	if cuda.CurrentDevice() != 0 || cuda.Device(1) != device.CUDA(1) {
		t.Error(cuda.CurrentDevice(), cuda.Device(1))
	}
	must(t, cuda.WithDevice(1, func() error {
		if cuda.CurrentDevice() != 1 || cuda.Device().Resolve() != device.CUDA(1) || cuda.CurrentStream().Device() != device.CUDA(1) {
			t.Error("the current device is not the guard's")
		}
		if p, err := cuda.GetDeviceProperties(); p.UUID != "SIM-1" || err != nil {
			t.Error(p, err)
		}
		if p, err := cuda.GetDeviceProperties(cuda.Device(0)); p.UUID != "SIM-0" || err != nil {
			t.Error(p, err)
		}
		return nil
	}))
	must(t, cuda.Synchronize(ctx, cuda.Device(1)))
	for _, err := range []error{cuda.Synchronize(ctx, device.CPU), cuda.NewStream(tensor.On(device.Sim(0))).Err(), cuda.EmptyCache(device.CPU)} {
		if err == nil || !strings.Contains(err.Error(), "Expected a cuda device, but got: ") {
			t.Errorf("another kind of device: %v", err)
		}
	}
	if err := cuda.Synchronize(ctx, cuda.Device(0), cuda.Device(1)); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("two devices: %v", err)
	}
	if ok, err := cuda.CanAccessPeer(cuda.Device(0), cuda.Device(1)); !ok || err != nil {
		t.Error(ok, err)
	}
}

func TestStreams(t *testing.T) {
	d := install(2)
	s := cuda.NewStream()
	high := cuda.NewStream(tensor.On(cuda.Device(1)), cuda.Priority(-100))
	_, highest, err := cuda.PriorityRange()
	must(t, err)
	if s.Device() != cuda.Device(0) || high.Device() != cuda.Device(1) || high.Priority() != highest || s.Priority() != 0 {
		t.Error(s, high, high.Priority())
	}
	if cuda.CurrentStream() != cuda.DefaultStream() || cuda.ExternalStream(uintptr(s.ID())) != s {
		t.Error(cuda.CurrentStream(), cuda.ExternalStream(uintptr(s.ID())))
	}
	must(t, high.Do(func() error {
		if cuda.CurrentStream() != high || cuda.CurrentDevice() != 1 || cuda.CurrentStream(cuda.Device(0)) != cuda.DefaultStream(cuda.Device(0)) {
			t.Error("the current stream is not the scope's")
		}
		return nil
	}))
	release, err := d.Hold(0, s.ID())
	must(t, err)
	must(t, cuda.CurrentStream().WaitStream(s))
	from, to := cuda.NewTimingEvent(), cuda.NewEvent()
	must(t, from.Record(cuda.CurrentStream()))
	if done, err := from.Query(); done || err != nil {
		t.Error(done, err)
	}
	release()
	must(t, cuda.Synchronize(ctx))
	if _, err := from.Elapsed(to); !errors.Is(err, stream.ErrNotTiming) {
		t.Error(err)
	}
}

func TestMemory(t *testing.T) {
	d := install(2)
	if len(cuda.MemoryStats()) != 0 {
		t.Error("figures before the first allocation")
	}
	b, err := memory.Alloc(cuda.Device(0), d, 0, 1000)
	must(t, err)
	type numbers struct{ allocated, most, reserved, mostReserved int64 }
	want := func(n numbers) {
		t.Helper()
		got := numbers{cuda.MemoryAllocated(), cuda.MaxMemoryAllocated(), cuda.MemoryReserved(), cuda.MaxMemoryReserved()}
		if diff := cmp.Diff(n, got, cmp.AllowUnexported(n)); diff != "" {
			t.Error(diff)
		}
	}
	want(numbers{1024, 1024, 2 << 20, 2 << 20})
	if got := cuda.MemoryStats()["allocation.all.current"]; got != 1 || cuda.MemoryAllocated(cuda.Device(1)) != 0 {
		t.Error(got)
	}
	must(t, b.Free())
	want(numbers{0, 1024, 2 << 20, 2 << 20})
	must(t, cuda.EmptyCache())
	want(numbers{0, 1024, 0, 2 << 20})
	must(t, cuda.ResetPeakMemoryStats())
	must(t, cuda.ResetAccumulatedMemoryStats())
	want(numbers{})
	if free, total, err := cuda.MemGetInfo(); free != 64<<20 || total != 64<<20 || err != nil {
		t.Error(free, total, err)
	}
	must(t, cuda.SetMemoryFraction(0.25))
	var oom *cuda.OutOfMemoryError
	if _, err := memory.Alloc(cuda.Device(0), d, 0, 17<<20); !errors.As(err, &oom) || oom.Limit != 16<<20 {
		t.Error(err)
	}
	if f, err := cuda.MemoryFraction(); f != 0.25 || err != nil {
		t.Error(f, err)
	}
	pinned, err := memory.AllocPinned(d, 1000)
	must(t, err)
	must(t, pinned.Free())
	must(t, cuda.EmptyHostCache())
	if s := cuda.HostMemoryStats(); s.Allocations.Allocated != 1 || s.AllocatedBytes.Current != 0 || s.ActiveBytes.Peak != 1024 {
		t.Errorf("%+v", s)
	}
}
