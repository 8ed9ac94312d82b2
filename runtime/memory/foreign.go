package memory

import (
	"fmt"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/device"
)

// Foreign returns a block of memory that is no allocator's, and that give takes back when
// the block is freed. give waits for the work that uses the memory. Where there is no memory
// or no give, that is an error.
func Foreign(dev device.Device, m device.Memory, give func() error) (Block, error) {
	if give == nil || m.Bytes <= 0 || m.Host == nil && m.Addr == 0 {
		return Block{}, fmt.Errorf("%s: %w: foreign memory of %d bytes", dev, device.ErrInvalid, m.Bytes)
	}
	return Block{Memory: m, Device: dev, owner: &foreign{give: give}}, nil
}

// A foreign is the owner of memory that no figure counts.
type foreign struct {
	give  func() error
	freed atomic.Bool
}

func (f *foreign) free(uint64) error {
	if f.freed.Swap(true) {
		return ErrFreed
	}
	return f.give()
}

// use does nothing, since give waits.
func (*foreign) use(uint64, device.Device, device.StreamID) {}
