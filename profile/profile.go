// Package profile records what a program gives to its devices and when that runs, as a
// trace that ui.perfetto.dev and chrome://tracing show: a track for each goroutine that
// calls operators, one for each stream of an accelerator, and the memory in use. It knows
// nothing of operators but what their calls say.
//
//	file, err := os.Create("trace.json")
//	...
//	p, err := profile.Start(file)
//	...
//	err = p.Range("step", func() error { return step(images, labels) })
//	...
//	err = p.Stop()
//
// Every piece of work has the operator's name, the shapes and dtypes of its operands, and
// the line of the program that asked for it. On the CPU the time is that of the work. On
// an accelerator a call returns before its work is done: the goroutine's track shows the
// call, the stream's track the work, and an arrow joins the two. On NVIDIA GPUs the times of
// streams are those of kernels as CUPTI tells them, where the machine has that library
// (SINTER_CUPTI names its file). Otherwise they are taken by events around each piece of
// work, which costs some microseconds each. Work that a graph captures is shown as calls
// alone. A replay is shown by its kernels, or by events as one piece of work.
package profile

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/observe"
	"github.com/sinter-go/sinter/runtime/option"
)

// Errors of this package.
const (
	// ErrActive is wrapped while another profile has not been stopped.
	ErrActive ir.Error = "another profile is active"
	// ErrStopped is returned by Stop of a profile that was stopped, or is nil.
	ErrStopped ir.Error = "a nil, zero or stopped *profile.Profile; Start makes one"
)

// An Option is an optional argument of Start, of the type that all optional arguments have.
type Option = tensor.Option

// NVTX has every operator and every Range named to NVIDIA's tools, such as Nsight Systems,
// by ranges of the NVTX library, where the machine has it.
func NVTX(on ...bool) Option { return option.Flag("NVTX", on) }

// A Profile is a recording under way. Any goroutine may use it.
type Profile struct {
	end   func()
	marks *marks // nil without NVTX

	mu        sync.Mutex // guards what follows; taken after no other lock
	out       *writer    // nil where nothing is written
	timelines map[device.Device]*timeline
	traced    map[device.Driver]*kernels
	failed    error // of reading traces
	stopped   bool
}

// Start begins to record, and writes to w while it goes on. A nil w writes nothing, which
// is of use with NVTX. There is one profile at a time: while another is active, Start
// returns an error that wraps ErrActive.
func Start(w io.Writer, opts ...Option) (*Profile, error) {
	o := option.Read(opts)
	nvtx := o.Flag("NVTX", false)
	if err := o.Err("NVTX"); err != nil {
		return nil, fmt.Errorf("profile: start: %w", err)
	}
	p := &Profile{timelines: map[device.Device]*timeline{}, traced: map[device.Driver]*kernels{}}
	if nvtx {
		var err error
		if p.marks, err = nvtxLibrary(); err != nil {
			return nil, fmt.Errorf("profile: start: %w", err)
		}
	}
	if w != nil {
		p.out = newWriter(w)
	}
	end, err := observe.Start(observer{p})
	if err != nil {
		return nil, fmt.Errorf("profile: start: %w", ErrActive)
	}
	p.end = end
	return p, nil
}

// Stop ends the recording, waits for the work of accelerators that is in it, and completes
// what was written. It returns what went wrong with writing or measuring; work that could
// not be measured is shown as a call alone.
func (p *Profile) Stop() error {
	if p == nil || p.end == nil {
		return fmt.Errorf("profile: stop: %w", ErrStopped)
	}
	p.mu.Lock()
	stopped := p.stopped
	p.stopped = true
	p.mu.Unlock()
	if stopped {
		return fmt.Errorf("profile: stop: %w", ErrStopped)
	}
	p.end()
	err := p.failed
	for _, k := range p.traced {
		err = errors.Join(err, k.close(p.out))
	}
	for _, t := range p.timelines { // nobody else uses what the lock guards from here on
		err = errors.Join(err, t.close(p.out))
	}
	if p.out != nil {
		err = errors.Join(err, p.out.close())
	}
	if err != nil {
		return fmt.Errorf("profile: stop: %w", err)
	}
	return nil
}

// Range runs f and shows the time it took under a name, on the goroutine's track, around
// the calls of operators in it. It returns f's error. A nil or stopped Profile just runs f.
func (p *Profile) Range(name string, f func() error) error {
	if f == nil {
		return nil
	}
	if p == nil || p.end == nil {
		return f()
	}
	defer p.marks.begin(name)()
	began := time.Now()
	defer func() {
		took := time.Since(began)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.out != nil && !p.stopped {
			p.out.slice(host, p.out.goroutine(), slice{name: name, category: "range"}, began, took)
		}
	}()
	return f()
}

// An observer has a profile see all work.
type observer struct{ *Profile }

// Give records work that is given to a stream.
func (p observer) Give(w observe.Work, give func() error) error {
	s := describe(w)
	defer p.marks.begin(s.name)()
	if p.out == nil {
		return give()
	}
	if k := p.kernels(w); k != nil {
		return k.give(p.Profile, w, s, give)
	}
	t := p.timeline(w)
	first, started := t.mark(w.Stream)
	began := time.Now()
	err := give()
	took := time.Since(began)
	last, ended := t.mark(w.Stream)

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return errors.Join(err, t.discard(first, started), t.discard(last, ended))
	}
	if err != nil {
		s.Error = err.Error()
	}
	track := p.out.goroutine()
	p.out.slice(host, track, s, began, took)
	if started && ended {
		t.pending = append(t.pending, lap{s, w.Stream, first, last, began, p.out.arrow(track, began)})
	}
	t.settle(p.out)
	p.out.memory(w.Device, began)
	return err
}

// timeline returns the timeline of the work's device; nil for the host, whose work is done
// when it was given, and where the device cannot be measured now.
func (p *Profile) timeline(w observe.Work) *timeline {
	if !w.Device.Accelerator() || memory.Capturing(w.Device) {
		return nil
	}
	p.mu.Lock()
	t, known := p.timelines[w.Device]
	if !known && !p.stopped {
		t = &timeline{drv: w.Driver, device: w.Device}
		p.timelines[w.Device] = t
	}
	p.mu.Unlock()
	if t != nil {
		t.begin.Do(t.start) // it waits, and with it only who needs the device
	}
	return t
}
