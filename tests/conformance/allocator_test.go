package conformance_test

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// An allocation of no bytes has no address, is no block, and changes no figure; a
// tensor without elements makes none.
func TestA1(t *testing.T) {
	h := newHeap(t, "")
	b := h.take(0)
	if b.Addr != 0 || b.Bytes != 0 || b.Free() != nil || memory.Used(h.dev) {
		t.Errorf("no bytes are %+v; the allocator is in use: %t", b, memory.Used(h.dev))
	}
	h.take(1)
	before := h.stats()
	h.free(h.take(0))
	x := tensor.Empty([]int{0, 3}, tensor.On(h.dev))
	must(t, x.Err())
	equal(t, "figures", h.stats(), before)
	x.Release()
	h.wantCalls("an allocation of no bytes", "alloc 2097152")
}

// A request is rounded up to a multiple of 512 bytes, at least 512.
func TestA2(t *testing.T) {
	h := newHeap(t, "")
	for n, want := range map[int64]int64{1: 512, 511: 512, 512: 512, 513: 1024, 1024: 1024, 1025: 1536, 1 << 20: 1 << 20, 3<<20 + 1: 3<<20 + 512} {
		b := h.take(n)
		if b.Bytes != want {
			t.Errorf("%d bytes get a block of %d, want %d", n, b.Bytes, want)
		}
		h.free(b)
	}
}

// With roundup_power2_divisions d, a request of more than 512 d bytes is rounded up
// to one of d equal parts between the powers of two around it; a power of two stays.
func TestA3(t *testing.T) {
	for _, c := range []struct {
		settings string
		n, want  int64
	}{
		{"roundup_power2_divisions:4", 84 * mib, 96 * mib},
		{"roundup_power2_divisions:8", 84 * mib, 88 * mib},
		{"roundup_power2_divisions:2", 400 * mib, 512 * mib},
		{"roundup_power2_divisions:4", 64 * mib, 64 * mib},
		{"roundup_power2_divisions:4", 5000, 5120},
		{"roundup_power2_divisions:1", 84*mib + 1, 84*mib + 512},
	} {
		h := newHeap(t, c.settings)
		if b := h.take(c.n); b.Bytes != c.want {
			t.Errorf("%s: %d bytes get a block of %d, want %d", c.settings, c.n, b.Bytes, c.want)
		}
	}
}

// At or below 512 d bytes the divisions do not count: 1200 bytes with 4 divisions
// are 1536, not 1280.
func TestA4(t *testing.T) {
	h := newHeap(t, "roundup_power2_divisions:4")
	for n, want := range map[int64]int64{1200: 1536, 2048: 2048, 1025: 1536, 2049: 2560} {
		if b := h.take(n); b.Bytes != want {
			t.Errorf("%d bytes get a block of %d, want %d", n, b.Bytes, want)
		}
	}
}

// The driver is asked for 2 MiB for blocks of up to 1 MiB, for 20 MiB for those
// below 10 MiB, and otherwise for the block's size rounded up to 2 MiB.
func TestA5(t *testing.T) {
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
		h := newHeap(t, "")
		h.take(c.request)
		block := c.block
		if rest := c.segment - c.block; c.block > mib && rest <= mib {
			block = c.segment // A9: the rest is too little to divide off
		}
		h.want("after an allocation", heapFigures{
			Allocated: block, Requested: c.request, Active: block, Reserved: c.segment,
			Split: min(1, c.segment-block), SplitBytes: c.segment - block,
		})
	}
}

// Blocks of up to 1 MiB come from the small pool and others from the large one, by
// their rounded size; a private pool has two of its own.
func TestA6(t *testing.T) {
	h := newHeap(t, "")
	pool := memory.NewPool(h.dev, memory.PoolOptions{})
	small, large := h.take(mib), h.take(mib+1)
	var inSmall, inLarge memory.Block
	must(t, pool.Do(func() error { inSmall, inLarge = h.take(mib), h.take(mib+1); return nil }))
	type key struct {
		small bool
		id    memory.PoolID
	}
	got := map[uint64]key{}
	for _, s := range memory.SnapshotOf(h.dev.Kind, 0).Segments {
		got[s.Address] = key{s.Small, s.Pool}
	}
	equal(t, "segments", len(got), 4)
	for addr, want := range map[uint64]key{
		small.Addr: {true, memory.PoolID{}}, large.Addr: {false, memory.PoolID{}},
		inSmall.Addr: {true, pool.ID()}, inLarge.Addr: {false, pool.ID()},
	} {
		if got[addr] != want {
			t.Errorf("the block at %#x is in a segment of %+v, want %+v", addr, got[addr], want)
		}
	}
	h.free(inSmall, inLarge)
	must(t, pool.Release())
}

