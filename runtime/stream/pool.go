package stream

import (
	"sync"

	"github.com/sinter-go/sinter/runtime/device"
)

// perPool is how many streams of a priority a device has.
const perPool = 32

// A pool has the streams of one device, made when first asked for and never given
// back.
type pool struct {
	mu         sync.Mutex
	levels     map[int]*level
	priorities map[device.StreamID]int
}

// A level is the streams of one priority, handed out in turn.
type level struct {
	streams [perPool]device.StreamID
	made    int
	next    int
}

type place struct {
	drv device.Driver
	dev int
}

var pools sync.Map // place to *pool

func poolOf(drv device.Driver, dev int) *pool {
	key := place{drv, dev}
	if p, ok := pools.Load(key); ok {
		return p.(*pool)
	}
	p, _ := pools.LoadOrStore(key, &pool{levels: map[int]*level{}, priorities: map[device.StreamID]int{}})
	return p.(*pool)
}

// New returns a stream of d from its pool: 32 a priority, in turn, so that the
// 33rd is the first again. Such streams and the default stream do not wait
// for one another. Lower numbers are higher priorities, 0 is the usual one, and
// what is outside of PriorityRange counts as the nearest inside. On the host
// there is only the default stream.
func New(d device.Device, priority int) Stream {
	d, drv, err := device.Find(d)
	if err != nil {
		return Failed(d, err)
	}
	if !d.Accelerator() {
		return Stream{dev: d}
	}
	lowest, highest := drv.PriorityRange(d.Index)
	id, err := poolOf(drv, d.Index).take(drv, d.Index, min(max(priority, highest), lowest))
	if err != nil {
		return Failed(d, err)
	}
	return Stream{dev: d, id: id}
}

func (p *pool) take(drv device.Driver, dev, priority int) (device.StreamID, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.levels[priority]
	if l == nil {
		l = new(level)
		p.levels[priority] = l
	}
	if l.next == l.made {
		id, err := drv.NewStream(dev, priority)
		if err != nil {
			return 0, err
		}
		l.streams[l.made] = id
		l.made++
		p.priorities[id] = priority
	}
	id := l.streams[l.next]
	l.next = (l.next + 1) % perPool
	return id, nil
}

// Priority returns the priority of a stream from New; 0 for others.
func (s Stream) Priority() int {
	drv, err := s.driver()
	if err != nil {
		return 0
	}
	p := poolOf(drv, s.dev.Index)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.priorities[s.id]
}

// PriorityRange returns the lowest and the highest priority of a device's
// streams; lower numbers are higher.
func PriorityRange(d device.Device) (lowest, highest int, err error) {
	d, drv, err := device.Find(d)
	if err != nil {
		return 0, 0, err
	}
	lowest, highest = drv.PriorityRange(d.Index)
	return lowest, highest, nil
}
