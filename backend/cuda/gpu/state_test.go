package gpu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// brittle is a CUDA driver of two devices whose calls can be made to fail.
type brittle struct {
	driver.API
	streams uintptr
	fails   map[int]error // by device
	hosts   [][]byte
	homes   []int // the devices that page-locked memory was made on
}

func (b *brittle) DeviceCount() int { return 2 }

func (b *brittle) MemHostAlloc(dev int, bytes int64, _ driver.HostFlags) (unsafe.Pointer, error) {
	b.hosts, b.homes = append(b.hosts, make([]byte, bytes)), append(b.homes, dev)
	return unsafe.Pointer(&b.hosts[len(b.hosts)-1][0]), b.fails[dev]
}

func (b *brittle) StreamCreate(dev int, _ driver.StreamFlags, _ int) (driver.Stream, error) {
	b.streams += 16
	return driver.Stream(b.streams), b.fails[dev]
}

func (b *brittle) StreamDestroy(dev int, _ driver.Stream) error     { return b.fails[dev] }
func (b *brittle) StreamSynchronize(dev int, _ driver.Stream) error { return b.fails[dev] }
func (b *brittle) Synchronize(dev int) error                        { return b.fails[dev] }
func (b *brittle) StreamQuery(dev int, _ driver.Stream) (bool, error) {
	return b.fails[dev] == nil, b.fails[dev]
}
func (b *brittle) EventRecord(dev int, _ driver.Event, _ driver.Stream) error { return b.fails[dev] }
func (b *brittle) MemAlloc(dev int, _ int64) (driver.Ptr, error)              { return 512, b.fails[dev] }
func (b *brittle) MemFree(dev int, _ driver.Ptr) error                        { return b.fails[dev] }

func onBrittle(t *testing.T) (*Driver, *brittle) {
	t.Helper()
	b := &brittle{fails: map[int]error{}}
	d := &Driver{open: func() (driver.API, error) { return b, nil }}
	if n, err := d.DeviceCount(); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	return d, b
}

// write makes a kernel of a stream find an index out of range.
func write(d *Driver, s device.StreamID, index int64) {
	type record struct {
		state, who   uint32
		value, limit int64
	}
	l := &d.gpus[0].states
	*(*record)(unsafe.Pointer(&l.records.Load()[l.of(s).record])) = record{2, uint32(trap.Gather), index, 10}
}

// TestFaultsOfStreams: what kernels of a stream record is told to those who ask for that
// stream or for the device, once; the handles of other code's streams are kept
// nowhere.
func TestFaultsOfStreams(t *testing.T) {
	d, _ := onBrittle(t)
	must(t, d.makeRecords(0))
	a, err := d.NewStream(0, 0)
	must(t, err)
	b, err := d.NewStream(0, 0)
	must(t, err)
	const foreign = device.StreamID(0xabcdef0)
	for _, s := range []device.StreamID{0, a, b, foreign} {
		for _, other := range []device.StreamID{0, a, b, foreign} {
			if (scratch{d}.Trap(0, driver.Stream(s)) == scratch{d}.Trap(0, driver.Stream(other))) != (s == other) {
				t.Fatalf("streams %#x and %#x", s, other)
			}
		}
		d.gpus[0].states.of(s).flight.Note(&ir.Op{Name: "gather"})
		d.gpus[0].states.of(s).flight.Note(&ir.Op{Name: "add"})
		for name, ask := range map[string]func() error{
			"stream": func() error { return d.StreamFault(0, s) }, "device": func() error { return d.DeviceFault(0) },
		} {
			write(d, s, 77)
			for _, other := range []device.StreamID{0, a, b, foreign} {
				if other != s {
					must(t, d.StreamFault(0, other))
				}
			}
			must(t, d.DeviceFault(1))
			err := ask()
			var fault *trap.Error
			if !errors.As(err, &fault) || fault.Value != 77 || !strings.HasPrefix(err.Error(), "cuda:0: gather: index 77") {
				t.Errorf("%s of %#x: %v", name, s, err)
			}
			if name == "stream" && s != foreign && !strings.Contains(err.Error(), fmt.Sprintf("(in flight on stream %#x: ", uint64(s))) {
				t.Errorf("%#x: %v", s, err)
			}
			must(t, ask())
		}
	}
	if n := len(*d.gpus[0].states.own.Load()); n != 2 {
		t.Errorf("%d states are kept, of 2 streams", n)
	}
}