// A free block is reused only by work on the stream it was allocated on; of those
// that fit, the smallest is taken, and of several the one with the lowest address.
func TestA7(t *testing.T) {
	h := newHeap(t, "")
	other := h.drv.stream(t)
	var list []memory.Block
	for _, n := range []int64{2048, 512, 1024, 512, 1024, 512} {
		list = append(list, h.take(n))
	}
	h.free(list[4], list[0], list[2])
	if b := h.takeOn(other, 600); b.Addr-list[0].Addr < 2*mib {
		t.Errorf("a block of another stream is at +%d in the segment of the first", b.Addr-list[0].Addr)
	}
	if b := h.take(600); b.Addr != list[2].Addr {
		t.Errorf("a block is at +%d, want +%d, the lower of two that fit exactly", b.Addr-list[0].Addr, list[2].Addr-list[0].Addr)
	}
	if b := h.take(600); b.Addr != list[4].Addr {
		t.Errorf("a block is at +%d, want +%d, which fits exactly", b.Addr-list[0].Addr, list[4].Addr-list[0].Addr)
	}
	if b := h.take(600); b.Addr != list[0].Addr {
		t.Errorf("a block is at +%d, want +0, the smallest left", b.Addr-list[0].Addr)
	}
}

// With max_split_size_mb, a block of that size or more serves no smaller request,
// and a request of that size or more takes no block that is 20 MiB larger; where
// the best fit is refused, the driver is asked.
func TestA8(t *testing.T) {
	h := newHeap(t, "max_split_size_mb:20")
	cached := h.take(52 * mib)
	h.free(cached)
	h.wantCalls("the first", "alloc 54525952")
	small := h.take(5 * mib)
	h.wantCalls("a smaller request than the limit", "alloc 20971520")
	tooLarge := h.take(32 * mib)
	h.wantCalls("a block that is 20 MiB larger", "alloc 33554432")
	fits := h.take(32*mib + 1)
	h.wantCalls("a block that is less than 20 MiB larger")
	if fits.Addr != cached.Addr || fits.Bytes != 52*mib || small.Bytes != 5*mib || tooLarge.Addr == cached.Addr {
		t.Errorf("blocks at %#x of %d bytes, want %#x of %d", fits.Addr, fits.Bytes, cached.Addr, 52*mib)
	}
}

// A small block, or one of an expandable segment, is divided when 512 bytes or more
// are left over, a large one when more than 1 MiB is and the request is below
// max_split_size_mb, and one of a pool without division never; otherwise the request
// gets the whole of it.
func TestA9(t *testing.T) {
	for _, c := range []struct{ cached, request, block int64 }{
		{12 * mib, 11 * mib, 12 * mib},
		{12 * mib, 11*mib - 512, 11*mib - 512},
		{12 * mib, 11*mib - 511, 12 * mib},
		{2048, 1536, 1536},
		{2048, 1537, 2048},
	} {
		h := newHeap(t, "")
		b := h.take(c.cached)
		after := h.take(c.cached) // so that what is free is as large as the first
		h.free(b)
		got := h.take(c.request)
		if got.Addr != b.Addr || got.Bytes != c.block {
			t.Errorf("%d bytes of a block of %d: %d at +%d, want %d at +0", c.request, c.cached, got.Bytes, got.Addr-b.Addr, c.block)
		}
		if f := h.figures(); f.Allocated != c.block+after.Bytes || f.Requested != c.request+c.cached {
			t.Errorf("%d bytes of a block of %d: allocated %d, requested %d", c.request, c.cached, f.Allocated, f.Requested)
		}
	}
	h := newHeap(t, "expandable_segments:True")
	if h.drv.CanMap(0) {
		if b := h.take(19*mib + 512*3); b.Bytes != 19*mib+512*3 {
			t.Errorf("of an expandable segment: a block of %d bytes, want it divided like a small one", b.Bytes)
		}
	}
	h = newHeap(t, "max_split_size_mb:20")
	h.free(h.take(40 * mib))
	if b := h.take(25 * mib); b.Bytes != 40*mib {
		t.Errorf("25 of 40 MiB, from 20 on: a block of %d bytes, want it whole", b.Bytes)
	}
	h = newHeap(t, "")
	pool := memory.NewPool(h.dev, memory.PoolOptions{NoSplit: true})
	must(t, pool.Do(func() error {
		if b := h.take(512); b.Bytes != 2*mib {
			t.Errorf("of a pool without division: a block of %d bytes, want the segment", b.Bytes)
		} else {
			h.free(b)
		}
		return nil
	}))
	must(t, pool.Release())
}

