package memory

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/figures"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestSegments is the table of A5.
func TestSegments(t *testing.T) {
	for _, c := range []struct{ request, block, segment int64 }{
		{1, 512, 2097152},
		{511, 512, 2097152},
		{512, 512, 2097152},
		{513, 1024, 2097152},
		{1024, 1024, 2097152},
		{1048576, 1048576, 2097152},
		{1048577, 1049088, 20971520},
		{10485248, 10485248, 20971520},
		{10485249, 10485760, 10485760},
		{10485760, 10485760, 10485760},
		{10485761, 10486272, 12582912},
		{12582913, 12583424, 14680064},
		{104857601, 104858112, 106954752},
	} {
		drv := newFake(1 << 30)
		start(t, drv)
		b := take(t, drv, 0, c.request)
		s := StatsOf(cuda0)
		whole := c.segment-c.block <= mib && c.block > mib // the rest is not worth dividing off
		want := c.block
		if whole {
			want = c.segment
		}
		if b.Bytes != want || s.ReservedBytes.All.Current != c.segment || s.AllocatedBytes.All.Current != want || s.RequestedBytes.All.Current != c.request {
			t.Errorf("%d bytes: a block of %d in a segment of %d, want %d in %d", c.request, b.Bytes, s.ReservedBytes.All.Current, want, c.segment)
		}
	}
}

// now is the figures of the conformance traces.
type now struct{ allocated, requested, reserved, split, splitBytes int64 }

func figuresOf(d device.Device) now {
	s := StatsOf(d)
	return now{
		s.AllocatedBytes.All.Current, s.RequestedBytes.All.Current, s.ReservedBytes.All.Current,
		s.InactiveSplit.All.Current, s.InactiveSplitBytes.All.Current,
	}
}

// TestTraces are the conformance traces at the end of section 3.
func TestTraces(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	step := 0
	want := func(n now) {
		t.Helper()
		step++
		if diff := cmp.Diff(n, figuresOf(cuda0), cmp.AllowUnexported(now{})); diff != "" {
			t.Errorf("step %d: %s", step, diff)
		}
	}
	x, y, z := take(t, drv, 0, 1000), take(t, drv, 0, 1000), take(t, drv, 0, 1000)
	want(now{3072, 3000, 2 * mib, 1, 2094080})
	free(t, y)
	want(now{2048, 2000, 2 * mib, 2, 2095104})
	free(t, x)
	want(now{1024, 1000, 2 * mib, 2, 2096128})
	w := take(t, drv, 0, 2048)
	if w.Addr != x.Addr {
		t.Errorf("2048 bytes are at %#x, want the place of two blocks freed, %#x", w.Addr, x.Addr)
	}
	want(now{3072, 3048, 2 * mib, 1, 2094080})
	free(t, w)
	want(now{1024, 1000, 2 * mib, 2, 2096128})
	free(t, z)
	want(now{0, 0, 2 * mib, 0, 0})
	if err := EmptyCache(cuda0); err != nil {
		t.Fatal(err)
	}
	want(now{})
	s := StatsOf(cuda0)
	if s.SyncAllStreams != 1 || s.DeviceFrees != 1 || s.DeviceAllocs != 1 || len(drv.live) != 0 {
		t.Errorf("after EmptyCache: %d synchronisations, %d frees, %d segments left", s.SyncAllStreams, s.DeviceFrees, len(drv.live))
	}
}

// TestOtherStream is the second trace: a freed block waits for another stream.
func TestOtherStream(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	b := take(t, drv, 1, 100)
	b.RecordStream(1) // its own
	b.RecordStream(2)
	b.RecordStream(2)
	drv.setBusy(2, true)
	free(t, b)
	if s := StatsOf(cuda0); s.AllocatedBytes.All.Current != 0 || s.ActiveBytes.All.Current != 512 || s.Active.Small.Current != 1 || s.RequestedBytes.All.Current != 100 {
		t.Errorf("allocated %d, active %d, requested %d while awaiting a stream",
			s.AllocatedBytes.All.Current, s.ActiveBytes.All.Current, s.RequestedBytes.All.Current)
	}
	c := take(t, drv, 1, 100)
	if c.Addr != b.Addr+512 {
		t.Errorf("a block is at +%d while another stream uses the first", c.Addr-b.Addr)
	}
	drv.setBusy(2, false)
	d := take(t, drv, 1, 100)
	if d.Addr != b.Addr {
		t.Errorf("a block is at +%d, want the place that is not used any more", int64(d.Addr-b.Addr))
	}
	if len(drv.events) != 1 {
		t.Errorf("%d events for a stream recorded twice", len(drv.events))
	}
	if e := take(t, drv, 2, 100); e.Addr-b.Addr < 2*mib {
		t.Error("a block of another stream comes from the same segment")
	}
	if s := StatsOf(cuda0); s.Segment.All.Current != 2 || s.RequestedBytes.All.Current != 300 {
		t.Errorf("%d segments, %d bytes requested", s.Segment.All.Current, s.RequestedBytes.All.Current)
	}
}

