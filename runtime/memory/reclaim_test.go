package memory

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/figures"
)

// sizes returns the bytes of a fake's live segments by how many there are.
func (f *fake) sizes() map[int64]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := map[int64]int{}
	for _, bytes := range f.live {
		n[bytes/mib]++
	}
	return n
}

// TestRetire is A20: of the cached large segments the older ones go when the
// threshold's part of the limit is exceeded.
func TestRetire(t *testing.T) {
	drv := newFake(1000 * mib)
	start(t, drv)
	configure(t, "garbage_collection_threshold:0.5")
	if err := SetMemoryFraction(cuda0, 0.4); err != nil {
		t.Fatal(err)
	}
	helper, old, kept, young := take(t, drv, 0, 12*mib), take(t, drv, 0, 60*mib), take(t, drv, 0, 70*mib), take(t, drv, 0, 80*mib)
	free(t, old, helper)
	for range 8 { // searches of the pool
		free(t, take(t, drv, 0, 11*mib+512*1024))
	}
	free(t, young)
	free(t, take(t, drv, 0, 1000))
	// 12+60+70+80+2 MiB are 24 over 200; 60 is older than the average.
	b := take(t, drv, 0, 100*mib)
	if diff := cmp.Diff(map[int64]int{12: 1, 70: 1, 80: 1, 2: 1, 100: 1}, drv.sizes()); diff != "" {
		t.Errorf("segments in MiB: %s", diff)
	}
	if s := StatsOf(cuda0); s.AllocRetries != 0 || s.SyncAllStreams != 0 || s.DeviceFrees != 1 {
		t.Errorf("%d retries, %d synchronisations, %d frees", s.AllocRetries, s.SyncAllStreams, s.DeviceFrees)
	}
	free(t, kept, b)
}

// TestOversize is A8 and A17's step 7, with A28's counts.
func TestOversize(t *testing.T) {
	drv := newFake(300 * mib)
	start(t, drv)
	configure(t, "max_split_size_mb:40,max_non_split_rounding_mb:10")
	big := take(t, drv, 0, 60*mib)
	free(t, big)
	small := take(t, drv, 0, 30*mib)
	if small.Addr == big.Addr {
		t.Error("an oversize block serves a smaller request")
	}
	if b := take(t, drv, 0, 45*mib); b.Addr == big.Addr {
		t.Error("a block serves a request that it exceeds by too much")
	} else {
		free(t, b)
	}
	fits := take(t, drv, 0, 51*mib)
	if fits.Addr != big.Addr || fits.Bytes != 60*mib {
		t.Errorf("51 MiB are in %d bytes of another block", fits.Bytes)
	}
	s := StatsOf(cuda0)
	if diff := cmp.Diff([]figures.Stat{{Current: 1, Peak: 1, Allocated: 3, Freed: 2}, {Current: 2, Peak: 2, Allocated: 2}}, []figures.Stat{s.OversizeAllocations, s.OversizeSegments}); diff != "" || s.MaxSplitSize != 40*mib {
		t.Errorf("max split %d, oversize %s", s.MaxSplitSize, diff)
	}
	free(t, fits)
	// 60 and 46 MiB are cached, 30 lent. For 49 the one is too large, and too much.
	middle := take(t, drv, 0, 163*mib)
	c := take(t, drv, 0, 49*mib)
	if diff := cmp.Diff(map[int64]int{30: 1, 46: 1, 50: 1, 164: 1}, drv.sizes()); diff != "" || StatsOf(cuda0).AllocRetries != 0 {
		t.Errorf("%d retries, segments in MiB: %s", StatsOf(cuda0).AllocRetries, diff)
	}
	free(t, c)
	// 10 MiB are free: neither 46 nor 50 more are enough for 90, both are.
	d := take(t, drv, 0, 90*mib)
	if diff := cmp.Diff(map[int64]int{30: 1, 90: 1, 164: 1}, drv.sizes()); diff != "" || StatsOf(cuda0).AllocRetries != 0 {
		t.Errorf("%d retries, segments in MiB: %s", StatsOf(cuda0).AllocRetries, diff)
	}
	free(t, d, middle, small)
	if err := EmptyCache(cuda0); err != nil || StatsOf(cuda0).OversizeSegments.Current != 0 || StatsOf(cuda0).OversizeAllocations.Current != 0 {
		t.Errorf("%v: oversize blocks are left: %+v", err, StatsOf(cuda0).OversizeSegments)
	}
}

