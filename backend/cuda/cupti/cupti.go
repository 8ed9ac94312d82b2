// Package cupti reads when kernels, copies and clearings ran on GPUs from NVIDIA's CUPTI,
// which comes with the CUDA toolkit. It knows nothing of operators or traces.
//
// CUPTI writes records to buffers that it asks for by one callback and hands over by
// another, on threads that Go does not know. Both are a few instructions of machine code over
// memory that is not Go's: they take a free buffer, and mark it as full.
package cupti

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/runtime/device"
)

var (
	// ErrActive is wrapped while another trace is under way.
	ErrActive = errors.New("another trace of GPUs is active")
	// ErrLost is wrapped where GPUs did more than there was room to note.
	ErrLost = errors.New("records of kernels were lost, since nobody read them in time")
)

// The memory that CUPTI writes records to: the state of each buffer, then the buffers. The
// callbacks read these numbers, too.
const (
	bufferCount = 32
	bufferShift = 20
	bufferBytes = 1 << bufferShift
	headerBytes = 1 << 12

	lost = 8 * bufferCount // where a callback notes that there was no buffer

	free  = 0 // states
	taken = 1 // CUPTI has the buffer
	full  = 2 // and more: the bytes of its records
)

// ring is where the buffers are, which is mapped for good. Callbacks read it; it never
// changes once it is set.
var ring unsafe.Pointer

// CUPTI's numbers.
const (
	success    = 0
	noMore     = 12 // records in a buffer
	kindCopy   = 1
	kindSet    = 2
	kindDriver = 4
	kindKernel = 10
	kindOwner  = 39 // of a correlation: the number that was pushed
	kindPeer   = 22
	numbering  = 3 // CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0
)

// kinds are the records that are asked for. Without those of calls of the driver there are
// none that say who gave a kernel.
var kinds = [...]uintptr{kindDriver, kindOwner, kindKernel, kindCopy, kindPeer, kindSet}

// A Library is the loaded library.
type Library struct {
	register, enable, disable, flush, next, clock, push, pop, describe dl.Func

	memory []byte // that ring is of
	active atomic.Bool
}

// Open loads the library; once a process.
var Open = sync.OnceValues(func() (*Library, error) {
	lib, err := library.Open(library.CUPTI)
	if err != nil {
		return nil, err
	}
	return open(lib)
})

func open(lib *dl.Library) (*Library, error) {
	l := &Library{}
	var err error
	for name, f := range map[string]*dl.Func{
		"cuptiActivityRegisterCallbacks": &l.register, "cuptiActivityEnable": &l.enable, "cuptiActivityDisable": &l.disable,
		"cuptiActivityFlushAll": &l.flush, "cuptiActivityGetNextRecord": &l.next, "cuptiGetTimestamp": &l.clock,
		"cuptiActivityPushExternalCorrelationId": &l.push, "cuptiActivityPopExternalCorrelationId": &l.pop,
		"cuptiGetResultString": &l.describe,
	} {
		if *f, err = lib.Func(name); err != nil {
			return nil, fmt.Errorf("cupti: %w", err)
		}
	}
	if requested == 0 {
		return nil, fmt.Errorf("cupti: %w", dl.ErrUnsupported)
	}
	if l.memory, err = room(headerBytes + bufferCount*bufferBytes); err != nil {
		return nil, fmt.Errorf("cupti: memory for records: %w", err)
	}
	ring = unsafe.Pointer(&l.memory[0])
	return l, nil
}

// call calls a function of the library.
func (l *Library) call(f dl.Func, name string, c *dl.Frame, args ...uintptr) error {
	code := uint32(f.Call(c, args...))
	if code == success {
		return nil
	}
	l.describe.Call(c, uintptr(code), c.Addr(7))
	return fmt.Errorf("%s: %s (%d)", name, dl.GoString(c.Pointer(7)), code)
}

// now returns CUPTI's time in nanoseconds.
func (l *Library) now(c *dl.Frame) (uint64, error) {
	err := l.call(l.clock, "cuptiGetTimestamp", c, c.Addr(0))
	return uint64(c.Words[0]), err
}

// Trace begins a trace.
func (l *Library) Trace() (device.Trace, error) {
	if !l.active.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("cupti: %w", ErrActive)
	}
	t := &theTrace{l: l, owners: map[uint32]uint64{}}
	if err := t.start(); err != nil {
		t.stop()
		return nil, fmt.Errorf("cupti: %w", err)
	}
	return t, nil
}

// theTrace is the one that is under way.
type theTrace struct {
	l     *Library
	zero  time.Time // when CUPTI's clock showed base
	base  uint64
	on    int // of kinds
	ended atomic.Bool

	mu     sync.Mutex        // guards what follows
	owners map[uint32]uint64 // by correlation: the number that was pushed
	late   []record          // whose correlation is not known yet
}

func (t *theTrace) start() error {
	c := dl.Get()
	defer c.Free()
	if err := t.l.call(t.l.register, "cuptiActivityRegisterCallbacks", c, requested, completed); err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := t.l.call(t.l.enable, "cuptiActivityEnable", c, kind); err != nil {
			return err
		}
		t.on++
	}
	var err error
	t.base, err = t.l.now(c)
	t.zero = time.Now()
	return err
}

