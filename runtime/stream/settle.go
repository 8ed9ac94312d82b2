package stream

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
)

// Settle waits on the host for all work given to a stream of d, which drv provides,
// and returns what went wrong with it, as Stream.Synchronize does.
func Settle(ctx context.Context, drv device.Driver, d device.Device, id device.StreamID) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if drv == nil {
		return fmt.Errorf("synchronize %s: %w: there is no driver; it takes the device's", Stream{dev: d, id: id}, device.ErrInvalid)
	}
	doubts := doubtsAbout(line{drv, d, id}, latest) // not about what the stream is given meanwhile
	if err := drv.SyncStream(ctx, d.Index, id); err != nil {
		return fmt.Errorf("synchronize %s: %w", Stream{dev: d, id: id}, err)
	}
	return settled(doubts, all, fault(drv, d, id))
}

// fault returns what the device found wrong with work of a stream that was waited for.
func fault(drv device.Driver, d device.Device, id device.StreamID) error {
	if r, ok := drv.(device.Reporter); ok {
		return r.StreamFault(d.Index, id)
	}
	return nil
}
