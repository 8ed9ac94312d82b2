package profile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/observe"
)

// kernels shows what the devices of a driver ran as the driver tells it, kernel by kernel,
// where it can.
type kernels struct {
	drv   device.Driver
	begin sync.Once    // of trace, or that it is too late for it
	trace device.Trace // nil where the driver has none

	// what follows is guarded by the profile's lock
	given   uint64 // pieces of work so far, which are numbered from 1
	work    map[uint64]*lap
	streams map[device.Device]map[uint64]device.StreamID // by the device's number of a stream
	devices map[device.Device]bool
}

// mostWork is how much work is remembered at most: the kernels of what was given that long
// before have ended.
const mostWork = 1 << 16

// kernels returns those of the work's driver, or nil where it tells nothing.
func (p *Profile) kernels(w observe.Work) *kernels {
	drv, able := w.Driver.(device.Tracer)
	if !able || !w.Device.Accelerator() || memory.Capturing(w.Device) {
		return nil
	}
	p.mu.Lock()
	k, known := p.traced[w.Driver]
	if !known && !p.stopped {
		k = &kernels{drv: w.Driver, work: map[uint64]*lap{}, streams: map[device.Device]map[uint64]device.StreamID{}, devices: map[device.Device]bool{}}
		p.traced[w.Driver] = k
	}
	p.mu.Unlock()
	if k == nil {
		return nil
	}
	k.begin.Do(func() {
		if trace, err := drv.Trace(); err == nil { // without one, events serve
			k.trace = trace
		}
	})
	if k.trace == nil {
		return nil
	}
	return k
}

// give gives work whose kernels the trace shows.
func (k *kernels) give(p *Profile, w observe.Work, s slice, give func() error) error {
	p.mu.Lock()
	if p.stopped {
		p.mu.Unlock()
		return give()
	}
	k.given++
	number := k.given
	l := &lap{slice: s, stream: w.Stream}
	k.work[number] = l
	k.devices[w.Device] = true
	p.mu.Unlock()

	began := time.Now()
	err := k.trace.Given(number, give)
	took := time.Since(began)

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return err
	}
	if err != nil {
		s.Error = err.Error()
	}
	track := p.out.goroutine()
	p.out.slice(host, track, s, began, took)
	l.arrow = p.out.arrow(track, began)
	p.out.memory(w.Device, began)
	if number%settleAt == 0 {
		p.failed = errors.Join(p.failed, k.settle(p.out, false))
		for n := range k.work {
			if n+mostWork < number {
				delete(k.work, n)
			}
		}
	}
	return err
}

// settle writes what devices have done since, and with all set all that they have done.
func (k *kernels) settle(out *writer, all bool) error {
	return k.trace.Ran(all, func(r device.Run) { k.write(out, &r) })
}

// write shows a kernel under the name of its operator, on the stream that this was given to.
// Those of graphs, which have streams of their own, and of libraries that work by themselves
// have the name of their code.
func (k *kernels) write(out *writer, r *device.Run) {
	at := device.Device{Kind: k.drv.Kind(), Index: r.Device}
	l := k.work[r.Work]
	s := slice{name: r.Name, category: "kernel", details: details{Code: r.Name, Bytes: r.Bytes}}
	track := inside | r.Stream
	if l != nil && !l.graph() {
		s, track = l.slice, uint64(l.stream)
		s.Code = r.Name
		if k.streams[at] == nil {
			k.streams[at] = map[uint64]device.StreamID{}
		}
		k.streams[at][r.Stream] = l.stream
	} else if stream, known := k.streams[at][r.Stream]; known {
		track = uint64(stream)
	}
	if l != nil {
		s.Line = l.Line
	}
	out.slice(at, track, s, r.Began, r.Ended.Sub(r.Began))
	if l != nil && l.arrow > 0 {
		out.arrive(at, track, l.arrow, r.Began)
		l.arrow = 0 // to the first kernel
	}
}

// graph reports whether the work is a graph.
func (l *lap) graph() bool { return l.Kernel == "" && l.name == "graph" }

// close waits for the work that is left, writes it, and ends the trace.
func (k *kernels) close(out *writer) error {
	k.begin.Do(func() {})
	if k.trace == nil {
		return nil
	}
	var err error
	for d := range k.devices {
		err = errors.Join(err, k.drv.SyncDevice(context.Background(), d.Index))
	}
	if err = errors.Join(err, k.settle(out, true), k.trace.Close()); err != nil {
		return fmt.Errorf("tracing kernels: %w", err)
	}
	return nil
}
