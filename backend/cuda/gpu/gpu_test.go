package gpu

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// onGPU returns a driver with a device, or skips the test and says why not.
func onGPU(t testing.TB) *Driver {
	t.Helper()
	d := new(Driver)
	if n, err := d.DeviceCount(); n == 0 {
		t.Skip(err)
	}
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoDriver asks a driver that cannot be opened for everything.
func TestNoDriver(t *testing.T) {
	opened := 0
	d := &Driver{open: func() (driver.API, error) { opened++; return nil, driver.ErrNoLibrary }}
	for range 2 {
		if n, err := d.DeviceCount(); n != 0 || !errors.Is(err, driver.ErrNoLibrary) {
			t.Errorf("DeviceCount: %d, %v", n, err)
		}
	}
	if opened != 1 {
		t.Errorf("opened %d times", opened)
	}
	for name, f := range map[string]func() error{
		"Alloc":      func() error { _, err := d.Alloc(0, 8); return err },
		"AllocHost":  func() error { _, err := d.AllocHost(8); return err },
		"NewStream":  func() error { _, err := d.NewStream(0, 0); return err },
		"SyncDevice": func() error { return d.SyncDevice(context.Background(), 0) },
		"Launch":     func() error { return d.Launch(0, 0, nil) },
	} {
		if err := f(); !errors.Is(err, device.ErrUnavailable) || !errors.Is(err, driver.ErrNoLibrary) || !strings.Contains(err.Error(), "cuda:0") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d.CanAccessPeer(0, 1) {
		t.Error("access to a peer")
	}
}

func TestPinnedSet(t *testing.T) {
	var s pinnedSet
	memory := make([]byte, 8192)
	at := func(p int) unsafe.Pointer { return unsafe.Pointer(&memory[p]) }
	for _, p := range []int{4096, 64, 1024} {
		s.add(span{start: at(p), bytes: 128, dev: 1})
	}
	tests := []struct {
		p     int
		bytes int64
		want  bool
	}{{64, 128, true}, {100, 92, true}, {100, 93, false}, {63, 8, false}, {192, 1, false}, {1151, 1, true}, {4096, 0, true}, {8191, 1, false}}
	for _, tt := range tests {
		if got := s.has(at(tt.p), tt.bytes); got != tt.want {
			t.Errorf("has(%d, %d) = %v", tt.p, tt.bytes, got)
		}
	}
	if dev, known := s.remove(at(1024)); dev != 1 || !known {
		t.Errorf("removed a block of device %d, %t", dev, known)
	}
	if _, known := s.remove(at(70)); known {
		t.Error("an address that is not a block's first byte was removed")
	}
	if s.has(at(1024), 1) || !s.has(at(64), 1) || !s.has(at(4096), 1) {
		t.Error("remove took another block, or none")
	}
}

func TestDevice(t *testing.T) {
	d := onGPU(t)
	p, err := d.Properties(0)
	must(t, err)
	if p.Name == "" || p.TotalMemory < 1<<30 || p.Major < 5 || p.Multiprocessors < 1 || !strings.HasPrefix(p.UUID, "GPU-") {
		t.Errorf("%+v", p)
	}
	m, err := d.Alloc(0, 1<<20)
	must(t, err)
	must(t, d.Free(0, m))
	_, err = d.Alloc(0, p.TotalMemory*2)
	if !errors.Is(err, device.ErrOutOfMemory) || !errors.Is(err, driver.OutOfMemory) {
		t.Errorf("too large an allocation: %v", err)
	}
	if _, err := d.Alloc(99, 8); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("no device: %v", err)
	}
	if low, high := d.PriorityRange(0); low < high {
		t.Errorf("priorities %d to %d", low, high)
	}
}

// TestTransfers copies to the device and back: page-locked, small, and in chunks,
// from odd addresses, on the default and on another stream.
func TestTransfers(t *testing.T) {
	d := onGPU(t)
	s, err := d.NewStream(0, 0)
	must(t, err)
	defer func() { must(t, d.DestroyStream(0, s)) }()
	for _, n := range []int{1, 1000, stagedBytes - 1, stagedBytes, chunkBytes + 5, 13*chunkBytes + 3, 100*chunkBytes + 1} {
		for _, on := range []device.StreamID{0, s} {
			m, err := d.Alloc(0, int64(n)+64)
			must(t, err)
			from, to := make([]byte, n+1)[1:], make([]byte, n+1)[1:]
			for i := range from {
				from[i] = byte(i*7 + i>>8 + i>>16)
			}
			must(t, d.CopyFromHost(0, on, m.Addr+3, unsafe.Pointer(&from[0]), int64(n)))
			want := slices.Clone(from)
			clear(from) // it was read
			must(t, d.CopyToHost(0, on, unsafe.Pointer(&to[0]), m.Addr+3, int64(n)))
			must(t, d.SyncStream(context.Background(), 0, on))
			if !slices.Equal(want, to) {
				t.Errorf("%d bytes on stream %d came back changed", n, on)
			}
			must(t, d.Free(0, m))
		}
	}
}

func TestPinnedTransfer(t *testing.T) {
	d := onGPU(t)
	const n = 3 << 20
	h, err := d.AllocHost(n)
	must(t, err)
	m, err := d.Alloc(0, n)
	must(t, err)
	bytes := unsafe.Slice((*byte)(h.Host), n)
	for i := range bytes {
		bytes[i] = byte(i % 251)
	}
	must(t, d.CopyFromHost(0, 0, m.Addr, h.Host, n))
	must(t, d.SyncStream(context.Background(), 0, 0))
	clear(bytes)
	must(t, d.CopyToHost(0, 0, unsafe.Add(h.Host, 100), m.Addr+100, n-100))
	ctx, cancel := context.WithTimeout(context.Background(), patience.Left(t))
	defer cancel()
	must(t, d.SyncStream(ctx, 0, 0))
	for i, b := range bytes {
		if want := byte(i % 251); i >= 100 && b != want || i < 100 && b != 0 {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
	must(t, d.Zero(0, 0, m, n))
	must(t, d.CopyOnDevice(0, 0, m.Addr, m.Addr+n/2, n/2))
	must(t, d.Free(0, m))
	must(t, d.FreeHost(h))
}

func TestEvents(t *testing.T) {
	d := onGPU(t)
	start, err := d.NewEvent(0, true)
	must(t, err)
	end, err := d.NewEvent(0, true)
	must(t, err)
	m, err := d.Alloc(0, 1<<28)
	must(t, err)
	s, err := d.NewStream(0, 0)
	must(t, err)
	must(t, d.RecordEvent(0, start, s))
	for range 10 {
		must(t, d.Zero(0, s, m, m.Bytes))
	}
	must(t, d.RecordEvent(0, end, s))
	must(t, d.WaitEvent(0, 0, 0, end))
	must(t, d.SyncStream(context.Background(), 0, 0))
	if done, err := d.EventDone(0, end); err != nil || !done {
		t.Errorf("EventDone: %v, %v", done, err)
	}
	took, err := d.Elapsed(0, start, end)
	if err != nil || took <= 0 {
		t.Errorf("Elapsed: %v, %v", took, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	for range 200 {
		must(t, d.Zero(0, s, m, m.Bytes))
	}
	cancel()
	if err := d.SyncStream(ctx, 0, s); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("SyncStream: %v", err)
	}
	must(t, d.SyncDevice(context.Background(), 0))
	if idle, err := d.StreamIdle(0, s); err != nil || !idle {
		t.Errorf("StreamIdle: %v, %v", idle, err)
	}
	must(t, d.DestroyEvent(0, start))
	must(t, d.DestroyEvent(0, end))
	must(t, d.DestroyStream(0, s))
	must(t, d.Free(0, m))
}

// BenchmarkTransfer copies 256 MiB of pageable memory.
func BenchmarkTransfer(b *testing.B) {
	d := onGPU(b)
	const n = 256 << 20
	m, err := d.Alloc(0, n)
	must(b, err)
	host := make([]byte, n)
	for i := range host {
		host[i] = 1
	}
	for name, f := range map[string]func() error{
		"from pageable": func() error { return d.CopyFromHost(0, 0, m.Addr, unsafe.Pointer(&host[0]), n) },
		"to pageable":   func() error { return d.CopyToHost(0, 0, unsafe.Pointer(&host[0]), m.Addr, n) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				must(b, f())
				must(b, d.SyncStream(context.Background(), 0, 0))
			}
		})
	}
	must(b, d.Free(0, m))
}
