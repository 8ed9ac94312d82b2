package conformance_test

import (
	"context"
	"errors"
	"math"
	"regexp"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// Out of memory is an error of its own type, whose text says what was tried, what
// the device has and has free, what is allowed, what is allocated, what of that is
// in private pools, what is reserved besides, and what may help.
//
// Differs: the program is named sinter, not PyTorch, and so is the variable; the bytes of
// other processes are not listed.
func TestP61(t *testing.T) {
	h := newHeap(t, "")
	h.limit(100 * mib)
	h.take(30 * mib)
	h.take(5 * mib)
	pool := memory.NewPool(h.dev, memory.PoolOptions{})
	var private memory.Block
	must(t, pool.Do(func() error { private = h.take(12 * mib); return nil }))
	_, err := h.try(0, 60*mib)
	var oom *memory.OutOfMemoryError
	if !errors.As(err, &oom) || !errors.Is(err, device.ErrOutOfMemory) {
		t.Fatalf("the error is %v", err)
	}
	size := `\d+(\.\d\d [KMG]iB| bytes)`
	want := regexp.MustCompile(`^(CUDA|SIM) out of memory\. Tried to allocate 60\.00 MiB\. (GPU 0|sim:0) has a total capacity of ` + size + ` of which ` + size + ` is free\. ` +
		`(Including non-sinter memory, this process has ` + size + ` memory in use\. )?100\.00 MiB allowed; Of the allocated memory 47\.00 MiB is allocated by sinter, ` +
		`with 12\.00 MiB allocated in private pools \(e\.g\., CUDA Graphs\), and 15\.00 MiB is reserved by sinter but unallocated\. ` +
		`If reserved but unallocated memory is large try setting SINTER_ALLOC_CONF=expandable_segments:True to avoid fragmentation\.`)
	if !want.MatchString(err.Error()) {
		t.Errorf("the text is\n%s\nwant\n%s", err, want)
	}
	h.free(private)
	must(t, pool.Release())
}

// The size in the text is that of the segment that the driver was or would have
// been asked for, with two decimals and a unit.
func TestP62(t *testing.T) {
	h := newHeap(t, "")
	must(t, memory.SetMemoryFraction(h.dev, 0))
	t.Cleanup(func() { must(t, memory.SetMemoryFraction(h.dev, 1)) })
	for bytes, text := range map[int64]string{
		1: "2.00 MiB", mib + 1: "20.00 MiB", 10*mib + 1: "12.00 MiB", 1500 * mib: "1.46 GiB", 1 << 50: "1048576.00 GiB",
	} {
		_, err := h.try(0, bytes)
		if err == nil || !regexp.MustCompile(`Tried to allocate `+regexp.QuoteMeta(text)+`\.`).MatchString(err.Error()) {
			t.Errorf("%d bytes: %v, want %s", bytes, err, text)
		}
	}
}

// A request of 1 EiB or more fails before anything else, with a text of its own.
func TestP63(t *testing.T) {
	h := newHeap(t, "")
	h.free(h.take(30 * mib))
	before := h.stats()
	h.drv.calls()
	for _, bytes := range []int64{1 << 60, 1<<63 - 1} {
		_, err := h.try(0, bytes)
		if err == nil || !regexp.MustCompile(`^(CUDA|SIM) out of memory\. Tried to allocate more than 1EB memory\.$`).MatchString(err.Error()) || !errors.Is(err, device.ErrOutOfMemory) {
			t.Errorf("%d bytes: %v", bytes, err)
		}
	}
	h.wantCalls("too large requests")
	equal(t, "figures", h.stats(), before)
}

// Out of memory leaves the device usable: earlier tensors are intact, and later
// allocations and kernels work.
func TestP64(t *testing.T) {
	dev := one(t)
	live(t, dev)
	x := tensor.Arange(0, 1000, 1, tensor.On(dev))
	y := tensor.Empty([]int{math.MaxInt >> 13}, tensor.On(dev))
	if err := y.Err(); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("a petabyte: %v", err)
	}
	z := x.Add(x)
	must(t, stream.Synchronize(context.Background(), dev))
	v := values(t, z)
	if v[1] != 2 || v[999] != 1998 {
		t.Errorf("after the error x+x is %v ... %v, want 2 ... 1998", v[1], v[999])
	}
	x.Release()
	z.Release()
}

// Before the error, what is cached is given back and the driver asked again; a
// block that the program frees makes the same request succeed.
func TestP65(t *testing.T) {
	h := newHeap(t, "")
	h.limit(100 * mib)
	a, b := h.take(60*mib), h.take(30*mib)
	h.free(b)
	h.drv.calls()
	c := h.take(40 * mib)
	h.wantCalls("a request that needs the cache", "free 31457280", "alloc 41943040")
	if _, err := h.try(0, 60*mib); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("with 100 MiB in use: %v", err)
	}
	h.free(a)
	h.free(h.take(60*mib), c)
	s := h.stats()
	equal(t, "retries, errors", []int64{s.AllocRetries, s.OutOfMemory}, []int64{2, 1})
}

// Observers are called once for each error, with the device, the bytes tried, the
// limit or the device's bytes, and those free; without the allocator's lock, so
// that they may allocate and free.
func TestP66(t *testing.T) {
	h := newHeap(t, "")
	_, total, err := h.drv.MemoryInfo(0)
	must(t, err)
	type call struct {
		Device           device.Device
		Requested, Limit int64
	}
	var calls []call
	remove := memory.OnOutOfMemory(func(d device.Device, requested, limit, free int64) {
		if free < 0 || free > total {
			t.Errorf("%d bytes free", free)
		}
		h.free(h.take(512))
		calls = append(calls, call{d, requested, limit})
	})
	defer remove()
	h.take(512)
	h.limit(50 * mib)
	_, err = h.try(0, 60*mib)
	must(t, memory.SetMemoryFraction(h.dev, 1))
	_, other := h.try(0, 1<<50)
	if err == nil || other == nil {
		t.Errorf("errors %v and %v", err, other)
	}
	equal(t, "calls", calls, []call{{h.dev, 60 * mib, 50 * mib}, {h.dev, 1 << 50, total}})
	remove()
	_, _ = h.try(0, 1<<50)
	equal(t, "calls after it was removed", len(calls), 2)
}

// An error of the driver that is not about memory is returned at once: nothing is
// tried again or given back.
func TestP67(t *testing.T) {
	drv := fresh(t, sim.Config{Devices: 1, Async: true})
	dev := device.Sim(0)
	cached, err := memory.Alloc(dev, drv, 0, 30*mib)
	must(t, err)
	must(t, cached.Free())
	broken := errors.New("a broken bus")
	must(t, drv.Fail(0, sim.FaultAlloc, 1, broken))
	_, err = memory.Alloc(dev, drv, 0, 40*mib)
	if !errors.Is(err, broken) || errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("the error is %v, want the driver's", err)
	}
	s := memory.StatsOf(dev)
	equal(t, "retries, errors, releases, reserved", []int64{s.AllocRetries, s.OutOfMemory, s.SyncAllStreams, s.ReservedBytes.All.Current}, []int64{0, 0, 0, 30 * mib})
	b, err := memory.Alloc(dev, drv, 0, 40*mib)
	must(t, err)
	must(t, b.Free())
}
