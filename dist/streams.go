package dist

import (
	"sync"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A place is a device of a driver: tests install drivers anew.
type place struct {
	driver device.Driver
	device device.Device
}

// unused are the streams of groups that were closed, by device. They are not destroyed:
// the allocator may still wait for what it was given there. A stream is one group's
// alone, because a rank that waits for others holds up all that its stream has.
var unused struct {
	sync.Mutex
	streams map[place][]device.StreamID
}

// takeStream returns a stream of d, an accelerator, of the highest priority, and what
// gives it back.
func takeStream(d device.Device) (s stream.Stream, give func(), err error) {
	d, drv, err := device.Find(d)
	if err != nil {
		return s, nil, err
	}
	at := place{drv, d}
	var id device.StreamID
	unused.Lock()
	list := unused.streams[at]
	if len(list) > 0 {
		id, unused.streams[at] = list[len(list)-1], list[:len(list)-1]
	}
	unused.Unlock()
	if len(list) == 0 { // without the lock: the driver may wait for its device
		_, highest := drv.PriorityRange(d.Index)
		if id, err = drv.NewStream(d.Index, highest); err != nil {
			return s, nil, err
		}
	}
	return stream.External(d, id), func() {
		unused.Lock()
		defer unused.Unlock()
		if unused.streams == nil {
			unused.streams = map[place][]device.StreamID{}
		}
		unused.streams[at] = append(unused.streams[at], id)
	}, nil
}
