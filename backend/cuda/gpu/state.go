package gpu

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// A streamState is what a device keeps of a stream: the operators it was last given, and
// which of the device's records its kernels write their faults to.
type streamState struct {
	flight device.Flight
	record int
	gone   atomic.Bool  // the stream was destroyed
	life   sync.RWMutex // held to read while it must stay, and to destroy it

	// abroad is set of streams that other code made, which cannot be asked later whether
	// they are done: nothing is kept of their handles.
	abroad bool

	// more are the records that recordings write to which were launched on the stream:
	// their kernels keep the records of the streams that they were captured on.
	more atomic.Pointer[[]int]
}

// follow makes the faults in some records the state's, too.
func (l *streamState) follow(records []int) {
	for _, r := range records {
		for {
			old := l.more.Load()
			if r == l.record || old != nil && slices.Contains(*old, r) {
				break
			}
			list := []int{r}
			if old != nil {
				list = append(slices.Clone(*old), r)
			}
			if l.more.CompareAndSwap(old, &list) {
				break
			}
		}
	}
}

const (
	// Streams that other code made share so many states, by a hash of their handles:
	// nothing is kept of such a handle, which may be another stream tomorrow.
	sharedStates = 64
	// maxRecords is how many records a device has. The first are the default
	// stream's and the shared states'; the others are handed out in turn.
	maxRecords   = 1024
	firstRecord  = 1 + sharedStates
	recordsBytes = maxRecords * trap.Size
)

// streamStates are those of a device's streams.
type streamStates struct {
	first  streamState // the default stream's
	shared [sharedStates]streamState
	own    atomic.Pointer[map[device.StreamID]*streamState] // of streams that NewStream made, by handle; changed under the gpu's lock
	next   int                                              // records handed out so far

	records atomic.Pointer[[maxRecords]trap.Record] // page-locked; nil before the first launch
}

func (l *streamStates) init() {
	for i := range l.shared {
		l.shared[i].record, l.shared[i].abroad = 1+i, true
	}
	l.own.Store(&map[device.StreamID]*streamState{})
}

// of returns the state of a stream.
func (l *streamStates) of(s device.StreamID) *streamState {
	if s == 0 {
		return &l.first
	}
	if own := (*l.own.Load())[s]; own != nil {
		return own
	}
	return &l.shared[uint64(s)*0x9e3779b97f4a7c15>>58]
}

// add gives a new stream a state. The records of streams made long before, and
// destroyed since, come again. The caller holds the gpu's lock.
func (l *streamStates) add(s device.StreamID) {
	table := maps.Clone(*l.own.Load())
	table[s] = &streamState{record: firstRecord + l.next%(maxRecords-firstRecord)}
	l.next++
	l.own.Store(&table)
}

// all calls f for the state of every stream that may have been given work.
func (l *streamStates) all(f func(s device.StreamID, of *streamState)) {
	f(0, &l.first)
	for s, of := range *l.own.Load() {
		f(s, of)
	}
	for i := range l.shared {
		f(unknownStream, &l.shared[i])
	}
}

// each calls f for the default stream and those that NewStream made and that are not destroyed,
// none of which is destroyed meanwhile.
func (l *streamStates) each(f func(s device.StreamID)) {
	f(0)
	for s, of := range *l.own.Load() {
		of.life.RLock()
		if !of.gone.Load() {
			f(s)
		}
		of.life.RUnlock()
	}
}

// unknownStream stands for the handle in the messages of shared states.
const unknownStream = ^device.StreamID(0)

func streamName(s device.StreamID) string {
	if s == unknownStream {
		return "a stream of the program's"
	}
	return fmt.Sprintf("stream %#x", uint64(s))
}

