package memory_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/memory/figures"
	"github.com/sinter-go/sinter/tests/patience"
)

var sim0 = device.Sim(0)

// rig is an asynchronous simulated device with helpers that stop the test.
type rig struct {
	*sim.Driver
	t testing.TB
}

func newRig(t testing.TB, c sim.Config) rig {
	t.Helper()
	c.Async = true
	d := sim.New(c)
	device.Install(d)
	return rig{d, t}
}

func (r rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r rig) take(s device.StreamID, bytes int64) memory.Block {
	r.t.Helper()
	b, err := memory.Alloc(sim0, r.Driver, s, bytes)
	r.must(err)
	return b
}

func (r rig) stream(dev int) device.StreamID {
	r.t.Helper()
	s, err := r.NewStream(dev, 0)
	r.must(err)
	return s
}

func (r rig) hold(dev int, s device.StreamID) (release func()) {
	r.t.Helper()
	release, err := r.Hold(dev, s)
	r.must(err)
	return release
}

func (r rig) put(s device.StreamID, b memory.Block, data []byte) {
	r.t.Helper()
	r.must(r.CopyFromHost(0, s, b.Addr, unsafe.Pointer(&data[0]), int64(len(data))))
}

func (r rig) get(s device.StreamID, b memory.Block, data []byte) {
	r.t.Helper()
	r.must(r.CopyToHost(0, s, unsafe.Pointer(&data[0]), b.Addr, int64(len(data))))
}

func fill(n int, v byte) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = v
	}
	return data
}

// TestReuseInOrder frees a block while its stream has work on it: the next block
// is at the same place at once, and the work is done in order.
func TestReuseInOrder(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 1})
	a := r.take(0, 600)
	one, two, got, later := fill(600, 1), fill(600, 2), make([]byte, 600), make([]byte, 600)
	release := r.hold(0, 0)
	r.put(0, a, one)
	r.get(0, a, got)
	r.must(a.Free())
	b := r.take(0, 600)
	if b.Addr != a.Addr {
		t.Errorf("the next block is at %#x, not at %#x, which is free on the stream", b.Addr, a.Addr)
	}
	r.put(0, b, two)
	r.get(0, b, later)
	release()
	r.must(r.SyncDevice(context.Background(), 0))
	if diff := cmp.Diff([][]byte{one, two}, [][]byte{got, later}); diff != "" {
		t.Error(diff)
	}
}

// TestRecordStream reads a block on another stream that is late. With the use
// recorded the reader finds what was written; without, the place is reused, which
// shows that the test can tell.
func TestRecordStream(t *testing.T) {
	for _, recorded := range []bool{true, false} {
		r := newRig(t, sim.Config{Devices: 1})
		side := r.stream(0)
		one, two, got := fill(600, 1), fill(600, 2), make([]byte, 600)
		a := r.take(0, 600)
		r.put(0, a, one)
		r.must(r.SyncStream(context.Background(), 0, 0))
		release := r.hold(0, side)
		r.get(side, a, got)
		if recorded {
			a.RecordStream(side)
		}
		r.must(a.Free())
		b := r.take(0, 600)
		r.put(0, b, two)
		r.must(r.SyncStream(context.Background(), 0, 0))
		release()
		r.must(r.SyncDevice(context.Background(), 0))
		if kept := got[0] == 1 && got[599] == 1; kept != recorded || (b.Addr == a.Addr) == recorded {
			t.Errorf("recorded %t: the reader found %d, the next block is at +%d", recorded, got[0], b.Addr-a.Addr)
		}
		if c := r.take(0, 600); recorded && c.Addr != a.Addr {
			t.Error("the place is not used again after the reader is done")
		}
	}
}

// TestReleaseWaitsForStreams empties the cache while another stream uses a block
// that was freed.
func TestReleaseWaitsForStreams(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 1})
	side, got := r.stream(0), make([]byte, 100)
	a := r.take(0, 100)
	r.put(0, a, fill(100, 9))
	r.must(r.SyncStream(context.Background(), 0, 0))
	release := r.hold(0, side)
	r.get(side, a, got)
	a.RecordStream(side)
	r.must(a.Free())
	emptied := make(chan error)
	go func() { emptied <- memory.EmptyCache(sim0) }()
	time.Sleep(5 * time.Millisecond)
	r.must(r.take(0, 100).Free()) // nothing is locked meanwhile
	select {
	case err := <-emptied:
		t.Errorf("the cache was emptied under a reader: %v", err)
	default:
	}
	release()
	r.must(<-emptied)
	if got[0] != 9 || r.Counters(0).LiveAllocs != 0 || memory.Reserved(sim0) != 0 {
		t.Errorf("the reader found %d; %d segments, %d bytes are left", got[0], r.Counters(0).LiveAllocs, memory.Reserved(sim0))
	}
}

// unrecorded is a driver that records no events.
type unrecorded struct {
	*sim.Driver
	err error
}

func (d unrecorded) RecordEvent(int, device.EventID, device.StreamID) error { return d.err }

