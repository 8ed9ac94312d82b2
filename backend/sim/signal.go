package sim

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

var _ device.Signaler = (*Driver)(nil)

// What waiting by words is called among the operators of a stream.
var (
	writeWordOp = &ir.Op{Name: "write a word"}
	awaitWordOp = &ir.Op{Name: "wait for a word"}
)

// words is what streams wait for words with.
type words struct {
	mu      sync.Mutex // held to change a word, and to look at one
	changed sync.Cond
}

// word returns a word of a device.
func (a *accelerator) word(addr uint64) (*atomic.Uint32, error) {
	at, err := a.at(addr, 4, false)
	if err == nil && addr%4 != 0 {
		err = fmt.Errorf("%s: the word at %#x is not aligned to 4 bytes", a, addr)
	}
	return (*atomic.Uint32)(at), err
}

// WriteWord writes a word of another device, in stream order.
func (d *Driver) WriteWord(dev int, s device.StreamID, toDev int, addr uint64, value uint32) error {
	a, on, err := d.start(dev, s, 4)
	if err != nil {
		return err
	}
	peer, err := d.device(toDev)
	if err != nil {
		return err
	}
	if peer != a && !device.OpenPeer(d, dev, toDev) {
		return fmt.Errorf("%w: %s does not reach the memory of %s", device.ErrUnavailable, a, peer)
	}
	word, err := peer.word(addr)
	if err != nil {
		return err
	}
	return a.enqueue(on, writeWordOp, d.holding(func() error {
		d.words.mu.Lock()
		defer d.words.mu.Unlock()
		word.Store(value)
		d.words.changed.Broadcast()
		return nil
	}, addr))
}

// AwaitWord has a stream wait for a word.
func (d *Driver) AwaitWord(dev int, s device.StreamID, addr uint64, value uint32) error {
	a, on, err := d.start(dev, s, 4)
	if err != nil {
		return err
	}
	word, err := a.word(addr)
	if err != nil {
		return err
	}
	return a.enqueue(on, awaitWordOp, d.holding(func() error {
		d.words.mu.Lock()
		defer d.words.mu.Unlock()
		for word.Load() < value {
			if err := a.usable(); err != nil {
				return err
			}
			d.words.changed.Wait()
		}
		return nil
	}, addr))
}
