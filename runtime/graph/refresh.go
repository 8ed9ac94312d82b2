package graph

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/local"
	"github.com/sinter-go/sinter/runtime/random"
)

// refreshing holds where the float attributes of the calling goroutine's calls come
// from.
var refreshing = local.NewKey[func() ([]float64, error)]()

// Refreshing calls f, which gives a device operators whose float attributes are
// numbers that change. Where a call of f's is captured, each replay asks numbers for
// all of the call's float attributes, in the order of the operator's, before it is
// done: once a call and replay, on the goroutine that replays. An error is Replay's.
// Refreshing returns f's error.
func Refreshing(numbers func() ([]float64, error), f func() error) error {
	return refreshing.Try(numbers, f)
}

// Numbers returns where the float attributes of the calling goroutine's calls come from,
// as Refreshing says.
func Numbers() (numbers func() ([]float64, error), changing bool) { return refreshing.Get() }

// renewing holds what sets attributes and addresses of the calling goroutine's calls.
var renewing = local.NewKey[func(*ir.Call) (bool, error)]()

// Renewing calls f, which gives a device operators whose attributes or memory change. Where a
// call of f's is captured, each replay hands it to renew before it is done, on the goroutine
// that replays. Renew sets attributes, those of random numbers among them, and addresses of
// views, and reports whether they changed since the last time. An error is Replay's.
// Renewing returns f's error.
func Renewing(renew func(c *ir.Call) (changed bool, err error), f func() error) error {
	return renewing.Try(renew, f)
}

// refresh returns what sets the attributes of a captured call before each replay; nil
// for a call whose attributes stay.
func (c *Capture) refresh(call *ir.Call) func(*ir.Call) (bool, error) {
	if renew, on := renewing.Get(); on && renew != nil {
		return renew
	}
	random := c.drawn(call)
	numbers, changing := refreshing.Get()
	switch {
	case !changing || numbers == nil:
		return random
	case random == nil:
		return func(call *ir.Call) (bool, error) { return call.SetFloats(numbers) }
	}
	return func(call *ir.Call) (bool, error) {
		if _, err := random(call); err != nil {
			return false, err
		}
		return call.SetFloats(numbers)
	}
}

// drawn returns what sets the place in a random sequence that a call's attributes
// name; nil for a call that draws nothing from the capture's tape.
func (c *Capture) drawn(call *ir.Call) func(*ir.Call) (bool, error) {
	seed, offset := call.Seed, call.Offset // where they stand
	if seed < 0 || offset < 0 || !random.IsPlace(call.Attrs[offset].Int) {
		return nil
	}
	place, tape := call.Attrs[offset].Int, &c.work.tape
	return func(call *ir.Call) (bool, error) {
		drawn, from, ok := tape.Find(place)
		if !ok {
			return false, fmt.Errorf("%s: its random numbers were drawn while another graph was captured", call.Op.Name)
		}
		call.Set(seed, ir.IntScalar(drawn))
		call.Set(offset, ir.IntScalar(from))
		return true, nil
	}
}
