// Package cpu provides the host as a device: memory from Go, calls computed
// before they return, on the process's worker pool. Everything is synchronous:
// streams are always idle and events are times. The package and those below it
// know nothing of other backends.
package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/exec"
	"github.com/sinter-go/sinter/backend/cpu/opaque"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/garbage"
)

// Driver is the CPU's device.Driver. The zero Driver is ready for use.
type Driver struct {
	unchecked atomic.Int64 // bytes allocated since memory was last looked at

	mu      sync.Mutex
	last    uint64 // last id of a stream or event
	streams map[device.StreamID]bool
	events  map[device.EventID]*event
}

// An event is when it was recorded, if it was.
type event struct {
	timing bool
	at     time.Time // zero: never recorded
}

var _ device.Driver = (*Driver)(nil)

// errNoAddress answers calls about device addresses, of which the host has none.
var errNoAddress = errors.New("cpu: host memory has no device address")

// Kind returns device.KindCPU.
func (*Driver) Kind() device.Kind { return device.KindCPU }

// DeviceCount returns 1.
func (*Driver) DeviceCount() (int, error) { return 1, nil }

func checkDevice(dev int) error {
	if dev != 0 {
		return fmt.Errorf("%w: cpu:%d: there is one cpu device, with index 0", device.ErrInvalid, dev)
	}
	return nil
}

// Properties describes the processor: the model's name where the system says it,
// else the architecture's, and as many multiprocessors as Go uses.
func (d *Driver) Properties(dev int) (device.Properties, error) {
	if err := checkDevice(dev); err != nil {
		return device.Properties{}, err
	}
	_, total, _ := d.MemoryInfo(dev)
	name := field("/proc/cpuinfo", "model name")
	if name == "" {
		name = runtime.GOARCH
	}
	return device.Properties{Name: name, TotalMemory: total, Multiprocessors: runtime.GOMAXPROCS(0)}, nil
}

// MemoryInfo returns the free and total bytes of the system, or of what the process may
// have of it: within control groups, and of addresses.
func (*Driver) MemoryInfo(dev int) (free, total int64, err error) {
	if err := checkDevice(dev); err != nil {
		return 0, 0, err
	}
	free, total, known := room()
	if !known {
		return 0, 0, fmt.Errorf("%w: cpu: the size of memory is not known on %s", errors.ErrUnsupported, runtime.GOOS)
	}
	return free, total, nil
}

// kib returns a size that a file of /proc gives, in bytes, or 0.
func kib(file, name string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(field(file, name), " kB"), 10, 64)
	return n << 10
}