// TestErrorsWhileFreeing has recording an event fail as a block is freed: the next
// allocation says so, but for streams that are gone, and the block is not lost.
func TestErrorsWhileFreeing(t *testing.T) {
	for _, c := range []struct {
		err error
		ok  bool
	}{{errors.New("no room for events"), false}, {device.ErrInvalid, true}} {
		drv := unrecorded{sim.New(sim.Config{Devices: 1, Async: true}), c.err}
		device.Install(drv)
		a, err := memory.Alloc(sim0, drv, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		a.RecordStream(99)
		if err := a.Free(); err != nil {
			t.Fatal(err)
		}
		b, err := memory.Alloc(sim0, drv, 0, 100)
		if !c.ok {
			if !errors.Is(err, c.err) || !strings.HasPrefix(err.Error(), "sim:0: freeing memory that stream 0x63 uses: ") {
				t.Errorf("an allocation after a stream could not be recorded: %v", err)
			}
			b, err = memory.Alloc(sim0, drv, 0, 100)
		}
		if err != nil || b.Addr != a.Addr {
			t.Errorf("after %v the block is lost: error %v, the next is at +%d", c.err, err, b.Addr-a.Addr)
		}
	}
}

// TestStreamsAtOnce writes and checks blocks on streams of their own from many
// goroutines, each also read by another stream: memory that is reused too early
// is another goroutine's.
func TestStreamsAtOnce(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 1, Memory: 24 << 20, Delay: 20 * time.Microsecond})
	streams := []device.StreamID{0, r.stream(0), r.stream(0)}
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			own, other := streams[i%3], streams[(i+1)%3]
			for k := range 6 {
				n := int64(700 + 1000*(i%5))
				b, err := memory.Alloc(sim0, r.Driver, own, n)
				if err != nil {
					t.Error(err)
					return
				}
				want, got := fill(int(n), byte(i+k)), make([]byte, n)
				e, err := r.NewEvent(0, false)
				err = errors.Join(err,
					r.CopyFromHost(0, own, b.Addr, unsafe.Pointer(&want[0]), n),
					r.RecordEvent(0, e, own),
					r.WaitEvent(0, other, 0, e),
					r.CopyToHost(0, other, unsafe.Pointer(&got[0]), b.Addr, n))
				b.RecordStream(other)
				err = errors.Join(err, b.Free(), r.SyncStream(context.Background(), 0, other), r.DestroyEvent(0, e))
				if err != nil || got[0] != want[0] || got[n-1] != want[0] {
					t.Errorf("goroutine %d: %v, found %d and %d, want %d", i, err, got[0], got[n-1], want[0])
				}
			}
		})
	}
	wg.Wait()
	r.must(memory.EmptyCache(sim0))
	if c := r.Counters(0); c.LiveAllocs != 0 || memory.Allocated(sim0) != 0 {
		t.Errorf("%d segments, %d bytes are left", c.LiveAllocs, memory.Allocated(sim0))
	}
}

// holder stands for what owns a block and may be dropped.
type holder struct{ block memory.Block }

// drop allocates a block that only the collector can give back.
func (r rig) drop(bytes int64) {
	r.t.Helper()
	h := &holder{r.take(0, bytes)}
	runtime.AddCleanup(h, memory.Drop, h.block)
}

// TestDropped has blocks that are dropped come back before the device is out of
// memory, without the collector running for reasons of its own.
func TestDropped(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := newRig(t, sim.Config{Devices: 1, Memory: 100 << 20})
	for range 20 {
		r.drop(30 << 20)
	}
	if _, err := memory.Alloc(sim0, r.Driver, 0, 101<<20); !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("more than the device has: %v", err)
	}
	if held := memory.Allocated(sim0); held != 0 {
		t.Errorf("%d bytes are held by nobody", held)
	}
}

// TestDroppedByFinalizer has a block come back to an allocation that needs it,
// where it is a finalizer that drops it, which takes a while.
func TestDroppedByFinalizer(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := newRig(t, sim.Config{Devices: 1, Memory: 100 << 20})
	func() {
		h := &holder{r.take(0, 60<<20)}
		runtime.SetFinalizer(h, func(h *holder) {
			time.Sleep(10 * time.Millisecond)
			memory.Drop(h.block)
		})
	}()
	b, err := memory.Alloc(sim0, r.Driver, 0, 90<<20)
	r.must(err)
	r.must(b.Free())
}

// TestDroppedWaits has memory of a busy device be dropped that its owner waits for as it is
// freed, or that no event could be recorded for: allocations of another device free it, and
// do not wait.
func TestDroppedWaits(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 2})
	gone := r.stream(1)
	own, err := memory.Alloc(device.Sim(1), r.Driver, 0, 100)
	r.must(err)
	own.RecordStream(gone)
	r.must(r.DestroyStream(1, gone))
	given := make(chan struct{})
	foreign, err := memory.Foreign(device.Sim(1), device.Memory{Addr: 1 << 20, Bytes: 8}, func() error {
		defer close(given)
		return r.SyncDevice(context.Background(), 1)
	})
	r.must(err)
	release := r.hold(1, 0)
	memory.Drop(own)
	memory.Drop(foreign)
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		r.must(r.take(0, 100).Free())
	}()
	select {
	case <-taken:
	case <-time.After(patience.Left(t)):
		t.Error("an allocation waits for another device")
	}
	select {
	case <-given:
		t.Error("memory was given back that a busy device may use")
	default:
	}
	release()
	<-given
	if !patience.Until(t, func() bool { return memory.Allocated(device.Sim(1)) == 0 && r.idle(1) }) {
		t.Error("memory did not come back")
	}
}

