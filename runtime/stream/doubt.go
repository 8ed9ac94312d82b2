package stream

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/device"
)

// A Doubt is about work that may turn out wrong without its device's finding anything, such as a call of ranks of which
// one gives up: those that wait for it go on then. Whoever waits for a stream with such work gets the reason, as it gets
// what the device finds: once a stream. A stream that waits for another one has its doubts from then on.
//
// A nil Doubt is none.
type Doubt struct {
	of   Doubtful
	told atomic.Bool
}

// A Doubtful gives streams work that may turn out wrong. Any goroutine may ask it, and it waits for nothing.
type Doubtful interface {
	// Failure returns why what is done now may be wrong; nil: what is done is right.
	Failure() error
}

// NewDoubt returns a doubt about work.
func NewDoubt(of Doubtful) *Doubt { return &Doubt{of: of} }

// why returns the reason, or nil.
func (d *Doubt) why() error {
	if d.of == nil {
		return nil
	}
	return d.of.Failure()
}

// A line is a stream of a driver: tests install drivers anew.
type line struct {
	drv device.Driver
	dev device.Device
	id  device.StreamID
}

// A cast is a doubt about what a stream was given.
type cast struct {
	doubt  *Doubt
	number uint64 // that of the latest work
	line   line
}

// cases are the doubts there are. Reasons are not asked for under its lock.
var cases struct {
	any atomic.Int64 // how many there are

	mu     sync.Mutex // guards what follows
	by     map[line][]cast
	number uint64
}

// Cast casts the doubt on what a stream was given so far.
func (d *Doubt) Cast(s Stream) {
	drv, err := s.driver()
	if d == nil || err != nil || !s.dev.Accelerator() {
		return
	}
	cases.mu.Lock()
	defer cases.mu.Unlock()
	put(line{drv, s.dev, s.id}, d)
}

// put is Cast for who holds the lock.
func put(l line, d *Doubt) {
	if cases.by == nil {
		cases.by = map[line][]cast{}
	}
	cases.number++
	list := cases.by[l]
	for i := range list {
		if list[i].doubt == d {
			list[i].number = cases.number
			return
		}
	}
	cases.by[l] = append(list, cast{d, cases.number, l})
	cases.any.Add(1)
}

// inherit casts the doubts about one stream on another one, which waits for it.
func inherit(to, from line) {
	if cases.any.Load() == 0 || to == from {
		return
	}
	cases.mu.Lock()
	defer cases.mu.Unlock()
	for _, c := range cases.by[from] {
		put(to, c.doubt)
	}
}

// Told notes that the owner of the work knows that it is wrong.
func (d *Doubt) Told() {
	if d != nil {
		d.told.Store(true)
	}
}

// End takes the doubt off all streams, and reports whether some had it and nobody was told the reason: then the one who
// takes it off is to tell.
func (d *Doubt) End() (untold bool) {
	if d == nil {
		return false
	}
	cases.mu.Lock()
	defer cases.mu.Unlock()
	for l, list := range cases.by {
		untold = drop(l, list, func(c cast) bool { return c.doubt == d }) || untold
	}
	return untold && !d.told.Load()
}

// drop takes doubts off a stream, and reports whether it had some. The caller holds the lock.
func drop(l line, list []cast, is func(cast) bool) bool {
	left := slices.DeleteFunc(list, is)
	n := len(list) - len(left) // slices.DeleteFunc clears what it takes away
	if cases.any.Add(int64(-n)); len(left) == 0 {
		delete(cases.by, l)
	} else {
		cases.by[l] = left
	}
	return n > 0
}

// doubtsOf returns the doubts about what streams were given so far, of those that is says.
func doubtsOf(is func(line) bool) (list []cast) {
	if cases.any.Load() == 0 {
		return nil
	}
	cases.mu.Lock()
	defer cases.mu.Unlock()
	for l, of := range cases.by {
		if is(l) {
			list = append(list, of...)
		}
	}
	return list
}

// doubtsAbout is doubtsOf one stream.
func doubtsAbout(l line) []cast {
	if cases.any.Load() == 0 {
		return nil
	}
	cases.mu.Lock()
	defer cases.mu.Unlock()
	return slices.Clone(cases.by[l])
}

// settled returns what is wrong with work of which there were doubts: err, which its device found, and their reasons,
// each of which its stream has no more. Where the work is done the stream has those without a reason no more either.
func settled(list []cast, done bool, err error) error {
	var told []*Doubt
	for _, c := range list {
		why := c.doubt.why()
		if why == nil && !done {
			continue
		}
		cases.mu.Lock()
		drop(c.line, cases.by[c.line], func(now cast) bool { return now.doubt == c.doubt && (why != nil || now.number == c.number) })
		cases.mu.Unlock()
		if why != nil && !slices.Contains(told, c.doubt) {
			c.doubt.Told()
			told = append(told, c.doubt)
			err = errors.Join(err, fmt.Errorf("what %s was given may be wrong: %w", Stream{dev: c.line.dev, id: c.line.id}, why))
		}
	}
	return err
}