// TestRejects is P49: what is over the limit fails without an attempt to make room.
func TestRejects(t *testing.T) {
	drv := newFake(100 * mib)
	start(t, drv)
	configure(t, "throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.5")
	free(t, take(t, drv, 0, 40*mib))
	_, err := Alloc(cuda0, drv, 0, 45*mib)
	s := StatsOf(cuda0)
	if !errors.Is(err, device.ErrOutOfMemory) || s.Rejections != 1 || s.OutOfMemory != 0 || s.AllocRetries != 0 || segments(cuda0) != 1 {
		t.Errorf("%v: %d rejections, %d errors, %d retries, %d segments", err, s.Rejections, s.OutOfMemory, s.AllocRetries, segments(cuda0))
	}
}

// TestObservers is P66, and what P61's text says of private pools.
func TestObservers(t *testing.T) {
	drv := newFake(100 * mib)
	start(t, drv)
	type report struct {
		Device                 device.Device
		Requested, Limit, Free int64
	}
	var got []report
	defer OnOutOfMemory(nil)()
	remove := OnOutOfMemory(func(d device.Device, requested, limit, free int64) {
		got = append(got, report{d, requested, limit, free})
		Allocated(d) // takes the allocator's lock
	})
	within(t, NewPool(cuda0, PoolOptions{}), func() { take(t, drv, 0, 30*mib) })
	_, err := Alloc(cuda0, drv, 0, 79*mib)
	if err == nil || !strings.Contains(err.Error(), "30.00 MiB is allocated by sinter, with 30.00 MiB allocated in private pools (e.g., CUDA Graphs), and 0 bytes is reserved") {
		t.Errorf("the error is %v", err)
	}
	if err := SetMemoryFraction(cuda0, 0.5); err != nil {
		t.Fatal(err)
	}
	_, _ = Alloc(cuda0, drv, 0, 79*mib)
	remove()
	_, _ = Alloc(cuda0, drv, 0, 79*mib)
	if diff := cmp.Diff([]report{{cuda0, 80 * mib, 100 * mib, 70 * mib}, {cuda0, 80 * mib, 50 * mib, 70 * mib}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestSetCaching is P54.
func TestSetCaching(t *testing.T) {
	drv := newFake(100 * mib)
	start(t, drv)
	defer SetCaching(true)
	a := take(t, drv, 0, 1000)
	SetCaching(false)
	b := take(t, drv, 0, 1000)
	if s := StatsOf(cuda0); s.RequestedBytes.All.Allocated != 1000 || b.Bytes != 1000 || len(drv.live) != 2 || Caching() {
		t.Errorf("%d bytes were requested, a block of %d", s.RequestedBytes.All.Allocated, b.Bytes)
	}
	CaptureBegun(cuda0)
	if _, err := Alloc(cuda0, drv, 0, 1000); err == nil || !strings.Contains(err.Error(), "not cached, which a capture needs") {
		t.Errorf("without caching in a capture: %v", err)
	}
	CaptureEnded(cuda0)
	free(t, a, b)
	if err := EmptyCache(cuda0); err != nil || len(drv.live) != 0 {
		t.Errorf("%v: %d segments are left", err, len(drv.live))
	}
	SetCaching(true)
	free(t, take(t, drv, 0, 1000))
	if s := StatsOf(cuda0); s.RequestedBytes.All.Allocated != 2000 {
		t.Errorf("%d bytes were requested", s.RequestedBytes.All.Allocated)
	}
}

// TestRaw is P55 and A12.
func TestRaw(t *testing.T) {
	drv := newFake(100 * mib)
	start(t, drv)
	addr, err := AllocRaw(cuda0, 3, 1000)
	if err != nil || addr == 0 || Allocated(cuda0) != 1024 {
		t.Fatalf("%#x, %v, %d bytes", addr, err, Allocated(cuda0))
	}
	if b := take(t, drv, 3, 100); b.Addr != addr+1024 {
		t.Error("the address is not of the stream's segment")
	}
	for _, bad := range []uint64{addr + 512, 1, 1 << 63} {
		if err := FreeRaw(device.KindCUDA, bad); !errors.Is(err, ErrInvalidPointer) || !strings.HasPrefix(err.Error(), "invalid device pointer: 0x") {
			t.Errorf("freeing %#x: %v", bad, err)
		}
	}
	if err := errors.Join(FreeRaw(device.KindCUDA, 0), FreeRaw(device.KindCUDA, addr)); err != nil {
		t.Error(err)
	}
	if err := FreeRaw(device.KindCUDA, addr); !errors.Is(err, ErrInvalidPointer) || Allocated(cuda0) != 512 {
		t.Errorf("freed twice: %v", err)
	}
	if addr, err := AllocRaw(cuda0, 0, 0); addr != 0 || err != nil {
		t.Errorf("no bytes: %#x, %v", addr, err)
	}
}
