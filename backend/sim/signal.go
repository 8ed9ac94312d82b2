package sim

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

var _ device.Signaler = (*Driver)(nil)

// What waiting by words is called among the operators of a stream.
var (
	writeWordOp = &ir.Op{Name: "write a word"}
	awaitWordOp = &ir.Op{Name: "wait for a word"}
)

// signal is start for a word.
func (d *Driver) signal(dev int, s device.StreamID, word *atomic.Uint32) (*accelerator, *stream, error) {
	a, on, err := d.start(dev, s, int64(unsafe.Sizeof(*word)))
	if err == nil && word == nil {
		err = fmt.Errorf("%w: %s: a nil word; want one in page-locked memory", device.ErrInvalid, a)
	}
	return a, on, err
}

// errEnded is what a wait that was ended in vain answers where the race detector watches. The rest of
// its recording is left out then: the detector would see, rightly, that nothing orders it, though what
// it computes is of no use. For the same reason the word stays ended whatever other devices write.
var errEnded = errors.New("the wait for a word was ended in vain")

// WriteWord writes a word in stream order.
func (d *Driver) WriteWord(dev int, s device.StreamID, word *atomic.Uint32, value uint32) error {
	a, on, err := d.signal(dev, s, word)
	if err != nil {
		return err
	}
	return a.enqueue(on, writeWordOp, func() error {
		for {
			if now := word.Load(); raced && now >= device.WordEnded || word.CompareAndSwap(now, value) {
				return nil
			}
		}
	})
}

// AwaitWord has a stream wait for a word. As a device does, it looks again and again.
func (d *Driver) AwaitWord(dev int, s device.StreamID, word *atomic.Uint32, value uint32) error {
	a, on, err := d.signal(dev, s, word)
	if err != nil {
		return err
	}
	return a.enqueue(on, awaitWordOp, func() error {
		for looks := 0; word.Load() < value; looks++ {
			if err := a.usable(); err != nil {
				return err
			}
			if looks < 100 {
				runtime.Gosched()
			} else {
				time.Sleep(50 * time.Microsecond)
			}
		}
		if raced && word.Load() >= device.WordEnded {
			return errEnded
		}
		return nil
	})
}
