package memory

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/figures"
	"github.com/sinter-go/sinter/tests/brief"
)

func reserved(d device.Device) int64 { return StatsOf(d).ReservedBytes.All.Current }

// TestRoom is A22: blocks of a pool and stream are in one range, which grows by
// pages at its lowest free address and shrinks by them.
func TestRoom(t *testing.T) {
	drv := newMapping(400 * mib)
	start(t, drv)
	configure(t, "expandable_segments:True")
	a, b := take(t, drv, 0, 30*mib), take(t, drv, 0, 30*mib)
	s := StatsOf(cuda0)
	if b.Addr != a.Addr+30*mib || b.Bytes != 30*mib || s.ReservedBytes.All.Current != 60*mib || s.Segment.All.Current != 0 || s.DeviceAllocs != 2 {
		t.Errorf("the second block is at +%d, %d bytes are reserved in %d segments by %d mappings",
			b.Addr-a.Addr, s.ReservedBytes.All.Current, s.Segment.All.Current, s.DeviceAllocs)
	}
	free(t, b)
	c := take(t, drv, 0, 70*mib) // grows where b was
	if c.Addr != b.Addr || reserved(cuda0) != 100*mib {
		t.Errorf("a block that needs more is at +%d of %d bytes", int64(c.Addr-a.Addr), reserved(cuda0))
	}
	if s := StatsOf(cuda0); s.InactiveSplit.All != (figures.Stat{}) || s.InactiveSplitBytes.All != (figures.Stat{}) {
		t.Errorf("what is free in a room is counted: %+v", s.InactiveSplit.All)
	}
	small, other := take(t, drv, 0, 1000), take(t, drv, 7, 30*mib)
	if len(drv.rooms) != 3 || small.Bytes != 1024 || reserved(cuda0) != 142*mib {
		t.Errorf("%d rooms, %d bytes reserved", len(drv.rooms), reserved(cuda0))
	}
	for addr, bytes := range drv.rooms {
		if bytes < 450*mib || bytes > 470*mib || bytes%(2*mib) != 0 {
			t.Errorf("the room at %#x has %d bytes", addr, bytes)
		}
	}
	// 30 to 100 MiB of the first room are free: of those the pages from 40 on go.
	free(t, c)
	before := StatsOf(cuda0).DeviceFrees
	if err := EmptyCache(cuda0); err != nil {
		t.Fatal(err)
	}
	if s := StatsOf(cuda0); s.ReservedBytes.All.Current != 82*mib || s.DeviceFrees != before+1 || drv.syncs == 0 {
		t.Errorf("after EmptyCache %d bytes are reserved, %d parts were unmapped", s.ReservedBytes.All.Current, s.DeviceFrees-before)
	}
	d := take(t, drv, 0, 5*mib)
	if d.Addr != c.Addr || reserved(cuda0) != 82*mib {
		t.Error("what was left of a page is not used")
	}
	free(t, a, d, small, other)
	if err := EmptyCache(cuda0); err != nil || reserved(cuda0) != 0 || len(drv.rooms) != 0 || len(drv.pages) != 0 {
		t.Errorf("%v: %d bytes, %d rooms and %d pages are left", err, reserved(cuda0), len(drv.rooms), len(drv.pages))
	}
}

// TestRoomUnderPressure unmaps the pages of one stream for another.
func TestRoomUnderPressure(t *testing.T) {
	drv := newMapping(100 * mib)
	start(t, drv)
	configure(t, "expandable_segments:True")
	free(t, take(t, drv, 1, 75*mib))
	b := take(t, drv, 2, 60*mib)
	if s := StatsOf(cuda0); s.AllocRetries != 1 || s.OutOfMemory != 0 || s.ReservedBytes.All.Current != 60*mib {
		t.Errorf("%d retries, %d bytes reserved", s.AllocRetries, s.ReservedBytes.All.Current)
	}
	if _, err := Alloc(cuda0, drv, 3, 60*mib); !errors.Is(err, device.ErrOutOfMemory) || len(drv.rooms) != 1 {
		t.Errorf("too much: %v, %d rooms", err, len(drv.rooms))
	}
	free(t, b)
	free(t, take(t, drv, 3, 60*mib))
}

// TestRoomsOff allocates with expandable segments turned off again, and on a
// driver that has none.
func TestRoomsOff(t *testing.T) {
	drv := newMapping(400 * mib)
	start(t, drv)
	configure(t, "expandable_segments:True")
	a := take(t, drv, 0, 30*mib)
	free(t, a)
	configure(t, "")
	b := take(t, drv, 0, 30*mib)
	if b.Addr == a.Addr || segments(cuda0) != 1 {
		t.Error("a block of a room was lent with rooms off")
	}
	configure(t, "expandable_segments:True")
	if c := take(t, drv, 0, 30*mib); c.Addr != a.Addr {
		t.Error("a block of a room was not lent with rooms on")
	}
	plain := newFake(100 * mib)
	start(t, plain)
	if take(t, plain, 0, 30*mib); segments(cuda0) != 1 {
		t.Error("without a Mapper there is no segment")
	}
}