// field returns the first value of a "name: value" file, or "".
func field(file, name string) string {
	data, _ := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Alloc returns bytes > 0 of Go memory, aligned to 64 bytes.
func (d *Driver) Alloc(dev int, bytes int64) (m device.Memory, err error) {
	if err := checkDevice(dev); err != nil {
		return m, err
	}
	if bytes <= 0 || bytes > math.MaxInt-128 {
		return m, fmt.Errorf("%w: cpu: cannot allocate %d bytes", device.ErrOutOfMemory, bytes)
	}
	if d.unchecked.Add(bytes) >= checkedBytes {
		d.unchecked.Store(0)
		if !available(bytes) {
			garbage.Collect() // what the collector holds counts as used until then
			debug.FreeOSMemory()
			if free, _, known := room(); known && bytes+checkedBytes > free {
				d.unchecked.Store(checkedBytes) // the next one is compared, too
				return m, fmt.Errorf("%w: cpu: cannot allocate %d bytes, %d are available", device.ErrOutOfMemory, bytes, free)
			}
		}
	}
	defer func() { // make panics for sizes no machine has
		if recover() != nil {
			m, err = device.Memory{}, fmt.Errorf("%w: cpu: cannot allocate %d bytes", device.ErrOutOfMemory, bytes)
		}
	}()
	words := make([]uint64, (bytes+alignment+7)/8)
	first := unsafe.Pointer(&words[0])
	if bytes >= hugeFrom {
		adviseHuge(first, bytes+alignment)
	}
	return aligned(first, bytes), nil
}

// alignment is what addresses are multiples of.
const alignment = 64

// aligned returns bytes of memory after p, where there are alignment more.
func aligned(p unsafe.Pointer, bytes int64) device.Memory {
	return device.Memory{Host: unsafe.Add(p, -uintptr(p)&(alignment-1)), Bytes: bytes}
}

// hugeFrom is the size from which memory is asked for in large pages: touching it
// for the first time, page after page, would else take longer than most operators.
// Go clears what was in use before, and leaves alone what is new from the system.
const hugeFrom = 4 << 20

// checkedBytes is how much is allocated, at once or little by little, before the next
// allocation is compared with the memory there is: the system ends a program that takes
// more, and Go does when it is refused.
const checkedBytes = 64 << 20

// available reports whether the system has the given bytes to give, and what may be
// taken before it is asked again, or does not say.
func available(bytes int64) bool {
	free, _, known := room()
	return !known || bytes+checkedBytes <= free
}

// Free does nothing: the collector frees host memory.
func (*Driver) Free(dev int, _ device.Memory) error { return checkDevice(dev) }

// AllocHost is Alloc: there is no transfer that page-locked memory would help.
func (d *Driver) AllocHost(bytes int64) (device.Memory, error) { return d.Alloc(0, bytes) }

// FreeHost does nothing.
func (*Driver) FreeHost(device.Memory) error { return nil }

// NewStream creates a stream, which is always idle.
func (d *Driver) NewStream(dev, _ int) (device.StreamID, error) {
	if err := checkDevice(dev); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.streams == nil {
		d.streams = map[device.StreamID]bool{}
	}
	d.last++
	d.streams[device.StreamID(d.last)] = true
	return device.StreamID(d.last), nil
}

// stream checks that s is a stream of the device; 0 always is.
func (d *Driver) stream(dev int, s device.StreamID) error {
	if err := checkDevice(dev); err != nil || s == 0 {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.streams[s] {
		return fmt.Errorf("%w: cpu: there is no stream %d", device.ErrInvalid, s)
	}
	return nil
}

// DestroyStream forgets a stream. The default stream stays.
func (d *Driver) DestroyStream(dev int, s device.StreamID) error {
	if err := d.stream(dev, s); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.streams, s)
	return nil
}

// PriorityRange returns 0, 0: streams have no priorities.
func (*Driver) PriorityRange(int) (lowest, highest int) { return 0, 0 }

// StreamIdle reports true.
func (d *Driver) StreamIdle(dev int, s device.StreamID) (bool, error) {
	return true, d.stream(dev, s)
}

// SyncStream returns at once.
func (d *Driver) SyncStream(_ context.Context, dev int, s device.StreamID) error {
	return d.stream(dev, s)
}

// SyncDevice returns at once.
func (*Driver) SyncDevice(_ context.Context, dev int) error { return checkDevice(dev) }

// NewEvent creates an event that is not recorded.
func (d *Driver) NewEvent(dev int, timing bool) (device.EventID, error) {
	if err := checkDevice(dev); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.events == nil {
		d.events = map[device.EventID]*event{}
	}
	d.last++
	d.events[device.EventID(d.last)] = &event{timing: timing}
	return device.EventID(d.last), nil
}

// lookup returns an event. The caller holds d.mu.
func (d *Driver) lookup(dev int, e device.EventID) (*event, error) {
	if err := checkDevice(dev); err != nil {
		return nil, err
	}
	if ev := d.events[e]; ev != nil {
		return ev, nil
	}
	return nil, fmt.Errorf("%w: cpu: there is no event %d", device.ErrInvalid, e)
}

// DestroyEvent forgets an event.
func (d *Driver) DestroyEvent(dev int, e device.EventID) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.lookup(dev, e); err != nil {
		return err
	}
	delete(d.events, e)
	return nil
}

// RecordEvent notes the time.
func (d *Driver) RecordEvent(dev int, e device.EventID, s device.StreamID) error {
	if err := d.stream(dev, s); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	ev, err := d.lookup(dev, e)
	if err != nil {
		return err
	}
	ev.at = time.Now()
	return nil
}

// WaitEvent does nothing: what the event stands for is done.
func (d *Driver) WaitEvent(dev int, s device.StreamID, _ int, _ device.EventID) error {
	return d.stream(dev, s)
}

