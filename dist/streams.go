package dist

import (
	"context"
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

// A pace keeps the host from running far ahead of a group's device where memory comes and
// goes: what was given back is free for others once the streams that used it have passed
// their uses, and not when the host has said so.
type pace struct{ uses []*stream.Event }

// ahead is how many uses the host may be ahead of the device: one is at work while the memory
// of the next is taken.
const ahead = 1

// used notes that memory was given back that the current stream uses.
func (g *Group) used() error {
	if g.give == nil || g.captured() {
		return nil
	}
	e, err := stream.Current(g.Device()).RecordEvent(nil)
	if err == nil {
		g.pace.uses = append(g.pace.uses, e)
	}
	return err
}

// throttle waits until the host is not too far ahead.
func (g *Group) throttle() error {
	for len(g.pace.uses) > ahead && !g.captured() {
		e := g.pace.uses[0]
		g.pace.uses = g.pace.uses[1:]
		if err := e.Synchronize(context.Background()); err != nil {
			return g.named(err)
		}
	}
	return nil
}

// captured reports whether the current stream is captured, when nothing can be waited for.
func (g *Group) captured() bool {
	on, err := stream.Current(g.Device()).Capturing()
	return on || err != nil
}
