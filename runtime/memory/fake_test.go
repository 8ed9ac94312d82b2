package memory

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/runtime/device"
)

const mib = 1 << 20

// fake is a driver of one device that only counts. Work of a stream is done
// unless the stream is busy; a wait ends that.
type fake struct {
	device.Driver // nil: what is not below is not called
	capacity      int64

	mu     sync.Mutex
	used   int64
	next   uint64
	live   map[uint64]int64
	busy   map[device.StreamID]bool
	events []*fakeEvent // by ID, from 1
	broken error        // of Alloc
}

type fakeEvent struct {
	stream device.StreamID
	done   bool
}

func newFake(capacity int64) *fake {
	return &fake{capacity: capacity, next: 1 << 40, live: map[uint64]int64{}, busy: map[device.StreamID]bool{}}
}

func (f *fake) Kind() device.Kind         { return device.KindCUDA }
func (f *fake) DeviceCount() (int, error) { return 1, nil }

func (f *fake) Properties(int) (device.Properties, error) {
	return device.Properties{Name: "fake", TotalMemory: f.capacity}, nil
}

func (f *fake) MemoryInfo(int) (free, total int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.capacity - f.used, f.capacity, nil
}

func (f *fake) Alloc(_ int, bytes int64) (device.Memory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return device.Memory{}, f.broken
	}
	if f.used+bytes > f.capacity {
		return device.Memory{}, fmt.Errorf("fake: %w", device.ErrOutOfMemory)
	}
	m := device.Memory{Addr: f.next, Bytes: bytes}
	f.next += uint64(bytes) + 2*mib
	f.used += bytes
	f.live[m.Addr] = bytes
	return m, nil
}

func (f *fake) Free(_ int, m device.Memory) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live[m.Addr] != m.Bytes || m.Bytes == 0 {
		return fmt.Errorf("fake: %d bytes at %#x are not an allocation", m.Bytes, m.Addr)
	}
	delete(f.live, m.Addr)
	f.used -= m.Bytes
	return nil
}

func (f *fake) NewEvent(int, bool) (device.EventID, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, &fakeEvent{done: true})
	return device.EventID(len(f.events)), nil
}

func (f *fake) RecordEvent(_ int, e device.EventID, s device.StreamID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	*f.events[e-1] = fakeEvent{s, !f.busy[s]}
	return nil
}

func (f *fake) EventDone(_ int, e device.EventID) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events[e-1].done, nil
}

func (f *fake) SyncEvent(_ context.Context, _ int, e device.EventID) error {
	f.mu.Lock()
	s := f.events[e-1].stream
	f.mu.Unlock()
	f.setBusy(s, false)
	return nil
}

func (f *fake) setBusy(s device.StreamID, busy bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy[s] = busy
	for _, e := range f.events {
		if !busy && e.stream == s {
			e.done = true
		}
	}
}

var cuda0 = device.CUDA(0)

// start makes drv the driver of its kind for a test.
func start(t testing.TB, drv device.Driver) {
	t.Helper()
	device.Install(drv)
}

// take allocates on stream s of the fake.
func take(t testing.TB, drv device.Driver, s device.StreamID, bytes int64) Block {
	t.Helper()
	b, err := Alloc(cuda0, drv, s, bytes)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func free(t testing.TB, blocks ...Block) {
	t.Helper()
	for _, b := range blocks {
		if err := b.Free(); err != nil {
			t.Fatal(err)
		}
	}
}