// EventDone reports true.
func (d *Driver) EventDone(dev int, e device.EventID) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.lookup(dev, e)
	return err == nil, err
}

// SyncEvent returns at once.
func (d *Driver) SyncEvent(_ context.Context, dev int, e device.EventID) error {
	_, err := d.EventDone(dev, e)
	return err
}

// Elapsed returns the time between two recorded events made with timing.
func (d *Driver) Elapsed(dev int, start, end device.EventID) (time.Duration, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, err := d.lookup(dev, start)
	if err != nil {
		return 0, err
	}
	b, err := d.lookup(dev, end)
	switch {
	case err != nil:
		return 0, err
	case !a.timing || !b.timing:
		return 0, errors.New("cpu: both events must be made with timing")
	case a.at.IsZero() || b.at.IsZero():
		return 0, errors.New("cpu: both events must be recorded before the time between them is known")
	}
	return b.at.Sub(a.at), nil
}

// CopyFromHost fails: tensors of the host are read and written where they are.
func (*Driver) CopyFromHost(int, device.StreamID, uint64, unsafe.Pointer, int64) error {
	return errNoAddress
}

// CopyToHost fails as CopyFromHost does.
func (*Driver) CopyToHost(int, device.StreamID, unsafe.Pointer, uint64, int64) error {
	return errNoAddress
}

// CopyOnDevice fails as CopyFromHost does.
func (*Driver) CopyOnDevice(int, device.StreamID, uint64, uint64, int64) error { return errNoAddress }

// CopyPeer fails as CopyFromHost does.
func (*Driver) CopyPeer(int, device.StreamID, int, uint64, uint64, int64) error { return errNoAddress }

// Zero clears the first n bytes of m.
func (d *Driver) Zero(dev int, s device.StreamID, m device.Memory, n int64) error {
	if err := d.stream(dev, s); err != nil {
		return err
	}
	if n < 0 || n > m.Bytes || m.Host == nil && n > 0 {
		return fmt.Errorf("cpu: cannot clear %d of %d bytes", n, m.Bytes)
	}
	all := unsafe.Slice((*byte)(m.Host), n)
	if n <= clearWork { // without an allocation
		clear(all)
		return nil
	}
	pool.For(len(all), clearWork, func(lo, hi int) { clear(all[lo:hi]) })
	return nil
}

// clearWork is how many bytes are worth clearing by another worker: some microseconds' work.
const clearWork = 128 << 10

// CanAccessPeer reports whether both are the one device.
func (*Driver) CanAccessPeer(dev, peer int) bool { return dev == 0 && peer == 0 }

// EnablePeerAccess does nothing for the one device.
func (*Driver) EnablePeerAccess(dev, peer int) error {
	return errors.Join(checkDevice(dev), checkDevice(peer))
}

// refusal is why nothing is computed: what the environment asks the processor for,
// and it has not.
var refusal = simd.Err()

// Narrow reports whether a call goes through steps that one processor does by itself.
func (d *Driver) Narrow(_ int, c *ir.Call) bool { return opaque.Narrow(c) }

// LaunchAll computes the calls, each on a processor of its own where there are idle ones.
func (d *Driver) LaunchAll(dev int, s device.StreamID, calls []*ir.Call) error {
	errs := make([]error, len(calls))
	pool.For(len(calls), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			errs[i] = d.Launch(dev, s, calls[i])
		}
	})
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s: %w", calls[i].Op.Name, err)
		}
	}
	return nil
}

// Launch computes c before it returns. An operator's loop or kernel that panics
// is reported as an error. Nothing is computed where simd.Err says that the level
// of vector instructions which the environment asks for cannot be used.
func (d *Driver) Launch(dev int, s device.StreamID, c *ir.Call) (err error) {
	if refusal != nil {
		return fmt.Errorf("cpu: %w", refusal)
	}
	if s != 0 || dev != 0 {
		if err := d.stream(dev, s); err != nil {
			return err
		}
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("cpu: the kernel of %s panicked: %v", c.Op.Name, v)
		}
	}()
	return exec.Run(c)
}
