package conformance_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

// Device memory comes from a caching allocator: what was freed is lent again
// without a call of the driver.
func TestS39(t *testing.T) {
	h := newHeap(t, "")
	h.free(h.take(3 * mib))
	h.wantCalls("the first allocation", "alloc 20971520")
	for range 10 {
		h.free(h.take(3 * mib))
	}
	h.wantCalls("ten more")
}

// Freeing waits for nothing: neither for the work of the block's stream nor for
// that of others.
func TestS40(t *testing.T) {
	h := newHeap(t, "")
	s, u := h.holdStream(), h.holdStream()
	own, shared := h.takeOn(s, 3*mib), h.take(3*mib)
	shared.RecordStream(u)
	h.drv.calls()
	h.free(own, shared)
	h.wantCalls("two frees")
	equal(t, "the streams are still busy", []bool{h.drv.held(s), h.drv.held(u)}, []bool{true, true})
	h.finish()
}

// Memory that is cached and not in use counts as used for other programs: the
// device says that it is not free.
func TestS41(t *testing.T) {
	h := newHeap(t, "")
	size, slack := int64(64*mib), int64(0)
	if onGPU() { // other programs may use it meanwhile
		size, slack = 8<<30, 1<<30
	}
	before, _, err := h.drv.MemoryInfo(0)
	must(t, err)
	h.free(h.take(size))
	cached, _, err := h.drv.MemoryInfo(0)
	must(t, err)
	h.empty()
	after, _, err := h.drv.MemoryInfo(0)
	must(t, err)
	if cached > before-size+slack || after < cached+size-slack {
		t.Errorf("%d bytes are free at first, %d with %d cached, %d after", before, cached, size, after)
	}
}

// Allocated memory is what tensors hold now, and its peak the most they held.
func TestS42(t *testing.T) {
	dev := one(t)
	live(t, dev)
	memory.ResetPeak(dev)
	start := memory.Allocated(dev)
	x := tensor.Zeros([]int{1000}, tensor.On(dev))
	y := tensor.Zeros([]int{300, 1000}, tensor.On(dev)) // 1,200,000 bytes
	equal(t, "with two tensors", memory.Allocated(dev)-start, int64(4096+1200128))
	y.Release()
	equal(t, "with one", memory.Allocated(dev)-start, int64(4096))
	equal(t, "peak", memory.MaxAllocated(dev)-start, int64(4096+1200128))
	view := x.Narrow(0, 0, 10)
	x.Release()
	equal(t, "with a view of it", memory.Allocated(dev)-start, int64(4096))
	view.Release()
	equal(t, "with none", memory.Allocated(dev), start)
	if kind == device.KindCUDA {
		equal(t, "package cuda's", []int64{cuda.MemoryAllocated(dev), cuda.MaxMemoryAllocated(dev)}, []int64{memory.Allocated(dev), memory.MaxAllocated(dev)})
	}
}

// Reserved memory is all that the allocator holds, in use or cached, now and at the
// peak. The old names, of cached memory, are the same numbers.
func TestS43(t *testing.T) {
	h := newHeap(t, "")
	b := h.take(30 * mib)
	h.free(b)
	equal(t, "reserved", []int64{memory.Reserved(h.dev), memory.MaxReserved(h.dev)}, []int64{30 * mib, 30 * mib})
	h.empty()
	equal(t, "after emptying", []int64{memory.Reserved(h.dev), memory.MaxReserved(h.dev)}, []int64{0, 30 * mib})
	if kind == device.KindCUDA {
		equal(t, "package cuda's", []int64{cuda.MemoryReserved(h.dev), cuda.MaxMemoryReserved(h.dev)}, []int64{0, 30 * mib})
	}
}

// Emptying the cache gives all unused memory back, so that other programs can have
// it.
func TestS44(t *testing.T) {
	h := newHeap(t, "")
	var list []memory.Block
	for _, n := range []int64{mib, mib, 100, 5 * mib, 40 * mib} {
		list = append(list, h.take(n))
	}
	h.free(list...)
	h.drv.calls()
	h.empty()
	calls := h.drv.calls()
	slices.Sort(calls)
	equal(t, "frees", calls, []string{"free 2097152", "free 2097152", "free 20971520", "free 41943040"})
	h.want("after emptying", heapFigures{})
}

