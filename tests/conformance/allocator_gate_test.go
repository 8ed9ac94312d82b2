package conformance_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
)

// raced says that the race detector is on, which makes tests many times slower.
var raced bool

// A gated driver is that of the devices under test, whose streams can be held from
// going on. A call that waits lets go first what it waits for, so that nothing
// waits for ever, and what is held afterwards tells which calls waited.
type gated struct {
	device.Driver
	device.Mapper
	t     testing.TB
	gates map[device.StreamID]gate // of device 0, by stream

	mu       sync.Mutex // guards what follows
	recorded map[device.EventID]device.StreamID
	log      []string     // calls that allocate, free and wait
	before   func(string) // called before each of them, if set
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

// gate makes a gated driver the one of the devices under test. After the test the
// other is back.
func gateDriver(t testing.TB, inner device.Driver) *gated {
	t.Helper()
	g := &gated{Driver: inner, t: t, gates: map[device.StreamID]gate{}, recorded: map[device.EventID]device.StreamID{}}
	g.Mapper, _ = inner.(device.Mapper)
	if g.Mapper == nil {
		g.Mapper = noMapper{}
	}
	before, err := device.DriverOf(inner.Kind())
	must(t, err)
	device.Install(g)
	t.Cleanup(func() {
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
	s, err := g.NewStream(0, 0)
	must(t, err)
	if simulated, ok := g.Driver.(*sim.Driver); ok {
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

// patience makes a call that is not to wait, and does, a failure of the test rather
// than its end. The function that it returns is called after the call.
func (g *gated) patience() (over func()) {
	t := time.AfterFunc(20*time.Second, func() {
		g.t.Error("a call of the driver that allocates or maps waits for streams that are held")
		for _, gate := range g.gates {
			if held, ok := gate.(*gpuGate); ok {
				held.release()
			}
		}
	})
	return func() { t.Stop() }
}

// The calls of a driver that allocate and free, and those that wait.

func (g *gated) Alloc(dev int, bytes int64) (device.Memory, error) {
	g.note("alloc %d", bytes)
	defer g.patience()()
	return g.Driver.Alloc(dev, bytes)
}

func (g *gated) Map(dev int, addr uint64, bytes, page int64) error {
	g.note("map %d", bytes)
	defer g.patience()()
	return g.Mapper.Map(dev, addr, bytes, page)
}

func (g *gated) Unmap(dev int, addr uint64, bytes, page int64) error {
	g.note("unmap %d", bytes)
	defer g.patience()()
	return g.Mapper.Unmap(dev, addr, bytes, page)
}

func (g *gated) Free(dev int, m device.Memory) error {
	g.note("free %d", m.Bytes)
	g.open()
	return g.Driver.Free(dev, m)
}

func (g *gated) SyncDevice(ctx context.Context, dev int) error {
	g.note("sync device")
	g.open()
	return g.Driver.SyncDevice(ctx, dev)
}

func (g *gated) SyncStream(ctx context.Context, dev int, s device.StreamID) error {
	g.note("sync stream")
	g.release(s)
	return g.Driver.SyncStream(ctx, dev, s)
}

func (g *gated) SyncEvent(ctx context.Context, dev int, e device.EventID) error {
	g.note("sync event")
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
	if err := g.Driver.RecordEvent(dev, e, s); err != nil || g.held(s) {
		return err
	}
	return g.Driver.SyncStream(context.Background(), dev, s)
}

// A simGate holds a stream of the simulated accelerator.
type simGate struct {
	drv    *sim.Driver
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

// A gpuGate makes a stream of a GPU wait until a word of page-locked memory has
// counted the holds.
type gpuGate struct {
	api    driver.API
	stream device.StreamID
	word   *uint32
	holds  uint32
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
	g.holds++
	return g.api.StreamWaitValue32(0, driver.Stream(g.stream), driver.Ptr(uintptr(unsafe.Pointer(g.word))), g.holds)
}

func (g *gpuGate) release() { atomic.StoreUint32(g.word, g.holds) }

func (g *gpuGate) held() bool { return atomic.LoadUint32(g.word) != g.holds }