// TestSplit has what A9 says of large blocks, and A7's choice among free ones.
func TestSplit(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	a := take(t, drv, 0, 12*mib)
	free(t, a)
	b := take(t, drv, 0, 11*mib)
	if b.Bytes != 12*mib || b.Addr != a.Addr {
		t.Errorf("11 MiB from a block of 12 MiB: %d bytes", b.Bytes)
	}
	free(t, b)
	c := take(t, drv, 0, 11*mib-512)
	if c.Bytes != 11*mib-512 {
		t.Errorf("11 MiB - 512 from a block of 12 MiB: %d bytes", c.Bytes)
	}
	blocks := make([]Block, 6)
	for i := range blocks {
		blocks[i] = take(t, drv, 0, []int64{2048, 512, 1024, 512, 1024, 512}[i])
	}
	free(t, blocks[4], blocks[0], blocks[2])
	if d := take(t, drv, 0, 600); d.Addr != blocks[2].Addr {
		t.Error("of two that fit exactly, the one with the lower address was not taken")
	}
	if d := take(t, drv, 0, 600); d.Addr != blocks[4].Addr {
		t.Error("a larger block was taken before one that fits exactly")
	}
}

func TestNothing(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	b := take(t, drv, 0, 0)
	if b.Addr != 0 || b.Free() != nil || b.Free() != nil || Used(cuda0) {
		t.Errorf("no bytes: %+v", b)
	}
	b.RecordStream(3)
	if _, err := Alloc(cuda0, drv, 0, -1); err == nil || !strings.Contains(err.Error(), "cuda:0: cannot allocate -1 bytes") {
		t.Errorf("-1 bytes: %v", err)
	}
	if s := StatsOf(cuda0); s != (figures.Stats{}) {
		t.Errorf("figures before the first allocation: %+v", s)
	}
}