// TestWaited takes back that another stream uses a block: freed, it is reused at once by its
// own stream, and not where another one waits.
func TestWaited(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 1})
	other, third := r.stream(0), r.stream(0)
	release := r.hold(0, other)
	defer release()
	for _, c := range []struct {
		now  device.StreamID
		same bool
	}{{third, false}, {0, true}} {
		a := r.take(0, 1<<20)
		a.RecordStream(other)
		a.Waited(c.now, other)
		r.must(a.Free())
		b := r.take(0, 1<<20)
		if (a.Addr == b.Addr) != c.same {
			t.Errorf("stream %d waited: reused at once: %t", c.now, a.Addr == b.Addr)
		}
	}
}

// idle reports whether all that was dropped is free again.
func (r rig) idle(dev int) bool {
	r.must(r.take(0, 100).Free())
	return memory.StatsOf(device.Sim(dev)).Active.All.Current == 0
}

// TestPace has a program that releases nothing stay far from out of memory.
func TestPace(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := newRig(t, sim.Config{Devices: 1, Memory: 512 << 20})
	kept := r.take(0, 100<<20)
	for range 1000 {
		r.drop(1 << 20)
		if !patience.Until(t, func() bool { return !memory.Collecting(sim0) }) {
			t.Fatal("a collection does not end")
		}
	}
	s := memory.StatsOf(sim0)
	if s.AllocRetries != 0 || s.AllocatedBytes.All.Peak > 480<<20 {
		t.Errorf("%d retries, %d bytes held at the peak", s.AllocRetries, s.AllocatedBytes.All.Peak)
	}
	r.must(kept.Free())
}

func (r rig) pin(bytes int64) memory.Block {
	r.t.Helper()
	b, err := memory.AllocPinned(r.Driver, bytes)
	r.must(err)
	return b
}

func TestPinned(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 2})
	a, b := r.pin(4*10*1024), r.pin(4*20*1024)
	if a.Bytes != 65536 || b.Bytes != 131072 || !a.Pinned() || a.Collected() || a.Device != device.CPU {
		t.Errorf("blocks of %d and %d bytes, pinned %t", a.Bytes, b.Bytes, a.Pinned())
	}
	r.must(a.Free())
	c := r.pin(50000)
	if c.Host != a.Host {
		t.Error("a block that was freed unused is not reused at once")
	}
	side, peer := r.stream(0), r.stream(1)
	first, second := r.hold(0, side), r.hold(1, peer)
	for range 2 {
		c.RecordUse(device.Sim(0), side)
		c.RecordUse(device.Sim(1), peer)
	}
	r.must(c.Free())
	d := r.pin(50000)
	if d.Host == c.Host {
		t.Error("a block was reused under a copy")
	}
	first()
	r.must(r.SyncStream(context.Background(), 0, side))
	e := r.pin(50000)
	if e.Host == c.Host {
		t.Error("a block was reused under a copy of another device")
	}
	second()
	r.must(r.SyncStream(context.Background(), 1, peer))
	if f := r.pin(50000); f.Host != c.Host {
		t.Error("a block is not reused after its copies")
	}
	r.must(d.Free())
	if err := d.Free(); !errors.Is(err, memory.ErrFreed) {
		t.Errorf("freed twice: %v", err)
	}
	s := memory.PinnedStatsOf(device.KindSim)
	want := figures.PinnedStats{
		Allocations:    figures.Stat{Current: 4, Peak: 4, Allocated: 4},
		AllocatedBytes: figures.Stat{Current: 3*65536 + 131072, Peak: 3*65536 + 131072, Allocated: 3*65536 + 131072},
		ActiveRequests: figures.Stat{Current: 3, Peak: 4, Allocated: 6, Freed: 3},
		ActiveBytes:    figures.Stat{Current: 2*65536 + 131072, Peak: 3*65536 + 131072, Allocated: 5*65536 + 131072, Freed: 3 * 65536},
		AllocTime:      s.AllocTime,
	}
	if diff := cmp.Diff(want, s); diff != "" || s.AllocTime.Count != 4 || s.AllocTime.Mean() > s.AllocTime.Max || s.AllocTime.Min > s.AllocTime.Mean() {
		t.Error(diff, s.AllocTime)
	}
	r.must(memory.EmptyPinnedCache(device.KindSim))
	if s := memory.PinnedStatsOf(device.KindSim); s.Allocations.Current != 3 || s.FreeTime.Count != 1 {
		t.Errorf("after emptying the cache: %+v", s)
	}
	if empty := r.pin(0); empty.Host != nil || empty.Free() != nil {
		t.Error("no bytes have a place")
	}
}
