package stream

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/device"
)

// A Doubt is about work that may turn out wrong without its device's finding anything, such as a call of ranks of which
// one gives up: those that wait for it go on then. Whoever waits for a stream with such work gets the reason, as it gets
// what the device finds: once a stream. A stream that waits for another one has its doubts from then on. Work that was
// waited for while there was no reason is right, on whatever stream the doubt about it is.
//
// A Doubt holds what it is about until End. A nil Doubt is none.
type Doubt struct {
	of    Doubtful
	told  atomic.Bool
	right map[line]uint64 // by stream: the latest work of it that is known to be right; the lock of cases guards it
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

// A cast is a doubt about work that a stream was given, or that it waits for.
type cast struct {
	doubt  *Doubt
	origin line   // the stream that was given the work
	number uint64 // that of its latest work
	line   line   // that has the doubt
	told   bool   // who waited for it got the reason
}

// cases are the doubts there are. Reasons are not asked for under its lock.
var cases struct {
	any    atomic.Int64  // how many there are
	number atomic.Uint64 // of all work so far

	mu sync.Mutex // guards what follows, and changes of the above
	by map[line][]cast
}

// Cast casts the doubt on what a stream was given so far.
func (d *Doubt) Cast(s Stream) {
	drv, err := s.driver()
	if d == nil || err != nil || !s.dev.Accelerator() {
		return
	}
	cases.mu.Lock()
	defer cases.mu.Unlock()
	on := line{drv, s.dev, s.id}
	put(cast{doubt: d, origin: on, number: cases.number.Add(1), line: on})
}

// put adds a cast to those of its stream, unless that has it. The caller holds the lock.
func put(c cast) {
	if c.number <= c.doubt.right[c.origin] {
		return
	}
	if cases.by == nil {
		cases.by = map[line][]cast{}
	}
	list := cases.by[c.line]
	for i, has := range list {
		if has.doubt == c.doubt && has.origin == c.origin {
			if has.number < c.number {
				list[i] = c
			}
			return
		}
	}
	cases.by[c.line] = append(list, c)
	cases.any.Add(1)
}

// inherit casts the doubts about one stream's work, up to a number, on another one, which waits for it.
func inherit(to, from line, last uint64) {
	if cases.any.Load() == 0 || to == from {
		return
	}
	cases.mu.Lock()
	defer cases.mu.Unlock()
	for _, c := range cases.by[from] {
		if c.number <= last {
			c.line, c.told = to, false
			put(c)
		}
	}
}

// Told notes that the owner of the work knows that it is wrong.
func (d *Doubt) Told() {
	if d != nil {
		d.told.Store(true)
	}
}

// End takes the doubt off all streams, and reports whether some had it, about work that is not known to be right, and
// nobody was told the reason: then the one who takes it off is to tell.
func (d *Doubt) End() (untold bool) {
	if d == nil {
		return false
	}
	cases.mu.Lock()
	defer cases.mu.Unlock()
	for l, list := range cases.by {
		untold = untold || slices.ContainsFunc(list, func(c cast) bool { return c.doubt == d && c.number > d.right[c.origin] })
		drop(l, list, func(c cast) bool { return c.doubt == d })
	}
	return untold && !d.told.Load()
}

// drop takes doubts off a stream. The caller holds the lock.
func drop(l line, list []cast, is func(cast) bool) {
	left := slices.DeleteFunc(list, is)
	n := len(list) - len(left) // slices.DeleteFunc clears what it takes away
	if cases.any.Add(int64(-n)); len(left) == 0 {
		delete(cases.by, l)
	} else {
		cases.by[l] = left
	}
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

// latest is the number of work for all of it.
const latest = math.MaxUint64

// doubtsAbout returns the doubts about one stream's work up to a number.
func doubtsAbout(l line, last uint64) (list []cast) {
	if cases.any.Load() == 0 {
		return nil
	}
	cases.mu.Lock()
	defer cases.mu.Unlock()
	for _, c := range cases.by[l] {
		if c.number <= last {
			list = append(list, c)
		}
	}
	return list
}

// settled returns what is wrong with work that was waited for and of which there were doubts: err, which its device
// found, and their reasons, those that the stream has not told. Without a reason the work is right, if done says that
// it is what was waited for.
func settled(list []cast, done func(cast) bool, err error) error {
	var told []*Doubt
	for _, c := range list {
		switch why := c.doubt.why(); {
		case why != nil && c.tell() && !slices.Contains(told, c.doubt):
			c.doubt.Told()
			told = append(told, c.doubt)
			err = errors.Join(err, fmt.Errorf("what %s was given may be wrong: %w", Stream{dev: c.line.dev, id: c.line.id}, why))
		case why == nil && done(c):
			c.isRight()
		}
	}
	return err
}

// tell notes that the reason is told, and reports whether it is still to be.
func (c cast) tell() bool {
	cases.mu.Lock()
	defer cases.mu.Unlock()
	list := cases.by[c.line]
	for i, now := range list {
		if now.doubt == c.doubt && now.origin == c.origin {
			list[i].told = true
			return !now.told && c.number > c.doubt.right[c.origin]
		}
	}
	return false
}

// isRight notes that the work is right, and takes the doubt about it off the stream.
func (c cast) isRight() {
	cases.mu.Lock()
	defer cases.mu.Unlock()
	if c.doubt.right == nil {
		c.doubt.right = map[line]uint64{}
	}
	c.doubt.right[c.origin] = max(c.doubt.right[c.origin], c.number)
	drop(c.line, cases.by[c.line], func(now cast) bool {
		return now.doubt == c.doubt && now.origin == c.origin && now.number <= c.number
	})
}

// all is that all work of a stream was waited for.
func all(cast) bool { return true }