// The front of a divided block is handed out, and the tail is free at once and its
// neighbour.
func TestA10(t *testing.T) {
	h := newHeap(t, "")
	a := h.take(1024)
	s := memory.SnapshotOf(h.dev.Kind, 0).Segments[0]
	equal(t, "blocks", s.Blocks, []memory.BlockInfo{
		{Address: a.Addr, Size: 1024, Requested: 1024, State: memory.BlockAllocated},
		{Address: a.Addr + 1024, Size: 2*mib - 1024},
	})
	equal(t, "the segment's address", s.Address, a.Addr)
	if b := h.take(1024); b.Addr != a.Addr+1024 {
		t.Errorf("the next block is at +%d, want +1024, the tail", b.Addr-a.Addr)
	}
}

// Every block is a multiple of 512 bytes from its segment's start, and so is that
// from 0.
func TestA11(t *testing.T) {
	h := newHeap(t, "")
	for n := int64(1); n < 30*mib; n = n*5/2 + 1 {
		h.take(n)
	}
	for _, s := range memory.SnapshotOf(h.dev.Kind, 0).Segments {
		for _, b := range s.Blocks {
			if (b.Address-s.Address)%512 != 0 || s.Address%512 != 0 {
				t.Errorf("a block at %#x in a segment at %#x", b.Address, s.Address)
			}
		}
	}
}

// Freeing nothing is nothing; freeing what is no block of the allocator, or is
// free, is an error. What the program holds falls at once, also when the memory is
// awaited.
func TestA12(t *testing.T) {
	h := newHeap(t, "")
	must(t, memory.Block{}.Free())
	must(t, memory.FreeRaw(h.dev.Kind, 0))
	if err := memory.FreeRaw(h.dev.Kind, 0x1234); !errors.Is(err, memory.ErrInvalidPointer) {
		t.Errorf("an address of nothing: %v", err)
	}
	b := h.take(1000)
	b.RecordStream(h.holdStream())
	h.free(b)
	if s := h.stats(); s.Allocation.All.Current != 0 || s.AllocatedBytes.All.Current != 0 || s.Active.All.Current != 1 {
		t.Errorf("%d blocks held, of %d bytes, %d active", s.Allocation.All.Current, s.AllocatedBytes.All.Current, s.Active.All.Current)
	}
	if err := b.Free(); !errors.Is(err, memory.ErrFreed) {
		t.Errorf("freed twice: %v", err)
	}
	h.drv.open()
}

// A block that only its own stream uses becomes one with its free neighbours as
// soon as it is freed, whatever the order, without a call of the driver.
func TestA13(t *testing.T) {
	for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		h := newHeap(t, "")
		list := []memory.Block{h.take(512), h.take(1024), h.take(1536), h.take(512)}
		h.drv.calls()
		for _, i := range order {
			h.free(list[i])
		}
		h.wantCalls("frees")
		h.want("after three frees", heapFigures{512, 512, 512, 2 * mib, 2, 2*mib - 512})
		if b := h.take(3072); b.Addr != list[0].Addr {
			t.Errorf("order %v: 3072 bytes are at +%d, want the place of the three", order, b.Addr-list[0].Addr)
		}
	}
}

// Recording the stream that a block was allocated on, for no memory, or for memory
// of others, does nothing; a stream is recorded once.
func TestA14(t *testing.T) {
	h := newHeap(t, "")
	host, err := memory.AllocPinned(h.drv, 100)
	must(t, err)
	s := h.holdStream()
	h.take(0).RecordStream(s)
	host.RecordStream(s)
	must(t, host.Free())
	own := h.takeOn(s, 100)
	own.RecordStream(s)
	h.free(own)
	h.want("after a free with its own stream recorded", heapFigures{Reserved: 2 * mib})
	b := h.take(100)
	b.RecordStream(s)
	b.RecordStream(s)
	h.free(b)
	h.want("after a free with another", heapFigures{Active: 512, Requested: 100, Reserved: 4 * mib, Split: 1, SplitBytes: 2*mib - 512})
	equal(t, "events", len(h.drv.recorded), 1)
	h.finish()
}