// stop ends the recording.
func (t *theTrace) stop() (err error) {
	c := dl.Get()
	defer c.Free()
	for _, kind := range kinds[:t.on] {
		err = errors.Join(err, t.l.call(t.l.disable, "cuptiActivityDisable", c, kind))
	}
	err = errors.Join(err, t.l.call(t.l.flush, "cuptiActivityFlushAll", c, 1))
	t.drain(func([]byte) error { return nil })
	t.l.active.Store(false)
	return err
}

// Close ends the trace.
func (t *theTrace) Close() error {
	if t.ended.Swap(true) {
		return nil
	}
	if err := t.stop(); err != nil {
		return fmt.Errorf("cupti: %w", err)
	}
	return nil
}

// Given calls give on one thread, whose calls count as work of that number.
func (t *theTrace) Given(work uint64, give func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := dl.Get()
	pushed := t.l.call(t.l.push, "push", c, numbering, uintptr(work)) == nil // else the work has no number
	c.Free()
	defer func() {
		if pushed {
			c := dl.Get()
			t.l.pop.Call(c, numbering, c.Addr(0))
			c.Free()
		}
	}()
	return give()
}

// A record is what CUPTI writes of a kernel, a copy or a clearing.
type record struct {
	device.Run
	correlation uint32
}

// Ran reads the records of buffers that are full, and with all set of all.
func (t *theTrace) Ran(all bool, each func(device.Run)) error {
	if t.ended.Load() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if all {
		c := dl.Get()
		err := t.l.call(t.l.flush, "cuptiActivityFlushAll", c, 0)
		c.Free()
		if err != nil {
			return fmt.Errorf("cupti: %w", err)
		}
	}
	list := t.late
	t.late = nil
	err := t.drain(func(buffer []byte) error {
		return t.l.records(buffer, func(kind uint32, r unsafe.Pointer) {
			if kind == kindOwner {
				t.owners[word32(r, 16)] = word64(r, 8)
			} else if run, ok := t.run(kind, r); ok {
				list = append(list, run)
			}
		})
	})
	if atomic.SwapUint64((*uint64)(unsafe.Pointer(&t.l.memory[lost])), 0) > 0 {
		err = errors.Join(err, ErrLost)
	}
	for _, r := range list {
		owner, known := t.owners[r.correlation]
		if !known && !all {
			t.late = append(t.late, r)
			continue
		}
		r.Work = owner
		each(r.Run)
	}
	return err
}

// drain hands over the buffers that are full, and frees them.
func (t *theTrace) drain(f func(buffer []byte) error) (err error) {
	for i := range bufferCount {
		state := (*uint64)(unsafe.Pointer(&t.l.memory[8*i]))
		n := atomic.LoadUint64(state)
		if n < full {
			continue
		}
		from := headerBytes + i*bufferBytes
		if n -= full; n > 0 {
			err = errors.Join(err, f(unsafe.Slice((*byte)(unsafe.Add(ring, from)), int(n))))
		}
		atomic.StoreUint64(state, free)
	}
	return err
}

// records calls each with the records in a buffer.
func (l *Library) records(buffer []byte, each func(kind uint32, r unsafe.Pointer)) error {
	c := dl.Get()
	defer c.Free()
	at := c.Keep(unsafe.Pointer(&buffer[0]))
	for { // word 0 is the record before, from which the library goes on
		code := uint32(l.next.Call(c, at, uintptr(len(buffer)), c.Addr(0)))
		switch code {
		case success:
		case noMore:
			return nil
		default:
			return fmt.Errorf("cupti: cuptiActivityGetNextRecord: error %d", code)
		}
		r := unsafe.Pointer(&buffer[c.Words[0]-at])
		each(word32(r, 0), r)
	}
}

func word32(r unsafe.Pointer, at int) uint32 { return *(*uint32)(unsafe.Add(r, at)) }
func word64(r unsafe.Pointer, at int) uint64 { return *(*uint64)(unsafe.Add(r, at)) }

// run reads a record. Its first fields are where they are in every version of CUPTI since
// CUDA 12.
func (t *theTrace) run(kind uint32, r unsafe.Pointer) (out record, ok bool) {
	out.Began, out.Ended = t.time(word64(r, 16)), t.time(word64(r, 24))
	switch kind {
	case kindKernel:
		out.Device, out.Stream, out.correlation = int(word32(r, 40)), uint64(word32(r, 48)), word32(r, 92)
		out.Name = dl.GoString(*(*unsafe.Pointer)(unsafe.Add(r, 104)))
	case kindCopy, kindSet:
		out.Name, out.Bytes = "copy", int64(word64(r, 8))
		out.Device, out.Stream, out.correlation = int(word32(r, 32)), uint64(word32(r, 40)), word32(r, 44)
		if kind == kindSet {
			out.Name = "clear"
		}
	case kindPeer:
		out.Name, out.Bytes = "copy", int64(word64(r, 8))
		out.Device, out.Stream, out.correlation = int(word32(r, 32)), uint64(word32(r, 40)), word32(r, 60)
	default:
		return out, false
	}
	return out, word64(r, 24) > 0
}

func (t *theTrace) time(ns uint64) time.Time { return t.zero.Add(time.Duration(int64(ns - t.base))) }