// TestGrowableFit has a free block that can grow count with what it can become.
func TestGrowableFit(t *testing.T) {
	drv := newMapping(400 * mib)
	start(t, drv)
	configure(t, "expandable_segments:True")
	blocks := []Block{take(t, drv, 0, 16*mib), take(t, drv, 0, 4*mib), take(t, drv, 0, 12*mib)}
	free(t, blocks[0]) // 16 MiB before blocks, against 8 MiB before bare addresses
	if b := take(t, drv, 0, 6*mib); b.Addr != blocks[0].Addr {
		t.Errorf("a block at +%d was taken, which could have grown", int64(b.Addr-blocks[0].Addr))
	}
	if b := take(t, drv, 0, 11*mib); b.Addr != blocks[2].Addr+12*mib {
		t.Errorf("the block at the end did not grow: +%d", int64(b.Addr-blocks[0].Addr))
	}
}

// TestRoomsAtRandom does random steps on rooms, some in a private pool, and holds
// the allocator's books against one another and against the driver after each.
func TestRoomsAtRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	drv := newMapping(600 * mib)
	start(t, drv)
	configure(t, "expandable_segments:True,max_split_size_mb:40")
	p := NewPool(cuda0, PoolOptions{})
	var held []Block
	for step := range brief.Times(3000) {
		switch n := r.IntN(100); {
		case n < 50 || len(held) == 0:
			bytes := []int64{1 + r.Int64N(3000), 1 + r.Int64N(mib), 1 + r.Int64N(60*mib)}[r.IntN(3)]
			get := func() {
				b, err := Alloc(cuda0, drv, device.StreamID(r.IntN(2)), bytes)
				switch {
				case err == nil:
					held = append(held, b)
				case errors.Is(err, device.ErrOutOfMemory):
					free(t, held[len(held)/2:]...)
					held = held[:len(held)/2]
				default:
					t.Fatalf("step %d: %v", step, err)
				}
			}
			if n%5 == 0 {
				within(t, p, get)
			} else {
				get()
			}
		case n < 95:
			i := r.IntN(len(held))
			if n%7 == 0 {
				held[i].RecordStream(1)
			}
			free(t, held[i])
			held = slices.Delete(held, i, i+1)
		case n < 97:
			if err := EmptyCache(cuda0); err != nil {
				t.Fatal(err)
			}
		default:
			configure(t, []string{"expandable_segments:True", "expandable_segments:True,max_split_size_mb:40", ""}[r.IntN(3)])
		}
		audit(t, existing(cuda0), drv)
		if t.Failed() {
			t.Fatalf("after step %d", step)
		}
	}
	if s := StatsOf(cuda0); s.OutOfMemory == 0 || s.DeviceFrees == 0 {
		t.Error("too few steps to test")
	}
	free(t, held...)
	if err := errors.Join(p.Release(), EmptyCache(cuda0)); err != nil {
		t.Fatal(err)
	}
	if len(drv.rooms)+len(drv.pages)+len(drv.live) != 0 || reserved(cuda0) != 0 {
		t.Errorf("%d rooms, %d pages, %d segments, %d bytes are left", len(drv.rooms), len(drv.pages), len(drv.live), reserved(cuda0))
	}
}

// audit compares the allocator's chunks with its figures and with what the driver
// has.
func audit(t *testing.T, a *allocator, drv *mapping) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	var active, lent, segs, split, reserve, backed int64
	free := map[*freeSet]int{}
	for _, c := range a.segments {
		if c.prev != nil {
			t.Errorf("segment %#x does not begin with its first chunk", c.addr)
		}
		if c.room == nil {
			segs++
		}
		page := int64(0)
		if c.room != nil {
			page = c.room.page
		}
		whole := !c.divided()
		base, end := c.addr, c.addr
		for ; c != nil; c = c.next {
			if c.addr != end || c.size <= 0 || c.size%unit != 0 {
				t.Errorf("chunk %#x of %d bytes follows %#x", c.addr, c.size, end)
			}
			end += uint64(c.size)
			if n := c.next; n != nil && n.state == c.state && (c.state == chunkFree || c.state == chunkUnmapped) {
				t.Errorf("chunks %#x and %#x are one", c.addr, n.addr)
			}
			if c.state != chunkUnmapped {
				reserve += c.size
				for p := (int64(c.addr-base) + page - 1) / max(page, 1) * page; page > 0 && p < int64(end-base); p += page {
					backed++
					if drv.pages[base+uint64(p)] != page {
						t.Errorf("page %#x of chunk %#x is not mapped", base+uint64(p), c.addr)
					}
				}
			} else if !c.listed() {
				t.Errorf("chunk %#x is on no list", c.addr)
			}
			switch c.state {
			case chunkLent:
				lent += c.size
				active += c.size
			case chunkWaiting:
				active += c.size
			case chunkFree:
				free[c.set]++
				if page == 0 && !whole {
					split += c.size
				}
			}
		}
	}
	for set, want := range free {
		n := 0
		for c := set.least(0); c != nil; c = set.after(c) {
			n++
		}
		if n != want {
			t.Errorf("a free set has %d chunks, want %d", n, want)
		}
	}
	got := [...]int64{a.stats.ActiveBytes.Sum(), a.stats.AllocatedBytes.Sum(), a.stats.Segment.Sum(), a.stats.InactiveSplitBytes.Sum(), a.stats.ReservedBytes.Sum(), int64(len(drv.pages)), drv.used}
	if want := [...]int64{active, lent, segs, split, reserve, backed, reserve}; got != want {
		t.Errorf("active, allocated, segments, split, reserved, pages, driver's: %v, want %v", got, want)
	}
}