// Memory that tensors hold is not given back, so there is no more for the program
// than before.
func TestS45(t *testing.T) {
	dev := one(t)
	live(t, dev)
	x := tensor.Arange(0, 1000, 1, tensor.On(dev))
	must(t, x.Err())
	allocated, reserved := memory.Allocated(dev), memory.Reserved(dev)
	must(t, memory.EmptyCache(dev))
	equal(t, "allocated", memory.Allocated(dev), allocated)
	if left := memory.Reserved(dev); left < 2*mib || left > reserved {
		t.Errorf("%d bytes are reserved, %d before, want the tensor's segment at least", left, reserved)
	}
	v := values(t, x)
	if v[0] != 0 || v[999] != 999 {
		t.Errorf("the tensor holds %v ... %v, want 0 ... 999", v[0], v[999])
	}
	x.Release()
}

// Memory has comprehensive figures, for people and for programs, of devices and of
// page-locked memory.
func TestS46(t *testing.T) {
	h := newHeap(t, "")
	h.take(100)
	m := memory.StatsMap(h.dev)
	equal(t, "bytes", []int64{m["allocated_bytes.all.current"], m["requested_bytes.small_pool.peak"], m["reserved_bytes.all.allocated"]}, []int64{512, 100, 2 * mib})
	if len(m) < 9*3*4 {
		t.Errorf("there are %d figures", len(m))
	}
	b, err := memory.AllocPinned(h.drv, 100)
	must(t, err)
	host := memory.PinnedStatsOf(h.dev.Kind).Map()
	equal(t, "page-locked bytes", []int64{host["active_bytes.current"], host["num_host_alloc"]}, []int64{128, 1})
	must(t, b.Free())
	must(t, memory.EmptyPinnedCache(h.dev.Kind))
	if kind == device.KindCUDA {
		equal(t, "package cuda's", cuda.MemoryStats(h.dev)["allocated_bytes.all.current"], int64(512))
	}
}

// With caching turned off by the environment, a tool that checks memory sees every
// allocation and every free.
func TestS48(t *testing.T) {
	one(t)
	calls, _, _ := strings.Cut(child(t, "uncached", "PYTORCH_NO_CUDA_MEMORY_CACHING=1"), "\n")
	equal(t, "calls of the driver", calls, "alloc 1000, alloc 12582912, free 1000, free 12582912")
	calls, _, _ = strings.Cut(child(t, "uncached"), "\n")
	equal(t, "with caching", calls, "alloc 2097152, alloc 12582912")
}

// configured is what a process does that shows its settings.
func configured(t *testing.T) {
	h := newHeap(t, "")
	_, err := h.try(0, 5000)
	fmt.Printf("%s|%d|%v\n", memory.Settings(), memory.Allocated(h.dev), err)
}

func init() { children["configured"] = configured }