// TestFreedTwice frees blocks again, also when their memory was lent since or has
// become a part of another block.
func TestFreedTwice(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	twice := func(what string, b Block) {
		t.Helper()
		before := figuresOf(cuda0)
		if err := b.Free(); !errors.Is(err, ErrFreed) {
			t.Errorf("%s: %v", what, err)
		}
		b.RecordStream(7)
		if diff := cmp.Diff(before, figuresOf(cuda0), cmp.AllowUnexported(now{})); diff != "" {
			t.Errorf("%s changes figures: %s", what, diff)
		}
	}
	x, y := take(t, drv, 0, 512), take(t, drv, 0, 512)
	free(t, x)
	twice("at once", x)
	free(t, y)
	twice("after it was merged", y)
	z := take(t, drv, 0, 512)
	twice("after it was lent again", x)
	free(t, z)
	z.RecordStream(4)
	w := take(t, drv, 0, 512)
	free(t, w)
	if len(drv.events) != 0 {
		t.Error("a stream that was recorded after the free is waited for")
	}
	if err := EmptyCache(cuda0); err != nil {
		t.Fatal(err)
	}
	twice("after its segment went back", x)

	h, err := allocHost(hostDriver{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	free(t, h)
	twice("on the host", h)
	p, err := AllocPinnedFor(cuda0, hostDriver{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	free(t, p)
	twice("pinned", p)
}

func TestOutOfMemory(t *testing.T) {
	drv := newFake(100 * mib)
	start(t, drv)
	kept, cached := take(t, drv, 0, 30*mib), take(t, drv, 0, 40*mib)
	free(t, cached)
	big := take(t, drv, 0, 60*mib) // after the cache went back
	s := StatsOf(cuda0)
	if s.AllocRetries != 1 || s.SyncAllStreams != 1 || s.OutOfMemory != 0 || s.DeviceFrees != 1 {
		t.Errorf("after a retry: %+v", s.Map())
	}
	_, err := Alloc(cuda0, drv, 0, 11*mib)
	want := "CUDA out of memory. Tried to allocate 12.00 MiB. GPU 0 has a total capacity of 100.00 MiB of which 10.00 MiB is free. " +
		"Of the allocated memory 90.00 MiB is allocated by sinter, and 0 bytes is reserved by sinter but unallocated. " +
		"If reserved but unallocated memory is large try setting SINTER_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
	var oom *OutOfMemoryError
	if err == nil || err.Error() != want || !errors.As(err, &oom) || !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("error %q, want %q", err, want)
	}
	if s := StatsOf(cuda0); s.OutOfMemory != 1 || s.AllocRetries != 2 || s.SyncAllStreams != 2 {
		t.Errorf("after an error: %+v", s.Map())
	}
	free(t, big)
	free(t, take(t, drv, 0, 11*mib), kept) // the device is still usable

	_, err = Alloc(cuda0, drv, 0, 1<<60)
	if err == nil || err.Error() != "CUDA out of memory. Tried to allocate more than 1EB memory." || !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("1 EiB: %v", err)
	}
	drv.broken = errors.New("a broken bus")
	retries := StatsOf(cuda0).AllocRetries
	if _, err = Alloc(cuda0, drv, 0, 70*mib); !errors.Is(err, drv.broken) || !strings.Contains(err.Error(), "cuda:0: cannot allocate 73400320 bytes") {
		t.Errorf("an error that is not about memory: %v", err)
	}
	if got := StatsOf(cuda0).AllocRetries; got != retries {
		t.Error("an error that is not about memory was tried again")
	}
}

// TestAwaitedMemory has a freed block that another stream uses save an allocation
// from running out of memory.
func TestAwaitedMemory(t *testing.T) {
	drv := newFake(100 * mib)
	start(t, drv)
	b := take(t, drv, 0, 80*mib)
	b.RecordStream(5)
	drv.setBusy(5, true)
	free(t, b)
	free(t, take(t, drv, 0, 90*mib))
}

func TestMemoryFraction(t *testing.T) {
	drv := newFake(100 * mib)
	start(t, drv)
	if got := MemoryFraction(cuda0); got != 1 {
		t.Errorf("fraction %v before it was set", got)
	}
	if err := SetMemoryFraction(cuda0, 0.5); err != nil || MemoryFraction(cuda0) != 0.5 {
		t.Fatal(err, MemoryFraction(cuda0))
	}
	b := take(t, drv, 0, 50*mib)
	_, err := Alloc(cuda0, drv, 0, 1)
	if err == nil || !strings.Contains(err.Error(), "which 50.00 MiB is free. 50.00 MiB allowed; Of the allocated") {
		t.Errorf("over the limit: %v", err)
	}
	free(t, b)
	free(t, take(t, drv, 0, 1)) // after the cache went back
	for _, bad := range []float64{-0.1, 1.1} {
		if err := SetMemoryFraction(cuda0, bad); err == nil || !strings.Contains(err.Error(), fmt.Sprint(bad)) {
			t.Errorf("fraction %v: %v", bad, err)
		}
	}
	if err := SetMemoryFraction(device.CPU, 0.5); err == nil {
		t.Error("the host has a limit")
	}
}

func TestOnPressure(t *testing.T) {
	drv := newFake(100 * mib)
	start(t, drv)
	kept := take(t, drv, 0, 60*mib)
	calls := 0
	defer OnPressure(nil)()
	remove := OnPressure(func(d device.Device) {
		calls++
		if d != cuda0 {
			t.Errorf("pressure on %s", d)
		}
		if calls == 1 {
			free(t, kept)
		}
	})
	b := take(t, drv, 0, 50*mib)
	if b.Addr != kept.Addr || calls != 1 || StatsOf(cuda0).AllocRetries != 0 {
		t.Errorf("%d calls, a new segment for what the first call freed", calls)
	}
	free(t, b)
	free(t, take(t, drv, 0, 50*mib))
	remove()
	free(t, take(t, drv, 0, 100))
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

func TestNoCaching(t *testing.T) {
	for _, name := range []string{"SINTER_NO_MEMORY_CACHING", "PYTORCH_NO_CUDA_MEMORY_CACHING"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "1")
			drv := newFake(1000)
			start(t, drv)
			b := take(t, drv, 0, 1000)
			b.RecordStream(1)
			if len(drv.live) != 1 || b.Bytes != 1000 {
				t.Errorf("%d driver allocations, a block of %d", len(drv.live), b.Bytes)
			}
			_, err := Alloc(cuda0, drv, 0, 1)
			if err == nil || !strings.Contains(err.Error(), "Tried to allocate 1 bytes. ") {
				t.Errorf("a full device: %v", err)
			}
			free(t, b)
			if err := b.Free(); !errors.Is(err, ErrFreed) {
				t.Errorf("freed twice: %v", err)
			}
			if err := EmptyCache(cuda0); err != nil || len(drv.live) != 0 || StatsOf(cuda0) != (figures.Stats{}) {
				t.Error(err, drv.live, StatsOf(cuda0))
			}
		})
	}
}

