package conformance_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

// A gated driver is that of the devices under test, whose streams can be held from
// going on. A call that waits lets go first what it waits for, so that nothing
// waits for ever, and what is held afterwards tells which calls waited.
type gated struct {
	device.Driver // never a gated one
	device.Mapper
	t     testing.TB
	gates map[device.StreamID]gate // of device 0, by stream

	mu       sync.Mutex // guards what follows
	recorded map[device.EventID]device.StreamID
	asked    []device.EventID // whether they are done
	log      []string         // calls that allocate, free and wait
	before   func(string)     // called before each of them, if set
}

// note logs a call.
func (g *gated) note(format string, args ...any) {
	call := fmt.Sprintf(format, args...)
	g.mu.Lock()
	g.log = append(g.log, call)
	before := g.before
	g.mu.Unlock()
	if before != nil {
		before(call)
	}
}

// calls returns what was logged since the last time.
func (g *gated) calls() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	log := g.log
	g.log = nil
	return log
}

// A gate keeps one stream, again and again.
type gate interface {
	hold() error
	release()
	held() bool
}

// gateDriver makes a gated driver the one of the devices under test. After the test
// the other is back. A gated driver is not gated again, since it would wait for the
// streams that the outer one holds: what it holds is let go.
func gateDriver(t testing.TB, inner device.Driver) *gated {
	t.Helper()
	if earlier, ok := inner.(*gated); ok {
		earlier.open()
		inner = earlier.Driver
	}
	// What other allocators have cached would go back with the first allocation of
	// this one, perhaps while a stream is held.
	runtime.GC()
	must(t, memory.EmptyCache(device.Device{Kind: inner.Kind()}))
	g := &gated{Driver: inner, t: t, gates: map[device.StreamID]gate{}, recorded: map[device.EventID]device.StreamID{}}
	g.Mapper, _ = inner.(device.Mapper)
	if g.Mapper == nil {
		g.Mapper = noMapper{}
	}
	before, err := device.DriverOf(inner.Kind())
	must(t, err)
	device.Install(g)
	forget := letGo(g.letGo)
	t.Cleanup(func() {
		forget()
		g.open()
		for s := range g.gates { // nothing is cached for them any more
			must(t, g.Driver.DestroyStream(0, s))
		}
		device.Install(before)
	})
	return g
}

// noMapper maps nothing.
type noMapper struct{ device.Mapper }

func (noMapper) CanMap(int) bool { return false }

// stream returns a new stream of device 0 that can be held.
func (g *gated) stream(t testing.TB) device.StreamID {
	t.Helper()
	defer g.patience("a new stream")()
	s, err := g.NewStream(0, 0)
	must(t, err)
	if simulated, ok := g.Driver.(holder); ok {
		g.gates[s] = &simGate{drv: simulated, stream: s}
	} else {
		g.gates[s] = newGPUGate(t, s)
	}
	return s
}

// open lets go what is held.
func (g *gated) open() {
	for s := range g.gates {
		g.release(s)
	}
}

// letGo lets go what is held and waits for nothing.
func (g *gated) letGo() {
	for _, gate := range g.gates {
		if gate.held() {
			gate.release()
		}
	}
}

// release lets a stream go on and waits until it has done everything.
func (g *gated) release(s device.StreamID) {
	if gate := g.gates[s]; gate != nil && gate.held() {
		gate.release()
		_ = g.Driver.SyncStream(context.Background(), 0, s)
	}
}

func (g *gated) held(s device.StreamID) bool {
	gate := g.gates[s]
	return gate != nil && gate.held()
}

// patience makes a call that waits for a stream that is held, which would go on for
// ever, a failure of the test rather than its end: after a while it lets all go. The
// function that it returns is called after the call.
func (g *gated) patience(call string) (over func()) {
	t := time.AfterFunc(patience.Left(g.t)/2, func() {
		g.t.Errorf("%s waits for a stream that is held", call)
		g.letGo()
	})
	return func() { t.Stop() }
}

// The calls of a driver that allocate and free, and those that wait.

func (g *gated) Alloc(dev int, bytes int64) (device.Memory, error) {
	g.note("alloc %d", bytes)
	defer g.patience("an allocation")()
	return g.Driver.Alloc(dev, bytes)
}

func (g *gated) Map(dev int, addr uint64, bytes, page int64) error {
	g.note("map %d", bytes)
	defer g.patience("mapping memory")()
	return g.Mapper.Map(dev, addr, bytes, page)
}