// TestManyStreams: streams that come and go have their records in turn.
func TestManyStreams(t *testing.T) {
	d, b := onBrittle(t)
	must(t, d.makeRecords(0))
	b.streams = 0
	seen := map[uint64]bool{}
	for i := range 2 * maxRecords {
		b.streams = uintptr(i%7) * 16 // the driver's handles come again
		s, err := d.NewStream(0, 0)
		must(t, err)
		at := scratch{d}.Trap(0, driver.Stream(s))
		if i < maxRecords-firstRecord && seen[at] {
			t.Fatalf("stream %d has the record of another", i)
		}
		seen[at] = true
		must(t, d.DestroyStream(0, s))
		if err := d.DestroyStream(0, s); !errors.Is(err, device.ErrInvalid) {
			t.Fatalf("destroyed twice: %v", err)
		}
		if _, err := d.StreamIdle(0, s); !errors.Is(err, device.ErrInvalid) || !strings.Contains(err.Error(), "was destroyed") {
			t.Fatalf("asked once destroyed: %v", err)
		}
	}
	if len(seen) != maxRecords-firstRecord || len(*d.gpus[0].states.own.Load()) != 7 {
		t.Errorf("%d records were used, %d handles are known", len(seen), len(*d.gpus[0].states.own.Load()))
	}
}

// TestLostDevice: once a call has said that the context is of no use, every call says
// so, and what was in flight then. The other device is not concerned, and page-locked
// memory is made on it from then on.
func TestLostDevice(t *testing.T) {
	d, b := onBrittle(t)
	ctx := context.Background()
	s, err := d.NewStream(0, 0)
	must(t, err)
	h, err := d.AllocHost(64)
	must(t, err)
	for range 20 {
		d.gpus[0].states.of(s).flight.Note(&ir.Op{Name: "conv2d"})
	}
	b.fails[0] = &driver.Error{Call: "cuMemAlloc", Code: driver.OutOfMemory, Name: "CUDA_ERROR_OUT_OF_MEMORY"}
	_, err = d.Alloc(0, 8)
	if !errors.Is(err, device.ErrOutOfMemory) || errors.Is(err, device.ErrLost) {
		t.Errorf("no memory: %v", err)
	}
	b.fails[0] = &driver.Error{Call: "cuStreamSynchronize", Code: driver.IllegalAddress, Name: "CUDA_ERROR_ILLEGAL_ADDRESS"}
	err = d.SyncStream(ctx, 0, s)
	b.fails[0] = nil
	_, alloc := d.Alloc(0, 8)
	_, idle := d.StreamIdle(0, s)
	for what, err := range map[string]error{
		"the wait": err, "device": d.SyncDevice(ctx, 0), "alloc": alloc, "idle": idle, "free": d.Free(0, device.Memory{Addr: 512, Bytes: 8}),
		"launch": d.Launch(0, s, nil), "destroy": d.DestroyStream(0, s), "fault": d.StreamFault(0, s), "event": d.RecordEvent(0, 1, s),
	} {
		if !errors.Is(err, device.ErrLost) || !errors.Is(err, driver.IllegalAddress) {
			t.Errorf("%s: %v", what, err)
		}
		for _, text := range []string{"cuda:0", "cuStreamSynchronize", "in flight on stream 0x10: the last 16 of 20: conv2d, "} {
			if err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v does not say %q", what, err, text)
			}
		}
	}
	_, err = d.Alloc(1, 8)
	must(t, err)
	must(t, d.SyncDevice(ctx, 1))
	_, err = d.AllocHost(64)
	must(t, err)
	if got := fmt.Sprint(b.homes); got != "[0 1]" {
		t.Errorf("page-locked memory was made on devices %s", got)
	}
	if err := d.FreeHost(h); !errors.Is(err, device.ErrLost) {
		t.Errorf("page-locked memory of the lost device: %v", err)
	}
}

// BenchmarkNote is what a launch pays for being remembered.
func BenchmarkNote(b *testing.B) {
	var l streamStates
	l.init()
	l.add(16)
	op := &ir.Op{Name: "add"}
	for name, s := range map[string]device.StreamID{"default": 0, "own": 16, "foreign": 0xabcdef0} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				of := l.of(s)
				if !of.gone.Load() {
					of.flight.Note(op)
				}
			}
		})
	}
}