// TestReplacedDriver has another driver take a device's place, and the first
// again.
func TestReplacedDriver(t *testing.T) {
	one, two := newFake(100*mib), newFake(100*mib)
	start(t, one)
	kept := take(t, one, 0, 5*mib)
	free(t, take(t, one, 0, 50*mib))
	start(t, two)
	if got := Allocated(cuda0); got != 0 {
		t.Errorf("%d bytes on a new driver", got)
	}
	b := take(t, two, 0, 100)
	if len(one.live) != 1 {
		t.Errorf("the driver before has %d segments", len(one.live))
	}
	start(t, one)
	if got := Allocated(cuda0); got != kept.Bytes {
		t.Errorf("%d bytes, want those held before, %d", got, kept.Bytes)
	}
	free(t, b, kept)
}

func TestStats(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	a, b := take(t, drv, 0, 1000), take(t, drv, 0, 3*mib)
	free(t, a)
	got := StatsOf(cuda0).Map()
	want := map[string]int64{
		"allocated_bytes.all.current": 3 * mib, "allocated_bytes.all.peak": 3*mib + 1024,
		"allocated_bytes.small_pool.current": 0, "allocated_bytes.small_pool.peak": 1024,
		"allocated_bytes.small_pool.allocated": 1024, "allocated_bytes.small_pool.freed": 1024,
		"allocation.large_pool.current": 1, "segment.all.current": 2, "reserved_bytes.large_pool.peak": 20 * mib,
		"requested_bytes.all.allocated": 3*mib + 1000, "inactive_split_bytes.large_pool.current": 17 * mib,
		"active.all.peak": 2, "num_device_alloc": 2, "num_ooms": 0,
	}
	for key, value := range want {
		if v, ok := got[key]; v != value || !ok {
			t.Errorf("%s = %d, %t; want %d", key, v, ok, value)
		}
	}
	if len(got) != 9*3*4+2*4+7 {
		t.Errorf("%d figures", len(got))
	}
	ResetPeak(cuda0)
	ResetAccumulated(cuda0)
	free(t, b)
	s := StatsOf(cuda0)
	if diff := cmp.Diff(figures.Stat{Peak: 3 * mib, Freed: 3 * mib}, s.AllocatedBytes.All); diff != "" || s.DeviceAllocs != 0 {
		t.Error(diff, s.DeviceAllocs)
	}
	if MaxAllocated(cuda0) != 3*mib || Reserved(cuda0) != 22*mib || MaxReserved(cuda0) != 22*mib {
		t.Error(MaxAllocated(cuda0), Reserved(cuda0), MaxReserved(cuda0))
	}
}

// TestGoroutines has 64 goroutines allocate, share and free at once.
func TestGoroutines(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	shared := make(chan Block, 32)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			s := device.StreamID(i % 3)
			for k := range 200 {
				b, err := Alloc(cuda0, drv, s, int64(1+(i*7919+k*104729)%(1500*1024)))
				if err != nil {
					t.Error(err)
					return
				}
				if k%3 == 0 {
					b.RecordStream(device.StreamID(k % 4))
				}
				if k%2 == 0 {
					select {
					case shared <- b:
						continue
					case other := <-shared:
						_ = other.Free()
					}
				}
				if k%5 == 0 {
					go func() { _ = b.Free() }()
				}
				_ = b.Free()
				if k == 100 && i%16 == 0 {
					_ = EmptyCache(cuda0)
				}
			}
		})
	}
	wg.Wait()
	close(shared)
	for b := range shared {
		_ = b.Free()
	}
	patience.Until(t, func() bool { return Allocated(cuda0) == 0 }) // goroutines may be left that free for others
	if err := EmptyCache(cuda0); err != nil {
		t.Fatal(err)
	}
	s := StatsOf(cuda0)
	s.Each(func(name string, m *figures.Metric) {
		if m.All.Current != 0 || m.Small.Current != 0 || m.Large.Current != 0 {
			t.Errorf("%s is left at %+v", name, *m)
		}
	})
	if len(drv.live) != 0 {
		t.Errorf("%d segments are left", len(drv.live))
	}
}
