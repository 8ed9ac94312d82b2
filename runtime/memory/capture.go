package memory

import "github.com/sinter-go/sinter/runtime/device"

// CaptureBegun says that a capture begins on d. Until as many CaptureEnded, no
// event is asked whether it is done, blocks that are freed with recorded streams
// wait, and nothing goes back to the driver: these calls are no
// part of a graph, and would spoil it or the graph's memory. It waits for those who are at recording an event
// of the device behind what a freed block is used by: what came after would be of the graph.
func CaptureBegun(d device.Device) {
	if a := captured(d); a != nil {
		a.mu.Lock()
		a.capturing++
		underWay.Add(1)
		rest := a.recording.rest()
		a.mu.Unlock()
		<-rest
		<-pinnedOf(a.drv).captureBegun(a.dev.Index)
	}
}

// recordings are events of a device that goroutines are about to record. The lock of whom they are of guards them.
type recordings struct {
	n    int
	over chan struct{} // closed with the last; nil: nobody waits
}

// end notes that one was recorded, or cannot be.
func (r *recordings) end() {
	if r.n--; r.n == 0 && r.over != nil {
		close(r.over)
		r.over = nil
	}
}

// none is what rest returns where there is none.
var none = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// rest returns what is closed once all are over. Whoever asks has seen to it that none begins.
func (r *recordings) rest() <-chan struct{} {
	if r.n == 0 {
		return none
	}
	if r.over == nil {
		r.over = make(chan struct{})
	}
	return r.over
}

// CaptureEnded says that a capture on d has ended. With the last one, the streams
// of blocks that were freed meanwhile are waited for as usual.
func CaptureEnded(d device.Device) {
	a := captured(d)
	if a == nil {
		return
	}
	a.mu.Lock()
	var freed []*chunk
	if a.capturing > 0 {
		a.capturing--
		underWay.Add(-1)
	}
	if a.capturing == 0 {
		freed, a.deferred = a.deferred, nil
	}
	streams := make([][]device.StreamID, len(freed))
	for i, c := range freed {
		streams[i], c.streams = c.streams, nil
		a.recording.n += len(streams[i])
	}
	a.mu.Unlock()
	for i, c := range freed {
		for _, s := range streams[i] {
			a.await(c, s)
		}
	}
	pinnedOf(a.drv).captureEnded()
}

// Cached reports whether memory of an accelerator that is freed now stays with its
// allocator, as the memory of graphs must.
func Cached(d device.Device) bool {
	a := captured(d)
	return a != nil && a.caching && Caching()
}

// captured returns the allocator of an accelerator; nil where there is none.
func captured(d device.Device) *allocator {
	d, drv, err := device.Find(d)
	if err != nil || !d.Accelerator() {
		return nil
	}
	return allocatorOf(d, drv)
}

// captureBegun is CaptureBegun for page-locked memory, and returns what is closed once it waits for nobody.
func (p *pinnedCache) captureBegun(dev int) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.capturing++
	return p.usesOf(dev).recording.rest()
}

// captureEnded is CaptureEnded for page-locked memory.
func (p *pinnedCache) captureEnded() {
	p.mu.Lock()
	var freed []*pinned
	if p.capturing = max(0, p.capturing-1); p.capturing == 0 {
		freed, p.deferred = p.deferred, nil
	}
	copies := make([][]place, len(freed))
	for i, b := range freed {
		copies[i], b.copies = b.copies, nil
		p.record(copies[i])
	}
	p.mu.Unlock()
	for i, b := range freed {
		for _, at := range copies[i] {
			p.await(b, at)
		}
	}
}
