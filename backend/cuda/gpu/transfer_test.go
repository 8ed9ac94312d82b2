package gpu

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/tests/brief"
)

// fakeDevice is a CUDA driver of one device whose memory is Go's. Copies are done
// late, by a goroutine of their stream.
type fakeDevice struct {
	driver.API
	memory []byte
	queue  chan func()

	mu     sync.Mutex
	last   driver.Event
	events map[driver.Event]chan struct{}
	hosts  [][]byte
	fail   int // the copy that fails, counted down
}

func newFakeDevice(t *testing.T, bytes int) *fakeDevice {
	f := &fakeDevice{memory: make([]byte, bytes), queue: make(chan func(), 1000), events: map[driver.Event]chan struct{}{}}
	go func() {
		for work := range f.queue {
			work()
		}
	}()
	t.Cleanup(func() { close(f.queue) })
	return f
}

func (f *fakeDevice) DeviceCount() int { return 1 }

func (f *fakeDevice) MemHostAlloc(_ int, bytes int64, _ driver.HostFlags) (unsafe.Pointer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts = append(f.hosts, make([]byte, bytes))
	return unsafe.Pointer(&f.hosts[len(f.hosts)-1][0]), nil
}

func (f *fakeDevice) copy(dst, src []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail--; f.fail == 0 {
		return driver.IllegalAddress
	}
	f.queue <- func() {
		time.Sleep(time.Duration(rand.IntN(100)) * time.Microsecond)
		copy(dst, src)
	}
	return nil
}

func (f *fakeDevice) MemcpyHtoDAsync(_ int, dst driver.Ptr, src unsafe.Pointer, n int64, _ driver.Stream) error {
	return f.copy(f.memory[dst:int64(dst)+n], unsafe.Slice((*byte)(src), n))
}

func (f *fakeDevice) MemcpyDtoHAsync(_ int, dst unsafe.Pointer, src driver.Ptr, n int64, _ driver.Stream) error {
	return f.copy(unsafe.Slice((*byte)(dst), n), f.memory[src:int64(src)+n])
}

func (f *fakeDevice) EventCreate(int, driver.EventFlags) (driver.Event, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	return f.last, nil
}

func (f *fakeDevice) EventRecord(_ int, e driver.Event, _ driver.Stream) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	done := make(chan struct{})
	f.events[e] = done
	f.queue <- func() { close(done) }
	return nil
}

func (f *fakeDevice) EventSynchronize(_ int, e driver.Event) error {
	f.mu.Lock()
	done := f.events[e]
	f.mu.Unlock()
	<-done
	return nil
}

func (f *fakeDevice) wait() {
	done := make(chan struct{})
	f.queue <- func() { close(done) }
	<-done
}

// TestChunks stages transfers through a device that is late.
func TestChunks(t *testing.T) {
	n := 30*chunkBytes + 17
	if testing.Short() {
		n = (maxChunks+2)*chunkBytes + 17 // which wait for one another, too
	}
	f := newFakeDevice(t, n)
	d := &Driver{open: func() (driver.API, error) { return f, nil }}
	from := make([]byte, n)
	for i := range from {
		from[i] = byte(i>>12 ^ i)
	}
	want := slices.Clone(from)
	must(t, d.CopyFromHost(0, 0, 0, unsafe.Pointer(&from[0]), int64(n)))
	clear(from) // it was read
	to := make([]byte, n)
	must(t, d.CopyToHost(0, 0, unsafe.Pointer(&to[0]), 0, int64(n)))
	f.wait()
	if !slices.Equal(f.memory, want) || !slices.Equal(to, want) {
		t.Error("the bytes changed on the way")
	}
	if len(f.hosts) == 0 || len(f.hosts) > maxChunks {
		t.Errorf("%d chunks were made", len(f.hosts))
	}
}

// TestChunksFail has a copy fail: the error comes back, and the chunks are there
// for the next transfer.
func TestChunksFail(t *testing.T) {
	const n = 20 * chunkBytes
	f := newFakeDevice(t, n)
	d := &Driver{open: func() (driver.API, error) { return f, nil }}
	host := make([]byte, n)
	for range brief.Times(30) {
		f.mu.Lock()
		f.fail = 1 + rand.IntN(15)
		f.mu.Unlock()
		if err := d.CopyToHost(0, 0, unsafe.Pointer(&host[0]), 0, n); !errors.Is(err, driver.IllegalAddress) {
			t.Fatalf("error %v", err)
		}
	}
	if got := len(d.staging.free); got != d.staging.made {
		t.Errorf("%d of %d chunks are free", got, d.staging.made)
	}
}
