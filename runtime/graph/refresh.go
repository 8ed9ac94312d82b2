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
func Refreshing(numbers func() ([]float64, error), f func()) { refreshing.With(numbers, f) }

// refresh returns what sets the attributes of a captured call before each replay; nil
// for a call whose attributes stay.
func (c *Capture) refresh(call *ir.Call) func(*ir.Call) (bool, error) {
	random := c.drawn(call)
	numbers, changing := refreshing.Get()
	switch {
	case !changing || numbers == nil:
		return random
	case random == nil:
		return func(call *ir.Call) (bool, error) { return setFloats(call, numbers) }
	}
	return func(call *ir.Call) (bool, error) {
		if _, err := random(call); err != nil {
			return false, err
		}
		return setFloats(call, numbers)
	}
}

// drawn returns what sets the place in a random sequence that a call's attributes
// name; nil for a call that draws nothing from the capture's tape.
func (c *Capture) drawn(call *ir.Call) func(*ir.Call) (bool, error) {
	seedAt, offsetAt := -1, -1
	for i, a := range call.Op.Attrs {
		switch {
		case a.Kind != ir.AttrInt:
		case a.Name == "seed":
			seedAt = i
		case a.Name == "offset":
			offsetAt = i
		}
	}
	if seedAt < 0 || offsetAt < 0 || !random.IsPlace(call.Attrs[offsetAt].Int) {
		return nil
	}
	place, tape := call.Attrs[offsetAt].Int, &c.work.tape
	return func(call *ir.Call) (bool, error) {
		seed, offset, ok := tape.Find(place)
		if !ok {
			return false, fmt.Errorf("%s: its random numbers were drawn while another graph was captured", call.Op.Name)
		}
		set(call, seedAt, ir.IntScalar(seed))
		set(call, offsetAt, ir.IntScalar(offset))
		return true, nil
	}
}

// setFloats sets the float attributes of a call, and reports whether one changed.
func setFloats(call *ir.Call, numbers func() ([]float64, error)) (changed bool, err error) {
	list, err := numbers()
	if err != nil {
		return false, err
	}
	given := len(list)
	for i, a := range call.Op.Attrs {
		if a.Kind != ir.AttrFloat {
			continue
		}
		if len(list) == 0 {
			return false, fmt.Errorf("%s: %d numbers, it has more float attributes", call.Op.Name, given)
		}
		if call.Attrs[i].Scalar.Float() != list[0] {
			set(call, i, ir.FloatScalar(list[0]))
			changed = true
		}
		list = list[1:]
	}
	if len(list) > 0 {
		return false, fmt.Errorf("%s: %d numbers, it has fewer float attributes", call.Op.Name, given)
	}
	return changed, nil
}

// set gives a call another value of a numeric attribute, in both of its forms.
func set(call *ir.Call, attr int, v ir.Scalar) {
	if call.Op.Attrs[attr].Kind == ir.AttrInt {
		call.Attrs[attr].Int = v.Int()
	} else {
		call.Attrs[attr].Scalar = v
	}
	at := 0
	for _, a := range call.Op.Attrs[:attr] {
		switch a.Kind {
		case ir.AttrScalar, ir.AttrFloat, ir.AttrInt, ir.AttrBool:
			at++
		}
	}
	call.Scalars[at] = v
}