// Settings come from the environment, SINTER_ALLOC_CONF before PYTORCH_ALLOC_CONF
// before PYTORCH_CUDA_ALLOC_CONF, when they are needed first: key:value pairs with
// commas between, lists in brackets, whitespace not counting, True and False. What
// is unknown or malformed is an error. A program can set the same text.
func TestP39(t *testing.T) {
	dev := one(t)
	a, b, c := "roundup_power2_divisions:4", "roundup_power2_divisions:2", "roundup_power2_divisions:1"
	for i, e := range []struct {
		env  []string
		want string
	}{
		{nil, "|5120|<nil>"},
		{[]string{"PYTORCH_CUDA_ALLOC_CONF=" + c}, c + "|5120|<nil>"},
		{[]string{"PYTORCH_CUDA_ALLOC_CONF=" + c, "PYTORCH_ALLOC_CONF=" + b}, b + "|6144|<nil>"},
		{[]string{"PYTORCH_CUDA_ALLOC_CONF=" + c, "PYTORCH_ALLOC_CONF=" + b, "SINTER_ALLOC_CONF=" + a}, a + "|5120|<nil>"},
		{[]string{"SINTER_ALLOC_CONF=foo:1"}, "|0|sim:0: cannot allocate 5000 bytes: environment variable SINTER_ALLOC_CONF: invalid allocator settings: Unrecognized key 'foo'"},
	} {
		t.Run(fmt.Sprintf("variables %d", i), func(t *testing.T) {
			t.Parallel() // each is a process
			want := strings.Replace(e.want, "sim:0", dev.String(), 1)
			if got := child(t, "configured", e.env...); !strings.HasPrefix(got, want) {
				t.Errorf("with %q settings, bytes and error are %q, want %q", e.env, got, want)
			}
		})
	}
	t.Cleanup(func() { must(t, memory.Configure("")) })
	for _, good := range []string{
		"", " ", "expandable_segments:True", " expandable_segments : False , max_split_size_mb : 64 ", "roundup_power2_divisions:[ 256:1, 512:2,1024:4,>:8 ],garbage_collection_threshold:0.8",
	} {
		if err := memory.Configure(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	must(t, memory.Configure("max_split_size_mb:64"))
	for text, names := range map[string]string{
		"foo:1": "Unrecognized key 'foo'", "max_split_size_mb": "key:value", "max_split_size_mb:x": "max_split_size_mb", "expandable_segments:true": "True or False",
		"expandable_segments:1": "True or False", "roundup_power2_divisions:[256:1": "roundup_power2_divisions", "roundup_power2_divisions:3": "power of two",
		"roundup_power2_divisions:[100:2]": "power of two", "garbage_collection_threshold:high": "garbage_collection_threshold", "max_split_size_mb:64,,": "key:value",
	} {
		if err := memory.Configure(text); !errors.Is(err, memory.ErrSettings) || !strings.Contains(err.Error(), names) {
			t.Errorf("%q: %v, want an error with %q", text, err, names)
		}
	}
	equal(t, "settings after errors", memory.Settings(), "max_split_size_mb:64")
}

// The backend is this allocator, "native"; the driver's own asynchronous allocator
// is refused.
//
// Differs: PyTorch has cudaMallocAsync as a second backend; memory here has one owner,
// whose figures, pools and snapshots hold for all of it.
func TestP40(t *testing.T) {
	t.Cleanup(func() { must(t, memory.Configure("")) })
	must(t, memory.Configure("backend:native"))
	for _, name := range []string{"cudaMallocAsync", "other"} {
		if err := memory.Configure("backend:" + name); !errors.Is(err, memory.ErrSettings) || !strings.Contains(err.Error(), "native") {
			t.Errorf("backend %s: %v", name, err)
		}
	}
}

// A block of max_split_size_mb or more is never divided and serves no smaller
// request; a size below that of large segments is refused; by default there is no
// such size.
func TestP41(t *testing.T) {
	if err := memory.Configure("max_split_size_mb:2"); err == nil || !strings.Contains(err.Error(), "max_split_size_mb") {
		t.Errorf("2 MiB: %v", err)
	}
	for settings, want := range map[string][]string{"": nil, "max_split_size_mb:30": {"alloc 31457280"}} {
		h := newHeap(t, settings)
		big := h.take(40 * mib)
		h.free(big)
		h.take(32 * mib)
		h.drv.calls()
		h.free(h.take(5 * mib))
		if got := h.stats().AllocatedBytes.All.Current; (got == 40*mib) != (want != nil) {
			t.Errorf("%q: 32 MiB of 40 take %d bytes", settings, got)
		}
	}
	h := newHeap(t, "max_split_size_mb:30")
	h.free(h.take(40 * mib))
	h.drv.calls()
	h.take(29 * mib)
	h.wantCalls("a request below the size", "alloc 31457280")
}

// max_non_split_rounding_mb is how much larger than its request a block that is not
// divided may be: by default 20 MiB.
func TestP42(t *testing.T) {
	for settings, calls := range map[string][]string{
		"max_split_size_mb:20":                              {"alloc 31457280"},
		"max_split_size_mb:20,max_non_split_rounding_mb:40": nil,
	} {
		h := newHeap(t, settings)
		h.free(h.take(60 * mib))
		h.drv.calls()
		h.take(30 * mib)
		h.wantCalls(settings+": 30 MiB where 60 are cached", calls...)
	}
}

// roundup_power2_divisions is one number, or a list by the power of two of MiB that
// a size is at or above: the first entry is for smaller sizes too, ">" for larger
// ones.
func TestP43(t *testing.T) {
	for _, c := range []struct{ n, want int64 }{
		{100 * mib, 100 * mib}, {300 * mib, 300 * mib}, {600 * mib, 768 * mib}, {1500 * mib, 1536 * mib}, {2500 * mib, 2560 * mib}, {4200 * mib, 4608 * mib},
	} {
		h := newHeap(t, "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 16<<30)
		if b := h.take(c.n); b.Bytes != c.want {
			t.Errorf("%d MiB get a block of %d, want %d", c.n/mib, b.Bytes/mib, c.want/mib)
		}
	}
}

// garbage_collection_threshold is between 0 and 1, and acts only with a memory
// limit: beyond that part of it, unused blocks go back before the allocator grows.
func TestP44(t *testing.T) {
	for _, bad := range []string{"0", "1", "1.5", "-0.5", "x"} {
		if err := memory.Configure("garbage_collection_threshold:" + bad); err == nil || !strings.Contains(err.Error(), "garbage_collection_threshold") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, limited := range []bool{true, false} {
		h := newHeap(t, "garbage_collection_threshold:0.5")
		if limited {
			h.limit(100 * mib)
		}
		h.free(h.take(60 * mib))
		h.drv.calls()
		h.take(61 * mib)
		want := []string{"alloc 65011712"}
		if limited {
			want = []string{"free 62914560", "alloc 65011712"}
		}
		h.wantCalls(fmt.Sprintf("growing with a limit: %t", limited), want...)
		equal(t, "retries", h.stats().AllocRetries, int64(0))
	}
}

// With expandable_segments every pool and stream has one range of addresses, an
// eighth more than the device's memory, in which its segment grows.
func TestP45(t *testing.T) {
	h := newHeap(t, "expandable_segments:True")
	if !h.drv.CanMap(0) {
		t.Skip("the device does not map memory on demand")
	}
	p, err := h.drv.Properties(0)
	must(t, err)
	other := h.drv.stream(t)
	starts := []uint64{h.take(100).Addr, h.take(3 * mib).Addr, h.takeOn(other, 100).Addr, h.takeOn(other, 3*mib).Addr}
	slices.Sort(starts)
	for i := 1; i < len(starts); i++ {
		if gap := starts[i] - starts[i-1]; gap < uint64(p.TotalMemory+p.TotalMemory/8) {
			t.Errorf("two ranges are %d bytes apart, want %d at least", gap, p.TotalMemory+p.TotalMemory/8)
		}
	}
	before := h.stats().DeviceAllocs
	for range 5 {
		h.take(18 * mib)
	}
	if s := h.snapshot().Segments; len(s) != 4 || h.stats().DeviceAllocs == before {
		t.Errorf("%d segments after growing, want 4", len(s))
	}
}

// large_segment_size_mb is what the driver is asked for when a block of 1 to 10 MiB
// is needed.
func TestP46(t *testing.T) {
	h := newHeap(t, "large_segment_size_mb:32")
	h.take(5 * mib)
	h.take(512)
	h.take(11 * mib)
	h.wantCalls("three allocations", "alloc 33554432", "alloc 2097152")
}

// No allocation waits for another one's call of the driver.
//
// Differs: release_lock_on_cudamalloc is accepted and changes nothing, since no lock is
// held during the driver's calls in any case.
func TestP47(t *testing.T) {
	h := newHeap(t, "")
	h.free(h.take(512))
	arrived, leave := make(chan struct{}), make(chan struct{})
	h.drv.before = func(call string) {
		if call == "alloc 41943040" {
			close(arrived)
			<-leave
		}
	}
	done := make(chan error)
	go func() {
		b, err := memory.Alloc(h.dev, h.drv, 0, 40*mib)
		done <- errors.Join(err, b.Free())
	}()
	<-arrived
	cached := make(chan struct{})
	go func() {
		h.free(h.take(100))
		close(cached)
	}()
	select {
	case <-cached:
	case <-time.After(patience.Left(t)):
		t.Error("an allocation waits for the driver's call of another")
	}
	close(leave)
	must(t, <-done)
}

// fraction is what a process does that shows its memory limit.
func fraction(t *testing.T) {
	h := newHeap(t, "", 1<<30)
	before := memory.MemoryFraction(h.dev)
	_, err := h.try(0, 1)
	_, over := h.try(0, 600<<20)
	if kind == device.KindCUDA { // has more than that
		p, infoErr := h.drv.Properties(0)
		must(t, infoErr)
		_, over = h.try(0, p.TotalMemory/2)
	}
	fmt.Println(before, memory.MemoryFraction(h.dev), err, errors.Is(over, device.ErrOutOfMemory))
}

func init() { children["fraction"] = fraction }

// per_process_memory_fraction sets the limit of every device from the environment;
// outside of 0 to 1 it is an error.
func TestP48(t *testing.T) {
	one(t)
	equal(t, "a half", child(t, "fraction", "PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:0.5"), "0.5 0.5 <nil> true")
	for _, bad := range []string{"-0.1", "1.1"} {
		if err := memory.Configure("per_process_memory_fraction:" + bad); err == nil || !strings.Contains(err.Error(), "per_process_memory_fraction is invalid") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// With throw_on_cudamalloc_oom a request over the limit fails at once, without
// making room, and is counted apart.
func TestP49(t *testing.T) {
	h := newHeap(t, "throw_on_cudamalloc_oom:True")
	h.limit(50 * mib)
	h.free(h.take(40 * mib))
	h.drv.calls()
	if _, err := h.try(0, 45*mib); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("over the limit: %v", err)
	}
	h.wantCalls("a request over the limit")
	s := h.stats()
	equal(t, "rejections, errors, retries", []int64{s.Rejections, s.OutOfMemory, s.AllocRetries}, []int64{1, 0, 0})
	h.take(40 * mib)
	h.wantCalls("a request within it")
}

// The memory that the program may take can be limited to a part of the device's:
// more is out of memory. The part is what was set, exactly, and 1 before; what is
// not from 0 to 1 is refused.
//
// Differs: a part that is no number cannot be said, types see to that.
func TestP52(t *testing.T) {
	h := newHeap(t, "")
	equal(t, "at first", memory.MemoryFraction(h.dev), 1.0)
	for _, bad := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		if err := memory.SetMemoryFraction(h.dev, bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
	p, err := h.drv.Properties(0)
	must(t, err)
	part := float64(101*mib) / float64(p.TotalMemory)
	must(t, memory.SetMemoryFraction(h.dev, part))
	equal(t, "set", memory.MemoryFraction(h.dev), part)
	h.take(98 * mib)
	_, err = h.try(0, 5*mib)
	var oom *memory.OutOfMemoryError
	if !errors.As(err, &oom) || oom.Limit != int64(part*float64(p.TotalMemory)) {
		t.Errorf("over the limit: %v", err)
	}
	h.take(mib) // what is within it still works
	must(t, memory.SetMemoryFraction(h.dev, 0))
	if _, err := h.try(0, 30*mib); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("with nothing allowed: %v", err)
	}
	must(t, memory.SetMemoryFraction(h.dev, 1))
	h.take(30 * mib)
	if err := memory.SetMemoryFraction(device.CPU, 0.5); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("the host: %v", err)
	}
}

// The device's free and total bytes are the device's own, whatever the cache: what
// is freed to the cache is not free.
func TestP53(t *testing.T) {
	h := newHeap(t, "")
	p, err := h.drv.Properties(0)
	must(t, err)
	info := func() (free, total int64) {
		t.Helper()
		free, total, err := h.drv.MemoryInfo(0)
		must(t, err)
		return free, total
	}
	before, total := info()
	b := h.take(50 * mib)
	during, _ := info()
	h.free(b)
	after, _ := info()
	if total <= 0 || total > p.TotalMemory || before > total || during > before-50*mib || after > before-50*mib {
		t.Errorf("of %d bytes %d are free, %d with 50 MiB in use, %d with them cached", total, before, during, after)
	}
	if kind == device.KindCUDA {
		free, all, err := cuda.MemGetInfo(h.dev)
		must(t, err)
		if all != total || free > total {
			t.Errorf("package cuda says %d of %d", free, all)
		}
	}
}

// Caching can be turned off and on while the program runs: meanwhile every
// allocation is the driver's, and no figure changes.
func TestP54(t *testing.T) {
	h := newHeap(t, "")
	cached := h.take(1000)
	before := h.stats()
	t.Cleanup(func() { memory.SetCaching(true) })
	memory.SetCaching(false)
	equal(t, "caching", memory.Caching(), false)
	h.drv.calls()
	h.free(h.take(5 * mib))
	h.wantCalls("without caching", "alloc 5242880", "free 5242880")
	equal(t, "figures", h.stats(), before)
	h.free(cached)
	memory.SetCaching(true)
	h.take(1000)
	h.wantCalls("with caching again")
}

// Code that manages memory by address can have blocks of the allocator: any address
// that it did not get, or has given back, is an invalid device pointer.
//
// Differs: a stream of a wrong type cannot be passed, types see to that.
func TestP55(t *testing.T) {
	h := newHeap(t, "")
	s := h.drv.stream(t)
	addr, err := memory.AllocRaw(h.dev, s, 1000)
	must(t, err)
	equal(t, "allocated", memory.Allocated(h.dev), int64(1024))
	g := h.snapshot().Segments
	if len(g) != 1 || g[0].Stream != s || g[0].Blocks[0].Address != addr {
		t.Errorf("segments %+v, want one of stream %d with the block at %#x", g, s, addr)
	}
	must(t, memory.FreeRaw(h.dev.Kind, addr))
	for _, bad := range []uint64{addr, addr + 512, 1} {
		if err := memory.FreeRaw(h.dev.Kind, bad); !errors.Is(err, memory.ErrInvalidPointer) || !strings.Contains(err.Error(), "invalid device pointer") {
			t.Errorf("freeing %#x: %v", bad, err)
		}
	}
	if none, err := memory.AllocRaw(h.dev, s, 0); none != 0 || err != nil {
		t.Errorf("no bytes are at %#x, %v", none, err)
	}
	if _, err := memory.AllocRaw(device.CPU, 0, 8); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("host memory: %v", err)
	}
}

// Peaks and totals can be reset.
//
// Differs: PyTorch's deprecated functions that reset one peak are not there.
func TestP56(t *testing.T) {
	resets := map[string]func(device.Device) error{"ResetPeak": func(d device.Device) error { memory.ResetPeak(d); return nil }}
	if kind == device.KindCUDA {
		resets["ResetPeakMemoryStats"] = func(d device.Device) error { return cuda.ResetPeakMemoryStats(d) }
	}
	for name, reset := range resets {
		h := newHeap(t, "")
		h.free(h.take(30 * mib))
		h.take(100)
		h.empty()
		must(t, reset(h.dev))
		s := h.stats()
		equal(t, name, []int64{s.AllocatedBytes.All.Peak, s.ReservedBytes.All.Peak, s.RequestedBytes.All.Peak, s.AllocatedBytes.All.Allocated},
			[]int64{512, 2 * mib, 100, 30*mib + 512})
		memory.ResetAccumulated(h.dev)
		s = h.stats()
		equal(t, "totals", []int64{s.AllocatedBytes.All.Allocated, s.AllocatedBytes.All.Freed, s.DeviceAllocs, s.AllocatedBytes.All.Current}, []int64{0, 0, 0, 512})
	}
}