// A freed block that other streams use stays active, neither merged nor reused,
// until an event on each of them is done. Events take no times and are used again.
func TestA15(t *testing.T) {
	h := newHeap(t, "")
	s, u := h.holdStream(), h.holdStream()
	b := h.take(512)
	b.RecordStream(s)
	b.RecordStream(u)
	h.free(b)
	state := func() memory.BlockState { return memory.SnapshotOf(h.dev.Kind, 0).Segments[0].Blocks[0].State }
	equal(t, "events", len(h.drv.recorded), 2)
	equal(t, "the block's state", state(), memory.BlockAwaitingFree)
	h.drv.release(s)
	if c := h.take(512); c.Addr != b.Addr+512 {
		t.Errorf("with one of two streams done a block is at +%d, want +512", c.Addr-b.Addr)
	}
	equal(t, "the block's state with one stream done", state(), memory.BlockAwaitingFree)
	h.drv.release(u)
	if c := h.take(512); c.Addr != b.Addr {
		t.Errorf("with both streams done a block is at +%d, want +0", c.Addr-b.Addr)
	}
	again := h.take(1024)
	again.RecordStream(s)
	again.RecordStream(u)
	h.free(again)
	equal(t, "events, used again", len(h.drv.recorded), 2)
	for e := range h.drv.recorded {
		if took, err := h.drv.Elapsed(0, e, e); err == nil {
			t.Errorf("an event takes times: %v", took)
		}
	}
}

// Events are looked at when an allocation begins, for each stream up to the first
// that is not done; during a capture they are not, and blocks that are freed with
// recorded streams wait for its end.
func TestA16(t *testing.T) {
	h := newHeap(t, "")
	s, u := h.holdStream(), h.holdStream()
	first, second := h.take(512), h.take(512)
	kept, behind := h.take(512), h.take(512)
	for _, b := range []memory.Block{first, behind} {
		b.RecordStream(s)
	}
	second.RecordStream(u)
	h.free(first, second, behind)
	h.drv.release(u)
	equal(t, "active blocks before an allocation", h.stats().Active.All.Current, int64(4))
	equal(t, "events looked at before an allocation", len(h.drv.asked), 0)
	if b := h.take(512); b.Addr != second.Addr {
		t.Errorf("with the first stream held a block is at +%d, want +512, which the second was done with", b.Addr-first.Addr)
	}
	equal(t, "events looked at, of three of which two are on a stream that is held", len(h.drv.asked), 2)

	memory.CaptureBegun(h.dev)
	h.drv.release(s)
	if b := h.take(512); b.Addr == first.Addr {
		t.Error("events were looked at during a capture")
	}
	kept.RecordStream(u)
	events := len(h.drv.recorded)
	h.free(kept)
	equal(t, "events recorded during a capture", len(h.drv.recorded), events)
	if b := h.take(512); b.Addr == kept.Addr || b.Addr == first.Addr {
		t.Error("a block was reused during a capture though other streams use it")
	}
	memory.CaptureEnded(h.dev)
	h.take(512)
	if b := h.take(512); b.Addr != kept.Addr {
		t.Errorf("after the capture a block is at +%d, want +%d", b.Addr-first.Addr, kept.Addr-first.Addr)
	}
}

// An allocation looks at events, searches, runs the callbacks and searches again,
// collects old blocks, asks the driver, gives back oversize blocks and asks again,
// gives back all that is cached and asks again, and then fails.
//
// Differs: before it fails, the garbage collector of the program runs once and the
// driver is asked for a last time; no lock is held meanwhile, so that the pool is
// searched before each time.
func TestA17(t *testing.T) {
	t.Run("callbacks", func(t *testing.T) {
		h := newHeap(t, "")
		spare := h.take(3 * mib)
		rest := h.take(17 * mib)
		h.drv.calls()
		asked := 0
		defer memory.OnPressure(func(device.Device) {
			if asked++; asked == 1 {
				h.free(spare)
			}
		})()
		if b := h.take(3 * mib); b.Addr != spare.Addr {
			t.Error("what a callback freed was not taken")
		}
		h.wantCalls("an allocation that a callback served")
		h.free(rest)
		h.take(2 * mib)
		equal(t, "calls of the callback", asked, 1)
	})
	t.Run("retry", func(t *testing.T) {
		h := newHeap(t, "")
		h.limit(64 * mib)
		kept, cached := h.take(30*mib), h.take(5*mib)
		h.free(cached)
		awaited := h.take(2 * mib)
		awaited.RecordStream(h.holdStream())
		h.free(awaited)
		h.drv.calls()
		h.take(26 * mib)
		h.wantCalls("a request that needs the cache", "sync event", "free 20971520", "alloc 27262976")
		if s := h.stats(); s.AllocRetries != 1 || s.SyncAllStreams != 1 || s.OutOfMemory != 0 {
			t.Errorf("%d retries, %d releases, %d errors, want 1, 1, 0", s.AllocRetries, s.SyncAllStreams, s.OutOfMemory)
		}
		if _, err := h.try(0, 20*mib); !errors.Is(err, device.ErrOutOfMemory) {
			t.Errorf("over the limit: %v", err)
		}
		if s := h.stats(); s.AllocRetries != 2 || s.OutOfMemory != 1 {
			t.Errorf("%d retries, %d errors, want 2, 1", s.AllocRetries, s.OutOfMemory)
		}
		h.free(kept)
	})
	t.Run("oversize", func(t *testing.T) {
		h := newHeap(t, "max_split_size_mb:20")
		h.limit(100 * mib)
		list := []memory.Block{h.take(40 * mib), h.take(24 * mib), h.take(22 * mib)}
		h.free(list...)
		h.drv.calls()
		h.take(64 * mib) // none is large enough: from the largest down
		h.wantCalls("oversize blocks for a larger request", "free 41943040", "free 25165824", "alloc 67108864")
		h = newHeap(t, "max_split_size_mb:20")
		h.limit(140 * mib)
		h.free(h.take(50*mib), h.take(46*mib), h.takeOn(h.drv.stream(t), 44*mib))
		h.drv.calls()
		h.take(22 * mib) // for which both of its stream are too large
		h.wantCalls("oversize blocks for a smaller request", "free 48234496", "alloc 23068672")
		equal(t, "retries", h.stats().AllocRetries, int64(0))
	})
}

