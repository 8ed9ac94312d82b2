package stream

import (
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/local"
)

// A scope is one Do that a goroutine is in. Scopes are not changed once made.
type scope struct {
	Stream
	outer *scope
}

// entered holds the calling goroutine's innermost scope.
var entered = local.NewKey[*scope]()

// CurrentID returns the handle of the calling goroutine's current stream of d,
// which has an index; 0, the default stream, where no Do says otherwise. It
// costs one atomic load while no goroutine is in a Do.
func CurrentID(d device.Device) device.StreamID {
	s, ok := entered.Get()
	if !ok {
		return 0
	}
	for ; s != nil; s = s.outer {
		if s.dev == d {
			return s.id
		}
	}
	return 0
}

// Current returns the calling goroutine's current stream of d: that of the
// innermost Do with a stream of d, or the default stream.
func Current(d device.Device) Stream {
	d, _, err := device.Find(d)
	if err != nil {
		return Failed(d, err)
	}
	return Stream{dev: d, id: CurrentID(d)}
}

// Do calls f with s as the calling goroutine's current stream of its device, and
// the device as the current one of its kind. Scopes nest, and what was
// current before is again when f returns or panics; other goroutines are not
// affected, also not those that f starts. It returns f's error, or that there is no
// such stream, and then f is not called.
func (s Stream) Do(f func() error) error {
	if err := s.Err(); err != nil {
		return err
	}
	outer, _ := entered.Get()
	return device.With(s.dev, func() error { return entered.Try(&scope{s, outer}, f) })
}
