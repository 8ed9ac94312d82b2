package core

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/device"
)

// An Exchange is work that is no operator's, such as calls between devices: it is given at
// one place of a program, and what it writes is there from a later one on.
type Exchange struct {
	Op      *ir.Op    // its name
	In, Out []ir.View // as Lend returns them
	Held    []*Tensor // those that the views are of
	Device  device.Device
	Driver  device.Driver
	// Give gives it to the device, and returns what has later work wait for it. The views
	// are In and Out with the memory of one run.
	Give func(in, out []ir.View) (wait func() error, err error)
	// Err is asked for before every run, whose error it is.
	Err func() error
	// Abort tells those who take part that a run failed.
	Abort func(err error)
}

// RecordExchange takes an exchange down in the calling goroutine's recording, and returns
// what has later steps wait for it. Where that is not called they do at the end.
func RecordExchange(x *Exchange) (wait func() error, err error) {
	r := recorderNow()
	if r == nil {
		return nil, at(ErrEscaped)
	}
	s := step{dev: x.Device, drv: x.Driver, exchange: x}
	s.Action, s.Call.Kernel = program.Exchange, &ir.Kernel{Op: x.Op}
	if s.Call.In, s.In, err = r.places(&s.Call, x.In, x.Held, false); err == nil {
		s.Call.Out, s.Out, err = r.places(&s.Call, x.Out, x.Held, true)
	}
	if err != nil {
		return nil, err
	}
	s.caller = r.caller()
	r.program, r.open = append(r.program, s), append(r.open, s)
	return func() error {
		if recorderNow() != r {
			return at(fmt.Errorf("%s: %w", x.Op.Name, ErrEscaped))
		}
		r.await(x)
		return nil
	}, nil
}

// await has the steps that follow wait for an exchange, unless some do already.
func (r *recorder) await(x *Exchange) {
	i := slices.IndexFunc(r.open, func(s step) bool { return s.exchange == x })
	if i < 0 {
		return
	}
	s := r.open[i]
	s.Action = program.Await
	s.In, s.Out = slices.Clone(s.In), slices.Clone(s.Out) // of other versions
	r.program, r.open = append(r.program, s), slices.Delete(r.open, i, i+1)
}

// awaitAll has the steps that follow wait for all exchanges.
func (r *recorder) awaitAll() {
	for len(r.open) > 0 {
		r.await(r.open[0].exchange)
	}
}

// exchange gives an exchange to its device, or waits for it.
func (f *frame) exchange(s *step, c *ir.Call) error {
	x := s.exchange
	if s.Action == program.Await {
		wait := f.open[x]
		delete(f.open, x)
		return wait()
	}
	wait, err := x.Give(c.In, c.Out)
	if err != nil {
		return err
	}
	if f.open == nil {
		f.open = map[*Exchange]func() error{}
	}
	f.open[x] = wait
	return nil
}

// exchangeable returns why the program's exchanges cannot be made now, or nil.
func (rec *Recorded) exchangeable() error {
	for _, x := range rec.exchanges {
		if err := x.Err(); err != nil {
			return err
		}
	}
	return nil
}

// abort ends the exchanges of a run that failed: who waits for this part is told, and what
// is under way no longer touches the run's memory.
func (rec *Recorded) abort(f *frame, err error) {
	for _, x := range rec.exchanges {
		x.Abort(err)
	}
	for x, wait := range f.open {
		_ = wait() // of which err is the reason
		delete(f.open, x)
	}
}