// The memory limit is held against what the allocator has before the driver is
// asked: what would exceed it counts as having no memory.
func TestA18(t *testing.T) {
	h := newHeap(t, "")
	h.limit(40 * mib)
	h.take(20 * mib)
	h.take(15 * mib)
	h.drv.calls()
	if _, err := h.try(0, 5*mib); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("a segment over the limit: %v", err)
	}
	h.wantCalls("a request over the limit")
	h.take(mib)
	h.wantCalls("a request within it", "alloc 2097152")
}

// Memory that the driver has just given is one block, to be divided like others.
func TestA19(t *testing.T) {
	h := newHeap(t, "")
	h.take(5 * mib)
	h.want("5 MiB of a new segment", heapFigures{5 * mib, 5 * mib, 5 * mib, 20 * mib, 1, 15 * mib})
	h.take(15*mib + mib/2)
	h.want("15.5 MiB, whose segment has too little left", heapFigures{21 * mib, 20*mib + mib/2, 21 * mib, 36 * mib, 1, 15 * mib})
}

// With a limit and garbage_collection_threshold, an allocation that has to grow
// beyond the threshold first gives back large unused blocks that have not been of
// use for as long as the average, round by round until enough is free. It waits
// for no stream by itself.
func TestA20(t *testing.T) {
	h := newHeap(t, "garbage_collection_threshold:0.5")
	h.limit(80 * mib)
	old, b, recent := h.take(12*mib), h.take(14*mib), h.take(16*mib)
	h.free(old, b, recent)
	for range 5 { // searches make what is not found older
		h.free(h.take(14 * mib))
		h.free(h.take(16 * mib))
	}
	h.drv.calls()
	h.take(18 * mib)
	h.wantCalls("an allocation beyond the threshold", "free 12582912", "alloc 18874368")
	if s := h.stats(); s.AllocRetries != 0 || s.SyncAllStreams != 0 {
		t.Errorf("%d retries, %d releases, want none", s.AllocRetries, s.SyncAllStreams)
	}

	h = newHeap(t, "garbage_collection_threshold:0.001")
	h.free(h.take(60 * mib))
	h.drv.calls()
	h.take(70 * mib)
	h.wantCalls("without a limit: nothing is collected", "alloc 73400320")
}

// Emptying the cache gives back the segments that are free as a whole, and counts
// once; those partly in use stay, and what is allocated is as before.
func TestA21(t *testing.T) {
	h := newHeap(t, "")
	part, whole := h.take(mib), h.take(12*mib)
	h.free(whole)
	h.drv.calls()
	h.empty()
	h.wantCalls("emptying", "free 12582912")
	h.want("after emptying", heapFigures{mib, mib, mib, 2 * mib, 1, mib})
	s := h.stats()
	if s.SyncAllStreams != 1 || s.DeviceFrees != 1 || s.AllocRetries != 0 {
		t.Errorf("%d releases, %d frees, %d retries, want 1, 1, 0", s.SyncAllStreams, s.DeviceFrees, s.AllocRetries)
	}
	h.free(part)
}
