package sim

import (
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/runtime/device"
)

// Traffic counts copies and what they moved.
type Traffic struct{ Copies, Bytes int64 }

func (t *Traffic) add(bytes int64) {
	t.Copies++
	t.Bytes += bytes
}

// Counters is what happened on a device since the driver was made. Work counts
// when it is given to a stream.
type Counters struct {
	Launches int64 // those recorded by a capture, too, but not again when they are done

	GraphLaunches int64 // of recordings
	LiveGraphs    int64 // recordings that were not destroyed
	Syncs         int64 // waits for a stream or the device

	FromHost, ToHost, OnDevice, Zeroed Traffic
	ToPeer                             Traffic // on the source device

	Allocs, Frees           int64
	LiveAllocs              int64
	LiveBytes, PeakBytes    int64
	LiveStreams, LiveEvents int64 // without the default stream
}

// Counters returns what happened on a device. It is zero where there is none.
func (d *Driver) Counters(dev int) Counters {
	a, err := d.device(dev)
	if err != nil {
		return Counters{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts
}

func (a *accelerator) count(update func(*Counters)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	update(&a.counts)
}

// A Fault is a kind of operation that can be made to fail.
type Fault uint8

// The kinds of fault.
const (
	FaultAlloc   Fault = iota // Alloc fails
	FaultCopy                 // one of the copies fails as it is asked for
	FaultLaunch               // Launch fails as it is asked for
	FaultExecute              // the kernel fails when the stream gets to it
	FaultLost                 // the device is lost when the stream gets to the kernel
	FaultRefresh              // a recorded launch cannot be given what has changed
)

// A fault waits for its operation.
type fault struct {
	kind Fault
	left int // operations until the one that fails
	err  error
}

// Fail makes the k-th operation of a kind from now on, counted from 1, fail with
// err on device dev. Several faults may wait at a time.
func (d *Driver) Fail(dev int, kind Fault, k int, err error) error {
	a, e := d.device(dev)
	if e != nil {
		return e
	}
	if k < 1 || err == nil {
		return fmt.Errorf("%s: want a number from 1 and an error, have %d and %v", a, k, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = append(a.faults, fault{kind, k, err})
	return nil
}

// Heal takes back the faults that still wait on device dev, and returns how many did.
func (d *Driver) Heal(dev int) int {
	a, err := d.device(dev)
	if err != nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.faults)
	a.faults = nil
	return n
}

// inject returns the error that the next operation of a kind is to fail with, or
// nil.
func (a *accelerator) inject(kind Fault) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	waiting := a.faults[:0]
	for _, f := range a.faults {
		if f.kind == kind {
			f.left--
		}
		if f.left > 0 {
			waiting = append(waiting, f)
		} else if err == nil {
			err = f.err
		}
	}
	a.faults = waiting
	return err
}

// Hold keeps stream s of a device from doing the work that is given to it from
// now on, until release is called. It is for asynchronous drivers: otherwise the
// next call would wait for release.
func (d *Driver) Hold(dev int, s device.StreamID) (release func(), err error) {
	a, on, err := d.stream(dev, s)
	if err != nil {
		return nil, err
	}
	if !d.config.Async {
		return nil, fmt.Errorf("%s: a synchronous device cannot be held", a)
	}
	gate := make(chan struct{})
	if err := on.submit(func() error { <-gate; return nil }); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { close(gate) }), nil
}