func (g *gated) Unmap(dev int, addr uint64, bytes, page int64) error {
	g.note("unmap %d", bytes)
	defer g.patience("unmapping memory")()
	return g.Mapper.Unmap(dev, addr, bytes, page)
}

func (g *gated) Free(dev int, m device.Memory) error {
	g.note("free %d", m.Bytes)
	defer g.patience("giving memory back")()
	g.open()
	return g.Driver.Free(dev, m)
}

// AllocHost and FreeHost of a GPU's driver wait for its streams.

func (g *gated) AllocHost(bytes int64) (device.Memory, error) {
	defer g.patience("page-locking memory")()
	return g.Driver.AllocHost(bytes)
}

func (g *gated) FreeHost(m device.Memory) error {
	defer g.patience("giving page-locked memory back")()
	g.open()
	return g.Driver.FreeHost(m)
}

func (g *gated) SyncDevice(ctx context.Context, dev int) error {
	g.note("sync device")
	defer g.patience("waiting for the device")()
	g.open()
	return g.Driver.SyncDevice(ctx, dev)
}

func (g *gated) SyncStream(ctx context.Context, dev int, s device.StreamID) error {
	g.note("sync stream")
	defer g.patience("waiting for a stream")()
	g.release(s)
	return g.Driver.SyncStream(ctx, dev, s)
}

func (g *gated) SyncEvent(ctx context.Context, dev int, e device.EventID) error {
	g.note("sync event")
	defer g.patience("waiting for an event")()
	g.mu.Lock()
	s := g.recorded[e]
	g.mu.Unlock()
	g.release(s)
	return g.Driver.SyncEvent(ctx, dev, e)
}

// RecordEvent does not wait, but an event on a stream that is not held is done
// when it returns.
func (g *gated) RecordEvent(dev int, e device.EventID, s device.StreamID) error {
	g.mu.Lock()
	g.recorded[e] = s
	g.mu.Unlock()
	defer g.patience("recording an event")()
	if err := g.Driver.RecordEvent(dev, e, s); err != nil || g.held(s) {
		return err
	}
	return g.Driver.SyncStream(context.Background(), dev, s)
}

func (g *gated) EventDone(dev int, e device.EventID) (bool, error) {
	g.mu.Lock()
	g.asked = append(g.asked, e)
	g.mu.Unlock()
	return g.Driver.EventDone(dev, e)
}

// A gpuGate makes a stream of a GPU wait until a word of page-locked memory has
// counted the holds.
type gpuGate struct {
	api    driver.API
	stream device.StreamID
	word   *uint32
	holds  atomic.Uint32
}

// gateWords are page-locked once for the process: the driver may wait for all
// streams when it locks pages, also for those that are held.
var gateWords = sync.OnceValues(func() ([]uint32, error) {
	const n = 1 << 12
	api, err := driver.Open()
	if err != nil {
		return nil, err
	}
	p, err := api.MemHostAlloc(0, n*int64(unsafe.Sizeof(uint32(0))), driver.HostPortable|driver.HostMapped)
	if err != nil {
		return nil, err
	}
	words := unsafe.Slice((*uint32)(p), n)
	clear(words)
	return words, nil
})

// gatesMade counts gates, each of which has a word to itself.
var gatesMade atomic.Int64

func newGPUGate(t testing.TB, s device.StreamID) *gpuGate {
	t.Helper()
	words, err := gateWords()
	must(t, err)
	api, err := driver.Open()
	must(t, err)
	return &gpuGate{api: api, stream: s, word: &words[gatesMade.Add(1)-1]}
}

func (g *gpuGate) hold() error {
	at := driver.Ptr(uintptr(unsafe.Pointer(g.word)))
	return g.api.StreamWaitValue32(0, driver.Stream(g.stream), at, g.holds.Add(1), false)
}

func (g *gpuGate) release() { atomic.StoreUint32(g.word, g.holds.Load()) }

func (g *gpuGate) held() bool { return atomic.LoadUint32(g.word) != g.holds.Load() }

// A simGate holds a stream of the simulated accelerator.
type simGate struct {
	drv    holder
	stream device.StreamID
	letGo  func()
}

func (s *simGate) hold() (err error) {
	s.letGo, err = s.drv.Hold(0, s.stream)
	return err
}

func (s *simGate) release() {
	s.letGo()
	s.letGo = nil
}

func (s *simGate) held() bool { return s.letGo != nil }