// take returns the fault that a stream's kernels recorded, and clears it.
func (l *streamStates) take(dev int, s device.StreamID, of *streamState) error {
	given := of.flight.String()
	of.flight.Land()
	records := l.records.Load()
	if records == nil {
		return nil
	}
	err := trap.Take(&records[of.record])
	if more := of.more.Load(); more != nil {
		for _, r := range *more {
			err = errors.Join(err, trap.Take(&records[r]))
		}
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("cuda:%d: %w (in flight on %s: %s)", dev, err, streamName(s), given)
}

// What copies are called among the operators of a stream.
var (
	fromHostOp = &ir.Op{Name: "copy from the host"}
	toHostOp   = &ir.Op{Name: "copy to the host"}
	onDeviceOp = &ir.Op{Name: "copy"}
	toPeerOp   = &ir.Op{Name: "copy to a peer"}
	zeroOp     = &ir.Op{Name: "clear"}
)

// on is use for a call that gives work to a stream: op, or nil where it has no name.
func (d *Driver) on(dev int, s device.StreamID, op *ir.Op) (driver.API, error) {
	api, err := d.use(dev)
	if err != nil {
		return nil, err
	}
	of := d.gpus[dev].states.of(s)
	if of.gone.Load() {
		return nil, destroyed(dev, s)
	}
	if op != nil {
		of.flight.Note(op)
	}
	return api, nil
}

func destroyed(dev int, s device.StreamID) error {
	return fmt.Errorf("%w: cuda:%d has no stream %#x any more: it was destroyed", device.ErrInvalid, dev, uint64(s))
}

// StreamFault returns what kernels of a stream recorded, once.
func (d *Driver) StreamFault(dev int, s device.StreamID) error {
	if _, err := d.use(dev); err != nil {
		return err
	}
	l := &d.gpus[dev].states
	return l.take(dev, s, l.of(s))
}

// DeviceFault returns what kernels of all streams of a device recorded, once.
func (d *Driver) DeviceFault(dev int) error {
	if _, err := d.use(dev); err != nil {
		return err
	}
	var errs []error
	l := &d.gpus[dev].states
	l.all(func(s device.StreamID, of *streamState) { errs = append(errs, l.take(dev, s, of)) })
	return errors.Join(errs...)
}

// makeRecords allocates the device's records. The caller holds the gpu's lock.
func (d *Driver) makeRecords(dev int) error {
	l := &d.gpus[dev].states
	if l.records.Load() != nil {
		return nil
	}
	p, _, err := d.allocHost(dev, recordsBytes, driver.HostPortable|driver.HostMapped)
	if err != nil {
		return fmt.Errorf("page-locked memory for the faults of kernels: %w", err)
	}
	records := (*[maxRecords]trap.Record)(p)
	*records = [maxRecords]trap.Record{}
	l.records.Store(records)
	return nil
}

// Trap returns the address of the record that kernels on a stream write their faults
// to. The launcher, which alone asks for it, is made after the records.
func (s scratch) Trap(dev int, on driver.Stream) uint64 {
	l := &s.d.gpus[dev].states
	return uint64(uintptr(unsafe.Pointer(&l.records.Load()[l.of(device.StreamID(on)).record])))
}

// failed returns err, the outcome of a call about a device; where it says that the
// device's context is of no use any more, with what was in flight, from then on for
// every call.
func (d *Driver) failed(dev int, err error) error {
	if err == nil {
		return nil
	}
	g := &d.gpus[dev]
	if lost := g.lost.Load(); lost != nil {
		return *lost
	}
	var of *driver.Error
	if !errors.As(err, &of) || !of.Code.Sticky() || of.Device != dev {
		return err
	}
	var flights []string
	g.states.all(func(s device.StreamID, of *streamState) {
		if given := of.flight.String(); given != "" {
			flights = append(flights, fmt.Sprintf("on %s: %s", streamName(s), given))
		}
	})
	lost := fmt.Errorf("%w: cuda:%d: %w (in flight %s)", device.ErrLost, dev, err, strings.Join(flights, "; "))
	if !g.lost.CompareAndSwap(nil, &lost) {
		return *g.lost.Load()
	}
	return lost
}
